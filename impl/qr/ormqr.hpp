// ormqr, unmqr, orgqr, ungqr and their relatives of reductions, from Args to the library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// Computes one call that the forwarding path did not settle; as gemm().  A workspace query is none.
template <class T>
Computed ormqr(const Site& site, const OrmqrArgs<T>* args, Replay replay);

/// The same for ormtr, unmtr, orgtr, ungtr, and what ends with hr and br, which are such products with a part of the
/// matrices, or such a Q: also of reflectors as gelqf and geqlf leave them.
template <class T>
Computed ormtr(const Site& site, const ReductionQArgs<T>* args, Replay replay);

}  // namespace blaslift
