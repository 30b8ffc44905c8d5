// Reduction to Hessenberg form on the device: the first part of a general eigenproblem, for which LAPACK's drivers,
// where these stay, ask by its name.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  If A or the result is not finite, the library underneath makes the call; with A in
/// device memory, info is above zero.
template <class T>
Computed gehrd(const Site& site, const GehrdArgs<T>* args, Replay replay);

/// LAPACK's own test ratios (dhst01), with its threshold (nep.in), of the part of A that is touched: the larger of
/// |A - Q H Q^H| / (n eps |A|) and |I - Q^H Q| / (n eps), 1-norms, with Q by the library's ormqr and orgqr.
template <class T>
Judgement judge(const JudgingLibrary& by, const GehrdArgs<T>& before, const GehrdArgs<T>& result,
                const GehrdArgs<T>& reference, const Ending& ending);

extern const Family gehrd_family;

}  // namespace blaslift
