// Singular value decompositions on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp), for both of LAPACK's drivers.  If A or the result is not finite, A is so large or
/// small that LAPACK would scale it, or the device's result is that of another matrix, as it may be where A has no full
/// rank, the library underneath makes the call; with one of the operands in device memory, info is above zero.  A stays
/// as it was unless singular vectors take its place.
template <class T>
Computed svd(const Site& site, const SvdArgs<T>* args, Replay replay);

/// LAPACK's own test ratios (dbdt01, dort01), with its threshold (svd.in).  With singular vectors of both sides the
/// largest of |A - U diag(s) V^H| / (max(m, n) eps |A|), |I - U^H U| / (m eps) and |I - V^H V| / (n eps), 1-norms; with
/// those of one side |U^H A A^H U - diag(s)^2| / (max(m, n) eps s_1^2), or the same of A^H and V, in place of the first
/// one.  If not all of these are there, the largest |s - reference| / (max(m, n) eps s_1), too.
template <class T>
Judgement judge(const JudgingLibrary& by, const SvdArgs<T>& before, const SvdArgs<T>& result,
                const SvdArgs<T>& reference, const Ending& ending);

extern const Family gesdd_family, gesvd_family;

}  // namespace blaslift
