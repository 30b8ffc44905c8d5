// The rows of a tall panel of QR times the inverse of a triangle, by substitution: each block of threads some of them.
#pragma once
#include "kernels/cuda/qr/qr_gram.hpp"

namespace blaslift::qr_kernels {

/// Eight columns to a warp, a thread has `each` rows of them, 32 apart.
template <class T, int N>
struct SolveCut {
  static constexpr int each = sizeof(T) == 4   ? 8
                              : sizeof(T) == 8 ? 4
                                               : 2,
                       across = N / 8, down = 8 / across, rows = 32 * each * down;
  static constexpr index most_blocks = 528;  ///< twice as many as an H100 holds at a time; the bits do not depend on it
  static int blocks(index m) {
    return static_cast<int>((m - 1) / rows < most_blocks ? (m - 1) / rows + 1 : most_blocks);
  }
};

template <class T, int N>
struct SolveShared {
  alignas(16) T R[N][N];
  T inverse[N];
  T solved[2][8][SolveCut<T, N>::rows];
};

/// V := A R1^-1 with A's columns scaled; or V and A := V S^-1 below the first n rows.
template <bool first, int N, class T, class Block>
__device__ void solve(const Block& block, const Job<T>& job, SolveShared<T, N>& s) {
  using Cut = SolveCut<T, N>;
  if (*job.failed) return;
  block.each([&](int t) {
    for (int e = t; e < N * N; e += threads) s.R[e / N][e % N] = (first ? job.R : job.S)[e];
    if (t < N) s.inverse[t] = first ? number<T>(1 / re(job.R[t * N + t])) : inverse(job.S[t * N + t]);
  });
  const index m = first ? job.m : job.m - job.n, ld = first ? job.lda : job.ldv;
  const T* const from = first ? job.A : job.V + job.n;
  T* const v = first ? job.V : job.V + job.n;
  struct Rows {
    T x[Cut::each][8];
  };
  PerThread<Rows> mine;
  for (index top = block.number() * index{Cut::rows}; top < m; top += block.count() * index{Cut::rows}) {
    // The same for all of a warp: its first column, and its first row less the tile's.
    const auto column = [](int t) { return t / 32 % Cut::across * 8; };
    const auto row = [](int t, int i) { return t / 32 / Cut::across * 32 * Cut::each + i * 32 + t % 32; };
    block.each_at_once([&](int t) {
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        const int j = column(t) + c;
        Real<T> by = 1;
        if constexpr (first && scales<T>) by = j < job.n ? job.scale[j] : Real<T>{1};
#pragma unroll
        for (int i = 0; i < Cut::each; ++i) {
          const index at = top + row(t, i);
          T x{};
          if (j < job.n && at < m) x = from[at + j * ld];
          mine[t].x[i][c] = first && scales<T> ? scaled(x, by) : x;
        }
      }
    });
    for (int step = 0; step * 8 < job.n; ++step)
      block.each([&](int t) {
        T(&x)[Cut::each][8] = mine[t].x;
        const int j = column(t);
        if (step > 0 && j >= step * 8) {
          const int before = step - 1;
#pragma unroll
          for (int k = 0; k < 8; ++k) {
            T r[8];
#pragma unroll
            for (int c = 0; c < 8; ++c) r[c] = s.R[before * 8 + k][j + c];
#pragma unroll
            for (int i = 0; i < Cut::each; ++i) {
              const T q = s.solved[before % 2][k][row(t, i)];
#pragma unroll
              for (int c = 0; c < 8; ++c) x[i][c] = minus_product(q, r[c], x[i][c]);
            }
          }
        }
        if (j != step * 8) return;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const T by = s.inverse[j + k];
#pragma unroll
          for (int i = 0; i < Cut::each; ++i) {
            x[i][k] = times(x[i][k], by);
            s.solved[step % 2][k][row(t, i)] = x[i][k];
          }
#pragma unroll
          for (int c = k + 1; c < 8; ++c) {
            const T r = s.R[j + k][j + c];
#pragma unroll
            for (int i = 0; i < Cut::each; ++i) x[i][c] = minus_product(x[i][k], r, x[i][c]);
          }
        }
      });
    block.each_at_once([&](int t) {
#pragma unroll
      for (int c = 0; c < 8; ++c)
#pragma unroll
        for (int i = 0; i < Cut::each; ++i) {
          const index at = top + row(t, i);
          const int j = column(t) + c;
          if (j >= job.n || at >= m) continue;
          const T x = mine[t].x[i][c];
          v[at + j * job.ldv] = x;
          if constexpr (!first) job.A[job.n + at + j * job.lda] = x;
        }
    });
  }
}

}  // namespace blaslift::qr_kernels
