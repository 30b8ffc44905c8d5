// Plans of products with a triangular matrix, B := alpha op(A) B or alpha B op(A), in B's place.
//
// A is cut into square tiles on its diagonal.  What of B belongs to a tile becomes a product with that tile, of which a
// matrix of its own has all, with zeros in the other triangle; and with what is beside it, times parts of B that are
// still what they were.  The order of the tiles is such that these come later: trsm's, backwards.  B is cut across,
// into panels that do not know each other: some move in and one moves home while the device computes another.
//
// Zeros times Inf or NaN are NaN where the reference reads nothing.  So the magnitudes of B come home with the result,
// which is none if one of them is not finite.
#pragma once
#include "impl/core/args.hpp"
#include "impl/plan/panels.hpp"

namespace blaslift {

/// A product without its matrices.
struct TrmmShape : TriangularShape {
  // For panels::Planner.  What becomes final first is the last tile's part, or the first one's, on which no other one
  // depends.
  bool column() const { return !plain(); }
  bool backward() const { return (uplo == Uplo::lower) == plain(); }
};

using TrmmCut = PanelCut;

/// What has device memory of its own.
struct TrmmHeld {
  bool a = false, b = false;
};

/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device
/// @param there   what is in the program's own device memory
TrmmCut trmm_cut(const TrmmShape& shape, Precision precision, std::size_t memory, const TrmmHeld& there = {});

/// Operands A, B and, a column for each panel, the magnitudes of its columns, or rows where A is on the right.
Plan plan_trmm(const TrmmShape& shape, Precision precision, const TrmmCut& cut, const TrmmHeld& held = {});
/// Elements of such a column: reals of the precision.
index trmm_magnitudes(Precision precision, const TrmmCut& cut);
/// Operands B, in memory of its own, and the magnitudes of all its columns or rows, and nothing else.
Plan plan_survey(const TrmmShape& shape, Precision precision);

}  // namespace blaslift
