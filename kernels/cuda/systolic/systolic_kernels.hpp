// The kernels of systolic products, by the schedule of kernels/systolic.hpp.  Apart from their launches, so that tests
// can run them where there is no GPU.
//
// A block is a square of cells, a thread each; a warp has two columns of them, as matrices lie in memory.  Blocks in z
// are arrays beside each other, with a row of products each.
//
// Where a cell has a term at each of the next t steps, which is so but for the ends of a product, it takes them without
// asking at every step.
#pragma once
#include "kernels/systolic.hpp"

namespace blaslift::systolic {

using arithmetic::fused;

/// What a kernel is told; `schedule.count` is not looked at.
template <class T>
struct Job {
  Schedule schedule;
  Deal deal;
  Operands<T> operands;
};

/// A block's part of it.
template <class T>
struct Share {
  Schedule s;
  Operands<T> x;

  __device__ explicit Share(const Job<T>& job) : s(job.schedule), x(job.operands.from(job.deal.begin(blockIdx.z))) {
    s.count = job.deal.size(blockIdx.z);
  }
};

/// G1 and Gt.  What is in global memory is read and written each time, whatever a compiler knows of it.
/// @tparam fixed  t, or 0: it is the schedule's
template <class T, int fixed>
__global__ void __launch_bounds__(edge* edge) walk_in_global_memory(const Job<T> job) {
  const Share<T> share(job);
  const Schedule& s = share.s;
  const Operands<T>& x = share.x;
  const int t = fixed > 0 ? fixed : s.t;
  const Cells cells = s.cells(static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
  const int row = static_cast<int>(threadIdx.x), col = static_cast<int>(threadIdx.y), i = cells.row + row,
            j = cells.col + col;
  if (s.count < 1 || row >= cells.rows || col >= cells.cols) return;
  Cursor u = s.at(i, j, s.first_step(cells));
  for (index chunks = s.chunks(cells); chunks > 0; --chunks) {
    if (s.works(u, t)) {
      volatile T& c = x.c(u.product, i, j);
      const T *a = &x.a(u.product, i, u.at), *b = &x.b(u.product, u.at, j);
      T sum = c;
#pragma unroll
      for (int step = 0; step < t; ++step) sum = fused(a[step * x.lda], b[step], sum);
      c = sum;
      u.advance(t, s.g);
      continue;
    }
    T sum{};
    bool held = false;
    for (int step = 0; step < t; ++step, u.advance(1, s.g)) {
      if (!s.works(u)) continue;
      volatile T& c = x.c(u.product, i, j);
      if (!held) sum = c;
      sum = fused(x.a(u.product, i, u.at), x.b(u.product, u.at, j), sum);
      held = u.at < s.k - 1 && step < t - 1;
      if (!held) c = sum;
    }
  }
}

/// S1 and St.
template <class T, int fixed>
__global__ void __launch_bounds__(edge* edge) walk_in_shared_memory(const Job<T> job) {
  constexpr int slots = ring_slots(fixed > 0 ? fixed : most_steps), pitch = ring_pitch(slots);
  constexpr unsigned mask = slots - 1;
  __shared__ T a_ring[slots][edge], b_ring[edge][pitch], sums[edge][edge];

  const Share<T> share(job);
  const Schedule& s = share.s;
  const Operands<T>& x = share.x;
  const int t = fixed > 0 ? fixed : s.t;
  const Cells cells = s.cells(static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
  const unsigned row = threadIdx.x, col = threadIdx.y;
  const int r = static_cast<int>(row), c = static_cast<int>(col), i = cells.row + r, j = cells.col + c;
  const bool has_row = r < cells.rows, has_col = c < cells.cols;
  if (s.count < 1) return;
  const index begin = s.first_step(cells);
  // The elements that this thread loads: of A those of its row, every 16th step; of B those of the column beside that
  // column's others, which lie one after the other in memory.
  Cursor in_a = s.at(i, cells.col, begin + c), in_b = s.at(cells.row, j, begin + r), u = s.at(i, j, begin);
  unsigned now = 0;  // of the block's clock, modulo any power of two
  for (index chunks = s.chunks(cells); chunks > 0; --chunks, now += static_cast<unsigned>(t)) {
    Cursor v = in_a;
    for (int step = c; step < t; step += edge, v.advance(edge, s.g))
      if (has_row && s.works(v)) a_ring[(now + static_cast<unsigned>(step)) & mask][row] = x.a(v.product, i, v.at);
    in_a.advance(t, s.g);
    v = in_b;
    for (int step = r; step < t; step += edge, v.advance(edge, s.g))
      if (has_col && s.works(v)) b_ring[col][(now + static_cast<unsigned>(step)) & mask] = x.b(v.product, v.at, j);
    in_b.advance(t, s.g);
    __syncthreads();

    const auto multiply = [&](int step, T sum) {
      const unsigned T0 = now + static_cast<unsigned>(step);
      return fused(a_ring[(T0 - col) & mask][row], b_ring[col][(T0 - row) & mask], sum);
    };
    if (has_row && has_col && s.works(u, t)) {
      T& own = x.c(u.product, i, j);
      T sum = u.at == 0 ? x.first(own) : sums[col][row];
#pragma unroll
      for (int step = 0; step < t; ++step) sum = multiply(step, sum);
      if (u.at == s.k - t)
        own = x.last(sum, own);
      else
        sums[col][row] = sum;
      u.advance(t, s.g);
    } else if (has_row && has_col) {
      T sum = sums[col][row];
      for (int step = 0; step < t; ++step, u.advance(1, s.g)) {
        if (!s.works(u)) continue;
        T& own = x.c(u.product, i, j);
        if (u.at == 0) sum = x.first(own);
        sum = multiply(step, sum);
        if (u.at == s.k - 1) own = x.last(sum, own);
      }
      sums[col][row] = sum;
    }
    __syncthreads();
  }
}

/// L1, and Lr, which has its sum in a register.
template <class T, bool in_register>
__global__ void __launch_bounds__(edge* edge) loop_over_k(const Job<T> job) {
  const Share<T> share(job);
  const Schedule& s = share.s;
  const Operands<T>& x = share.x;
  const int i = static_cast<int>(blockIdx.x * edge + threadIdx.x),
            j = static_cast<int>(blockIdx.y * edge + threadIdx.y);
  if (i >= s.m || j >= s.n) return;
  for (index product = 0; product < s.count; ++product) {
    T& own = x.c(product, i, j);
    if constexpr (in_register) {
      T sum = x.first(own);
      for (int v = 0; v < s.k; ++v) sum = fused(x.a(product, i, v), x.b(product, v, j), sum);
      own = x.last(sum, own);
    } else {
      volatile T& c = own;
      for (int v = 0; v < s.k; ++v) c = fused(x.a(product, i, v), x.b(product, v, j), c);
    }
  }
}

/// LS.
template <class T>
__global__ void __launch_bounds__(edge* edge) loop_over_tiles(const Job<T> job) {
  __shared__ T a_tile[edge][edge], b_tile[edge][edge];

  const Share<T> share(job);
  const Schedule& s = share.s;
  const Operands<T>& x = share.x;
  const int r = static_cast<int>(threadIdx.x), c = static_cast<int>(threadIdx.y),
            i = static_cast<int>(blockIdx.x) * edge + r, j = static_cast<int>(blockIdx.y) * edge + c;
  const bool has_row = i < s.m, has_col = j < s.n;
  for (index product = 0; product < s.count; ++product) {
    T sum = has_row && has_col ? x.first(x.c(product, i, j)) : T{};
    for (int v = 0; v < s.k; v += edge) {
      if (has_row && v + c < s.k) a_tile[c][r] = x.a(product, i, v + c);
      if (has_col && v + r < s.k) b_tile[c][r] = x.b(product, v + r, j);
      __syncthreads();
      const auto multiply = [&](int q) { sum = fused(a_tile[q][r], b_tile[c][q], sum); };
      if (v + edge <= s.k) {
#pragma unroll
        for (int q = 0; q < edge; ++q) multiply(q);
      } else {
        for (int q = 0; v + q < s.k; ++q) multiply(q);
      }
      __syncthreads();
    }
    if (!has_row || !has_col) continue;
    T& own = x.c(product, i, j);
    own = x.last(sum, own);
  }
}

inline constexpr int warps_together = 4;  ///< of a block; they do not know each other

/// The thesis's future work.  A lane is a row of cells, all of whose columns are its own: what comes from the left
/// moves from register to register, by names in a loop that is unrolled, and what comes from above is shuffled.
template <class T>
__global__ void __launch_bounds__(warp* warps_together) pass_on_by_shuffles(const Job<T> job) {
  constexpr int C = warp_columns, lag = warp - 1 + C - 1;  // the last cell is so many steps behind the first one
  constexpr unsigned all = 0xffffffffu;
  const Share<T> share(job);
  const Schedule& s = share.s;
  const Operands<T>& x = share.x;
  const int group = static_cast<int>(blockIdx.y * warps_together + threadIdx.y);
  if (s.count < 1 || group >= s.block_cols(C)) return;
  const Cells cells = s.cells(static_cast<int>(blockIdx.x), group, warp, C);
  const int lane = static_cast<int>(threadIdx.x), i = cells.row + lane;
  const bool has_row = lane < cells.rows, full = cells.rows == warp && cells.cols == C;

  T a[C] = {}, b[C] = {}, sum[C] = {};
  const auto pass_on = [&] {
#pragma unroll
    for (int q = C - 1; q > 0; --q) a[q] = a[q - 1];
#pragma unroll
    for (int q = 0; q < C; ++q) b[q] = __shfl_up_sync(all, b[q], 1);
  };
  Cursor first = s.at(cells.row, cells.col, s.first_step(cells));  // of the warp's first cell
  for (index left = s.steps(cells); left > 0; left -= C) {
    // The same for all of the warp: each cell is inside of this product, and stays there.
    if (full && first.product < s.count && first.at > lag && first.at + C < s.k) {
#pragma unroll
      for (int step = 0; step < C; ++step) {
        pass_on();
        const int v = first.at + step;
        a[0] = x.a(first.product, i, v - lane);
        if (lane == 0) {
#pragma unroll
          for (int q = 0; q < C; ++q) b[q] = x.b(first.product, v - q, cells.col + q);
        }
#pragma unroll
        for (int q = 0; q < C; ++q) sum[q] = fused(a[q], b[q], sum[q]);
      }
      first.advance(C, s.g);
      continue;
    }
    for (int step = 0; step < C; ++step, first.advance(1, s.g)) {
      pass_on();
#pragma unroll
      for (int q = 0; q < C; ++q) {
        const Cursor u = first.behind(lane + q, s.g);
        if (!has_row || q >= cells.cols || !s.works(u)) continue;
        const int j = cells.col + q;
        if (q == 0) a[0] = x.a(u.product, i, u.at);
        if (lane == 0) b[q] = x.b(u.product, u.at, j);
        T& own = x.c(u.product, i, j);
        if (u.at == 0) sum[q] = x.first(own);
        sum[q] = fused(a[q], b[q], sum[q]);
        if (u.at == s.k - 1) own = x.last(sum[q], own);
      }
    }
  }
}

}  // namespace blaslift::systolic
