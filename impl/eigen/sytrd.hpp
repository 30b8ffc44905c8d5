// Reduction to tridiagonal form on the device: the first and longest part of a symmetric eigenproblem, which LAPACK's
// drivers, where these stay, ask for by its name.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  If A or the result is not finite, the library underneath makes the call; with A in
/// device memory, info is above zero.
template <class T>
Computed sytrd(const Site& site, const SytrdArgs<T>* args, Replay replay);

/// LAPACK's own test ratios (dsyt21), with its threshold (sep.in): the larger of |A - Q T Q^H| / (n eps |A|) and
/// |I - Q^H Q| / (n eps), 1-norms, with Q by the library's ormqr and orgqr.
template <class T>
Judgement judge(const JudgingLibrary& by, const SytrdArgs<T>& before, const SytrdArgs<T>& result,
                const SytrdArgs<T>& reference, const Ending& ending);

extern const Family sytrd_family;

}  // namespace blaslift
