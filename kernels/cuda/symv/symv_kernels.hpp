// The kernels of SYMV, in the order of additions that kernels/symv.hpp sets down.  Apart from their launches, so that
// tests can run them where there is no GPU.
#pragma once
#ifdef __CUDACC__
#include <cooperative_groups.h>

#include <cuda/atomic>
#endif
#include <type_traits>

#include "kernels/cuda/core/streaming.hpp"
#include "kernels/symv.hpp"

namespace blaslift::symv_order {

using namespace streaming;

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
  bool conjugated;  ///< the product is conj(A conj(x))
  bool by_tickets;
  T *rows, *columns;  ///< the workspace's parts
  unsigned *counter, *tickets;
};

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

/// Copies on its own, without a register.
template <class T>
__device__ inline void fetch_to_shared(T* to, const T* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from), "n"(sizeof(T))
               : "memory");
}
/// What all of this warp have fetched is there for all of it.
__device__ inline void await_fetched() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
}

// A cluster's barrier, in two halves, releases what was written before the first and acquires it in the second.
__device__ inline void arrive_in_cluster() {
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().barrier_arrive();
#endif
}
/// Says only that the block is there.  Releases nothing, and so waits for no load that is on its way.
__device__ inline void begin_in_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;");
#endif
}
__device__ inline void await_cluster() {
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().barrier_wait();
#endif
}
/// The same variable in the shared memory of the cluster's first block.
template <class T>
__device__ T* in_first_block(T* shared) {
#if __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().map_shared_rank(shared, 0);
#else
  return shared;
#endif
}
#endif

/// That a multiprocessor has registers for, with so many columns each.
template <class T>
constexpr int resident_threads(int columns) {
  return sizeof(T) < 16 && columns <= 8 ? 768 : 512;
}

/// One tile by one block of Tx x Ty threads.
///
/// With tickets, tiles are given out by a counter in the order in which blocks begin, not by blockIdx, of whose order
/// CUDA says nothing.  Why this cannot hang: a block waits only once, at its end, for the ticket of its chunk and chain
/// to reach its turn; the turns before are those of lower ranks, whose tiles have lower numbers: other blocks took
/// these numbers before, so they are running, or have ended.  Of the blocks that are running the one with the lowest
/// number has nothing left to wait for; when it has ended the next one has not, and so on.  However few of them the
/// device holds at a time, none waits for one that has not begun.
///
/// All of a step, C units of each thread, is on its way before the first of it is waited for, x's elements too, also
/// where only some of it is stored: what a tile takes is mostly the number of times that it waits for memory.
template <class T, int U, int Tx, int Ty, bool wide, bool by_tickets>
__global__ void __launch_bounds__(Tx* Ty, resident_threads<T>(U / Ty) / (Tx * Ty)) sum_tiles(const Job<T> job) {
  constexpr int V = Unit<T>::size, C = U / Ty, R = Tx * V, threads = Tx * Ty;
  static_assert(Tx % 32 == 0 && U % Ty == 0 && C <= 32 && 32 % C == 0 && U <= threads);
  __shared__ T x_of_warp[threads / 32][C], column[Tx / 32][U];
  alignas(16) __shared__ T partial[2][Ty][R];
  [[maybe_unused]] T* const row_sums = static_cast<T*>(dynamic_shared());  // with tickets: of the whole tile

  let_next_kernel_begin();
  const Order& order = job.order;
  const int tx = threadIdx.x, ty = threadIdx.y, thread = tx + Tx * ty, lane = tx % 32;
  __shared__ Tile tile;  // not in every thread's registers: there is none to spare
  if (thread == 0) tile = order.tile(static_cast<int>(by_tickets ? take(job.counter) : blockIdx.x));
  __syncthreads();
  const int j1 = tile.panel * U + ty * C;
  T* const x_panel = x_of_warp[thread / 32];  // this warp's part of it
  if (lane < C) {
    if (j1 + lane < order.n)
      fetch_to_shared(&x_panel[lane], job.x + (j1 + lane) * job.incx);
    else
      x_panel[lane] = T{};
  }

  T sum[C] = {};  // of columns
  const T* const A = job.A + j1 * job.lda;
  for (int row = tile.begin; row < tile.end; row += R) {
    const int i = row + tx * V, buffer = row / R % 2;
    Unit<T> by_row{};
    const auto add_step = [&]<bool whole>(std::bool_constant<whole>) {
      // Row e of the units is stored in those columns c that are from[e] <= c < to[e].
      int from[V], to[V];
#pragma unroll
      for (int e = 0; e < V; ++e) {
        const int diagonal = i + e - j1, columns = order.n - j1;
        from[e] = order.upper ? diagonal : 0;
        to[e] = i + e >= tile.end ? 0 : order.upper || columns <= diagonal ? columns : diagonal + 1;
      }
      const auto counts = [&](int c, int e) { return whole || (from[e] <= c && c < to[e]); };
      T x[V];
#pragma unroll
      for (int e = 0; e < V; ++e)
        x[e] = whole || i + e < tile.end
                   ? conjugate_if(job.hermitian != job.conjugated, load(job.x + (i + e) * job.incx))
                   : T{};
      Unit<T> a[C];
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const T* const at = A + i + c * job.lda;
        if constexpr (whole) {
          a[c] = load_unit<wide>(at);
        } else {
#pragma unroll
          for (int e = 0; e < V; ++e) a[c].x[e] = counts(c, e) ? load_once(at + e) : T{};
        }
      }
      // The condition keeps the compiler from waiting before the loads.
      if (row == tile.begin) {
        await_fetched();
        if (job.conjugated) {
          if (lane < C) x_panel[lane] = conjugate_if(true, x_panel[lane]);
          __syncwarp();
        }
      }
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const T xj = x_panel[c];
#pragma unroll
        for (int e = 0; e < V; ++e) {
          // Chosen from, not branched over: where there are branches the compiler puts loads behind them.
          const bool counted = counts(c, e), diagonal = !whole && i + e == j1 + c;
          const T of_row = add_product(a[c].x[e], xj, by_row.x[e]);
          const T of_column =
              diagonal ? add_diagonal(a[c].x[e], x[e], sum[c], job.hermitian) : add_product(a[c].x[e], x[e], sum[c]);
          by_row.x[e] = counted && !diagonal ? of_row : by_row.x[e];
          sum[c] = counted ? of_column : sum[c];
        }
      }
    };
    // The same for all of a warp.
    if (order.is_whole(tile, row + (tx - lane) * V, 32 * V, j1, C))
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

  const T by_lane = sum_over_warp(sum, lane);
  if (lane % (32 / C) == 0) column[tx / 32][ty * C + lane / (32 / C)] = by_lane;
  __syncthreads();
  const int j = tile.panel * U + thread;
  if (thread < U && j < order.n) {
    T total = column[0][thread];
#pragma unroll
    for (int group = 1; group < Tx / 32; ++group) total = plus(total, column[group][thread]);
    job.columns[tile.chunk * order.ld() + j] = conjugate_if(job.hermitian, total);
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
  constexpr int at_once = 8;
  __shared__ T of_chain[chains][32];
  const Order& order = job.order;
  const int lane = threadIdx.x, g = threadIdx.y, i = static_cast<int>(blockIdx.x) * 32 + lane;
  await_kernel_before();
  T sum{}, before{};
  if (i < order.n) {
    const auto turns = [g](int count) { return count > g ? (count - g + chains - 1) / chains : 0; };
    const int ranks = order.ranks_of_row(i), chunk = order.first_chunk(i) + g,
              rows = job.by_tickets ? g < ranks : turns(ranks),
              parts = rows + turns(order.last_chunk(i) - order.first_chunk(i) + 1);
    if (g == 0 && !equals(job.beta, 0)) before = job.y[i * job.incy];
    for (int first = 0; first < parts; first += at_once) {
      T part[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const int t = first + k;
        const T* const row_part = job.rows + (job.by_tickets ? g : order.panel_of(g + t * chains)) * order.ld() + i;
        const T* const column_part = job.columns + (chunk + (t - rows) * chains) * order.ld() + i;
        part[k] = t < parts ? load_shared_by_all(t < rows ? row_part : column_part) : T{};
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) sum = first + k < parts ? plus(sum, part[k]) : sum;
    }
  }
  of_chain[g][lane] = sum;
  __syncthreads();
  if (g > 0 || i >= order.n) return;
#pragma unroll
  for (int other = 1; other < chains; ++other) sum = plus(sum, of_chain[other][lane]);
  job.y[i * job.incy] = updated(job.alpha, conjugate_if(job.conjugated, sum), job.beta, &before);
}

/// Small n, and alpha = 0 whatever n: 32 rows of the whole matrix, the other triangle's by way of shared memory, by one
/// block of 32 x warps threads or by a cluster of as many as there are shares, whose first block adds up.
template <class T, bool by_cluster>
__global__ void __launch_bounds__(32 * warps(sizeof(T)), 2) sum_rows(const Job<T> job) {
  constexpr int W = warps(sizeof(T));
  const int n = job.order.n, shares = job.order.shares;
  const bool upper = job.order.upper;
  __shared__ T turned[W][strip][block + 1], x_of_warp[W][block], of_warp[W][strip], of_share[most_shares][strip];
  const int number = static_cast<int>(blockIdx.x), lane = threadIdx.x, w = threadIdx.y;
  const int i0 = (by_cluster ? number / shares : number) * strip, i = i0 + lane;
  const int mine = by_cluster ? number % shares : 0;
  // Nobody writes to another block before that has begun.
  if constexpr (by_cluster) begin_in_cluster();
  T before{};
  if (mine == 0 && w == 0 && i < n && !equals(job.beta, 0)) before = job.y[i * job.incy];
  for (int share = mine; share < (by_cluster ? mine + 1 : shares); ++share) {
    T sum{};
    for (int j0 = equals(job.alpha, 0) ? n : (share * W + w) * block; j0 < n; j0 += shares * W * block) {
      T a[block];
      const bool right = j0 >= i0 + strip, left = j0 + block <= i0;
      const bool mirrored = upper ? left : right, inside = i0 + strip <= n && j0 + block <= n;
      T x{};
      if (lane < block && j0 + lane < n) x = conjugate_if(job.conjugated, load(job.x + (j0 + lane) * job.incx));
      // All 16 loads are on their way before the first is waited for, which conditions that are always true would not
      // allow: so there are two of each.
      const auto fetch = [&]<bool all>(std::bool_constant<all>) {
        if (mirrored) {  // 16 rows of two columns at a time
#pragma unroll
          for (int c = 0; c < block; ++c) {
            const int row = j0 + lane % block, column = i0 + 2 * c + lane / block;
            if (all || (row < n && column < n)) a[c] = load(job.A + row + column * job.lda);
          }
        } else {
#pragma unroll
          for (int c = 0; c < block; ++c) {
            const int j = j0 + c;
            const bool stored = left || right || (upper ? i <= j : i >= j);
            if (all || (i < n && j < n)) a[c] = load(job.A + (stored ? i + j * job.lda : j + i * job.lda));
          }
        }
      };
      if (inside)
        fetch(std::true_type{});
      else
        fetch(std::false_type{});
      if (lane < block) x_of_warp[w][lane] = x;
      if (mirrored) {
#pragma unroll
        for (int c = 0; c < block; ++c) turned[w][2 * c + lane / block][lane % block] = a[c];
      }
      __syncwarp();
      if (mirrored) {
#pragma unroll
        for (int c = 0; c < block; ++c) a[c] = turned[w][lane][c];
      }
      const auto add = [&]<bool all>(std::bool_constant<all>) {
#pragma unroll
        for (int c = 0; c < block; ++c) {
          const int j = j0 + c;
          if (!all && (i >= n || j >= n)) continue;
          const bool stored = all ? !mirrored : upper ? i <= j : i >= j;
          const T xj = x_of_warp[w][c];
          sum = !all && i == j ? add_diagonal(a[c], xj, sum, job.hermitian)
                               : add_product(conjugate_if(job.hermitian && !stored, a[c]), xj, sum);
        }
      };
      if (inside && (left || right))
        add(std::true_type{});
      else
        add(std::false_type{});
      __syncwarp();
    }
    of_warp[w][lane] = sum;
    __syncthreads();
    if constexpr (by_cluster) await_cluster();
    if (w == 0) {
#pragma unroll
      for (int other = 1; other < W; ++other) sum = plus(sum, of_warp[other][lane]);
      T* const to = &of_share[share][lane];
      *(by_cluster ? in_first_block(to) : to) = sum;
    }
    if constexpr (!by_cluster) __syncthreads();  // the warps write of_warp again
  }
  if constexpr (by_cluster) {
    arrive_in_cluster();
    await_cluster();
  }
  if (mine > 0 || w > 0 || i >= n) return;
  T sum = of_share[0][lane];
  for (int share = 1; share < shares; ++share) sum = plus(sum, of_share[share][lane]);
  job.y[i * job.incy] = updated(job.alpha, conjugate_if(job.conjugated, sum), job.beta, &before);
}

}  // namespace blaslift::symv_order
