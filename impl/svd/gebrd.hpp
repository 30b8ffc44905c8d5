// Reduction to bidiagonal form on the device: the first and longest part of a singular value decomposition, which
// LAPACK's xGELSD and xGELSS, and xGESDD and xGESVD where these stay, ask for by its name.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  If A or the result is not finite, the library underneath makes the call; with A in
/// device memory, info is above zero.
template <class T>
Computed gebrd(const Site& site, const GebrdArgs<T>* args, Replay replay);

/// LAPACK's own test ratios (dbdt01, dort01), with its threshold (svd.in): the largest of |A - Q B P^H| / (max(m, n)
/// eps |A|), |I - Q^H Q| / (m eps) and |I - P^H P| / (n eps), 1-norms, with Q and P by the library's ormqr.
template <class T>
Judgement judge(const JudgingLibrary& by, const GebrdArgs<T>& before, const GebrdArgs<T>& result,
                const GebrdArgs<T>& reference, const Ending& ending);

extern const Family gebrd_family;

}  // namespace blaslift
