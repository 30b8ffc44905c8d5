// Triangular systems on the device, by blocks of the diagonal and their inverses.
//
// X := inv(op(A_ii)) W, with W what is left of a block of B, is one product where substitution is a chain of small
// steps.  When is it as good?  Du Croz and Higham (Stability of methods for matrix inversion, IMA J. Numer. Anal. 12,
// 1992) and Higham (Accuracy and Stability, 2nd ed., chapters 8 and 14): with the inverse V of L computed such that
// |L V - I| <= c n u |L| |V|,
//
//   |W - L X| <= c n u |L| |V| |W| <= c n u (|L| |V| |L|) |X| + O(u^2),
//
// where substitution has c n u |L| |X|.  So inverses are used where the largest row sum of |V| |L| (what Higham calls
// cond(L); of transposed systems, column sum of |L| |V|) is at most `most_growth`: the residual of row i is then within
//
//   c n u most_growth (|L| e)_i max |X|,
//
// in the block; it is of substitution's own order where the elements of a column of X do not differ by orders of
// magnitude and, of those that do, where A is not so sparse that a row meets small ones only.  It is the bound that
// grows like this; what is seen is about a thousandth of it.  V is made of the inverses of halves, V21 := - V22 (L21
// V11), which has |V22| |L22| |L21| |V11| for |L21| |V11| in its residual: bounded by the same check, since halves of
// L are parts of it.  Diagonal elements, or row and column sums, whose squares would overflow or underflow, refuse a
// block as well.
//
// What is refused is solved by substitution, whose residual is small however ill-conditioned A is (theorem 8.5), and so
// is what the product has left with an element that is not finite: zeros in V's other triangle times Inf or NaN are
// NaN where substitution would have read nothing.  The device decides all that; the host waits for nothing.
#pragma once
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/trsm.hpp"

namespace blaslift {

/// Bound of the check above.  Such a block's residual is within n eps by it, times a moderate constant; for n of many
/// thousands it stops growing, since it is of single precision, too.
constexpr double most_growth(index order) { return static_cast<double>(std::min<index>(8 * order, 32768)); }

/// Shared memory that a block of threads needs, in bytes.
std::size_t trsm_shared_memory();

/// Starts what makes the workspace ready, on the handle's stream: copies of A's diagonal blocks, their inverses, and
/// whether they are to be trusted.  Of `p` only what describes A matters.  Does nothing if p says that it is ready.
struct TrsmStarted {
  cudaError_t error = cudaSuccess;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
};
TrsmStarted prepare_trsm(const Trsm& p, cublasHandle_t handle, cudaStream_t stream);

/// Starts what is to be done after the product with block i's inverse; W is the panel.
cudaError_t finish_trsm_block(const Trsm& p, index i, cudaStream_t stream);

/// The vendor's own.
cublasStatus_t substitute(const Trsm& p, cublasHandle_t handle);

/// Of one element type each, for the above.
#define BLASLIFT_TRSM_OF(letter)                                              \
  cudaError_t take_trsm_blocks_##letter(const Trsm& p, cudaStream_t stream);  \
  cudaError_t check_trsm_blocks_##letter(const Trsm& p, cudaStream_t stream); \
  cudaError_t finish_trsm_block_##letter(const Trsm& p, index i, cudaStream_t stream);
BLASLIFT_TRSM_OF(s)
BLASLIFT_TRSM_OF(d)
BLASLIFT_TRSM_OF(c)
BLASLIFT_TRSM_OF(z)
#undef BLASLIFT_TRSM_OF

}  // namespace blaslift
