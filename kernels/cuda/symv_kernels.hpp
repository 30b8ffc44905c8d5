// The kernels of SYMV, in the order of additions that kernels/symv.hpp sets down.  Apart from their launches, so that
// tests can run them where there is no GPU.
#pragma once
#ifdef __CUDACC__
#include <cuda/atomic>
#endif
#include <type_traits>

#include "kernels/symv.hpp"

namespace blaslift::symv_order {

/// What a kernel is told.  Vectors by their first element, wherever it is.
template <class T>
struct Job {
  Order order;
  const T* A;
  index lda;
  const T* x;
  index incx;
  T* y;
  index incy;
  T alpha, beta;
  bool hermitian;
  bool by_tickets;
  T *rows, *columns;  ///< the workspace's parts
  unsigned *counter, *tickets;
};

/// 16 bytes of a column.
template <class T>
struct alignas(16) Unit {
  static constexpr int size = 16 / sizeof(T);
  T x[size];
};

__device__ inline float load(const float* at) { return __ldg(at); }
__device__ inline double load(const double* at) { return __ldg(at); }
__device__ inline Complex<float> load(const Complex<float>* at) {
  const float2 x = __ldg(reinterpret_cast<const float2*>(at));
  return {x.x, x.y};
}
__device__ inline Complex<double> load(const Complex<double>* at) {
  const double2 x = __ldg(reinterpret_cast<const double2*>(at));
  return {x.x, x.y};
}
__device__ inline DoubleDouble load(const DoubleDouble* at) {
  const double2 x = __ldg(reinterpret_cast<const double2*>(at));
  return {x.x, x.y};
}

/// At once where the address allows it; otherwise one element after the other, and the second finds in the cache what
/// the first has fetched.
template <bool wide, class T>
__device__ inline Unit<T> load_unit(const T* at) {
  Unit<T> unit;
  if constexpr (wide && sizeof(T) == sizeof(float)) {
    const float4 x = __ldg(reinterpret_cast<const float4*>(at));
    unit = {x.x, x.y, x.z, x.w};
  } else if constexpr (wide && std::is_same_v<T, double>) {
    const double2 x = __ldg(reinterpret_cast<const double2*>(at));
    unit = {x.x, x.y};
  } else if constexpr (wide && std::is_same_v<T, Complex<float>>) {
    const float4 x = __ldg(reinterpret_cast<const float4*>(at));
    unit = {{{x.x, x.y}, {x.z, x.w}}};
  } else {
#pragma unroll
    for (int e = 0; e < Unit<T>::size; ++e) unit.x[e] = load(at + e);
  }
  return unit;
}

template <class R>
__device__ inline R from_lane_xor(R x, int distance) {
  return __shfl_xor_sync(~0u, x, distance);
}
template <class R>
__device__ inline Complex<R> from_lane_xor(Complex<R> x, int distance) {
  return {from_lane_xor(x.re, distance), from_lane_xor(x.im, distance)};
}
__device__ inline DoubleDouble from_lane_xor(DoubleDouble x, int distance) {
  return {from_lane_xor(x.hi, distance), from_lane_xor(x.lo, distance)};
}

/// The sums over a warp of `count` values by halves of the warp, first the two of 16 threads.  At each distance a
/// thread hands on the half of its values that its partner keeps, so the sum of value k ends in the threads from 32 /
/// count k on.
template <int distance = 16, int count, class T>
__device__ inline T sum_over_warp(const T (&value)[count], int lane) {
  constexpr int kept = count > 1 ? count / 2 : 1;
  const bool upper = count > 1 && (lane & distance) != 0;
  T sum[kept];
#pragma unroll
  for (int c = 0; c < kept; ++c) {
    const T mine = upper ? value[c + count - kept] : value[c], other = upper ? value[c] : value[c + count - kept];
    sum[c] = plus(mine, from_lane_xor(other, distance));
  }
  if constexpr (distance == 1)
    return sum[0];
  else
    return sum_over_warp<distance / 2>(sum, lane);
}

// The row parts of other panels are read past the first-level cache, which belongs to one multiprocessor.
__device__ inline float load_shared_by_all(const float* at) { return __ldcg(at); }
__device__ inline double load_shared_by_all(const double* at) { return __ldcg(at); }
template <class R>
__device__ inline Complex<R> load_shared_by_all(const Complex<R>* at) {
  return {__ldcg(&at->re), __ldcg(&at->im)};
}
__device__ inline DoubleDouble load_shared_by_all(const DoubleDouble* at) { return {__ldcg(&at->hi), __ldcg(&at->lo)}; }

#ifdef __CUDACC__
using Counter = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ inline unsigned take(unsigned* counter) {
  return Counter(*counter).fetch_add(1, cuda::std::memory_order_relaxed);
}
__device__ inline void await(unsigned* ticket, unsigned turn) {
  while (Counter(*ticket).load(cuda::std::memory_order_acquire) != turn) __nanosleep(40);
}
__device__ inline void pass_on(unsigned* ticket, unsigned turn) {
  Counter(*ticket).store(turn, cuda::std::memory_order_release);
}
/// What the launch adds to a block's shared memory.
__device__ inline void* dynamic_shared() {
  extern __shared__ double2 at[];
  return at;
}
#endif

/// One tile by one block of Tx x Ty threads.
///
/// With tickets, tiles are given out by a counter in the order in which blocks begin, not by blockIdx, of whose order
/// CUDA says nothing.  Why this cannot hang: a block waits only once, at its end, for the ticket of its chunk and chain
/// to reach its turn; the turns before are those of lower ranks, whose tiles have lower numbers: other blocks took
/// these numbers before, so they are running, or have ended.  Of the blocks that are running the one with the lowest
/// number has nothing left to wait for; when it has ended the next one has not, and so on.  However few of them the
/// device holds at a time, none waits for one that has not begun.
template <class T, int U, int Tx, int Ty, bool wide, bool by_tickets>
__global__ void __launch_bounds__(Tx* Ty, 512 / (Tx * Ty)) sum_tiles(const Job<T> job) {
  constexpr int V = Unit<T>::size, C = U / Ty, R = Tx * V, threads = Tx * Ty;
  static_assert(Tx % 32 == 0 && U % Ty == 0 && C <= 32 && 32 % C == 0 && U <= threads);
  __shared__ T x_panel[U], column[Tx / 32][U];
  alignas(16) __shared__ T partial[2][Ty][R];
  [[maybe_unused]] T* const row_sums = static_cast<T*>(dynamic_shared());  // with tickets: of the whole tile

  const Order& order = job.order;
  const int tx = threadIdx.x, ty = threadIdx.y, thread = tx + Tx * ty;
  __shared__ Tile tile;  // not in every thread's registers: there is none to spare
  if (thread == 0) {
    if constexpr (by_tickets)
      tile = order.tile(static_cast<int>(take(job.counter)));
    else
      tile = order.tile(static_cast<int>(blockIdx.x));
  }
  __syncthreads();
  const int j0 = tile.panel * U;
  if (thread < U) x_panel[thread] = j0 + thread < order.n ? load(job.x + (j0 + thread) * job.incx) : T{};
  __syncthreads();

  T sum[C] = {};  // of columns
  const int j1 = j0 + ty * C;
  const T* const A = job.A + j1 * job.lda;
  for (int row = tile.begin, buffer = 0; row < tile.end; row += R, buffer ^= 1) {
    const int i = row + tx * V;
    Unit<T> by_row{};
    // All of a whole step is on its way before the first of it is waited for.
    const auto add_step = [&]<bool whole>(std::bool_constant<whole>) {
      constexpr int group = whole || C < 2 ? C : 2;
      const auto counts = [&](int c, int e) {
        return whole || (i + e < tile.end && j1 + c < order.n && order.is_stored(i + e, j1 + c));
      };
      T x[V];
#pragma unroll
      for (int e = 0; e < V; ++e)
        if (whole || i + e < tile.end) x[e] = conjugate_if(job.hermitian, load(job.x + (i + e) * job.incx));
#pragma unroll
      for (int c0 = 0; c0 < C; c0 += group) {
        Unit<T> a[group];
#pragma unroll
        for (int c = 0; c < group; ++c) {
          const T* const at = A + i + (c0 + c) * job.lda;
          if constexpr (whole) {
            a[c] = load_unit<wide>(at);
          } else {
#pragma unroll
            for (int e = 0; e < V; ++e)
              if (counts(c0 + c, e)) a[c].x[e] = load(at + e);
          }
        }
#pragma unroll
        for (int c = 0; c < group; ++c) {
          const T xj = x_panel[ty * C + c0 + c];
          T column_sum = sum[c0 + c];
#pragma unroll
          for (int e = 0; e < V; ++e) {
            if (!whole && i + e == j1 + c0 + c && counts(c0 + c, e)) {
              column_sum = add_diagonal(a[c].x[e], x[e], column_sum, job.hermitian);
            } else if (counts(c0 + c, e)) {
              by_row.x[e] = add_product(a[c].x[e], xj, by_row.x[e]);
              column_sum = add_product(a[c].x[e], x[e], column_sum);
            }
          }
          sum[c0 + c] = column_sum;
        }
      }
    };
    if (order.is_whole(tile, row))
      add_step(std::true_type{});
    else
      add_step(std::false_type{});
    *reinterpret_cast<Unit<T>*>(&partial[buffer][ty][tx * V]) = by_row;
    // One barrier a step is enough: whoever writes this buffer again has passed the next one, where those who read it
    // now have arrived.
    __syncthreads();
    for (int r = thread; r < R && row + r < tile.end; r += threads) {
      T total = partial[buffer][0][r];
#pragma unroll
      for (int t = 1; t < Ty; ++t) total = plus(total, partial[buffer][t][r]);
      if constexpr (by_tickets)
        row_sums[row + r - tile.begin] = total;
      else
        job.rows[tile.panel * order.ld() + row + r] = total;
    }
  }

  const int lane = tx % 32;
  const T by_lane = sum_over_warp(sum, lane);
  if (lane % (32 / C) == 0) column[tx / 32][ty * C + lane / (32 / C)] = by_lane;
  __syncthreads();
  if (thread < U && j0 + thread < order.n) {
    T total = column[0][thread];
#pragma unroll
    for (int group = 1; group < Tx / 32; ++group) total = plus(total, column[group][thread]);
    job.columns[tile.chunk * order.ld() + j0 + thread] = conjugate_if(job.hermitian, total);
  }

  if constexpr (by_tickets) {
    const Turn turn = order.turn_of(tile.rank);
    unsigned* const ticket = job.tickets + tile.chunk * chains + turn.chain;
    T* const to = job.rows + turn.chain * order.ld();
    // What the block before released this thread acquires, and the barrier hands it on to the others; and the other
    // way round at the end.
    if (thread == 0) await(ticket, static_cast<unsigned>(turn.turn));
    __syncthreads();
    for (int i = tile.begin + thread; i < tile.end; i += threads)
      to[i] = plus(turn.turn == 0 ? T{} : load_shared_by_all(&to[i]), row_sums[i - tile.begin]);
    __syncthreads();
    if (thread == 0) pass_on(ticket, static_cast<unsigned>(turn.turn) + 1);
  }
}

/// What becomes of y once all parts are there: 32 rows by one block of 32 x `chains` threads.
template <class T>
__global__ void __launch_bounds__(32 * chains) add_parts(const Job<T> job) {
  __shared__ T of_chain[chains][32];
  const Order& order = job.order;
  const int lane = threadIdx.x, g = threadIdx.y, i = static_cast<int>(blockIdx.x) * 32 + lane;
  T sum{};
  if (i < order.n) {
    const int ranks = order.ranks_of_row(i);
    if (!job.by_tickets) {
#pragma unroll 8
      for (int rank = g; rank < ranks; rank += chains)
        sum = plus(sum, load(&job.rows[order.panel_of(rank) * order.ld() + i]));
    } else if (g < ranks) {
      sum = load(&job.rows[g * order.ld() + i]);
    }
#pragma unroll 4
    for (int q = order.first_chunk(i) + g; q <= order.last_chunk(i); q += chains)
      sum = plus(sum, load(&job.columns[q * order.ld() + i]));
  }
  of_chain[g][lane] = sum;
  __syncthreads();
  if (g > 0 || i >= order.n) return;
#pragma unroll
  for (int other = 1; other < chains; ++other) sum = plus(sum, of_chain[other][lane]);
  T& y = job.y[i * job.incy];
  y = updated(job.alpha, sum, job.beta, &y);
}

/// Small n, and alpha = 0 whatever n: 32 rows of the whole matrix by one block of 32 x warps threads, the other
/// triangle's by way of shared memory.
template <class T>
__global__ void __launch_bounds__(32 * warps(sizeof(T))) sum_rows(const Job<T> job) {
  constexpr int W = warps(sizeof(T));
  const int n = job.order.n;
  const bool upper = job.order.upper;
  __shared__ T turned[W][strip][block + 1], of_warp[W][strip];
  const int lane = threadIdx.x, w = threadIdx.y, i0 = static_cast<int>(blockIdx.x) * strip, i = i0 + lane;
  T sum{};
  for (int j0 = equals(job.alpha, 0) ? n : w * block; j0 < n; j0 += W * block) {
    T a[block];
    const bool right = j0 >= i0 + strip, left = j0 + block <= i0;
    if (upper ? left : right) {  // mirrored: 16 rows of two columns at a time
#pragma unroll
      for (int c = 0; c < block; ++c) {
        const int row = lane % block, column = 2 * c + lane / block;
        if (j0 + row < n && i0 + column < n) turned[w][column][row] = load(job.A + j0 + row + (i0 + column) * job.lda);
      }
      __syncwarp();
#pragma unroll
      for (int c = 0; c < block; ++c) a[c] = conjugate_if(job.hermitian, turned[w][lane][c]);
      __syncwarp();
    } else {
#pragma unroll
      for (int c = 0; c < block; ++c) {
        const int j = j0 + c;
        if (i >= n || j >= n) continue;
        const bool stored = upper ? i <= j : i >= j;
        a[c] = conjugate_if(job.hermitian && !stored, load(job.A + (stored ? i + j * job.lda : j + i * job.lda)));
      }
    }
#pragma unroll
    for (int c = 0; c < block; ++c) {
      const int j = j0 + c;
      if (i >= n || j >= n) continue;
      const T x = load(job.x + j * job.incx);
      sum = i == j ? add_diagonal(a[c], x, sum, job.hermitian) : add_product(a[c], x, sum);
    }
  }
  of_warp[w][lane] = sum;
  __syncthreads();
  if (w > 0 || i >= n) return;
#pragma unroll
  for (int other = 1; other < W; ++other) sum = plus(sum, of_warp[other][lane]);
  T& y = job.y[i * job.incy];
  y = updated(job.alpha, sum, job.beta, &y);
}

}  // namespace blaslift::symv_order
