// copy, from Args to the library underneath or to several threads.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// Makes one call that the forwarding path did not settle; as gemm().
template <class T>
void copy(const Site& site, const CopyArgs<T>* args, Replay replay);

}  // namespace blaslift
