// Least squares by LAPACK's drivers gels, gelsy, gelsd and gelss, on the device where there are more rows than columns.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// The device makes A = Q R and Q^H B, and the library's own driver solves with R, whose columns and singular values
/// are A's: rank, pivots and rcond are that driver's.  A with more columns than rows, or with norms that LAPACK would
/// scale, is for the library underneath.  A stays as it was but for its first rows, where gelsy leaves its
/// factorisation of R, and gelss its right singular vectors.  Of gels, all is done on the device; with A^H, or where R
/// is singular, it is the library's.
template <class T>
Computed least_squares(const Site& site, const LeastSquaresArgs<T>* args, Replay replay);

/// Of the columns x of X the largest |A^H (B - A x)| / (l eps |A| (|A| |x| + |b|)), l being A's longer side, as a
/// backward stable method has it (Higham, Accuracy and Stability, theorem 20.3; LAPACK's dqrt17), beside what of that a
/// reference solution of less than full rank has.  Singular values are compared with reference ones, in units of l eps
/// |A|, and with the rank; where that is full, what is below X with the residual; and gels's R by R^H R = A^H A, in
/// units of l eps |A|^2.
template <class T>
Judgement judge(const JudgingLibrary& by, const LeastSquaresArgs<T>& before, const LeastSquaresArgs<T>& result,
                const LeastSquaresArgs<T>& reference, const Ending& ending);

extern const Family gels_family, gelsy_family, gelsd_family, gelss_family;

}  // namespace blaslift
