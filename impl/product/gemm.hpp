// gemm, and gemmt, syrk, herk, syr2k and her2k, which are a gemm of which one triangle is computed: from Args to the
// library underneath or the device.
#pragma once
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// Computes one call that the forwarding path did not settle.
/// @param args   the call's arguments, or null if they are invalid: then the call is replayed, so that the library's
/// own
///               xerbla reports it.  No lock is held and nothing is left to undo then: xerbla may not return.
/// @param replay the call as it came.
template <class T>
Computed gemm(const Site& site, const GemmArgs<T>* args, Replay replay);
/// xGEMMT, xGEMMTR.
template <class T>
Computed gemmt(const Site& site, const GemmtArgs<T>* args, Replay replay);
/// xSYRK, or xHERK if args->hermitian.
template <class T>
Computed syrk(const Site& site, const SyrkArgs<T>* args, Replay replay);
/// xSYR2K, or xHER2K if args->hermitian.
template <class T>
Computed syr2k(const Site& site, const Syr2kArgs<T>* args, Replay replay);

}  // namespace blaslift
