// Gram matrices of tall panels of QR, each block of threads some of the rows.
#pragma once
#include <cmath>
#include <type_traits>

#include "kernels/both.hpp"
#include "kernels/cuda/qr/qr_job.hpp"

namespace blaslift::qr_kernels {

/// What each thread has of the products of columns.  Real ones are made by warps, in 8 x 8 tiles on and above the
/// diagonal: those in rows I and N / 8 - 1 - I of tiles, N / 8 + 1 of them, are a warp's, for some of the rows.  Of
/// complex ones a thread has those of columns p + P a and q + P b with a <= b, of some of the rows.
template <class T, int N>
struct GramCut {
  static constexpr bool by_warps = !is_complex_number<T>;
  static constexpr int rows = 4096 / N, P = N / 8, pairs = N / 16;
  static constexpr int slices = by_warps ? threads / 32 / pairs : threads / (P * P);
  static constexpr int own = by_warps ? P + 1 : 36;  ///< tiles of a warp, products of a thread
  static constexpr int size = by_warps ? pairs * own * 64 : own * P * P;
  static constexpr int gap = by_warps ? 4 : 5;  ///< below the rows, so that what is read at once is in different banks

  /// Where the product of columns i <= j is.
  __device__ static int place(int i, int j) {
    if constexpr (by_warps) {
      const int I = i / 8, J = j / 8;
      return (J * (J + 1) / 2 + I) * 64 + i % 8 * 8 + j % 8;
    } else {
      const int a = i / P, b = j / P;
      return (b * (b + 1) / 2 + a) * P * P + i % P * P + j % P;
    }
  }
  BLASLIFT_BOTH static int blocks(index m) {
    return static_cast<int>((m - 1) / rows < most_parts ? (m - 1) / rows + 1 : most_parts);
  }
};

template <class T, int N>
struct GramShared {
  T tile[2][N][GramCut<T, N>::rows + GramCut<T, N>::gap];
  Wide<T> sums[GramCut<T, N>::by_warps ? GramCut<T, N>::slices * GramCut<T, N>::size : 9 * threads];
  Real<T> scale[N];
  int scaled, last;
};

/// Squares of floats neither overflow nor underflow in double precision.
template <class T>
inline constexpr bool scales = sizeof(Real<T>) == sizeof(double);

/// Powers of two that bring columns of extreme sizes to about 1, by some of their elements.  If these are not like the
/// others the diagonal of the Gram matrix will say so.
template <int N, class T, class Block>
__device__ void choose_scales(const Block& block, const Job<T>& job, GramShared<T, N>& s) {
  block.each([&](int t) {
    if (t == 0) s.scaled = 0;
  });
  block.each([&](int t) {
    constexpr int samples = 8;
    if (t >= N) return;
    Real<T> largest = 0, by = 1;
    if constexpr (scales<T>) {
      if (t < job.n)
        for (int i = 0; i < samples; ++i) {
          const Real<T> x = largest_part(job.A[(job.m - 1) * i / (samples - 1) + t * job.lda]);
          if (x > largest) largest = x;
        }
      constexpr int usual = 100, most = 1000;
      if (largest > 0 && largest <= largest_number<T>) {
        int exponent = std::ilogb(largest);
        if (exponent < -most) exponent = -most;
        if (exponent > most) exponent = most;
        if (exponent > usual || exponent < -usual) by = std::scalbn(Real<T>{1}, -exponent);
      }
    }
    s.scale[t] = by;
    if (by != 1) s.scaled = 1;
    if (block.number() == 0) job.scale[t] = by;
  });
}

/// The products of real columns that are in shared memory, by tensor cores.
template <int N, class T, class Block>
class GramByWarps {
  using Cut = GramCut<T, N>;
  using Shared = GramShared<T, N>;

 public:
  template <bool by_scale>
  __device__ __forceinline__ void add(const Block& block, const Shared& s, int buffer) {
    constexpr int steps = Cut::rows / (4 * Cut::slices);
#pragma unroll 2
    for (int step = 0; step < steps; ++step) {
      block.each_at_once([&](int t) {
        const int lane = t % 32, pair = t / 32 % Cut::pairs,
                  k = (step * Cut::slices + t / 32 / Cut::pairs) * 4 + lane % 4;
        const auto of_tile = [&](int tile) {
          const int j = tile * 8 + lane / 4;
          const T x = s.tile[buffer][j][k];
          return wide(by_scale ? scaled(x, s.scale[j]) : x);
        };
        const double above = of_tile(pair), below = of_tile(Cut::P - 1 - pair);
        Operands& x = operands_[t];
#pragma unroll
        for (int u = 0; u < Cut::own; ++u) {
          const bool is_above = u < Cut::P - pair;
          x.a[u] = is_above ? above : below;
          x.b[u] = of_tile(is_above ? pair + u : u - 1);
        }
      });
      block.multiply(operands_, sums_);
    }
    block.barrier();
  }

  /// Over the slices, one after the other.
  __device__ __forceinline__ void write(const Block& block, Shared& s, double* part) {
    block.each([&](int t) {
      const int lane = t % 32, pair = t / 32 % Cut::pairs, slice = t / 32 / Cut::pairs;
#pragma unroll
      for (int u = 0; u < Cut::own; ++u) {
        const bool is_above = u < Cut::P - pair;
        const int I = is_above ? pair : Cut::P - 1 - pair, J = is_above ? pair + u : u - 1;
        double* const to = s.sums + slice * Cut::size + Cut::place(8 * I, 8 * J) + lane / 4 * 8 + lane % 4 * 2;
        to[0] = sums_[t].c[u][0];
        to[1] = sums_[t].c[u][1];
      }
    });
    block.each([&](int t) {
      for (int e = t; e < Cut::size; e += threads) {
        double sum = s.sums[e];
        for (int slice = 1; slice < Cut::slices; ++slice) sum += s.sums[slice * Cut::size + e];
        part[e] = sum;
      }
    });
  }

 private:
  struct Operands {
    double a[Cut::own], b[Cut::own];
  };
  struct Sums {
    double c[Cut::own][2];
  };
  PerThread<Operands> operands_;
  PerThread<Sums> sums_;
};

/// Of complex columns.
template <int N, class T, class Block>
class GramByThreads {
  using Cut = GramCut<T, N>;
  using Shared = GramShared<T, N>;
  using W = Wide<T>;
  static constexpr int P = Cut::P;

 public:
  template <bool by_scale>
  __device__ __forceinline__ void add(const Block& block, const Shared& s, int buffer) {
    block.each([&](int t) {
      const int p = t % (P * P) / P, q = t % P;
      W(&sum)[Cut::own] = sums_[t].of;
      for (int k = t / (P * P); k < Cut::rows; k += Cut::slices) {
        W x[8], y[8];
#pragma unroll
        for (int c = 0; c < 8; ++c) {
          T u = s.tile[buffer][p + P * c][k], v = s.tile[buffer][q + P * c][k];
          if constexpr (by_scale) u = scaled(u, s.scale[p + P * c]), v = scaled(v, s.scale[q + P * c]);
          x[c] = conj(wide(u));
          y[c] = wide(v);
        }
#pragma unroll
        for (int b = 0; b < 8; ++b)
#pragma unroll
          for (int a = 0; a <= b; ++a) sum[b * (b + 1) / 2 + a] = add_product(x[a], y[b], sum[b * (b + 1) / 2 + a]);
      }
    });
  }

  __device__ __forceinline__ void write(const Block& block, Shared& s, W* part) {
    constexpr int rounds = 4, each = Cut::own / rounds;
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
      block.each([&](int t) {
#pragma unroll
        for (int c = 0; c < each; ++c) s.sums[c * threads + t] = sums_[t].of[round * each + c];
      });
      block.each([&](int t) {
        for (int e = t; e < each * P * P; e += threads) {
          const W* const of_slice = &s.sums[e / (P * P) * threads + e % (P * P)];
          W sum = of_slice[0];
          for (int slice = 1; slice < Cut::slices; ++slice) sum = plus(sum, of_slice[slice * P * P]);
          part[round * each * P * P + e] = sum;
        }
      });
    }
  }

 private:
  struct Sums {
    W of[Cut::own];
  };
  PerThread<Sums> sums_;
};

/// What a Gram matrix is of: A with its columns scaled; Q1 below the first n rows; the reflectors there, which go from
/// A to V as well.
enum class GramOf { a, q, reflectors };

/// Any number of blocks up to that of tiles.
template <GramOf what, int N, class T, class Block>
__device__ void gram(const Block& block, const Job<T>& job, GramShared<T, N>& s) {
  using Cut = GramCut<T, N>;
  using W = Wide<T>;
  constexpr int rows = Cut::rows;
  constexpr bool first = what == GramOf::a;
  if constexpr (first) choose_scales(block, job, s);
  if constexpr (what == GramOf::q)
    if (*job.failed) return;
  const index m = first ? job.m : job.m - job.n, ld = what == GramOf::q ? job.ldv : job.lda;
  const T* const from = first ? job.A : (what == GramOf::q ? job.V : job.A) + job.n;
  const index tiles = (m - 1) / rows + 1;

  const auto fetch = [&](index tile, int buffer) {
    block.each_at_once([&](int t) {
#pragma unroll 4
      for (int e = t; e < rows * N; e += threads) {
        const int j = e / rows, i = e % rows;
        T* const to = &s.tile[buffer][j][i];
        if (j < job.n && tile * rows + i < m)
          block.fetch(to, from + tile * rows + i + j * ld);
        else
          *to = T{};
      }
      block.end_group();
    });
  };
  std::conditional_t<Cut::by_warps, GramByWarps<N, T, Block>, GramByThreads<N, T, Block>> products;

  fetch(block.number(), 0);
  int buffer = 0;
  for (index tile = block.number(); tile < tiles; tile += block.count(), buffer ^= 1) {
    if (tile + block.count() < tiles)
      fetch(tile + block.count(), buffer ^ 1);
    else
      block.each_at_once([&](int) { block.end_group(); });
    block.await_all_but_last_group();
    if constexpr (what == GramOf::reflectors)
      block.each_at_once([&](int t) {
        for (int e = t; e < rows * job.n; e += threads) {
          const int j = e / rows, i = e % rows;
          if (tile * rows + i < m) job.V[job.n + tile * rows + i + j * job.ldv] = s.tile[buffer][j][i];
        }
      });
    if (first && s.scaled)
      products.template add<true>(block, s, buffer);
    else
      products.template add<false>(block, s, buffer);
  }
  products.write(block, s, job.parts + block.number() * index{Cut::size});

  // The group's: whichever block is the last adds them, in their order.
  const int mine = block.number() / group, left = block.count() - mine * group, members = left < group ? left : group;
  block.each([&](int t) {
    if (t == 0) s.last = block.arrives_last(&job.counters[mine], static_cast<unsigned>(members));
  });
  if (!s.last) return;
  block.each([&](int t) {
    const W* const of_group = job.parts + mine * group * index{Cut::size};
    for (int e = t; e < Cut::size; e += threads) {
      W x[group];
#pragma unroll
      for (int k = 0; k < group; ++k) x[k] = k < members ? of_group[k * Cut::size + e] : W{};
      W sum = x[0];
#pragma unroll
      for (int k = 1; k < group; ++k) sum = plus(sum, x[k]);
      job.groups[mine * index{Cut::size} + e] = sum;
    }
  });
}

}  // namespace blaslift::qr_kernels
