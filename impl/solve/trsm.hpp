// Triangular systems with many right-hand sides, from Args to the library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

extern const Family trsm_family, trtrs_family;

/// Computes one call of xTRSM or xTRTRS that the forwarding path did not settle; as gemm().  With a zero on xTRTRS's
/// diagonal, the library underneath makes the call.
template <class T>
Computed trsm(const Site& site, const TrsmArgs<T>* args, Replay replay);

}  // namespace blaslift
