#include <algorithm>
#include <utility>

#include "kernels/cuda/svd/gebrd.hpp"
#include "kernels/cuda/svd/matrix.cuh"

namespace blaslift {
namespace of_gebrd {
namespace {

using namespace of_svd;

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

/// What cannot be computed with becomes zero.
template <class R>
__global__ void clear_unbearable(index rows, index cols, R* A, index ld, const State* state) {
  if (bearable<R>(*state)) return;
  for (index j = blockIdx.x; j < cols; j += gridDim.x)
    for (index i = threadIdx.x; i < rows; i += threads) A[i + j * ld] = 0;
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
    survey<<<blocks, threads, 0, stream>>>(p.m * parts, p.n, static_cast<const R*>(A), p.lda * parts, &state->largest);
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
  auto *const A = static_cast<E*>(p.A), *const adjoint = static_cast<E*>(own.A);
  cudaError_t error = start_transpose(p.m, p.n, A, p.lda, adjoint, own.lda, stream);
  if (error == cudaSuccess) error = reduce_tall<R, parts>(own, solver, stream);
  if (error == cudaSuccess) error = start_transpose(own.m, own.n, adjoint, own.lda, A, p.lda, stream);
  const cudaError_t freed = cudaFreeAsync(own.A, stream);
  return error == cudaSuccess ? freed : error;
}

}  // namespace
}  // namespace of_gebrd

cudaError_t gebrd(const Gebrd& p, Solver& solver, cudaStream_t stream) {
  using namespace of_gebrd;
  switch (p.precision) {
    case Precision::s: return reduce<float, 1, float>(p, solver, stream);
    case Precision::d: return reduce<double, 1, double>(p, solver, stream);
    case Precision::c: return reduce<float, 2, float2>(p, solver, stream);
    case Precision::z: break;
  }
  return reduce<double, 2, double2>(p, solver, stream);
}

}  // namespace blaslift
