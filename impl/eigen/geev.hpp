// Eigenproblems of general matrices on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  If A or the result is not finite, A is so large or small that LAPACK would scale
/// it, or the iteration does not converge, the library underneath makes the call; with one of the operands in device
/// memory, info is above zero.  A stays as it was.  Left eigenvectors are for the library underneath.
template <class T>
Computed geev(const Site& site, const GeevArgs<T>* args, Replay replay);

extern const Family geev_family;

}  // namespace blaslift
