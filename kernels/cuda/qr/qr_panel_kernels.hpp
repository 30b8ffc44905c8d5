// The kernels of a panel of QR.  Apart from their launches, so that tests can run them where there is no GPU: after
// tests/unit/support/cuda_on_host.hpp.
//
// The fast way is Cholesky QR, twice, and Householder vectors found for its Q (docs/qr.md):
//
//     gram       G = A^H A, in parts                       cholesky    G = R1^H R1
//     solve      Q1 = A R1^-1, into V                      gram        of Q1, below the first n rows
//     rebuild    Q1^H Q1 = R2^H R2, Q = Q1 R2^-1, Q - [D; 0] = V U in the first n rows; T, tau, R = D R2 R1; the check
//     solve      V2 = Q1 (U R2)^-1 below them, into V and A
//
// A is not written before the check, which looks at what the rows below will give before they are there: their part of
// V^H V is (U R2)^-H (their part of Q1^H Q1) (U R2)^-1.  What does not pass is left to the last kernel, Householder's
// way column by column; it returns at once where there is nothing left to do.
//
// A panel that is factored already needs its V and T only:
//
//     gram       G = V^H V below the first n rows, which are copied on the way
//     triangle   G of all rows; T of G and tau; V's first n rows
//
// Gram matrices and all that is n x n is in double precision, also for s and c: R1 is good then whatever the condition
// that single precision can see.  Every sum has one order, which follows from m and n alone.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "kernels/both.hpp"
#include "kernels/cuda/core/phases.hpp"
#include "kernels/symv.hpp"
#include "kernels/types.hpp"

namespace blaslift::qr_kernels {

using phases::PerThread;
using symv_order::Complex, symv_order::add_product, symv_order::conjugate_if, symv_order::plus, symv_order::times;

inline constexpr int threads = 256;

// ---- numbers

template <class T>
struct Numbers {
  using Real = T;
  using Wide = double;
};
template <class R>
struct Numbers<Complex<R>> {
  using Real = R;
  using Wide = Complex<double>;
};
template <class T>
using Real = typename Numbers<T>::Real;
template <class T>
using Wide = typename Numbers<T>::Wide;
template <class T>
inline constexpr bool is_complex_number = sizeof(T) > sizeof(Real<T>);

// As constants, which device code may use.
template <class T>
inline constexpr Real<T> eps = std::numeric_limits<Real<T>>::epsilon();
template <class T>
inline constexpr Real<T> largest_number = std::numeric_limits<Real<T>>::max();

/// What the kernels take at once; the shared memory of all devices has room for its n x n matrices.
template <class T>
inline constexpr int most_columns = is_complex_number<T> ? 32 : 64;

template <class R>
__device__ inline R re(R x) {
  return x;
}
template <class R>
__device__ inline R re(Complex<R> x) {
  return x.re;
}
template <class R>
__device__ inline R im(R) {
  return 0;
}
template <class R>
__device__ inline R im(Complex<R> x) {
  return x.im;
}
template <class T>
__device__ inline T conj(T x) {
  return conjugate_if(true, x);
}
__device__ inline float minus(float x) { return -x; }
__device__ inline double minus(double x) { return -x; }
template <class R>
__device__ inline Complex<R> minus(Complex<R> x) {
  return {-x.re, -x.im};
}
/// By a real number.
template <class R>
__device__ inline R scaled(R x, R by) {
  return x * by;
}
template <class R>
__device__ inline Complex<R> scaled(Complex<R> x, R by) {
  return {x.re * by, x.im * by};
}
__device__ inline double inverse(double x) { return 1 / x; }
__device__ inline float inverse(float x) { return 1 / x; }
/// Of numbers whose squares are far from overflow and underflow.
template <class R>
__device__ inline Complex<R> inverse(Complex<R> x) {
  const R length = 1 / (x.re * x.re + x.im * x.im);
  return {x.re * length, -x.im * length};
}
/// Within a few roundings, of numbers that are neither tiny nor huge; in half the time.
__device__ inline double quick_inverse(double x) {
#ifdef __CUDA_ARCH__
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));  // 20 bits; twice as many each time
  y = __fma_rn(y, __fma_rn(-x, y, 1.0), y);
  return __fma_rn(y, __fma_rn(-x, y, 1.0), y);
#else
  return 1 / x;
#endif
}
__device__ inline Complex<double> quick_inverse(Complex<double> x) {
  const double length = quick_inverse(x.re * x.re + x.im * x.im);
  return {x.re * length, -x.im * length};
}
template <class T>
__device__ inline T number(Real<T> x) {
  if constexpr (is_complex_number<T>)
    return {x, 0};
  else
    return x;
}
template <class T>
__device__ inline Wide<T> wide(T x) {
  if constexpr (is_complex_number<T>)
    return {static_cast<double>(x.re), static_cast<double>(x.im)};
  else
    return static_cast<double>(x);
}
template <class T>
__device__ inline T narrow(Wide<T> x) {
  if constexpr (is_complex_number<T>)
    return {static_cast<Real<T>>(x.re), static_cast<Real<T>>(x.im)};
  else
    return static_cast<T>(x);
}
/// sum - x y
template <class T>
__device__ inline T minus_product(T x, T y, T sum) {
  return add_product(minus(x), y, sum);
}
template <class T>
__device__ inline bool is_zero(T x) {
  return re(x) == 0 && im(x) == 0;
}
/// The larger part's size; NaN if there is one.
template <class T>
__device__ inline Real<T> largest_part(T x) {
  const Real<T> a = std::fabs(re(x)), b = std::fabs(im(x));
  return a >= b || a != a ? a : b;
}

// ---- the problem

template <class T>
struct Job {
  using W = Wide<T>;
  index m;
  int n;
  T* A;
  index lda;
  T* tau;
  int above, block;
  T* V;  ///< from the panel's first row on
  index ldv;
  T* t;  ///< with the rows above the panel's
  index ldt;
  bool householder;  ///< without trying the fast way
  bool factored;     ///< A and tau are only read

  // The workspace.
  W* parts;            ///< of Gram matrices, by block; of scalar products, by chunk
  W* groups;           ///< sums of parts
  T *R, *S, *product;  ///< N x N by rows: R1, U R2, R2 R1; or the Householder way's R
  Real<T>* scale;      ///< of A's columns, powers of two
  Real<T>* largest;    ///< by chunk
  unsigned* counters;  ///< by group; zero between kernels
  int* failed;         ///< whether the Householder way is to be taken
};

// Of the largest kernels, in elements.
inline constexpr int most_parts = 256, group = 16, most_groups = most_parts / group, most_chunks = 128;
template <class T>
inline constexpr index square = index{most_columns<T>} * most_columns<T>;

/// @return bytes
template <class T>
std::size_t place_workspace(Job<T>& job, void* memory) {
  std::size_t used = 0;
  const auto part = [&]<class X>(X*& at, index count) {
    at = reinterpret_cast<X*>(static_cast<char*>(memory) + used);
    used += (static_cast<std::size_t>(count) * sizeof(X) + 255) / 256 * 256;
  };
  part(job.counters, most_groups);  // first: zero before any kernel, whatever the precision
  part(job.failed, 1);
  part(job.parts, most_parts * square<T>);
  part(job.groups, most_groups * square<T>);
  part(job.R, square<T>);
  part(job.S, square<T>);
  part(job.product, square<T>);
  part(job.scale, most_columns<T>);
  part(job.largest, most_chunks);
  return used;
}
inline constexpr std::size_t counter_bytes = 512;  ///< at the beginning, that have to be zero before the first kernel

/// The kernels' width: n <= N.
template <class T>
constexpr int width(int n) {
  return is_complex_number<T> ? 32 : n <= 16 ? 16 : n <= 32 ? 32 : 64;
}

// ---- Gram matrices

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

// ---- n x n matrices: one block of 16 x 16 threads, every 16th row and column in registers.  By tiles of 16 x 16,
// since a barrier for each column would take longer than everything else.

// Which tiles count of a product's: rows a, terms k and columns b of tiles.
struct AllTiles {
  __device__ static constexpr bool need(int, int, int) { return true; }
};
struct OfUppers {
  __device__ static constexpr bool need(int a, int k, int b) { return a <= k && k <= b; }
};
struct RightUpper {
  __device__ static constexpr bool need(int, int k, int b) { return k <= b; }
};
struct OfLowers {  ///< L^H L
  __device__ static constexpr bool need(int a, int k, int b) { return k >= a && k >= b; }
};
template <int term, int top, int left>
struct OneTerm {
  __device__ static constexpr bool need(int a, int k, int b) { return k == term && a >= top && b >= left; }
};

template <class W, int N>
struct Square {
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

template <class W, int N>
using Matrix = W[N][N + 1];

/// body(q) for each tile of the diagonal: q is a constant, or registers could not be told by it.
template <int N, int q = 0, class Body>
__device__ __forceinline__ void each_tile(const Body& body) {
  body(std::integral_constant<int, q>{});
  if constexpr (16 * (q + 1) < N) each_tile<N, q + 1>(body);
}

/// What the kernels for n x n matrices share.
template <class W, int N>
struct SquareShared {
  Matrix<W, N> first, second, third, fourth;
  W inverse[N];
  double diagonal[N];
  int sign[N];
  int bad, far;
};

/// The sum of the groups; the rest of N columns as in the identity.
template <int N, class T, class Block>
__device__ void load_gram(const Block& block, const Job<T>& job, int groups, PerThread<Square<Wide<T>, N>>& X,
                          SquareShared<Wide<T>, N>& s) {
  using W = Wide<T>;
  using Cut = GramCut<T, N>;
  W* const sums = &s.fourth[0][0];
  static_assert(Cut::size * sizeof(W) <= sizeof s.fourth);
  block.each([&](int t) {
    if (t == 0) s.bad = s.far = 0;
    for (int e = t; e < Cut::size; e += threads) {
      W x[most_groups];
#pragma unroll
      for (int g = 0; g < most_groups; ++g) x[g] = g < groups ? job.groups[g * Cut::size + e] : W{};
      W sum = x[0];
#pragma unroll
      for (int g = 1; g < most_groups; ++g) sum = plus(sum, x[g]);
      sums[e] = sum;
    }
  });
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      if (i >= job.n || j >= job.n) {
        x = number<W>(i == j ? 1 : 0);
        return;
      }
      const W sum = sums[Cut::place(i < j ? i : j, i < j ? j : i)];
      x = i == j ? number<W>(re(sum)) : i < j ? sum : conj(sum);
    });
  });
}

/// What elimination is of: a Hermitian matrix; or one less D, each of which is minus the sign of what it finds on the
/// diagonal.
enum class Eliminate { hermitian, apart };

/// One tile of the diagonal of M, by one warp, of which a lane, and the one 16 behind it, have a column in registers.
template <Eliminate what, int N, class W, class Block>
__device__ void eliminate_tile(const Block& block, int at, Matrix<W, N>& M, SquareShared<W, N>& s) {
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
      if constexpr (what == Eliminate::hermitian) {
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
    s.inverse[at + t] = own.by;
    s.sign[at + t] = own.sign;
#pragma unroll
    for (int i = 0; i < 16; ++i) M[at + i][at + t] = i <= t ? own.x[i] : times(own.x[i], own.by);
  });
  block.barrier();
}

/// X = V U without pivoting: U on and above the diagonal of M, V, of ones on its diagonal, below it, and U's diagonal
/// inverted.
template <Eliminate what, int N, class W, class Block>
__device__ void eliminate(const Block& block, PerThread<Square<W, N>>& X, Matrix<W, N>& M, SquareShared<W, N>& s) {
  constexpr bool hermitian = what == Eliminate::hermitian;
  each_tile<N>([&]<int q>(std::integral_constant<int, q>) {
    constexpr int at = 16 * q, next = at + 16;
    block.each([&](int t) {
      if constexpr (q > 0)
        X[t].template add_products<OneTerm<q - 1, q, q>, true>(
            t, [&](int i, int k) { return M[i][k]; }, [&](int k, int j) { return M[k][j]; });
      X[t].template each<q, q>(t, [&](W x, int i, int j) {
        if (i < next || (!hermitian && j < next)) M[i][j] = x;
      });
    });
    eliminate_tile<what, N>(block, at, M, s);
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
            if constexpr (hermitian) M[to_right][at + k] = times(conj(x[k]), s.inverse[at + k]);
          }
        }
        if (!hermitian && below >= next && below < N) {
#pragma unroll
          for (int k = 0; k < 16; ++k) x[k] = M[below][at + k];
#pragma unroll
          for (int k = 0; k < 16; ++k) {
            x[k] = times(x[k], s.inverse[at + k]);
#pragma unroll
            for (int j = k + 1; j < 16; ++j) x[j] = minus_product(x[k], M[at + k][at + j], x[j]);
            M[below][at + k] = x[k];
          }
        }
      });
  });
}

/// X, Hermitian, is R^H R: R, with zeros below the diagonal, into M.  Pivots are to be `least` of what they were.
template <int N, class W, class Block>
__device__ void factor_cholesky(const Block& block, double least, PerThread<Square<W, N>>& X, Matrix<W, N>& M,
                                SquareShared<W, N>& s) {
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      if (i == j) s.diagonal[i] = re(x);
    });
  });
  eliminate<Eliminate::hermitian, N>(block, X, M, s);
  block.each([&](int t) {
    if (t >= N) return;
    const double pivot = re(M[t][t]);
    if (!(pivot > least * s.diagonal[t])) s.bad = 1;
    s.diagonal[t] = 1 / std::sqrt(pivot);
  });
  block.each(
      [&](int t) { X[t].each(t, [&](W&, int i, int j) { M[i][j] = i <= j ? scaled(M[i][j], s.diagonal[i]) : W{}; }); });
}

/// out := X S^-1 for an upper triangular S, of which coefficient(k, j) and inverse(k), of the diagonal, are asked for.
/// `out` may be where X came from.
template <int N, class W, class Block, class Coefficient, class Inverse>
__device__ void solve_square(const Block& block, PerThread<Square<W, N>>& X, Matrix<W, N>& out,
                             const Coefficient& coefficient, const Inverse& inverse_of) {
  each_tile<N>([&]<int q>(std::integral_constant<int, q>) {
    constexpr int at = 16 * q;
    block.each([&](int t) {
      if constexpr (q > 0)
        X[t].template add_products<OneTerm<q - 1, 0, q>, true>(
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

/// The fast way's first decision: one block.
template <int N, class T, class Block>
__device__ void cholesky(const Block& block, const Job<T>& job, int groups, SquareShared<Wide<T>, N>& s) {
  using W = Wide<T>;
  PerThread<Square<W, N>> X;
  load_gram<N>(block, job, groups, X, s);
  // Below this what is left of a column is made of roundings.  What is above may still be no good: Q1's Gram matrix
  // will tell.
  const double least = 16 * job.n * eps<double>;
  factor_cholesky<N>(block, least, X, s.first, s);
  block.each([&](int t) {
    X[t].each(t, [&](W&, int i, int j) {
      job.R[i * N + j] = narrow<T>(s.first[i][j]);
      // Neither over- nor underflow has touched the products.
      if (i == j && i < job.n && !(s.diagonal[i] > 0x1p-400 && s.diagonal[i] < 0x1p400)) s.bad = 1;
    });
  });
  block.each([&](int t) {
    if (t == 0) *job.failed = s.bad;
  });
}

/// V's first n rows and T, with zeros where they have nothing of the panel's.  A column to a warp.
template <class T, class Block, class V, class F>
__device__ void write_factors(const Block& block, const Job<T>& job, const V& v_of, const F& t_of) {
  block.each([&](int t) {
    for (int j = t / 32; j < job.n; j += threads / 32) {
      T* const v = job.V + j * job.ldv;
      for (int i = t % 32; i < job.n; i += 32) v[i] = narrow<T>(v_of(i, j));
      for (int i = t % 32; i < job.above; i += 32) v[i - job.above] = T{};
      for (int row = t % 32; row < job.block; row += 32) {
        const int i = row - job.above;
        job.t[row + j * job.ldt] = i >= 0 && i <= j ? narrow<T>(t_of(i, j)) : T{};
      }
    }
  });
}

/// Everything between Q1's Gram matrix and the last pass, the check, and the first n rows of the result: one block.
template <int N, class T, class Block>
__device__ void rebuild(const Block& block, const Job<T>& job, int groups, SquareShared<Wide<T>, N>& s) {
  using W = Wide<T>;
  if (*job.failed) return;
  const int n = job.n;
  const double allowed = 8 * (n + 8) * static_cast<double>(eps<T>);
  // What is in the same place follows on each other, in this order.
  Matrix<W, N>&R2 = s.first, &S = s.first, &U = s.first, &Q = s.second, &product = s.second, &below = s.third,
            &t_ = s.third, &R1 = s.fourth, &V = s.fourth;
  PerThread<Square<W, N>> X;
  load_gram<N>(block, job, groups, X, s);
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      below[i][j] = i < n && j < n ? x : W{};
      R1[i][j] = wide(job.R[i * N + j]);
    });
    for (int e = t; e < N * N; e += threads) {
      const int i = e % N, j = e / N;
      Q[i][j] = i < n && j < n ? wide(job.V[i + j * job.ldv]) : W{};
    }
  });
  block.each([&](int t) {
    X[t].template add_products<AllTiles>(
        t, [&](int i, int k) { return conj(Q[k][i]); }, [&](int k, int j) { return Q[k][j]; });
    // Q1 is well enough conditioned for one more step; or so well that its square is nothing.
    X[t].each(t, [&](W& x, int i, int j) {
      const double off = largest_part(plus(x, number<W>(i == j ? -1 : 0)));
      if (!(off <= 0.5 / n)) s.bad = 1;
      if (!(off * off * n <= eps<T> / 16)) s.far = 1;
    });
  });
  // Q := Q1 R2^-1
  if (s.far) {
    factor_cholesky<N>(block, 0, X, R2, s);
    block.each([&](int t) { X[t].each(t, [&](W& x, int i, int j) { x = Q[i][j]; }); });
    solve_square<N>(
        block, X, Q, [&](int k, int j) { return R2[k][j]; }, [&](int k) { return number<W>(s.diagonal[k]); });
    block.each([&](int t) { X[t].each(t, [&](W& x, int i, int j) { x = Q[i][j]; }); });
  } else {
    // R2 = 1 + E and its inverse 1 - E, where E^H + E is what Q1^H Q1 is away from 1.
    block.each([&](int t) {
      X[t].each(t, [&](W& x, int i, int j) {
        R2[i][j] = i < j ? x : i == j ? number<W>((re(x) - 1) / 2) : W{};
        x = Q[i][j];
      });
    });
    block.each([&](int t) {
      X[t].template add_products<RightUpper, true>(
          t, [&](int i, int k) { return Q[i][k]; }, [&](int k, int j) { return R2[k][j]; });
    });
    block.each([&](int t) {
      if (t < N) R2[t][t] = plus(R2[t][t], number<W>(1));
    });
  }
  // V U := Q - D
  eliminate<Eliminate::apart, N>(block, X, Q, s);

  // R2 R1, which waits in the workspace, and S := U R2 in R2's place.
  PerThread<Square<W, N>> Y;
  block.each([&](int t) {
    X[t] = {};
    Y[t] = {};
    X[t].template add_products<OfUppers>(
        t, [&](int i, int k) { return R2[i][k]; }, [&](int k, int j) { return R1[k][j]; });
    Y[t].template add_products<OfUppers>(
        t, [&](int i, int k) { return i <= k ? Q[i][k] : W{}; }, [&](int k, int j) { return R2[k][j]; });
    X[t].each(t, [&](W& x, int i, int j) { job.product[i * N + j] = narrow<T>(x); });
  });
  // V without the ones on its diagonal.
  block.each([&](int t) {
    Y[t].each(t, [&](W& y, int i, int j) {
      S[i][j] = i >= n || j >= n ? number<W>(i == j ? 1 : 0) : y;
      if (i == j) s.inverse[i] = inverse(S[i][i]);
      job.S[i * N + j] = narrow<T>(S[i][j]);
      V[i][j] = i > j ? Q[i][j] : W{};
    });
  });

  // V^H V: of the rows below, S^-H (Q1^H Q1) S^-1, and of the first n.
  const auto s_of = [&](int k, int j) { return S[k][j]; };
  const auto s_inverse = [&](int k) { return s.inverse[k]; };
  block.each([&](int t) { X[t].each(t, [&](W& x, int i, int j) { x = below[i][j]; }); });
  solve_square<N>(block, X, below, s_of, s_inverse);
  block.each([&](int t) { X[t].each(t, [&](W& x, int i, int j) { x = conj(below[j][i]); }); });
  solve_square<N>(block, X, below, s_of, s_inverse);
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      x = below[i][j];
      U[i][j] = i <= j ? Q[i][j] : W{};
    });
    X[t].template add_products<OfLowers>(
        t, [&](int i, int k) { return conj(V[k][i]); }, [&](int k, int j) { return V[k][j]; });
  });
  // In its place the inverse of T: what V^H V has above the diagonal, and 1 / tau.
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      t_[i][j] = i < j ? plus(x, conj(V[j][i])) : W{};
      if (i == j) s.diagonal[i] = re(x);
      product[i][j] = wide(job.product[i * N + j]);
    });
  });
  block.each([&](int t) {
    if (t >= N) return;
    const W over_tau = inverse(scaled(U[t][t], static_cast<double>(-s.sign[t])));
    t_[t][t] = over_tau;
    if (t >= n) return;
    s.inverse[t] = number<W>(1 / static_cast<double>(job.scale[t]));
    const double square = s.diagonal[t];
    if (!(std::fabs(1 + square - 2 * re(over_tau)) <= allowed)) s.bad = 1;
    // Nothing below the diagonal: LAPACK's reflector is the identity.
    if (!(square > static_cast<double>(eps<T>) * eps<T>)) s.bad = 1;
  });
  // T^-1 U = -V1^H D, if T is that of these reflectors and Q theirs.
  block.each([&](int t) {
    X[t] = {};
    X[t].template add_products<OfUppers>(
        t, [&](int i, int k) { return t_[i][k]; }, [&](int k, int j) { return U[k][j]; });
    X[t].each(t, [&](W& x, int i, int j) {
      const W v = i == j ? number<W>(1) : V[j][i], error = plus(x, scaled(conj(v), static_cast<double>(s.sign[j])));
      if (i < n && j < n && !(largest_part(error) <= allowed)) s.bad = 1;
      x = scaled(U[i][j], static_cast<double>(-s.sign[j]));
    });
  });
  // T = -U D V1^-H
  solve_square<N>(
      block, X, t_, [&](int k, int j) { return conj(V[j][k]); }, [](int) { return number<W>(1); });
  if (s.bad) {
    block.each([&](int t) {
      if (t == 0) *job.failed = 1;
    });
    return;
  }

  block.each([&](int t) {
    for (int e = t; e < N * N; e += threads) {
      const int i = e % N, j = e / N;
      if (i >= n || j >= n) continue;
      // The product was rounded to T before, so that scales are exact.
      const T r = scaled(narrow<T>(product[i][j]), static_cast<Real<T>>(s.sign[i] * re(s.inverse[j])));
      job.A[i + j * job.lda] = i > j ? narrow<T>(V[i][j]) : i < j ? r : number<T>(re(r));
      if (i == j) job.tau[j] = narrow<T>(t_[j][j]);
    }
  });
  write_factors(
      block, job, [&](int i, int j) { return i == j ? number<W>(1) : V[i][j]; },
      [&](int i, int j) { return t_[i][j]; });
}

/// Of a panel that is factored already, after its Gram matrix below the first n rows: one block.  A column of T is
/// -tau_j T (V^H v_j) above tau_j, as larft makes it; so T (1 + U diag(tau)) = diag(tau) with what V^H V has above its
/// diagonal in U, and where tau_j is 0, T's column is.
template <int N, class T, class Block>
__device__ void triangle(const Block& block, const Job<T>& job, int groups, SquareShared<Wide<T>, N>& s) {
  using W = Wide<T>;
  const int n = job.n;
  Matrix<W, N>&V = s.first, &G = s.second, &t_ = s.third;
  PerThread<Square<W, N>> X;
  load_gram<N>(block, job, groups, X, s);
  block.each([&](int t) {
    for (int e = t; e < N * N; e += threads) {
      const int i = e % N, j = e / N;
      V[i][j] = i > j && i < n ? wide(job.A[i + j * job.lda]) : W{};
    }
    if (t < N) s.inverse[t] = t < n ? wide(job.tau[t]) : W{};
  });
  block.each([&](int t) {
    X[t].template add_products<OfLowers>(
        t, [&](int i, int k) { return conj(V[k][i]); }, [&](int k, int j) { return V[k][j]; });
    X[t].each(t, [&](W& x, int i, int j) {
      G[i][j] = i < j && j < n ? times(plus(x, conj(V[j][i])), s.inverse[j]) : W{};
      x = i == j ? s.inverse[j] : W{};
    });
  });
  solve_square<N>(
      block, X, t_, [&](int k, int j) { return G[k][j]; }, [](int) { return number<W>(1); });
  write_factors(
      block, job, [&](int i, int j) { return i == j ? number<W>(1) : V[i][j]; },
      [&](int i, int j) { return t_[i][j]; });
}

// ---- substitution

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

// ---- Householder's way

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

// ---- all of it

enum class Kernel {
  gram_of_a,
  cholesky,
  solve_a,
  gram_of_q,
  rebuild,
  solve_q,
  gram_of_reflectors,
  triangle,
  householder
};

/// In one stream, in this order.
struct Launch {
  Kernel kernel;
  int blocks;
};

/// The same whatever the panel holds: what is not needed returns at once.  Householder's blocks are at most so many,
/// all of them there at a time; its bits do not depend on how many.
template <class T, int N>
struct Launches {
  std::array<Launch, 7> all;
  int count;

  explicit Launches(const Job<T>& job) {
    const index below = job.m - job.n;
    if (job.factored) {
      all[0] = {Kernel::gram_of_reflectors, GramCut<T, N>::blocks(below)};
      all[1] = {Kernel::triangle, 1};
      count = 2;
      return;
    }
    const Launch last{Kernel::householder, chunks_of(job.m)};
    if (job.householder) {
      all[0] = last;
      count = 1;
      return;
    }
    all = {Launch{Kernel::gram_of_a, GramCut<T, N>::blocks(job.m)},
           {Kernel::cholesky, 1},
           {Kernel::solve_a, SolveCut<T, N>::blocks(job.m)},
           {Kernel::gram_of_q, GramCut<T, N>::blocks(below)},
           {Kernel::rebuild, 1},
           {Kernel::solve_q, SolveCut<T, N>::blocks(below)},
           last};
    count = 7;
  }
};

template <Kernel kernel, class T, int N>
struct SharedOf {
  using type = SquareShared<Wide<T>, N>;
};
template <Kernel kernel, class T, int N>
requires(kernel == Kernel::gram_of_a || kernel == Kernel::gram_of_q ||
         kernel == Kernel::gram_of_reflectors) struct SharedOf<kernel, T, N> {
  using type = GramShared<T, N>;
};
template <Kernel kernel, class T, int N>
requires(kernel == Kernel::solve_a || kernel == Kernel::solve_q) struct SharedOf<kernel, T, N> {
  using type = SolveShared<T, N>;
};
template <class T, int N>
struct SharedOf<Kernel::householder, T, N> {
  using type = HouseholderShared<T, N>;
};

/// One block's work of any kernel but Householder's.
template <Kernel kernel, int N, class T, class Block, class Shared>
__device__ void run(const Block& block, const Job<T>& job, Shared& shared) {
  const auto groups = [](index m) { return (GramCut<T, N>::blocks(m) - 1) / group + 1; };
  if constexpr (kernel == Kernel::gram_of_a)
    gram<GramOf::a, N>(block, job, shared);
  else if constexpr (kernel == Kernel::cholesky)
    cholesky<N>(block, job, groups(job.m), shared);
  else if constexpr (kernel == Kernel::solve_a)
    solve<true, N>(block, job, shared);
  else if constexpr (kernel == Kernel::gram_of_q)
    gram<GramOf::q, N>(block, job, shared);
  else if constexpr (kernel == Kernel::rebuild)
    rebuild<N>(block, job, groups(job.m - job.n), shared);
  else if constexpr (kernel == Kernel::solve_q)
    solve<false, N>(block, job, shared);
  else if constexpr (kernel == Kernel::gram_of_reflectors)
    gram<GramOf::reflectors, N>(block, job, shared);
  else
    triangle<N>(block, job, groups(job.m - job.n), shared);
}

/// The panel of p, and its workspace.
/// @param householder  whether only Householder's way is to be tried; otherwise where Gram matrices can say nothing
template <class T>
Job<T> job_of(const QrPanel& p, void* workspace, bool householder) {
  Job<T> job{.m = p.m,
             .n = static_cast<int>(p.n),
             .A = static_cast<T*>(p.A),
             .lda = p.lda,
             .tau = static_cast<T*>(p.tau),
             .above = static_cast<int>(p.above),
             .block = static_cast<int>(p.block),
             .V = static_cast<T*>(p.V) + p.above,
             .ldv = p.ldv,
             .t = static_cast<T*>(p.T),
             .ldt = p.ldt,
             // Of a square matrix the last reflector is the identity.
             .householder = householder || p.m == p.n,
             .factored = p.factored};
  place_workspace(job, workspace);
  return job;
}

}  // namespace blaslift::qr_kernels
