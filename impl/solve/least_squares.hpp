// Least squares by LAPACK's drivers gels, gelsy, gelsd and gelss, on the device where there are more rows than columns,
// and by gelsd also where there are fewer.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// The device makes A = Q R and Q^H B, and the library's own driver solves with R, whose columns and singular values
/// are A's: rank, pivots and rcond follow that driver's rules.  Of gelsd, A may have more columns than rows: A^H = Q R,
/// the driver solves with R^H, and the shortest solution is Q times its own.  With the others such an A, and with all
/// of them norms that LAPACK would scale, are for the library underneath.  A stays as it was but for its first rows,
/// where gelsy leaves its factorisation of R, and gelss its right singular vectors.  Of gels, all is done on the
/// device; with A^H, or where R is singular, it is the library's.
template <class T>
Computed least_squares(const Site& site, const LeastSquaresArgs<T>* args, Replay replay);

extern const Family gels_family, gelsy_family, gelsd_family, gelss_family;

}  // namespace blaslift
