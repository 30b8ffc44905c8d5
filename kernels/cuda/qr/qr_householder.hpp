// Householder's way, column by column, for panels of QR that the fast way is no good for.
#pragma once
#include <cmath>

#include "kernels/both.hpp"
#include "kernels/cuda/qr/qr_job.hpp"

namespace blaslift::qr_kernels {

inline constexpr int least_chunk = 256;  ///< rows
BLASLIFT_BOTH constexpr int chunks_of(index m) {
  return static_cast<int>((m - 1) / least_chunk < most_chunks ? (m - 1) / least_chunk + 1 : most_chunks);
}

template <class T, int N>
struct HouseholderShared {
  using W = Wide<T>;
  W sums[N][32];
  W dot[N][threads / N];
  W update[N];  ///< by column: what a row's element of the reflector is multiplied by; or v_k^H v
  W t[N][N];    ///< the first block's
  Real<T> largest[threads];
  Real<T> down, down_again, up, up_again;  ///< powers of two: the column's elements are at most 1 by the first two
  W head, tau, factor;                     ///< v = factor times the scaled column
  T beta;
  int nothing;  ///< to annihilate
};

/// LAPACK's geqr2, in A, by all blocks of a grid.  A column's reflector is found with the column scaled by a power of
/// two such that its largest element is about 1: there is nothing to repeat for tiny ones, nor for huge ones.
template <int N, class T, class Grid>
__device__ void householder(const Grid& grid, const Job<T>& job) {
  using W = Wide<T>;
  using R = Real<T>;
  using Shared = HouseholderShared<T, N>;
  if (!job.householder && !*job.failed) return;
  const int n = job.n, chunks = chunks_of(job.m);
  const index height = (job.m - 1) / chunks + 1;
  // Rows of a chunk that are below row j.
  const auto begin = [&](int chunk, int j) { return chunk * height > j ? chunk * height : index{j} + 1; };
  const auto end = [&](int chunk) { return (chunk + 1) * height < job.m ? (chunk + 1) * height : job.m; };
  const auto larger = [](R x, R y) { return x > y || x != x ? x : y; };
  // The largest of column j below row j, by chunk.
  const auto find_largest = [&](const auto& block, Shared& s, int chunk, int j) {
    block.each([&](int t) {
      R largest = 0;
      for (index i = begin(chunk, j) + t; i < end(chunk); i += threads)
        largest = larger(largest_part(job.A[i + j * job.lda]), largest);
      s.largest[t] = largest;
    });
    block.each([&](int t) {
      if (t > 0) return;
      R largest = 0;
      for (int k = 0; k < threads; ++k) largest = larger(s.largest[k], largest);
      job.largest[chunk] = largest;
    });
  };
  grid.each_block([&](const auto& block, Shared& s) {
    for (int chunk = block.number(); chunk < chunks; chunk += block.count()) find_largest(block, s, chunk, 0);
  });

  for (int j = 0; j < n; ++j) {
    // Scalar products of the scaled column with all others, and with itself.
    grid.each_block([&](const auto& block, Shared& s) {
      block.each([&](int t) {
        if (t > 0) return;
        R largest = 0;
        for (int chunk = 0; chunk < chunks; ++chunk) largest = larger(job.largest[chunk], largest);
        const T head = job.A[j + j * job.lda];
        s.nothing = largest == 0 && im(head) == 0;
        largest = larger(largest_part(head), largest);
        const bool usual = largest > 0 && largest <= largest_number<T>;
        // A norm of at most 1 for the column: no product with another one is larger than that one's.
        int exponent = usual ? std::ilogb(largest) + 1 : 0;
        for (index rows = job.m; usual && rows > 0; rows /= 4) ++exponent;
        const int half = exponent / 2;
        s.down = std::scalbn(R{1}, -half);
        s.down_again = std::scalbn(R{1}, half - exponent);
        s.up = std::scalbn(R{1}, half);
        s.up_again = std::scalbn(R{1}, exponent - half);
        s.head = wide(scaled(scaled(head, s.down), s.down_again));
      });
      for (int chunk = block.number(); chunk < chunks; chunk += block.count()) {
        block.each([&](int t) {
          for (int k = t / 32; k < n; k += threads / 32) {
            W sum{};
            for (index i = begin(chunk, j) + t % 32; i < end(chunk); i += 32) {
              const W x = wide(scaled(scaled(job.A[i + j * job.lda], s.down), s.down_again));
              sum = add_product(conj(x), k == j ? x : wide(job.A[i + k * job.lda]), sum);
            }
            s.sums[k][t % 32] = sum;
          }
        });
        block.each([&](int t) {
          if (t >= n) return;
          W sum = s.sums[t][0];
          for (int lane = 1; lane < 32; ++lane) sum = plus(sum, s.sums[t][lane]);
          job.parts[chunk * index{N} + t] = sum;
        });
      }
    });

    // The reflector, and the columns behind it.
    grid.each_block([&](const auto& block, Shared& s) {
      block.each([&](int t) {
        constexpr int shares = threads / N;
        const int k = t % N, share = t / N, from = share * chunks / shares, to = (share + 1) * chunks / shares;
        W sum{};
        if (k < n)
          for (int chunk = from; chunk < to; ++chunk) sum = plus(sum, job.parts[chunk * index{N} + k]);
        s.dot[k][share] = sum;
      });
      block.each([&](int t) {
        if (t >= n) return;
        W sum = s.dot[t][0];
        for (int share = 1; share < threads / N; ++share) sum = plus(sum, s.dot[t][share]);
        s.dot[t][0] = sum;
      });
      block.each([&](int t) {
        if (t > 0) return;
        s.tau = s.factor = W{};
        s.beta = number<T>(re(job.A[j + j * job.lda]));
        if (s.nothing) return;
        const double length = std::sqrt(re(s.head) * re(s.head) + im(s.head) * im(s.head) + re(s.dot[j][0]));
        const double beta = re(s.head) < 0 ? length : -length;
        const W apart = plus(s.head, number<W>(-beta));
        s.tau = scaled(apart, -1 / beta);
        s.factor = inverse(apart);
        s.beta = number<T>(static_cast<R>(beta) * s.up * s.up_again);
      });
      block.each([&](int t) {
        if (t >= n || t == j) return;
        const W row = wide(job.A[j + t * job.lda]);
        if (t > j) {
          const W product = plus(row, times(conj(s.factor), s.dot[t][0]));
          s.update[t] = times(conj(s.tau), product);
        } else {
          s.update[t] = plus(conj(row), times(s.factor, conj(s.dot[t][0])));
        }
      });
      block.each([&](int t) {
        // What the first block keeps: R's row, T's column.
        if (block.number() > 0 || t >= n) return;
        if (t == j) {
          job.product[j * N + j] = s.beta;
          job.tau[j] = narrow<T>(s.tau);
          s.t[j][j] = s.tau;
        } else if (t > j) {
          job.product[j * N + t] =
              s.nothing ? job.A[j + t * job.lda] : narrow<T>(plus(wide(job.A[j + t * job.lda]), minus(s.update[t])));
        } else {
          W sum{};
          for (int q = t; q < j; ++q) sum = add_product(s.t[t][q], s.update[q], sum);
          s.t[t][j] = times(minus(s.tau), sum);
        }
      });
      for (int chunk = block.number(); chunk < chunks; chunk += block.count()) {
        if (!s.nothing)
          block.each([&](int t) {
            for (index i = begin(chunk, j) + t; i < end(chunk); i += threads) {
              T* const a = job.A + i;
              const W v = times(wide(scaled(scaled(a[j * job.lda], s.down), s.down_again)), s.factor);
              a[j * job.lda] = narrow<T>(v);
              for (int k = j + 1; k < n; ++k)
                a[k * job.lda] = narrow<T>(minus_product(v, s.update[k], wide(a[k * job.lda])));
            }
          });
        if (j + 1 < n) find_largest(block, s, chunk, j + 1);
      }
    });
  }

  grid.each_block([&](const auto& block, Shared& s) {
    for (int chunk = block.number(); chunk < chunks; chunk += block.count())
      block.each([&](int t) {
        for (index i = chunk * height + t; i < end(chunk); i += threads)
          for (int j = 0; j < n; ++j) {
            if (i <= j) job.A[i + j * job.lda] = job.product[i * N + j];
            job.V[i + j * job.ldv] = i < j ? T{} : i == j ? number<T>(1) : job.A[i + j * job.lda];
          }
      });
    if (block.number() > 0) return;
    block.each([&](int t) {
      for (int e = t; e < n * job.above; e += threads) job.V[e % job.above - job.above + e / job.above * job.ldv] = T{};
      for (int e = t; e < n * job.block; e += threads) {
        const int i = e % job.block - job.above, j = e / job.block;
        job.t[e % job.block + j * job.ldt] = i >= 0 && i <= j ? narrow<T>(s.t[i][j]) : T{};
      }
    });
  });
}

}  // namespace blaslift::qr_kernels
