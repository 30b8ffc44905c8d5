// ormqr, unmqr, orgqr and ungqr, from Args to the library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// Computes one call that the forwarding path did not settle; as gemm().  A workspace query is none.
template <class T>
Computed ormqr(const Site& site, const OrmqrArgs<T>* args, Replay replay);

}  // namespace blaslift
