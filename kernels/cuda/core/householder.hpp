// What kernels have in common that make Householder's reflectors a column at a time: sums over blocks, of `threads`
// threads each, and the reflector of a vector.
#pragma once
#include <climits>
#include <cstddef>

#include "kernels/cuda/core/numbers.hpp"

namespace blaslift::householder {

using namespace numbers;

inline constexpr int threads = 256, warp = 32, warps = threads / warp;

inline unsigned blocks_of(index rows) { return static_cast<unsigned>((rows + threads - 1) / threads); }

__device__ inline int own_thread() { return static_cast<int>(threadIdx.x); }
__device__ inline index own_row() { return blockIdx.x * static_cast<index>(threads) + own_thread(); }

/// A sum of squares, over 4^exponent: no square over- or underflows.
template <class R>
struct Squares {
  R sum;
  int exponent;
};

template <class X, class Combine>
__device__ X over_block(X own, const Combine& combine) {
  __shared__ X all[threads];
  all[own_thread()] = own;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (own_thread() < half) all[own_thread()] = combine(all[own_thread()], all[own_thread() + half]);
  }
  __syncthreads();
  const X result = all[0];
  __syncthreads();
  return result;
}

__device__ inline float from_lane(float x, int beyond) { return __shfl_down_sync(~0u, x, beyond); }
__device__ inline double from_lane(double x, int beyond) { return __shfl_down_sync(~0u, x, beyond); }
template <class R>
__device__ Complex<R> from_lane(Complex<R> x, int beyond) {
  return {from_lane(x.re, beyond), from_lane(x.im, beyond)};
}

template <class R>
__device__ int exponent_of(R x) {
  return x > 0 && std::isfinite(x) ? std::ilogb(x) : 0;
}
template <class T>
__device__ T with_exponent(T x, int exponent) {
  if constexpr (is_complex_number<T>)
    return {std::scalbn(x.re, exponent), std::scalbn(x.im, exponent)};
  else
    return std::scalbn(x, exponent);
}
template <class R>
__device__ Squares<R> plus_squares(const Squares<R>& a, const Squares<R>& b) {
  if (a.sum == 0) return b;
  if (b.sum == 0) return a;
  const Squares<R>&large = a.exponent >= b.exponent ? a : b, &small = a.exponent >= b.exponent ? b : a;
  return {large.sum + std::scalbn(small.sum, 2 * (small.exponent - large.exponent)), large.exponent};
}
/// Of a row for each of a block's threads.
template <class T>
__device__ Squares<Real<T>> squares_of_rows(T x) {
  using R = Real<T>;
  const R size = over_block(largest_part(x), [](R a, R b) { return a >= b || a != a ? a : b; });
  const int exponent = exponent_of(size);
  const T scaled_down = with_exponent(x, -exponent);
  return {
      over_block(re(scaled_down) * re(scaled_down) + im(scaled_down) * im(scaled_down), [](R a, R b) { return a + b; }),
      exponent};
}
/// Those that a kernel's blocks have left.
template <class R>
__device__ Squares<R> sum_of_squares(const Squares<R>* by_block, index blocks) {
  Squares<R> own{0, 0};
  for (index b = own_thread(); b < blocks; b += threads) own = plus_squares(own, by_block[b]);
  return over_block(own, [](const Squares<R>& x, const Squares<R>& y) { return plus_squares(x, y); });
}

/// As LAPACK's xLARFG defines it, of a vector's first element and its others' squares: tau, the number that the first
/// one becomes, and by what and over which power of two the others become those of the reflector.
template <class T>
struct Reflector {
  T tau, beta, factor;
  int exponent;

  __device__ Reflector(T first, const Squares<Real<T>>& below) : tau(), beta(first), factor(number<T>(1)), exponent(0) {
    using R = Real<T>;
    if (below.sum == 0 && im(first) == 0) return;
    const R size = largest_part(first);
    exponent = size == 0 ? below.exponent : exponent_of(size);
    if (below.sum != 0 && below.exponent > exponent) exponent = below.exponent;
    const T alpha = with_exponent(first, -exponent);
    const R rest = std::sqrt(std::scalbn(below.sum, 2 * (below.exponent - exponent))),
            reflected = -std::copysign(std::hypot(std::hypot(re(alpha), im(alpha)), rest), re(alpha));
    if constexpr (is_complex_number<T>)
      tau = {(reflected - alpha.re) / reflected, -alpha.im / reflected};
    else
      tau = (reflected - alpha) / reflected;
    factor = inverse(plus(alpha, number<T>(-reflected)));
    beta = number<T>(std::scalbn(reflected, exponent));
  }
  __device__ T of(T below) const { return times(with_exponent(below, -exponent), factor); }
};

/// A block's part of V^H x, of `count` columns, at most as many as a warp has lanes; each thread has its row's x, or
/// zero, and V has so many rows.
template <class T>
__device__ void start_products(const T* V, index ldv, index rows, int count, T x, T* products) {
  __shared__ T of_rows[threads];
  of_rows[own_thread()] = x;
  __syncthreads();
  const int lane = own_thread() % warp;
  const index first = blockIdx.x * static_cast<index>(threads);
  for (int c = own_thread() / warp; c < count; c += warps) {
    T sum{};
    for (int i = lane; i < threads && first + i < rows; i += warp)
      sum = add_product(conj(V[first + i + c * ldv]), of_rows[i], sum);
    for (int half = warp / 2; half > 0; half /= 2) sum = plus(sum, from_lane(sum, half));
    if (lane == 0) products[blockIdx.x * static_cast<index>(warp) + c] = sum;
  }
}

/// All of them, to shared memory.
template <class T>
__device__ void finish_products(const T* by_block, index blocks, int count, T* products) {
  __shared__ T parts[threads];
  const int c = own_thread() % warp;
  T sum{};
  if (c < count)
    for (index b = own_thread() / warp; b < blocks; b += warps) sum = plus(sum, by_block[b * warp + c]);
  parts[own_thread()] = sum;
  __syncthreads();
  if (own_thread() < count) {
    for (int w = 1; w < warps; ++w) sum = plus(sum, parts[w * warp + own_thread()]);
    products[own_thread()] = sum;
  }
  __syncthreads();
}

template <class T>
__device__ bool is_number(T x) {
  return std::isfinite(re(x)) && std::isfinite(im(x));
}

/// Parts of one piece of memory, which are counted before it is there.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <class X>
  X* add(index count) {
    X* const at = memory_ ? reinterpret_cast<X*>(memory_ + bytes_) : nullptr;
    bytes_ += (static_cast<std::size_t>(count) * sizeof(X) + alignment - 1) / alignment * alignment;
    return at;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t alignment = 256;
  char* memory_;
  std::size_t bytes_ = 0;
};

}  // namespace blaslift::householder
