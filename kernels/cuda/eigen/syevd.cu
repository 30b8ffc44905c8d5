#include <algorithm>

#include "kernels/cuda/core/largest.cuh"
#include "kernels/cuda/eigen/syevd.hpp"

namespace blaslift {
namespace of_syevd {
namespace {

constexpr int threads = 256;
constexpr index most_blocks = 1024;

/// What is known of a matrix while it is worked on, on the device.
struct State {
  unsigned long long largest;  ///< as bits_of() has it, of the triangle
  int not_finite;              ///< of the eigenvectors
};
static_assert(sizeof(State) <= Solver::words);

/// Of the power of two that the matrix is divided by.
template <class R>
__device__ int exponent_of(const State& state) {
  return unbearable_exponent(number_of<R>(state.largest));
}
template <class R>
__device__ bool is_finite(const State& state) {
  return isfinite(number_of<R>(state.largest));
}

/// Calls `each` with every number of the triangle; threads share a column, blocks the columns.
template <int parts, class R, class Each>
__device__ void for_each(const Syevd& p, R* A, const Each& each) {
  for (index j = blockIdx.x; j < p.n; j += gridDim.x) {
    const index first = p.uplo == Uplo::lower ? j : 0, end = p.uplo == Uplo::lower ? p.n : j + 1;
    for (index i = first * parts + threadIdx.x; i < end * parts; i += threads)
      each(A[j * p.lda * parts + i], i - j * parts);
  }
}

/// Makes a Hermitian matrix's diagonal real, and finds its largest number.
template <class R, int parts>
__global__ void survey(Syevd p, State* state) {
  unsigned long long own = 0;
  for_each<parts>(p, static_cast<R*>(p.A), [&](R& x, index from_diagonal) {
    if (parts == 2 && from_diagonal == 1) x = 0;
    own = max(own, bits_of(x));
  });
  raise_to_largest(own, &state->largest);
}

/// A matrix that is not finite becomes zero: nothing is to be computed with it.
template <class R, int parts>
__global__ void scale(Syevd p, const State* state) {
  const bool finite = is_finite<R>(*state);
  const int exponent = exponent_of<R>(*state);
  if (finite && exponent == 0) return;
  for_each<parts>(p, static_cast<R*>(p.A), [&](R& x, index) { x = finite ? scalbn(x, -exponent) : 0; });
}

template <class R, int parts>
__global__ void look_at_vectors(Syevd p, State* state) {
  const R* const A = static_cast<const R*>(p.A);
  for (index j = blockIdx.x; j < p.n; j += gridDim.x)
    for (index i = threadIdx.x; i < p.n * parts; i += threads)
      if (!isfinite(A[j * p.lda * parts + i])) state->not_finite = 1;
}

/// One block.
template <class R, int parts>
__global__ void finish(Syevd p, const State* state, const int* info) {
  __shared__ int failed;
  if (threadIdx.x == 0) failed = *info != 0 || state->not_finite || !is_finite<R>(*state);
  __syncthreads();
  R* const w = static_cast<R*>(p.w);
  const int exponent = exponent_of<R>(*state);
  for (index i = threadIdx.x; i < p.n; i += threads) {
    if (exponent != 0) w[i] = scalbn(w[i], exponent);
    if (!isfinite(w[i])) failed = 1;
  }
  __syncthreads();
  if (threadIdx.x < parts) static_cast<R*>(p.failed)[threadIdx.x] = threadIdx.x == 0 && failed ? 1 : 0;
}

/// All of it, with A in memory that may be written, where the vectors are afterwards.
template <class R, int parts>
cudaError_t find_in_place(const Syevd& p, Solver& solver, cudaStream_t stream) {
  const auto started = [] { return cudaGetLastError(); };
  if (const cudaError_t error = solver.prepare(stream); error != cudaSuccess) return error;
  auto* const state = static_cast<State*>(solver.scratch());
  const auto blocks = static_cast<unsigned>(std::min(p.n, most_blocks));
  if (const cudaError_t error = cudaMemsetAsync(state, 0, sizeof *state, stream); error != cudaSuccess) return error;
  const auto begin = [&] {
    survey<R, parts><<<blocks, threads, 0, stream>>>(p, state);
    if (const cudaError_t error = started(); error != cudaSuccess) return error;
    scale<R, parts><<<blocks, threads, 0, stream>>>(p, state);
    return started();
  };
  if (const cudaError_t error = solver.syevd(p, stream, begin); error != cudaSuccess) return error;
  if (p.vectors) look_at_vectors<R, parts><<<blocks, threads, 0, stream>>>(p, state);
  if (const cudaError_t error = started(); error != cudaSuccess) return error;
  finish<R, parts><<<1, threads, 0, stream>>>(p, state, solver.info());
  return started();
}

/// What is asked for of what is found in memory of our own: w, and the vectors.
template <class R, int parts>
cudaError_t take(const Syevd& p, const Syevd& own, cudaStream_t stream) {
  const std::size_t element = parts * sizeof(R), column = static_cast<std::size_t>(p.n) * element,
                    first = static_cast<std::size_t>(p.first), count = static_cast<std::size_t>(p.count);
  const cudaError_t error =
      cudaMemcpyAsync(p.w, static_cast<const R*>(own.w) + first, count * sizeof(R), cudaMemcpyDeviceToDevice, stream);
  if (error != cudaSuccess || !p.vectors) return error;
  return cudaMemcpy2DAsync(p.V, static_cast<std::size_t>(p.ldv) * element,
                           static_cast<const char*>(own.A) + first * column, column, column, count,
                           cudaMemcpyDeviceToDevice, stream);
}

/// cuSOLVER finds all of it, in the matrix's place or, without vectors, with nothing of use there.  Unless that is what
/// is asked for, it has a matrix and values of our own, and the caller's stays.
template <class R, int parts>
cudaError_t find(const Syevd& p, Solver& solver, cudaStream_t stream) {
  if (p.vectors && p.V == p.A) return find_in_place<R, parts>(p, solver, stream);
  constexpr std::size_t aligned = 256;
  const std::size_t element = parts * sizeof(R), n = static_cast<std::size_t>(p.n), column = n * element,
                    matrix = (n * column + aligned - 1) / aligned * aligned;
  Syevd own = p;
  own.lda = own.ldv = own.count = p.n;
  own.first = 0;
  if (const cudaError_t error = cudaMallocAsync(&own.A, matrix + n * sizeof(R), stream); error != cudaSuccess)
    return error;
  own.V = own.A;
  own.w = static_cast<char*>(own.A) + matrix;
  cudaError_t error = cudaMemcpy2DAsync(own.A, column, p.A, static_cast<std::size_t>(p.lda) * element, column, n,
                                        cudaMemcpyDeviceToDevice, stream);
  if (error == cudaSuccess) error = find_in_place<R, parts>(own, solver, stream);
  if (error == cudaSuccess) error = take<R, parts>(p, own, stream);
  const cudaError_t freed = cudaFreeAsync(own.A, stream);
  return error == cudaSuccess ? freed : error;
}

}  // namespace
}  // namespace of_syevd

cudaError_t syevd(const Syevd& p, Solver& solver, cudaStream_t stream) {
  using namespace of_syevd;
  switch (p.precision) {
    case Precision::s: return find<float, 1>(p, solver, stream);
    case Precision::d: return find<double, 1>(p, solver, stream);
    case Precision::c: return find<float, 2>(p, solver, stream);
    case Precision::z: break;
  }
  return find<double, 2>(p, solver, stream);
}

}  // namespace blaslift
