// Singular value decompositions on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp), for both of LAPACK's drivers.  If A or the result is not finite, or A is zero or so
/// large or small that LAPACK would scale it, the library underneath makes the call; with one of the operands in device
/// memory, info is above zero.  A stays as it was unless singular vectors take its place.
template <class T>
Computed svd(const Site& site, const SvdArgs<T>* args, Replay replay);

extern const Family gesdd_family, gesvd_family;

}  // namespace blaslift
