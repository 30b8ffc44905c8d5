#include <algorithm>

#include "kernels/cuda/core/largest.cuh"
#include "kernels/cuda/eigen/sytrd.hpp"
#include "kernels/cuda/product/assign.hpp"

namespace blaslift {
namespace of_sytrd {
namespace {

constexpr int threads = 256;
constexpr index most_blocks = 1024;

cudaError_t started() { return cudaGetLastError(); }

/// What is known of a matrix while it is worked on, on the device.
struct State {
  unsigned long long largest;  ///< as bits_of() has it, of the triangle
};
static_assert(sizeof(State) <= Solver::words);

/// Whether the vendor's reduction can be trusted with it.
template <class R>
__device__ bool bearable(const State& state) {
  const R largest = number_of<R>(state.largest);
  return isfinite(largest) && unbearable_exponent(largest) == 0;
}

/// Finds the largest number of a matrix; rows counted in reals.  Threads share a column, blocks the columns.
template <class R>
__global__ void survey(index rows, index cols, const R* A, index ld, State* state) {
  unsigned long long own = 0;
  for (index j = blockIdx.x; j < cols; j += gridDim.x)
    for (index i = threadIdx.x; i < rows; i += threads) own = max(own, bits_of(A[i + j * ld]));
  raise_to_largest(own, &state->largest);
}

/// What cannot be computed with becomes zero.
template <class R>
__global__ void clear_unbearable(index rows, index cols, R* A, index ld, const State* state) {
  if (bearable<R>(*state)) return;
  for (index j = blockIdx.x; j < cols; j += gridDim.x)
    for (index i = threadIdx.x; i < rows; i += threads) A[i + j * ld] = 0;
}

/// T to its place in the matrix, and whether all is finite.  One block.
template <class R, int parts>
__global__ void finish(Sytrd p, const State* state, const int* info) {
  __shared__ int failed;
  if (threadIdx.x == 0) failed = *info != 0 || !bearable<R>(*state);
  __syncthreads();
  R* const A = static_cast<R*>(p.A);
  R* const d = static_cast<R*>(p.d);
  const R* const e = static_cast<const R*>(p.e);
  if (p.n == 1 && threadIdx.x == 0) d[0] = A[0];  // the vendor's has not been called
  __syncthreads();
  const index off = p.uplo == Uplo::lower ? 1 : p.lda;  // from the diagonal to what is beside it
  for (index i = threadIdx.x; i < p.n; i += threads) {
    R* const diagonal = A + i * (p.lda + 1) * parts;
    diagonal[0] = d[i];
    if (parts == 2) diagonal[1] = 0;
    if (!isfinite(d[i])) failed = 1;
    if (i + 1 == p.n) break;
    diagonal[off * parts] = e[i];
    if (parts == 2) diagonal[off * parts + 1] = 0;
    if (!isfinite(e[i])) failed = 1;
  }
  const R* const tau = static_cast<const R*>(p.tau);
  for (index i = threadIdx.x; i < (p.n - 1) * parts; i += threads)
    if (!isfinite(tau[i])) failed = 1;
  __syncthreads();
  if (threadIdx.x < parts) static_cast<R*>(p.failed)[threadIdx.x] = threadIdx.x == 0 && failed ? 1 : 0;
}

/// All of it, with a matrix in memory that may be written, the other triangle too.
template <class R, int parts>
cudaError_t reduce_in_place(const Sytrd& p, Solver& solver, cudaStream_t stream) {
  if (const cudaError_t error = solver.prepare(stream); error != cudaSuccess) return error;
  auto* const state = static_cast<State*>(solver.scratch());
  const auto blocks = static_cast<unsigned>(std::min(p.n, most_blocks));
  if (const cudaError_t error = cudaMemsetAsync(state, 0, sizeof *state, stream); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaMemsetAsync(const_cast<int*>(solver.info()), 0, sizeof(int), stream);
      error != cudaSuccess)
    return error;
  const auto begin = [&] {
    // All of it is a matrix then, whatever the vendor's reads of it, and its diagonal is real.
    if (const cudaError_t error =
            mirror({.precision = p.precision, .uplo = p.uplo, .n = p.n, .A = p.A, .lda = p.lda}, stream);
        error != cudaSuccess)
      return error;
    auto* const A = static_cast<R*>(p.A);
    survey<<<blocks, threads, 0, stream>>>(p.n * parts, p.n, static_cast<const R*>(A), p.lda * parts, state);
    if (const cudaError_t error = started(); error != cudaSuccess) return error;
    clear_unbearable<<<blocks, threads, 0, stream>>>(p.n * parts, p.n, A, p.lda * parts, state);
    return started();
  };
  if (const cudaError_t error = p.n > 1 ? solver.sytrd(p, stream, begin) : begin(); error != cudaSuccess) return error;
  finish<R, parts><<<1, threads, 0, stream>>>(p, state, solver.info());
  return started();
}

/// In memory of our own, of which the triangle comes back: what the vendor's does to the other one it does not say.
template <class R, int parts>
cudaError_t reduce(const Sytrd& p, Solver& solver, cudaStream_t stream) {
  const std::size_t element = parts * sizeof(R), n = static_cast<std::size_t>(p.n), column = n * element;
  Sytrd own = p;
  own.lda = p.n;
  if (const cudaError_t error = cudaMallocAsync(&own.A, n * column, stream); error != cudaSuccess) return error;
  cudaError_t error = cudaMemcpy2DAsync(own.A, column, p.A, static_cast<std::size_t>(p.lda) * element, column, n,
                                        cudaMemcpyDeviceToDevice, stream);
  if (error == cudaSuccess) error = reduce_in_place<R, parts>(own, solver, stream);
  if (error == cudaSuccess)
    error = assign({.precision = p.precision,
                    .part = part_of(p.uplo),
                    .strict = false,
                    .transposed = false,
                    .m = p.n,
                    .n = p.n,
                    .below = 0,
                    .A = own.A,
                    .lda = own.lda,
                    .C = p.A,
                    .ldc = p.lda},
                   stream);
  const cudaError_t freed = cudaFreeAsync(own.A, stream);
  return error == cudaSuccess ? freed : error;
}

}  // namespace
}  // namespace of_sytrd

cudaError_t sytrd(const Sytrd& p, Solver& solver, cudaStream_t stream) {
  using namespace of_sytrd;
  switch (p.precision) {
    case Precision::s: return reduce<float, 1>(p, solver, stream);
    case Precision::d: return reduce<double, 1>(p, solver, stream);
    case Precision::c: return reduce<float, 2>(p, solver, stream);
    case Precision::z: break;
  }
  return reduce<double, 2>(p, solver, stream);
}

}  // namespace blaslift
