// Triangular systems with many right-hand sides, from Args to the library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

extern const Family trsm_family, trtrs_family;

/// Computes one call that the forwarding path did not settle; as gemm().
template <class T>
void trsm(const Site& site, const TrsmArgs<T>* args, Replay replay);

/// The same of LAPACK's routine: with a zero on the diagonal, the library underneath makes the call.
template <class T>
Computed trtrs(const Site& site, const TrsmArgs<T>* args, Replay replay);

}  // namespace blaslift
