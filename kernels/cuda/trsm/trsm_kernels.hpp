// Triangular systems by blocks: what kernels of our own do.  Everything between them are products.
#pragma once
#include <cstdint>

#include "kernels/cuda/core/numbers.hpp"

namespace blaslift::trsm_kernels {

using namespace numbers;

// What is the device's own; tests/unit/support/cuda_on_host.hpp has the same for the CPU.
#ifdef __CUDACC__

/// What the launch adds to a block's shared memory.
__device__ inline unsigned char* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}

/// c := a b + c for 16 x 16 times 16 x 8 numbers of 16 bits, by the threads of a warp together: thread 4 i + k has a's
/// rows i and i + 8 in columns 2 k, 2 k + 1 and those 8 further on, b's column i in these rows, and c's rows i and i +
/// 8 in columns 2 k and 2 k + 1.
__device__ inline void add_products(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

inline constexpr int threads = 256, warp = 32, warps = threads / warp;

/// Blocks of a triangle's diagonal and their inverses (kernels/trsm.hpp, TrsmLayout).
template <class T>
struct Blocks {
  const T* A;
  index lda, order, block, blocks;
  bool upper, unit;
  T *inverses, *triangles;
  std::uint16_t *inverse_sizes, *triangle_sizes;
  Real<T>* sums;
  unsigned* refused;
  T** addresses;
  index pairs;
};

/// Why the inverse of a block is not used.  Each is what the check has found of one order of its factors: |V| |L|,
/// whose rows count where op(L) X = B is solved with L as it is, or |L| |V|, whose columns count where it is
/// transposed.
inline constexpr unsigned refused_as_it_is = 1, refused_transposed = 2, refused_anyway = 3;

/// No square of these, nor a sum of them, overflows or underflows.
template <class T>
inline constexpr Real<T> most_size = sizeof(Real<T>) == 4 ? static_cast<Real<T>>(0x1p50)
                                                          : static_cast<Real<T>>(0x1p400);

template <class T>
__device__ inline Real<T> size_of(T x) {
  return std::fabs(re(x)) + std::fabs(im(x));
}
__device__ inline float over(float x, float y) { return x / y; }
__device__ inline double over(double x, double y) { return x / y; }
/// Smith's way: no intermediate result overflows that the quotient's size does not explain, and with y = 0 it is NaN.
template <class R>
__device__ inline Complex<R> over(Complex<R> x, Complex<R> y) {
  if (std::fabs(y.re) >= std::fabs(y.im)) {
    const R ratio = y.im / y.re, length = y.re + y.im * ratio;
    return {(x.re + x.im * ratio) / length, (x.im - x.re * ratio) / length};
  }
  const R ratio = y.re / y.im, length = y.re * ratio + y.im;
  return {(x.re * ratio + x.im) / length, (x.im * ratio - x.re) / length};
}
template <class R>
__device__ inline R from_lane(R x, int lane) {
  return __shfl_sync(0xffffffff, x, lane);
}
template <class R>
__device__ inline Complex<R> from_lane(Complex<R> x, int lane) {
  return {from_lane(x.re, lane), from_lane(x.im, lane)};
}
template <class T>
__device__ inline bool is_finite(T x) {
  return std::isfinite(re(x)) && std::isfinite(im(x));
}

/// Copies the blocks, behind A's end those of an identity; zeros elsewhere, and for inverses.  And the addresses by
/// which tiles of two orders become one: with L21 the tile beside the diagonal, V21 := - outer (L21 inner).
template <class T>
__global__ void take_blocks(Blocks<T> job, int tile) {
  const index elements = job.block * job.block, p = blockIdx.y, first = p * job.block;
  const index own = blockIdx.x * index{threads} + threadIdx.x, step = gridDim.x * index{threads};
  if (own == 0) job.refused[p] = 0;
  for (index at = own; at < elements; at += step) {
    const index i = at % job.block, j = at / job.block;
    const bool inside = first + i < job.order && first + j < job.order, in_triangle = job.upper ? i < j : i > j;
    T x = number<T>(0);
    if (i == j)
      x = inside && !job.unit ? job.A[first + i + (first + j) * job.lda] : number<T>(1);
    else if (inside && in_triangle)
      x = job.A[first + i + (first + j) * job.lda];
    job.triangles[p * elements + at] = x;
    job.inverses[p * elements + at] = number<T>(0);
  }
  index before = 0;
  for (index s = tile; s < job.block; s *= 2) {
    const index each = job.block / (2 * s);
    for (index q = own; q < each; q += step) {
      const index pair = before + p * each + q, a = 2 * q * s, b = a + s;  // the two on the diagonal
      const auto at = [&](T* of, index i, index j) { return of + p * elements + i + j * job.block; };
      const index row = job.upper ? a : b, column = job.upper ? b : a;
      job.addresses[pair] = at(job.triangles, row, column);                  // L21
      job.addresses[job.pairs + pair] = at(job.inverses, column, column);    // inner
      job.addresses[2 * job.pairs + pair] = at(job.triangles, column, row);  // scratch
      job.addresses[3 * job.pairs + pair] = at(job.inverses, row, row);      // outer
      job.addresses[4 * job.pairs + pair] = at(job.inverses, row, column);   // V21
    }
    before += job.blocks * each;
  }
}

/// Inverts tiles of the diagonal by substitution, column by column; an upper one as its transpose.
template <class T, int E>
__global__ void __launch_bounds__(threads) invert_tiles(Blocks<T> job) {
  unsigned char* const memory = dynamic_shared();
  T(*L)[E + 1] = reinterpret_cast<T(*)[E + 1]>(memory);
  T(*V)[E + 1] = L + E;
  T* const inverse_of = reinterpret_cast<T*>(V + E);
  const int t = static_cast<int>(threadIdx.x);
  const index each = job.block / E, p = blockIdx.x / each, q = blockIdx.x % each;
  const index corner = p * job.block * job.block + q * E * (1 + job.block);
  for (int at = t; at < E * E; at += threads) {
    const int i = at % E, j = at / E;
    const T x = job.triangles[corner + i + j * job.block];
    if (job.upper)
      L[j][i] = x;
    else
      L[i][j] = x;
    V[i][j] = number<T>(0);
  }
  __syncthreads();
  if (t < E) {
    const T x = L[t][t];
    const Real<T> size = size_of(x);
    if (!(size <= most_size<T> && size >= 1 / most_size<T>)) atomicOr(&job.refused[p], refused_anyway);
    inverse_of[t] = over(number<T>(1), x);
    V[t][t] = inverse_of[t];
  }
  __syncthreads();
  if (t < E) {
    for (int i = t + 1; i < E; ++i) {
      T sums[4] = {};
      int k = t;
      for (; k + 4 <= i; k += 4)
#pragma unroll
        for (int u = 0; u < 4; ++u) sums[u] = add_product(L[i][k + u], V[k + u][t], sums[u]);
      for (; k < i; ++k) sums[0] = add_product(L[i][k], V[k][t], sums[0]);
      V[i][t] = times(minus(plus(plus(sums[0], sums[1]), plus(sums[2], sums[3]))), inverse_of[i]);
    }
  }
  __syncthreads();
  for (int at = t; at < E * E; at += threads) {
    const int i = at % E, j = at / E;
    if (job.upper ? i <= j : i >= j) job.inverses[corner + i + j * job.block] = job.upper ? V[j][i] : V[i][j];
  }
}

/// |M| w for the rows (z = 0) or w |M| for the columns (z = 1) of every block M, of ones for w, or `weights`.  With
/// weights: refuses the block where a result is above `most`; without: where one is too large for anything, and keeps
/// them.
template <class T>
__global__ void __launch_bounds__(threads)
    sum_blocks(Blocks<T> job, const T* blocks, const Real<T>* weights, Real<T> most, Real<T>* results) {
  using R = Real<T>;
  __shared__ R parts[warps][warp];
  const int lane = static_cast<int>(threadIdx.x) % warp, w = static_cast<int>(threadIdx.x) / warp;
  const bool columns = blockIdx.z == 1;
  const index p = blockIdx.y, n = job.block, first = blockIdx.x * index{warp};
  const T* const M = blocks + p * n * n;
  const index vector = (2 * p + columns) * n;
  const auto element = [&](index i, index j) -> R {  // the other triangle may hold anything
    if (job.upper ? i > j : i < j) return 0;
    const R x = size_of(M[i + j * n]);
    return weights ? x * weights[vector + (columns ? i : j)] : x;
  };
  R sum = 0;
  if (columns) {  // a warp takes a column after the other
    for (int c = w; c < warp; c += warps) {
      R own = 0;
      for (index i = lane; i < n; i += warp) own += element(i, first + c);
      for (int distance = warp / 2; distance > 0; distance /= 2) own += __shfl_xor_sync(0xffffffff, own, distance);
      if (lane == 0) parts[0][c] = own;
    }
    __syncthreads();
    sum = parts[0][lane];
  } else {  // a lane has a row, of which warps share the columns
    for (index j = w; j < n; j += warps) sum += element(first + lane, j);
    parts[w][lane] = sum;
    __syncthreads();
    sum = 0;
    for (int other = 0; other < warps; ++other) sum += parts[other][lane];
  }
  if (w > 0) return;
  if (weights) {
    if (!(sum <= most)) atomicOr(&job.refused[p], columns ? refused_transposed : refused_as_it_is);
  } else {
    if (!(sum <= most)) atomicOr(&job.refused[p], refused_anyway);
    results[vector + first + lane] = sum;
  }
}

// ---- sizes of elements, of which bounds are made: nothing cancels in their sums, so that 8 bits are enough

/// A float that is not negative, cut off after 8 bits (bfloat16).
__device__ inline std::uint16_t cut(float x) { return static_cast<std::uint16_t>(__float_as_uint(x) >> 16); }

/// The sizes of each block's elements and of its inverse's, zeros in the other triangle.  Those of the block are
/// divided by more than any row sum, those of the inverse multiplied by it.
template <class T>
__global__ void __launch_bounds__(threads) take_sizes(Blocks<T> job) {
  using R = Real<T>;
  __shared__ R largest[threads];
  const int t = static_cast<int>(threadIdx.x);
  const index n = job.block, elements = n * n, p = blockIdx.y, left = job.order - p * n, r = left < n ? left : n;
  R most = 0;
  for (index i = t; i < r; i += threads) most = std::fmax(most, job.sums[2 * p * n + i]);
  largest[t] = most;
  __syncthreads();
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    if (t < distance) largest[t] = std::fmax(largest[t], largest[t + distance]);
    __syncthreads();
  }
  const R scale = static_cast<R>(n) * largest[0];
  for (index at = blockIdx.x * index{threads} + t; at < elements; at += gridDim.x * index{threads}) {
    const index i = at % n, j = at / n;
    const bool in_triangle = i < r && j < r && (job.upper ? i <= j : i >= j);
    const auto size = [&](T x, R by) {
      return in_triangle ? cut(static_cast<float>(size_of(x) * by)) : std::uint16_t{0};
    };
    job.triangle_sizes[p * elements + at] = size(job.triangles[p * elements + at], 1 / scale);
    job.inverse_sizes[p * elements + at] = size(job.inverses[p * elements + at], scale);
  }
}

// ---- what follows the product with an inverse

/// A block's rows of X, or columns on the right.  Everything here is of M X = W, M lower or upper triangular and W an r
/// x others matrix; on the right X and W are stored transposed.
template <class T>
struct Finish {
  const T* triangle;
  const std::uint16_t *inverse_sizes, *triangle_sizes;
  index block;
  int r;
  bool lower, transposed, conjugated, right;  ///< M, and how it comes from what is stored
  const unsigned* refused;
  unsigned counts;  ///< what of `refused` matters here
  float most_growth;
  unsigned* substituted;  ///< for each strip of columns, what check_block has found
  const T* W;
  index ldw;
  T* X;
  index ldx, others;
};

/// Columns that a block of threads has in shared memory for substitution; for the bound so many, or twice as many,
/// which need less of what is read again for each.
template <class T>
inline constexpr int strip = sizeof(T) == 16 ? 8 : 16;

/// Of sizes in shared memory, by column; rows that begin in different banks.
BLASLIFT_BOTH constexpr int sizes_pitch(index block) { return static_cast<int>(block) + 8; }
template <class T, int C>
using Strip = T[C + 1];

// For the bound the sizes of X, and what is made of them where X itself was; for substitution X and a tile of M.
template <class T, int C>
constexpr std::size_t bound_memory(index block) {
  const std::size_t sizes = std::size_t{C} * sizes_pitch(block) * sizeof(std::uint16_t),
                    sums = static_cast<std::size_t>(block) * C * sizeof(float),
                    x = static_cast<std::size_t>(block) * sizeof(Strip<T, C>);
  return sizes + (x > sums + sizes ? x : sums + sizes);
}
template <class T>
constexpr std::size_t substitution_memory(index block) {
  return static_cast<std::size_t>(block) * sizeof(Strip<T, strip<T>>) + std::size_t{warp} * (warp + 2) * sizeof(T);
}
/// result(row, column, x) for each element x of |M| or its inverse's sizes times `of`.
template <int C, class T, class Result>
__device__ inline void multiply_sizes(const Finish<T>& job, const std::uint16_t* sizes, const std::uint16_t* of,
                                      const Result& result) {
  constexpr int N = C / 8;
  const int lane = static_cast<int>(threadIdx.x) % warp, w = static_cast<int>(threadIdx.x) / warp, i = lane / 4,
            k = lane % 4 * 2, tiles = (job.r + 15) / 16, pitch = sizes_pitch(job.block);
  // Columns `column` and the next one, of rows `row` and the next one, which are the 16 x 16 product's rows i and i +
  // 8: so they come from memory two at a time, however they are stored.
  const auto take = [&](int row, int column, unsigned& first, unsigned& second) {
    const auto word = [&](index at) { return *reinterpret_cast<const unsigned*>(sizes + at); };
    if (job.transposed) {
      first = word(column + row * job.block);
      second = word(column + (row + 1) * job.block);
    } else {
      const unsigned one = word(row + column * job.block), next = word(row + (column + 1) * job.block);
      first = __byte_perm(one, next, 0x5410);
      second = __byte_perm(one, next, 0x7632);
    }
  };
  for (int round = 0; round * warps < tiles; ++round) {
    const int tile = round * warps + (round % 2 ? warps - 1 - w : w);  // long ones and short ones
    if (tile >= tiles) continue;
    const int row = 16 * tile + 2 * i, from = job.lower ? 0 : tile, to = job.lower ? tile + 1 : tiles;
    float sums[N][4] = {};
#pragma unroll 4
    for (int step = from; step < to; ++step) {
      const int column = 16 * step + k;
      unsigned a[4];
      take(row, column, a[0], a[1]);
      take(row, column + 8, a[2], a[3]);
#pragma unroll
      for (int u = 0; u < N; ++u) {
        const auto* const y = reinterpret_cast<const unsigned*>(of + (8 * u + i) * pitch + column);
        const unsigned b[2] = {y[0], y[4]};
        add_products(sums[u], a, b);
      }
    }
#pragma unroll
    for (int u = 0; u < N; ++u)
#pragma unroll
      for (int e = 0; e < 4; ++e) result(row + e / 2, 8 * u + k + e % 2, sums[u][e]);
  }
}

/// Whether |M| |inv(M)| |M| |X| is at most most_growth |M| |X|, element by element, for this thread's elements; X, all
/// of whose elements are finite, is in S.
template <int C, class T>
__device__ inline bool bound_holds(const Finish<T>& job, unsigned char* memory) {
  const int t = static_cast<int>(threadIdx.x), lane = t % warp, w = t / warp, pitch = sizes_pitch(job.block),
            rows = (job.r + 15) / 16 * 16;
  auto* const x = reinterpret_cast<std::uint16_t*>(memory);
  auto* const S = reinterpret_cast<Strip<T, C>*>(x + C * pitch);
  auto* const sums = reinterpret_cast<float*>(S);  // in the place of S
  auto* const others = reinterpret_cast<std::uint16_t*>(sums + job.block * C);
  for (int c = w; c < C; c += warps) {
    Real<T> most = 0;
    for (int i = lane; i < job.r; i += warp) most = std::fmax(most, size_of(S[i][c]));
    for (int distance = warp / 2; distance > 0; distance /= 2)
      most = std::fmax(most, __shfl_xor_sync(0xffffffff, most, distance));
    const Real<T> scale = most > 0 ? 1 / most : 0;
    for (int i = lane; i < rows; i += warp)
      x[c * pitch + i] = i < job.r ? cut(static_cast<float>(size_of(S[i][c]) * scale)) : std::uint16_t{0};
  }
  __syncthreads();
  multiply_sizes<C>(job, job.triangle_sizes, x, [&](int row, int column, float y) {
    sums[row * C + column] = y;
    others[column * pitch + row] = cut(y);
  });
  __syncthreads();
  multiply_sizes<C>(job, job.inverse_sizes, others,
                    [&](int row, int column, float y) { x[column * pitch + row] = cut(y); });
  __syncthreads();
  bool holds = true;
  multiply_sizes<C>(job, job.triangle_sizes, x, [&](int row, int column, float y) {
    holds = holds && y <= job.most_growth * sums[row * C + column];  // not if it is NaN
  });
  return holds;
}

template <class T>
__device__ inline index offset(const Finish<T>& job, int i, index column, index ld) {
  return job.right ? column + i * ld : i + column * ld;
}

/// Takes a strip of C columns into shared memory, zeros for those that are not there; each_element(x) sees all of them.
/// Many are on their way at a time.
template <int C, class T, class Each>
__device__ inline void take_strip(const Finish<T>& job, const T* from, index ld, index first, Strip<T, C>* S,
                                  const Each& each_element) {
  constexpr int at_once = 8;
  static_assert(C % at_once == 0);
  const int t = static_cast<int>(threadIdx.x), count = job.r * C;
  const auto take = [&](const auto& row, const auto& column) {
    T x[at_once];
#pragma unroll
    for (int u = 0; u < at_once; ++u)
      x[u] = row(u) < job.r && first + column(u) < job.others ? from[offset(job, row(u), first + column(u), ld)]
                                                              : number<T>(0);
#pragma unroll
    for (int u = 0; u < at_once; ++u)
      if (row(u) < job.r) each_element(x[u]), S[row(u)][column(u)] = x[u];
  };
  // By neighbours in memory.
  if (job.right)
    for (int at = t; at < count; at += at_once * threads)
      take([&](int u) { return (at + u * threads) / C; }, [&](int u) { return (at + u * threads) % C; });
  else
    for (int i = t; i < job.r; i += threads)
      for (int c = 0; c < C; c += at_once) take([&](int) { return i; }, [&](int u) { return c + u; });
}
/// Finds the strips that take substitution: where the inverse is not to be trusted, or has left something that is not
/// finite, which it may have spread to where substitution does not take it, or is too far from substitution with these
/// columns.  Apart from that, which takes more registers.
template <class T, int C>
__global__ void __launch_bounds__(threads) check_block(Finish<T> job) {
  constexpr int strips = C / strip<T>;
  unsigned char* const memory = dynamic_shared();
  const index first = blockIdx.x * index{C};
  bool bad = (*job.refused & job.counts) != 0;
  if (!bad) {
    auto* const S = reinterpret_cast<Strip<T, C>*>(memory + C * sizes_pitch(job.block) * sizeof(std::uint16_t));
    take_strip<C>(job, job.X, job.ldx, first, S, [&](T x) { bad = bad || !is_finite(x); });
    bad = __syncthreads_or(bad) != 0;
    if (!bad) bad = __syncthreads_or(!bound_holds<C>(job, memory)) != 0;
  }
  if (threadIdx.x < strips && first + static_cast<int>(threadIdx.x) * strip<T> < job.others)
    job.substituted[blockIdx.x * strips + threadIdx.x] = bad;
}

/// X := inv(M) W by substitution, for these strips.
template <class T>
__global__ void __launch_bounds__(threads) substitute_in_block(Finish<T> job) {
  constexpr int C = strip<T>, E = warp, each_warp = C / warps;
  unsigned char* const memory = dynamic_shared();
  const int t = static_cast<int>(threadIdx.x), lane = t % warp, w = t / warp, r = job.r;
  for (index s = blockIdx.x; s * C < job.others; s += gridDim.x) {
    if (!job.substituted[s]) continue;
    const index first = s * C;
    auto* const S = reinterpret_cast<Strip<T, C>*>(memory);
    T(*M)[E + 1] = reinterpret_cast<T(*)[E + 1]>(S + job.block);
    T* const inverse_of = reinterpret_cast<T*>(M + E);
    take_strip<C>(job, job.W, job.ldw, first, S, [](T) {});
    const auto m = [&](int i, int k) {
      return conjugate_if(job.conjugated,
                          job.transposed ? job.triangle[k + i * job.block] : job.triangle[i + k * job.block]);
    };
    const int tiles = (r + E - 1) / E;
    for (int step = 0; step < tiles; ++step) {
      const int k0 = (job.lower ? step : tiles - 1 - step) * E, length = r - k0 < E ? r - k0 : E;
      __syncthreads();
      for (int at = t; at < E * E; at += threads) {
        const int i = job.transposed ? at / E : at % E, k = job.transposed ? at % E : at / E;
        if (i < length && k < length) M[i][k] = m(k0 + i, k0 + k);
      }
      __syncthreads();
      // A quotient takes long; a product with an inverse that can neither overflow nor underflow is as good.
      bool unusual = false;
      if (t < length) {
        const Real<T> size = size_of(M[t][t]);
        unusual = !(size <= most_size<T> && size >= 1 / most_size<T>);
        inverse_of[t] = inverse(M[t][t]);
      }
      unusual = __syncthreads_or(unusual) != 0;
      T x[each_warp];  // a lane has a row
#pragma unroll
      for (int u = 0; u < each_warp; ++u) x[u] = lane < length ? S[k0 + lane][w + u * warps] : number<T>(0);
      for (int known_before = 0; known_before < length; ++known_before) {
        const int k = job.lower ? known_before : length - 1 - known_before;
        const bool later = lane < length && (job.lower ? lane > k : lane < k);
        const T factor = later ? M[lane][k] : number<T>(0);
#pragma unroll
        for (int u = 0; u < each_warp; ++u) {
          const T reached = from_lane(x[u], k),
                  known = unusual ? over(reached, M[k][k]) : times(reached, inverse_of[k]);
          if (lane == k) x[u] = known;
          if (later) x[u] = minus_product(factor, known, x[u]);
        }
      }
#pragma unroll
      for (int u = 0; u < each_warp; ++u)
        if (lane < length) S[k0 + lane][w + u * warps] = x[u];
      __syncthreads();
      const int from = job.lower ? k0 + length : 0, to = job.lower ? r : k0;
      for (int i = from + t; i < to; i += threads) {
        T y[C];
#pragma unroll
        for (int c = 0; c < C; ++c) y[c] = S[i][c];
#pragma unroll 8
        for (int k = 0; k < length; ++k) {
          const T factor = m(i, k0 + k);
#pragma unroll
          for (int c = 0; c < C; ++c) y[c] = minus_product(factor, S[k0 + k][c], y[c]);
        }
#pragma unroll
        for (int c = 0; c < C; ++c) S[i][c] = y[c];
      }
    }
    __syncthreads();
    for (int at = t; at < r * C; at += threads) {
      const int i = job.right ? at / C : at % r, c = job.right ? at % C : at / r;
      if (first + c < job.others) job.X[offset(job, i, first + c, job.ldx)] = S[i][c];
    }
    __syncthreads();
  }
}

}  // namespace blaslift::trsm_kernels
