// symv and hemv, from Args to the library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// Computes one call that the forwarding path did not settle; as gemm().
template <class T>
Computed symv(const Site& site, const SymvArgs<T>* args, Replay replay);

}  // namespace blaslift
