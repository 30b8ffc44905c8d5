#include <algorithm>
#include <utility>

#include "kernels/cuda/core/largest.cuh"
#include "kernels/cuda/svd/gebrd.hpp"

namespace blaslift {
namespace {

constexpr int threads = 256;
constexpr index most_blocks = 1024;

/// What is known of a matrix while it is worked on, on the device.
struct State {
  unsigned long long largest;  ///< as bits_of() has it
};
static_assert(sizeof(State) <= Solver::words);

/// Whether the vendor's reduction can be trusted with it.
template <class R>
__device__ bool bearable(const State& state) {
  const R largest = number_of<R>(state.largest);
  return isfinite(largest) && unbearable_exponent(largest) == 0;
}

/// Threads share a column, blocks the columns; rows counted in reals.
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

constexpr int side = 32, rows_at_once = 8;

__device__ float adjoint_of(float x) { return x; }
__device__ double adjoint_of(double x) { return x; }
__device__ float2 adjoint_of(float2 x) { return {x.x, -x.y}; }
__device__ double2 adjoint_of(double2 x) { return {x.x, -x.y}; }

/// to := from^H, with from of rows x cols; a block takes squares of `side` in turn.
template <class E>
__global__ void transpose(index rows, index cols, const E* from, index ld_from, E* to, index ld_to) {
  __shared__ E square[side][side + 1];
  const index down = (rows + side - 1) / side, all = down * ((cols + side - 1) / side);
  for (index s = blockIdx.x; s < all; s += gridDim.x) {
    const index row = s % down * side, col = s / down * side;
    for (int j = threadIdx.y; j < side; j += rows_at_once)
      if (row + threadIdx.x < rows && col + j < cols)
        square[j][threadIdx.x] = from[row + threadIdx.x + (col + j) * ld_from];
    __syncthreads();
    for (int i = threadIdx.y; i < side; i += rows_at_once)
      if (row + i < rows && col + threadIdx.x < cols)
        to[col + threadIdx.x + (row + i) * ld_to] = adjoint_of(square[threadIdx.x][i]);
    __syncthreads();
  }
}

/// One block.
template <class R, int parts>
__global__ void finish(Gebrd p, const State* state, const int* info) {
  __shared__ int failed;
  if (threadIdx.x == 0) failed = *info != 0 || !bearable<R>(*state);
  __syncthreads();
  const index k = p.m < p.n ? p.m : p.n;
  // The last one of these is none.
  if (threadIdx.x < parts) static_cast<R*>(p.taup)[(k - 1) * parts + threadIdx.x] = 0;
  __syncthreads();
  const auto look_at = [](const void* x, index count) {
    for (index i = threadIdx.x; i < count; i += threads)
      if (!isfinite(static_cast<const R*>(x)[i])) failed = 1;
  };
  look_at(p.d, k);
  look_at(p.e, k - 1);
  look_at(p.tauq, k * parts);
  look_at(p.taup, k * parts);
  __syncthreads();
  if (threadIdx.x < parts) static_cast<R*>(p.failed)[threadIdx.x] = threadIdx.x == 0 && failed ? 1 : 0;
}

cudaError_t started() { return cudaGetLastError(); }

/// Of a tall matrix, in its place.
template <class R, int parts>
cudaError_t reduce_tall(const Gebrd& p, Solver& solver, cudaStream_t stream) {
  if (const cudaError_t error = solver.prepare(stream); error != cudaSuccess) return error;
  auto* const state = static_cast<State*>(solver.scratch());
  auto* const A = static_cast<R*>(p.A);
  const auto blocks = static_cast<unsigned>(std::min(p.n, most_blocks));
  if (const cudaError_t error = cudaMemsetAsync(state, 0, sizeof *state, stream); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaMemsetAsync(const_cast<int*>(solver.info()), 0, sizeof(int), stream);
      error != cudaSuccess)
    return error;
  const auto begin = [&] {
    survey<<<blocks, threads, 0, stream>>>(p.m * parts, p.n, static_cast<const R*>(A), p.lda * parts, state);
    if (const cudaError_t error = started(); error != cudaSuccess) return error;
    clear_unbearable<<<blocks, threads, 0, stream>>>(p.m * parts, p.n, A, p.lda * parts, state);
    return started();
  };
  if (const cudaError_t error = solver.gebrd(p, stream, begin); error != cudaSuccess) return error;
  finish<R, parts><<<1, threads, 0, stream>>>(p, state, solver.info());
  return started();
}

/// Of a wide one by its adjoint, whose Q is the wide one's P.
template <class R, int parts, class E>
cudaError_t reduce(const Gebrd& p, Solver& solver, cudaStream_t stream) {
  if (p.m >= p.n) return reduce_tall<R, parts>(p, solver, stream);
  Gebrd own = p;
  std::swap(own.m, own.n);
  std::swap(own.tauq, own.taup);
  own.lda = own.m;
  if (const cudaError_t error = cudaMallocAsync(
          &own.A, static_cast<std::size_t>(own.m) * static_cast<std::size_t>(own.n) * sizeof(E), stream);
      error != cudaSuccess)
    return error;
  const auto blocks = static_cast<unsigned>(std::min((p.m + side - 1) / side * ((p.n + side - 1) / side), most_blocks));
  const dim3 shape(side, rows_at_once);
  auto *const A = static_cast<E*>(p.A), *const adjoint = static_cast<E*>(own.A);
  transpose<E><<<blocks, shape, 0, stream>>>(p.m, p.n, A, p.lda, adjoint, own.lda);
  cudaError_t error = started();
  if (error == cudaSuccess) error = reduce_tall<R, parts>(own, solver, stream);
  if (error == cudaSuccess) {
    transpose<E><<<blocks, shape, 0, stream>>>(own.m, own.n, adjoint, own.lda, A, p.lda);
    error = started();
  }
  const cudaError_t freed = cudaFreeAsync(own.A, stream);
  return error == cudaSuccess ? freed : error;
}

}  // namespace

cudaError_t gebrd(const Gebrd& p, Solver& solver, cudaStream_t stream) {
  switch (p.precision) {
    case Precision::s: return reduce<float, 1, float>(p, solver, stream);
    case Precision::d: return reduce<double, 1, double>(p, solver, stream);
    case Precision::c: return reduce<float, 2, float2>(p, solver, stream);
    case Precision::z: break;
  }
  return reduce<double, 2, double2>(p, solver, stream);
}

}  // namespace blaslift
