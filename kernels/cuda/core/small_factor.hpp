// LU and Cholesky factors of small matrices, without pivoting, by one block of threads.
#pragma once
#include <cmath>

#include "kernels/cuda/core/small_matrix.hpp"

namespace blaslift::small_matrix {

// What factors say of a matrix's diagonal goes to `pivots`, which is in shared memory and the caller's: it has
//
//     W inverse[N]        of U's diagonal
//     double diagonal[N]  by Cholesky: the inverse of R's
//     int sign[N]         D, where there is one
//
// A parameter of the templates, since where these lie beside the caller's own changes the code that is made of both.

/// What is factored: a Hermitian matrix; or any one less a diagonal D, each element of which is minus the sign of the
/// pivot that it is taken from, so that no pivot is below 1.
enum class LuOf { hermitian, less_signs };

/// One tile of the diagonal of M, by one warp, of which a lane, and the one 16 behind it, have a column in registers.
template <LuOf what, int N, class W, class Block, class Pivots>
__device__ void lu_of_tile(const Block& block, int at, SharedMatrix<W, N>& M, Pivots& pivots) {
  struct Column {
    W x[16], by;
    int sign = 0;
  };
  PerThread<Column> mine;
  block.each_of_first_warp([&](int t) {
#pragma unroll
    for (int i = 0; i < 16; ++i) mine[t].x[i] = M[at + i][at + t % 16];
  });
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    block.each_of_first_warp([&](int t) {
      if (t % 16 != k) return;
      W& pivot = mine[t].x[k];
      if constexpr (what == LuOf::hermitian) {
        pivot = number<W>(re(pivot));
      } else {
        mine[t].sign = re(pivot) >= 0 ? -1 : 1;
        pivot = plus(pivot, number<W>(-mine[t].sign));
      }
    });
    block.each_of_first_warp([&](int t) {
      Column& own = mine[t];
      const W by = quick_inverse(block.of_lane(mine, k, [k](const Column&c) { return c.x[k]; })),
              y = times(own.x[k], by);
      if (t % 16 == k) own.by = by;
#pragma unroll
      for (int i = k + 1; i < 16; ++i) {
        const W left = block.of_lane(mine, k, [i](const Column& c) { return c.x[i]; });
        if (t % 16 > k) own.x[i] = minus_product(left, y, own.x[i]);
      }
    });
  }
  block.each_of_first_warp([&](int t) {
    if (t >= 16) return;
    const Column& own = mine[t];
    pivots.inverse[at + t] = own.by;
    pivots.sign[at + t] = own.sign;
#pragma unroll
    for (int i = 0; i < 16; ++i) M[at + i][at + t] = i <= t ? own.x[i] : times(own.x[i], own.by);
  });
  block.barrier();
}

/// X, or X - D, is L U: U on and above the diagonal of M, L, of ones on its diagonal, below it.  X is used up.  Pivots
/// have to be neither tiny nor huge.
template <LuOf what, int N, class W, class Block, class Pivots>
__device__ void factor_lu(const Block& block, PerThread<Fragment<W, N>>& X, SharedMatrix<W, N>& M, Pivots& pivots) {
  constexpr bool hermitian = what == LuOf::hermitian;
  each_tile<N>([&]<int q>(std::integral_constant<int, q>) {
    constexpr int at = 16 * q, next = at + 16;
    block.each([&](int t) {
      if constexpr (q > 0)
        X[t].template add_products<RankUpdate<q - 1, q, q>, true>(
            t, [&](int i, int k) { return M[i][k]; }, [&](int k, int j) { return M[k][j]; });
      X[t].template each<q, q>(t, [&](W x, int i, int j) {
        if (i < next || (!hermitian && j < next)) M[i][j] = x;
      });
    });
    lu_of_tile<what, N>(block, at, M, pivots);
    if constexpr (next < N)
      block.each([&](int t) {
        const int to_right = next + t, below = next + t - threads / 2;
        W x[16];
        if (to_right < N) {
#pragma unroll
          for (int k = 0; k < 16; ++k) x[k] = M[at + k][to_right];
#pragma unroll
          for (int k = 0; k < 16; ++k) {
#pragma unroll
            for (int i = k + 1; i < 16; ++i) x[i] = minus_product(M[at + i][at + k], x[k], x[i]);
            M[at + k][to_right] = x[k];
            if constexpr (hermitian) M[to_right][at + k] = times(conj(x[k]), pivots.inverse[at + k]);
          }
        }
        if (!hermitian && below >= next && below < N) {
#pragma unroll
          for (int k = 0; k < 16; ++k) x[k] = M[below][at + k];
#pragma unroll
          for (int k = 0; k < 16; ++k) {
            x[k] = times(x[k], pivots.inverse[at + k]);
#pragma unroll
            for (int j = k + 1; j < 16; ++j) x[j] = minus_product(x[k], M[at + k][at + j], x[j]);
            M[below][at + k] = x[k];
          }
        }
      });
  });
}

/// X, Hermitian, is R^H R: R, with zeros below the diagonal, into M.  `bad` becomes 1,
/// and the result is none, unless every pivot is more than `least` of what was there on the diagonal.
template <int N, class W, class Block, class Pivots>
__device__ void factor_cholesky(const Block& block, double least, PerThread<Fragment<W, N>>& X, SharedMatrix<W, N>& M,
                                Pivots& pivots, int& bad) {
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      if (i == j) pivots.diagonal[i] = re(x);
    });
  });
  factor_lu<LuOf::hermitian, N>(block, X, M, pivots);
  block.each([&](int t) {
    if (t >= N) return;
    const double pivot = re(M[t][t]);
    if (!(pivot > least * pivots.diagonal[t])) bad = 1;
    pivots.diagonal[t] = 1 / std::sqrt(pivot);
  });
  block.each([&](int t) {
    X[t].each(t, [&](W&, int i, int j) { M[i][j] = i <= j ? scaled(M[i][j], pivots.diagonal[i]) : W{}; });
  });
}

}  // namespace blaslift::small_matrix
