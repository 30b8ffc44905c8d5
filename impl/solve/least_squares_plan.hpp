// Plans of least squares: what LAPACK's drivers need of a tall matrix is its R, and Q^H B.
#pragma once
#include "impl/plan/plan.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Whether a device with so many bytes has room for all of it.
bool least_squares_fits(index m, index n, index nrhs, Precision precision, std::size_t memory);

/// A = Q R, m >= n >= 1, nrhs >= 1.  Operands A (m x n), which is only read; B (m x nrhs), which comes home as Q^H B,
/// and R (n x n), of which the upper triangle does.  A's panels are factored from left to right,
/// and their reflectors applied to what is on the right of them, and to B.
/// @param a_in_place  A has device memory of its own
Plan plan_least_squares(index m, index n, index nrhs, Precision precision, bool a_in_place = false);

/// The same with the solution of R X = Q^H B, of full rank.  Operands A, which comes home as its QR, and B, which comes
/// home with X in its first n rows and Q^H B's others.
/// @param a_in_place  A has device memory of its own, in which it is factored
Plan plan_gels(index m, index n, index nrhs, Precision precision, bool a_in_place = false);

/// Columns of a panel at most: half of what a product with so many reflectors takes is memory's
/// (impl/qr/qr_family.cpp).
inline constexpr index least_squares_panel = 64;

}  // namespace blaslift
