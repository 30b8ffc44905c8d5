// Triangular solves with small matrices, by one block of threads.
#pragma once
#include "kernels/cuda/core/small_matrix.hpp"

namespace blaslift::small_matrix {

/// out := X S^-1 for an upper triangular S, of which coefficient(k, j) above the diagonal and inverse_of(k), of the
/// diagonal, are asked for; with the identity as X, the inverse of S.  `out` may be where X came from.
template <int N, class W, class Block, class Coefficient, class Inverse>
__device__ void solve_right_upper(const Block& block, PerThread<Fragment<W, N>>& X, SharedMatrix<W, N>& out,
                                  const Coefficient& coefficient, const Inverse& inverse_of) {
  each_tile<N>([&]<int q>(std::integral_constant<int, q>) {
    constexpr int at = 16 * q;
    block.each([&](int t) {
      if constexpr (q > 0)
        X[t].template add_products<RankUpdate<q - 1, 0, q>, true>(
            t, [&](int i, int k) { return out[i][k]; }, coefficient);
#pragma unroll
      for (int a = 0; a < N / 16; ++a) out[t / 16 + 16 * a][at + t % 16] = X[t].x[a][q];
    });
    block.each([&](int t) {
      if (t >= N) return;
      W x[16];
#pragma unroll
      for (int k = 0; k < 16; ++k) x[k] = out[t][at + k];
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        x[k] = times(x[k], inverse_of(at + k));
#pragma unroll
        for (int j = k + 1; j < 16; ++j) x[j] = minus_product(x[k], coefficient(at + k, at + j), x[j]);
        out[t][at + k] = x[k];
      }
    });
  });
}

}  // namespace blaslift::small_matrix
