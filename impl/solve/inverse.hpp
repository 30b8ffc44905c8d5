// Inverses on the device, of matrices by their factors and of triangular ones, and what such are multiplied to.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  With a zero on the diagonal, the library underneath makes the call.
template <class T>
Computed invert(const Site& site, const InverseArgs<T>* args, Replay replay);

extern const Family getri_family, potri_family, trtri_family, lauum_family;

}  // namespace blaslift
