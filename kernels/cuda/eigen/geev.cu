#include <algorithm>

#include "kernels/cuda/core/largest.cuh"
#include "kernels/cuda/eigen/geev.hpp"

namespace blaslift {
namespace of_geev {
namespace {

constexpr int threads = 256;
constexpr index most_blocks = 1024;

/// What is known of a matrix while it is worked on, on the device.
struct State {
  unsigned long long largest;  ///< as bits_of() has it
  int wrong_vectors;           ///< one is zero, or not finite
};
static_assert(sizeof(State) <= Solver::words);

/// Whether LAPACK's driver would not scale it: (sqrt(safe minimum) / eps).
template <class R>
__device__ bool bearable(const State& state) {
  constexpr int exponent = sizeof(R) == 4 ? 39 : 458;
  const R largest = number_of<R>(state.largest);
  return isfinite(largest) && unbearable_exponent(largest, exponent) == 0;
}

/// Threads share a column, blocks the columns; numbers of elements count reals.
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

/// Real and imaginary parts of a vector, the latter null if there are none, with a stride between elements.
template <class R>
struct Parts {
  R *re, *im;
  index stride;
  __device__ R real(index i) const { return re[i * stride]; }
  __device__ R imaginary(index i) const { return im ? im[i * stride] : 0; }
};

template <class X, class Combine>
__device__ X over_block(X own, const Combine& combine) {
  __shared__ X all[threads];
  all[threadIdx.x] = own;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) all[threadIdx.x] = combine(all[threadIdx.x], all[threadIdx.x + half]);
  }
  __syncthreads();
  const X result = all[0];
  __syncthreads();
  return result;
}

/// By a block: to length 1, and turned so that the first largest element has no imaginary part, in an order that
/// depends on n alone.
template <class R>
__device__ void normalise(index n, const Parts<R>& x, State* state) {
  const auto larger = [](R a, R b) { return a >= b ? a : isnan(a) ? a : b; };
  R own = 0;
  for (index i = threadIdx.x; i < n; i += threads) own = larger(larger(fabs(x.real(i)), fabs(x.imaginary(i))), own);
  const R scale = over_block(own, larger);
  if (!isfinite(scale) || scale == 0) {
    if (threadIdx.x == 0) state->wrong_vectors = 1;
    return;
  }
  struct Place {
    R square;
    index at;
  };
  R sum = 0;
  Place place{-1, 0};
  for (index i = threadIdx.x; i < n; i += threads) {
    const R a = x.real(i) / scale, b = x.imaginary(i) / scale, square = a * a + b * b;
    sum += square;
    if (square > place.square) place = {square, i};
  }
  const R length = sqrt(over_block(sum, [](R a, R b) { return a + b; })) * scale;
  const Place largest = over_block(place, [](const Place& a, const Place& b) {
    return a.square > b.square || (a.square == b.square && a.at < b.at) ? a : b;
  });
  R cosine = 1, sine = 0;
  if (x.im) {
    const R a = x.real(largest.at), b = x.imaginary(largest.at), size = hypot(a, b);
    cosine = a / size, sine = b / size;
  }
  __syncthreads();  // all have read it
  for (index i = threadIdx.x; i < n; i += threads) {
    const R a = x.real(i) / length, b = x.imaginary(i) / length;
    if (!x.im) {
      x.re[i * x.stride] = a;
      continue;
    }
    x.re[i * x.stride] = a * cosine + b * sine;
    x.im[i * x.stride] = i == largest.at ? 0 : b * cosine - a * sine;
  }
}

/// Blocks take vectors in turn, of a pair both columns.
template <class R, int parts>
__global__ void normalise_all(index n, R* V, index ld, const R* w, State* state) {
  for (index j = blockIdx.x; j < n; j += gridDim.x) {
    R* const column = V + j * ld * parts;
    if constexpr (parts == 2) {
      normalise<R>(n, {column, column + 1, 2}, state);
    } else {
      const R imaginary = w[n + j];
      if (imaginary < 0) continue;  // of the pair that began before
      if (imaginary > 0 && j + 1 == n) continue;
      normalise<R>(n, {column, imaginary > 0 ? column + ld : nullptr, 1}, state);
    }
  }
}

/// Whether a real matrix's eigenvalue i is a real one, or in its place in a pair.
template <class R>
__device__ bool in_order(index i, index n, const R* imaginary) {
  const R here = imaginary[i];
  if (here > 0) return i + 1 < n && imaginary[i + 1] < 0;
  return here == 0 || (i > 0 && imaginary[i - 1] > 0);
}

/// One block.  The second one of a pair is the first one's conjugate, to the last bit.
template <class R, int parts>
__global__ void finish(Geev p, const R* found, const State* state, const int* info) {
  __shared__ int failed;
  if (threadIdx.x == 0) failed = *info != 0 || !bearable<R>(*state) || state->wrong_vectors;
  __syncthreads();
  R* const w = static_cast<R*>(p.w);
  for (index i = threadIdx.x; i < p.n * parts; i += threads) {
    if (!isfinite(found[i])) failed = 1;
    if constexpr (parts == 2) {
      w[i] = found[i];
    } else {
      const R* const imaginary = found + p.n;
      if (!isfinite(imaginary[i]) || !in_order(i, p.n, imaginary)) failed = 1;
      const bool second = i > 0 && imaginary[i] < 0;
      w[i] = second ? found[i - 1] : found[i];
      static_cast<R*>(p.wi)[i] = second ? -imaginary[i - 1] : imaginary[i];
    }
  }
  __syncthreads();
  if (threadIdx.x < parts) static_cast<R*>(p.failed)[threadIdx.x] = threadIdx.x == 0 && failed ? 1 : 0;
}

/// In memory of our own: the matrix, which the vendor's library destroys, and the eigenvalues, whose parts it has side
/// by side.
template <class R, int parts>
cudaError_t find(const Geev& p, Solver& solver, cudaStream_t stream) {
  constexpr std::size_t element = parts * sizeof(R), aligned = 256;
  const auto started = [] { return cudaGetLastError(); };
  if (const cudaError_t error = solver.prepare(stream); error != cudaSuccess) return error;
  const auto n = static_cast<std::size_t>(p.n);
  const std::size_t column = n * element, matrix = (n * column + aligned - 1) / aligned * aligned;
  char* own = nullptr;
  if (const cudaError_t error = cudaMallocAsync(reinterpret_cast<void**>(&own), matrix + 2 * n * sizeof(R), stream);
      error != cudaSuccess)
    return error;
  auto* const state = static_cast<State*>(solver.scratch());
  R *const A = reinterpret_cast<R*>(own), *const w = reinterpret_cast<R*>(own + matrix);
  const auto blocks = static_cast<unsigned>(std::min(p.n, most_blocks));
  const auto compute = [&] {
    cudaError_t error = cudaMemcpy2DAsync(A, column, p.A, static_cast<std::size_t>(p.lda) * element, column, n,
                                          cudaMemcpyDeviceToDevice, stream);
    if (error == cudaSuccess) error = cudaMemsetAsync(state, 0, sizeof *state, stream);
    if (error == cudaSuccess) error = cudaMemsetAsync(const_cast<int*>(solver.info()), 0, sizeof(int), stream);
    if (error != cudaSuccess) return error;
    const auto begin = [&] {
      survey<R><<<blocks, threads, 0, stream>>>(p.n * parts, p.n, A, p.n * parts, state);
      if (const cudaError_t error = started(); error != cudaSuccess) return error;
      clear_unbearable<R><<<blocks, threads, 0, stream>>>(p.n * parts, p.n, A, p.n * parts, state);
      return started();
    };
    error = solver.geev({.precision = p.precision,
                         .vectors = p.vectors,
                         .n = p.n,
                         .A = A,
                         .lda = p.n,
                         .w = w,
                         .V = p.vectors ? p.VR : nullptr,
                         .ldv = p.vectors ? p.ldvr : p.n},
                        stream, begin);
    if (error != cudaSuccess) return error;
    // cuSOLVER says that its vectors are normalised so; callers rely on it.
    if (p.vectors)
      normalise_all<R, parts><<<blocks, threads, 0, stream>>>(p.n, static_cast<R*>(p.VR), p.ldvr, w, state);
    if (const cudaError_t bad = started(); bad != cudaSuccess) return bad;
    finish<R, parts><<<1, threads, 0, stream>>>(p, w, state, solver.info());
    return started();
  };
  const cudaError_t error = compute(), freed = cudaFreeAsync(own, stream);
  return error == cudaSuccess ? freed : error;
}

}  // namespace
}  // namespace of_geev

cudaError_t geev(const Geev& p, Solver& solver, cudaStream_t stream) {
  using namespace of_geev;
  switch (p.precision) {
    case Precision::s: return find<float, 1>(p, solver, stream);
    case Precision::d: return find<double, 1>(p, solver, stream);
    case Precision::c: return find<float, 2>(p, solver, stream);
    case Precision::z: break;
  }
  return find<double, 2>(p, solver, stream);
}

}  // namespace blaslift
