// Plans of triangular systems with many right-hand sides, op(A) X = alpha B or X op(A) = alpha B, X in B's place.
//
// A is cut into square tiles on its diagonal.  One tile after the other is solved with, and what it makes known is
// subtracted from what is not: right-looking.  B is cut across, into panels that do not know each other: one moves in
// and one moves home while the device solves a third, and A's strips arrive beside the first panel's products.
#pragma once
#include "impl/core/args.hpp"
#include "impl/plan/panels.hpp"

namespace blaslift {

/// A system without its matrices.
struct TrsmShape : TriangularShape {
  // For panels::Planner.  What is known first is the first tile's, or the last one's.
  bool column() const { return plain(); }
  bool backward() const { return (uplo == Uplo::lower) != plain(); }
};

using TrsmCut = PanelCut;

/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device for A, B's panels and workspaces
TrsmCut trsm_cut(const TrsmShape& shape, Precision precision, std::size_t memory);

/// What has device memory of its own, and whether the host could solve what a failure leaves: then a panel that is home
/// is final.
struct TrsmHeld {
  bool a = false, b = false;
  bool finishable = true;
};

/// Operands A and B; groups are panels.
Plan plan_trsm(const TrsmShape& shape, Precision precision, const TrsmCut& cut, const TrsmHeld& held = {});

}  // namespace blaslift
