// Triangular systems on the device, by blocks of the diagonal and their inverses.
//
// X := inv(op(A_ii)) W, with W what is left of a block of B, is one product where substitution is a chain of small
// steps.  When is it as good?  Du Croz and Higham (Stability of methods for matrix inversion, IMA J. Numer. Anal. 12,
// 1992) and Higham (Accuracy and Stability, 2nd ed., chapters 8 and 14): with the inverse V of L computed such that
// |L V - I| <= c n u |L| |V|,
//
//   |W - L X| <= c n u |L| |V| |W| <= c n u |L| |V| |L| |X| + O(u^2),
//
// where substitution has c n u |L| |X| (theorem 8.5).  So two things are checked:
//
// - Of each inverse, when it is made: the largest row sum of |V| |L| (Higham's cond(L); of transposed systems, column
//   sum of |L| |V|) is at most `most_growth`.
// - Of each column of X, or row on the right, within each block: |L| |V| |L| |X| is at most most_growth |L| |X|, by
//   element.  In these sums nothing cancels, so that 8 bits are enough: the device's fastest products.
//
// What is not within these bounds is solved by substitution, and so is a column in which the product has left something
// that is not finite: zeros in V's other triangle times Inf or NaN are NaN where substitution would have read nothing.
// The residual's bound is then most_growth times substitution's, element by element, however ill-conditioned A is; and
// since roundings go either way, what there is of it is about eps |L| |V| |L| |X| at most, without the n, or within
// n eps |op(A)| |X|.  (Of dense matrices a few eps are seen, a thousandth of that.)  V is made of the inverses of
// halves, V21 := - V22 (L21 V11), in whose residual |V22| |L22| |L21| |V11| stands for |L21| |V11|: the first check
// bounds that as well, since L22 is a part of L.  Blocks whose diagonal or sums have squares that overflow or underflow
// are refused.  The device decides all that; the host waits for nothing.
#pragma once
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/trsm.hpp"

namespace blaslift {

/// How much larger than substitution's the bound of a residual may be.  Of many thousands no more than this, since
/// numbers may be of single precision.
constexpr double most_growth(index order) { return static_cast<double>(std::min<index>(2 * order, 32768)); }

/// Shared memory that a block of threads needs, in bytes.
inline constexpr std::size_t trsm_shared_memory = std::size_t{96} << 10;

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
