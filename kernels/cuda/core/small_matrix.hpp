// Small matrices, N x N with N a multiple of 16, each by one block of 16 x 16 threads: in registers, where a thread has
// every 16th row and column, or in shared memory; and their products.  By tiles of 16 x 16, since a barrier for each
// column would take longer than everything else.
#pragma once
#include <type_traits>

#include "kernels/cuda/core/numbers.hpp"
#include "kernels/cuda/core/phases.hpp"

namespace blaslift::small_matrix {

using namespace numbers;
using phases::PerThread, phases::threads;

static_assert(threads == 16 * 16);

// Which tiles of a product's operands are not zero: rows a, terms k and columns b of tiles.
struct AllTiles {
  __device__ static constexpr bool need(int, int, int) { return true; }
};
struct UpperTimesUpper {
  __device__ static constexpr bool need(int a, int k, int b) { return a <= k && k <= b; }
};
struct TimesUpper {  ///< any matrix times an upper triangular one
  __device__ static constexpr bool need(int, int k, int b) { return k <= b; }
};
struct LowerAdjointTimesLower {  ///< L^H L
  __device__ static constexpr bool need(int a, int k, int b) { return k >= a && k >= b; }
};
/// With the terms of one tile, in rows and columns of tiles from `top` and `left` on.
template <int term, int top, int left>
struct RankUpdate {
  __device__ static constexpr bool need(int a, int k, int b) { return k == term && a >= top && b >= left; }
};

/// A thread's part of a matrix in registers.
template <class W, int N>
struct Fragment {
  static constexpr int E = N / 16;
  W x[E][E];

  /// body(element, i, j) for rows from 16 top and columns from 16 left on.
  template <int top = 0, int left = 0, class Body>
  __device__ __forceinline__ void each(int t, const Body& body) {
#pragma unroll
    for (int a = top; a < E; ++a)
#pragma unroll
      for (int b = left; b < E; ++b) body(x[a][b], t / 16 + 16 * a, t % 16 + 16 * b);
  }
  /// x(i, j) += sum over k of left(i, k) right(k, j), or -= with `minus`, of the tiles that count.
  template <class Tiles, bool minus = false, class Left, class Right>
  __device__ __forceinline__ void add_products(int t, const Left& left, const Right& right) {
#pragma unroll
    for (int tile = 0; tile < E; ++tile)
#pragma unroll 4
      for (int k = 16 * tile; k < 16 * tile + 16; ++k) {
        W l[E], r[E];  // those that are not needed are not read
#pragma unroll
        for (int e = 0; e < E; ++e) {
          l[e] = left(t / 16 + 16 * e, k);
          r[e] = right(k, t % 16 + 16 * e);
        }
#pragma unroll
        for (int a = 0; a < E; ++a)
#pragma unroll
          for (int b = 0; b < E; ++b)
            if (Tiles::need(a, tile, b))
              x[a][b] = minus ? minus_product(l[a], r[b], x[a][b]) : add_product(l[a], r[b], x[a][b]);
      }
  }
};

/// Rows that begin in different banks.
template <class W, int N>
using SharedMatrix = W[N][N + 1];

/// body(q) for each tile of the diagonal: q is a constant, or registers could not be told by it.
template <int N, int q = 0, class Body>
__device__ __forceinline__ void each_tile(const Body& body) {
  body(std::integral_constant<int, q>{});
  if constexpr (16 * (q + 1) < N) each_tile<N, q + 1>(body);
}

}  // namespace blaslift::small_matrix
