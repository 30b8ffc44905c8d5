// Cholesky factorisations on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  With a matrix that is not positive definite, A in the host's memory becomes what
/// the library underneath leaves of it.
template <class T>
Computed potrf(const Site& site, const PotrfArgs<T>* args, Replay replay);

extern const Family potrf_family;

}  // namespace blaslift
