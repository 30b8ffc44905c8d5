// Plans of inverses, in place of a matrix' factors or of a triangular matrix.
//
// Columns of an identity are solved with, in panels, and of a triangular matrix only where a panel is not zero: of L
// from its first row down, of U to its last one. So every panel has a part of the triangle that no later one needs, and
// takes its place; L's panels come from the left, U's from the right.
//
// By LU the adjoint's inverse is made, A^T Y = I: a panel of Y is one of rows of the inverse, for which |X A - I| is
// small, as it is for LAPACK's. Its factors are there apart, since each panel takes all of them. By Cholesky the
// factor's inverse W is made apart, and what takes A's place is W^H W, or W W^H; where nothing is inverted, W is what A
// has.
#pragma once
#include "impl/core/args.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

/// How an inverse is cut up; 0: it does not fit.
struct InverseCut {
  index width = 0;  ///< of a panel

  index panels(index n) const { return (n + width - 1) / width; }
};

/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory    bytes on the device, for A unless it is in place, and for workspaces
/// @param in_place  A has device memory of its own
InverseCut inverse_cut(const InverseShape& shape, Precision precision, std::size_t memory, bool in_place = false);

/// Operands A and, of LU, a column of pivots, from the first row on.
Plan plan_inverse(const InverseShape& shape, Precision precision, const InverseCut& cut, bool in_place = false);

}  // namespace blaslift
