// Plans of least squares: what LAPACK's drivers need of a tall matrix is its R, and Q^H B; of gels all of it.
#pragma once
#include "impl/plan/plan.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Of a call, with A (m x n), or with its adjoint in A's place.
struct LeastSquaresShape {
  index m, n, nrhs;
  bool adjoint = false;

  index order() const { return m < n ? m : n; }
  index longer() const { return m < n ? n : m; }
  /// A's adjoint is factored.
  bool turned() const { return m < n; }
  /// What is solved with is the triangle's adjoint, and then comes Q: of the solutions of fewer equations than unknowns
  /// the shortest one.
  bool shortest() const { return turned() != adjoint; }
  index equations() const { return adjoint ? n : m; }
};

/// Whether a device with so many bytes has room for all of it.
bool least_squares_fits(index m, index n, index nrhs, Precision precision, std::size_t memory);
bool gels_fits(const LeastSquaresShape& shape, Precision precision, std::size_t memory);

/// A = Q R, m >= n >= 1, nrhs >= 1.  Operands A (m x n), which is only read; B (m x nrhs), which comes home as Q^H B,
/// and R (n x n), of which the upper triangle does.  A's panels are factored from left to right,
/// and their reflectors applied to what is on the right of them, and to B.
/// @param a_in_place  A has device memory of its own
Plan plan_least_squares(index m, index n, index nrhs, Precision precision, bool a_in_place = false);

/// The solution, of full rank; m, n and nrhs >= 1.  Operands A, which comes home as its QR, or with more columns than
/// rows as its LQ; and B (longer x nrhs), of whose rows those of the equations are read, and which comes home with X in
/// front.  Behind X is the rest of Q^H B, Q being that of A's QR or of its adjoint's.
/// @param a_in_place  A has device memory of its own, in which its factors replace it
Plan plan_gels(const LeastSquaresShape& shape, Precision precision, bool a_in_place = false);

}  // namespace blaslift
