// Cholesky factorisations on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  With a matrix that is not positive definite, A in the host's memory becomes what
/// the library underneath leaves of it.
template <class T>
Computed potrf(const Site& site, const PotrfArgs<T>* args, Replay replay);

/// LAPACK's own test ratio (dpot01): |A - L L^H| / (n eps |A|), 1-norms, with its threshold (dtest.in).
template <class T>
Judgement judge(const JudgingLibrary& by, const PotrfArgs<T>& before, const PotrfArgs<T>& result, const PotrfArgs<T>&,
                const Ending& ending);

/// Seconds that a device takes for the factors of an order whose matrix is there.
double potrf_seconds(index n, double flops, Precision precision, const Profile& profile);

extern const Family potrf_family;

}  // namespace blaslift
