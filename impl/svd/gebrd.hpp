// Reduction to bidiagonal form on the device: the first and longest part of a singular value decomposition, which
// LAPACK's xGELSD and xGELSS, and xGESDD and xGESVD where these stay, ask for by its name.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  If A or the result is not finite, the library underneath makes the call; with A in
/// device memory, info is above zero.
template <class T>
Computed gebrd(const Site& site, const GebrdArgs<T>* args, Replay replay);

extern const Family gebrd_family;

}  // namespace blaslift
