// Products with a triangular matrix, from Args to the library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

extern const Family trmm_family;

/// Computes one call that the forwarding path did not settle; as gemm().  With a B in the host's memory that is not
/// finite the library underneath makes the call.
template <class T>
Computed trmm(const Site& site, const TrmmArgs<T>* args, Replay replay);

}  // namespace blaslift
