// Products with a symmetric or Hermitian matrix, from Args to the library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

extern const Family symm_family;

/// Computes one call that the forwarding path did not settle; as gemm().  xSYMM, or xHEMM if args->hermitian.
template <class T>
Computed symm(const Site& site, const SymmArgs<T>* args, Replay replay);

}  // namespace blaslift
