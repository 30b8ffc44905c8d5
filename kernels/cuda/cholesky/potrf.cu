#include <climits>
#include <complex>

#include "kernels/cuda/cholesky/potrf.hpp"

namespace blaslift {
namespace of_potrf {
namespace {

constexpr int threads = 256;

/// The diagonal of a Hermitian matrix is real, whatever its imaginary parts hold.
template <class R>
__global__ void make_diagonal_real(index n, R* A, index lda) {
  const index i = blockIdx.x * static_cast<index>(threads) + threadIdx.x;
  if (i < n) A[2 * i * (lda + 1) + 1] = 0;
}

/// cuSOLVER passes over pivots that are NaN, as LAPACK does not.  One block; an element has `parts` numbers.
template <class R, int parts>
__global__ void note_first_failure(index n, const R* A, index lda, const int* info, R* failed) {
  __shared__ int first;
  if (threadIdx.x == 0) first = *info > 0 ? *info : INT_MAX;
  __syncthreads();
  for (index i = threadIdx.x; i < n; i += threads)
    if (!(A[parts * i * (lda + 1)] > 0)) atomicMin(&first, static_cast<int>(i + 1));
  __syncthreads();
  if (threadIdx.x < parts) failed[threadIdx.x] = threadIdx.x == 0 && first != INT_MAX ? static_cast<R>(first) : 0;
}

template <class R, int parts>
cudaError_t factor(const Potrf& p, Solver& solver, cudaStream_t stream) {
  R* const A = static_cast<R*>(p.A);
  if constexpr (parts == 2) {
    make_diagonal_real<R><<<static_cast<unsigned>((p.n + threads - 1) / threads), threads, 0, stream>>>(p.n, A, p.lda);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  if (const cudaError_t error = solver.potrf(p, stream); error != cudaSuccess) return error;
  note_first_failure<R, parts><<<1, threads, 0, stream>>>(p.n, A, p.lda, solver.info(), static_cast<R*>(p.failed));
  return cudaGetLastError();
}

}  // namespace
}  // namespace of_potrf

cudaError_t potrf(const Potrf& p, Solver& solver, cudaStream_t stream) {
  using namespace of_potrf;
  switch (p.precision) {
    case Precision::s: return factor<float, 1>(p, solver, stream);
    case Precision::d: return factor<double, 1>(p, solver, stream);
    case Precision::c: return factor<float, 2>(p, solver, stream);
    case Precision::z: break;
  }
  return factor<double, 2>(p, solver, stream);
}

}  // namespace blaslift
