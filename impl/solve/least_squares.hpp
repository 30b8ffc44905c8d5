// Least squares by LAPACK's drivers gels, gelsy, gelsd and gelss, on the device; by gelsy where there are no more
// columns than rows.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// The device makes A = Q R and Q^H B, and the library's own driver solves with R, whose columns and singular values
/// are A's: rank, pivots and rcond follow that driver's rules.  Of gelsd and gelss, A may have more columns than rows:
/// A^H = Q R, the driver solves with R^H, and the shortest solution is Q times its own.  Which columns of such an A
/// gelsy would choose R^H does not tell, so that these are for the library underneath, and so are with all drivers
/// norms that LAPACK would scale.  A stays as it was but for its first rows, where gelsy leaves its factorisation of R,
/// and gelss A's right singular vectors.  Of gels, all is done on the device, with A or its adjoint, of any shape;
/// where the triangle is singular, it is the library's.
template <class T>
Computed least_squares(const Site& site, const LeastSquaresArgs<T>* args, Replay replay);

extern const Family gels_family, gelsy_family, gelsd_family, gelss_family;

}  // namespace blaslift
