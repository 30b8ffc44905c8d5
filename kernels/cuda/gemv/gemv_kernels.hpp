// The kernels of GEMV, in the order of additions that kernels/gemv.hpp sets down.  Apart from their launches, so that
// tests can run them where there is no GPU.
#pragma once
#include <type_traits>

#include "kernels/cuda/core/streaming.hpp"
#include "kernels/gemv.hpp"

namespace blaslift::gemv_order {

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
  bool conjugated;  ///< the product is conj(op(A) conj(x))
  T* parts;         ///< the workspace
};

/// A block's part of the work: blocks beside each other have results beside each other.
struct Share {
  index block;       ///< of those that share the results
  index chunk;       ///< whose number it is
  index begin, end;  ///< its terms
};
__device__ inline Share share_of(const Order& order) {
  const unsigned number = blockIdx.x, blocks = static_cast<unsigned>(order.blocks);
  const index chunk = number / blocks, begin = chunk * order.chunk, end = begin + order.chunk;
  return {number % blocks, chunk, begin, end < order.terms ? end : order.terms};
}

/// All terms of a chunk are in `sum`: of the only one y becomes of it what it has to.
template <class T>
__device__ inline void put(const Job<T>& job, index chunk, index result, T sum) {
  if (job.order.chunks > 1)
    job.parts[chunk * job.order.ld() + result] = sum;
  else
    job.y[result * job.incy] =
        updated(job.alpha, conjugate_if(job.conjugated, sum), job.beta, &job.y[result * job.incy]);
}

/// That a multiprocessor has registers for.
template <class T>
inline constexpr int resident_blocks = sizeof(T) < 16 ? 3 : 2;

/// Not transposed.  A thread's V rows are beside each other where 16 bytes can be loaded at once; otherwise a warp
/// apart, so that each load of a warp is of memory without gaps.  The sums are the same.
///
/// A step's loads are all on their way before the first is waited for: what a block takes is mostly the number of times
/// that it waits for memory.
template <class T, int together, bool wide>
__global__ void __launch_bounds__(threads, resident_blocks<T>) sum_columns(const Job<T> job) {
  constexpr int V = Unit<T>::size, C = columns_at_once, rows = 32 * V;
  [[maybe_unused]] __shared__ T of_warp[warps][rows];

  let_next_kernel_begin();
  const Order& order = job.order;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, w = thread / 32;
  const Share share = share_of(order);
  const index m = order.results,
              row = share.block * (together == 1 ? warps * rows : rows) + (together == 1 ? w * rows : 0);
  const index i = row + (wide ? lane * V : lane);
  constexpr int apart = wide ? 1 : 32;  // from one of this thread's rows to the next

  Unit<T> sum{};
  const auto add_step = [&]<bool whole>(std::bool_constant<whole>, index j) {
    const auto counts = [&](int c, int e) { return whole || (j + c < share.end && i + e * apart < m); };
    const T* const A = job.A + i + j * job.lda;
    T x[C];
    Unit<T> a[C];
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const T* const at = A + c * job.lda;
      if constexpr (whole && wide) {
        a[c] = load_unit<true>(at);
      } else {
#pragma unroll
        for (int e = 0; e < V; ++e) a[c].x[e] = counts(c, e) ? load_once(at + e * apart) : T{};
      }
    }
#pragma unroll
    for (int c = 0; c < C; ++c)
      x[c] = whole || j + c < share.end ? conjugate_if(job.conjugated, load(job.x + (j + c) * job.incx)) : T{};
#pragma unroll
    for (int c = 0; c < C; ++c) {
#pragma unroll
      for (int e = 0; e < V; ++e) {
        const T more = add_product(a[c].x[e], x[c], sum.x[e]);
        sum.x[e] = counts(c, e) ? more : sum.x[e];
      }
    }
  };
  // The same for all of a warp.
  for (index j = share.begin + (together == 1 ? 0 : w * C); j < share.end; j += C * together) {
    if (row + rows <= m && j + C <= share.end)
      add_step(std::true_type{}, j);
    else
      add_step(std::false_type{}, j);
  }

  if constexpr (together == 1) {
#pragma unroll
    for (int e = 0; e < V; ++e)
      if (i + e * apart < m) put(job, share.chunk, i + e * apart, sum.x[e]);
  } else {
#pragma unroll
    for (int e = 0; e < V; ++e) of_warp[w][i - row + e * apart] = sum.x[e];
    __syncthreads();
    if (thread >= rows || row + thread >= m) return;
    T total = of_warp[0][thread];
#pragma unroll
    for (int other = 1; other < warps; ++other) total = plus(total, of_warp[other][thread]);
    put(job, share.chunk, row + thread, total);
  }
}

/// Transposed.  A thread's V rows are beside each other either way, since they are in its sum: one element after the
/// other, the second finds in the cache what the first has fetched.
template <class T, int down, bool wide>
__global__ void __launch_bounds__(threads, resident_blocks<T>) sum_rows(const Job<T> job) {
  constexpr int V = Unit<T>::size, C = columns_together, S = steps_at_once, R = down * V;
  [[maybe_unused]] __shared__ T of_warp[warps][C];

  let_next_kernel_begin();
  const Order& order = job.order;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, tx = thread % down, ty = thread / down;
  const Share share = share_of(order);
  const index n = order.results, j0 = (share.block * (threads / down) + ty) * C;

  T sum[C] = {};
  const auto add_steps = [&]<bool whole>(std::bool_constant<whole>, index row) {
    const index i = row + tx * V;
    const auto counts = [&](int c, int s, int e) { return whole || (j0 + c < n && i + s * R + e < share.end); };
    const T* const A = job.A + i + j0 * job.lda;
    Unit<T> a[S][C];
    T x[S][V];
#pragma unroll
    for (int s = 0; s < S; ++s) {
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const T* const at = A + s * R + c * job.lda;
        if constexpr (whole) {
          a[s][c] = load_unit<wide>(at);
        } else {
#pragma unroll
          for (int e = 0; e < V; ++e) a[s][c].x[e] = counts(c, s, e) ? load_once(at + e) : T{};
        }
      }
    }
#pragma unroll
    for (int s = 0; s < S; ++s) {
#pragma unroll
      for (int e = 0; e < V; ++e)
        x[s][e] = whole || i + s * R + e < share.end
                      ? conjugate_if(job.conjugated, load(job.x + (i + s * R + e) * job.incx))
                      : T{};
    }
#pragma unroll
    for (int s = 0; s < S; ++s) {
#pragma unroll
      for (int c = 0; c < C; ++c) {
#pragma unroll
        for (int e = 0; e < V; ++e) {
          const T more = add_product(a[s][c].x[e], x[s][e], sum[c]);
          sum[c] = counts(c, s, e) ? more : sum[c];
        }
      }
    }
  };
  // The same for all of a warp.
  for (index row = share.begin; row < share.end; row += S * R) {
    if (j0 + C <= n && row + S * R <= share.end)
      add_steps(std::true_type{}, row);
    else
      add_steps(std::false_type{}, row);
  }

  const T by_lane = sum_over_warp(sum, lane);
  const int c = lane / (32 / C);
  if constexpr (down == 32) {
    if (lane % (32 / C) == 0 && j0 + c < n) put(job, share.chunk, j0 + c, by_lane);
  } else {
    if (lane % (32 / C) == 0) of_warp[thread / 32][c] = by_lane;
    __syncthreads();
    if (thread >= C || j0 + thread >= n) return;
    T total = of_warp[0][thread];
#pragma unroll
    for (int other = 1; other < warps; ++other) total = plus(total, of_warp[other][thread]);
    put(job, share.chunk, j0 + thread, total);
  }
}

/// Of a block of add_parts.
inline constexpr int rows_of_parts = threads / chains;

/// What becomes of y once the sums of all chunks are there; with alpha = 0 there are none.
template <class T>
__global__ void __launch_bounds__(threads) add_parts(const Job<T> job) {
  constexpr int at_once = 4;
  __shared__ T of_chain[chains][rows_of_parts];
  const Order& order = job.order;
  const int thread = static_cast<int>(threadIdx.x), r = thread % rows_of_parts, g = thread / rows_of_parts;
  const index i = index{blockIdx.x} * rows_of_parts + r, parts = equals(job.alpha, 0) ? 0 : order.chunks;
  await_kernel_before();
  T sum{};
  if (i < order.results)
    for (index first = g; first < parts; first += chains * at_once) {
      T part[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const index chunk = first + k * chains;
        part[k] = chunk < parts ? load_shared_by_all(job.parts + chunk * order.ld() + i) : T{};
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) sum = first + k * chains < parts ? plus(sum, part[k]) : sum;
    }
  of_chain[g][r] = sum;
  __syncthreads();
  if (g > 0 || i >= order.results) return;
#pragma unroll
  for (int other = 1; other < chains; ++other) sum = other < parts ? plus(sum, of_chain[other][r]) : sum;
  job.y[i * job.incy] = updated(job.alpha, conjugate_if(job.conjugated, sum), job.beta, &job.y[i * job.incy]);
}

}  // namespace blaslift::gemv_order
