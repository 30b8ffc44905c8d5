// Linear systems on the device, by LU or Cholesky: factors that are there, or are made first.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  With a matrix that is singular, or not positive definite, the library underneath
/// makes the call.
template <class T>
Computed solve_system(const Site& site, const SystemArgs<T>* args, Replay replay);

extern const Family getrs_family, gesv_family, potrs_family, posv_family;

}  // namespace blaslift
