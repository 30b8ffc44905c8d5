// Batches of products, from Args to the library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

extern const Family batch_family;

/// Computes one call of xGEMM_BATCH_STRIDED that the forwarding path did not settle; as gemm().  A batch whose matrices
/// are not one matrix in memory (GemmBatchArgs::regular) moves matrix by matrix.  One whose results have elements in
/// common stays.
template <class T>
Computed gemm_batch(const Site& site, const GemmBatchArgs<T>* args, Replay replay);

/// The same of xGEMM_BATCH, whose groups are computed one after the other.
template <class T>
Computed gemm_batch(const Site& site, const GemmGroupsArgs<T>* args, Replay replay);

}  // namespace blaslift
