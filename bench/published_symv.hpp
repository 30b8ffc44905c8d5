// SYMV with tickets as it was printed, for the tables of bench/symv_time: Imamura, Mukunoki, Yamada and Machida
// (CUDA-xSYMV, 2014), figures 3 and 4.  One block a panel of U columns of an upper triangle; it walks all rows above
// its diagonal block, Tx at a time, and adds to v under a ticket at every step.
//
// Mended, or it would not compute y (docs/developer/papers.md): the last row above a diagonal block counts (figure 3
// has j < i - 1), x(i + k) is x(i + d + k), the diagonal block's sums are added to those of the rows above, tickets are
// as many as there are steps, MAX is the last panel's number, and a ticket is taken by an acquire and handed on by a
// release.  Panels may be cut off by the matrix's end, and beta = 0 does not read y.  Apart from the launches, so that
// tests can run it where there is no GPU.
#pragma once
#ifdef __CUDACC__
#include <cuda/atomic>
#endif

#include "kernels/cuda/core/streaming.hpp"
#include "kernels/types.hpp"

namespace blaslift::published {

/// y := alpha A x + beta y; increments of 1.
template <class T>
struct Symv {
  index n;
  T alpha, beta;
  const T* A;
  index lda;
  const T* x;
  T* y;
  T* v;  ///< n
  unsigned* counter;
  int* tickets;  ///< one for Tx rows
  int panels;
};

/// Tx, Ty, U: among the best five of a GPU of the paper.
struct Shape {
  int Tx, Ty, U;
};
inline constexpr Shape shapes[] = {{64, 4, 48}, {64, 2, 36}, {96, 3, 27}, {32, 8, 32}, {64, 4, 64}};

#ifdef __CUDACC__
__device__ inline unsigned take(unsigned* counter) {
  return cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*counter).fetch_add(1, cuda::std::memory_order_relaxed);
}
/// get_Ticket
__device__ inline void claim(int* ticket, int panel) {
  const cuda::atomic_ref<int, cuda::thread_scope_device> at(*ticket);
  for (int seen = panel;
       !at.compare_exchange_weak(seen, -1, cuda::std::memory_order_acquire, cuda::std::memory_order_relaxed);
       seen = panel) {
  }
}
/// release_Ticket
__device__ inline void hand_on(int* ticket, int panel) {
  cuda::atomic_ref<int, cuda::thread_scope_device>(*ticket).store(panel - 1, cuda::std::memory_order_release);
}
#endif

template <class T>
__global__ void prepare(const Symv<T> p, index steps) {
  const index j = threadIdx.x + index{blockIdx.x} * 256;
  if (j < p.n) {
    p.v[j] = 0;
    p.y[j] = p.beta == T{} ? T{} : p.beta * p.y[j];
  }
  if (j < steps) p.tickets[j] = p.panels - 1;
  if (j == 0) *p.counter = 0;
}

/// Cannot hang: numbers fall as blocks begin, and a step's turns fall, too, so that a block waits for those alone that
/// have begun before it.
template <class T, int Tx, int Ty, int U>
__global__ void __launch_bounds__(Tx* Ty) multiply(const Symv<T> p) {
  constexpr int C = U / Ty, threads = Tx * Ty;
  static_assert(Tx % 32 == 0 && U % Ty == 0 && U <= threads);
  __shared__ int panel_of_block;
  __shared__ T by_row[Ty][Tx], diagonal[U][U + 1], by_column[Tx / 32][U];
  const int tx = threadIdx.x, ty = threadIdx.y, thread = tx + ty * Tx, d = C * ty;
  if (thread == 0) panel_of_block = p.panels - 1 - static_cast<int>(take(p.counter));
  __syncthreads();
  const int panel = panel_of_block;
  const index i = index{panel} * U;
  const auto x_at = [&p](index j) { return j < p.n ? p.x[j] : T{}; };

  T x[C], column[C] = {};
#pragma unroll
  for (int k = 0; k < C; ++k) x[k] = x_at(i + d + k);
  int* ticket = p.tickets;
  for (index first = 0; first < i; first += Tx, ++ticket) {
    const index j = first + tx;
    T row{};
    if (j < i) {
      const T xj = p.x[j];
      T a[C];
#pragma unroll
      for (int k = 0; k < C; ++k) a[k] = i + d + k < p.n ? streaming::load_once(p.A + j + (i + d + k) * p.lda) : T{};
#pragma unroll
      for (int k = 0; k < C; ++k) {
        column[k] += a[k] * xj;
        row += a[k] * x[k];
      }
    }
    if (thread == 0) claim(ticket, panel);
    by_row[ty][tx] = row;
    __syncthreads();
    if (ty == 0 && j < i) {
      for (int t = 1; t < Ty; ++t) row += by_row[t][tx];
      p.v[j] = streaming::load_shared_by_all(p.v + j) + row;
    }
    __syncthreads();
    if (thread == 0) hand_on(ticket, panel);
  }

  for (int e = thread; e < U * U; e += threads) {
    const int r = e % U, c = e / U;
    if (r <= c && i + c < p.n) diagonal[r][c] = diagonal[c][r] = p.A[i + r + (i + c) * p.lda];
  }
#pragma unroll
  for (int k = 0; k < C; ++k) {
    for (int distance = 16; distance > 0; distance /= 2) column[k] += __shfl_down_sync(~0u, column[k], distance);
    if (tx % 32 == 0) by_column[tx / 32][d + k] = column[k];
  }
  __syncthreads();
  if (thread >= U || i + thread >= p.n) return;
  T sum{};
  for (int g = 0; g < Tx / 32; ++g) sum += by_column[g][thread];
  for (int c = 0; c < U && i + c < p.n; ++c) sum += diagonal[thread][c] * x_at(i + c);
  p.y[i + thread] += p.alpha * sum;
}

template <class T>
__global__ void finish(const Symv<T> p) {
  const index j = threadIdx.x + index{blockIdx.x} * 256;
  if (j < p.n) p.y[j] += p.alpha * p.v[j];
}

}  // namespace blaslift::published
