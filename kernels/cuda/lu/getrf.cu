#include <algorithm>
#include <climits>

#include "kernels/cuda/lu/getrf.hpp"

namespace blaslift {
namespace {

// ---- factors

constexpr int threads = 256;

/// One block; an element has `parts` numbers.
template <class R, int parts>
__global__ void note_pivots(Getrf p, const index* found, const int* info) {
  __shared__ int first;
  if (threadIdx.x == 0) first = *info > 0 ? *info : INT_MAX;
  __syncthreads();
  const R* const A = static_cast<const R*>(p.A);
  R* const pivots = static_cast<R*>(p.pivots);
  const index count = min(p.m, p.n);
  for (index i = threadIdx.x; i < count; i += threads) {
    pivots[parts * i] = static_cast<R>(found[i]);
    if (parts == 2) pivots[2 * i + 1] = 0;
    R size = 0;
    for (int part = 0; part < parts; ++part) size += fabs(A[parts * i * (p.lda + 1) + part]);
    if (!(size > 0 && isfinite(size))) atomicMin(&first, static_cast<int>(i + 1));
  }
  for (index i = p.n + threadIdx.x; i < p.m; i += threads)
    for (int part = 0; part < parts; ++part)
      if (!isfinite(A[parts * (i + (p.n - 1) * p.lda) + part])) atomicMin(&first, static_cast<int>(count));
  __syncthreads();
  if (threadIdx.x < parts)
    static_cast<R*>(p.failed)[threadIdx.x] = threadIdx.x == 0 && first != INT_MAX ? static_cast<R>(first) : 0;
}

template <class R, int parts>
cudaError_t factor(const Getrf& p, Solver& solver, cudaStream_t stream) {
  if (const cudaError_t error = solver.getrf(p, stream); error != cudaSuccess) return error;
  note_pivots<R, parts><<<1, threads, 0, stream>>>(p, solver.pivots(), solver.info());
  return cudaGetLastError();
}

// ---- rows

/// What a group of exchanges does: row `to` gets what row `from` has, of rows `unused` nothing.
struct Moves {
  static constexpr int most = 2 * row_swaps_at_once, unused = -1;
  std::int32_t to[most], from[most];
};
static_assert(sizeof(Moves) == 4 * row_swaps_at_once * sizeof(std::int32_t));

/// A block of threads a group, one thread an exchange: its own row comes first among the rows that change, the one it
/// is exchanged with behind all own ones if it is not one of these.
template <class R, int parts>
__global__ void plan_moves(index rows, index count, const R* pivots, Moves* all) {
  constexpr int own = static_cast<int>(row_swaps_at_once);
  __shared__ std::int32_t target[own], slot[own], from[Moves::most];
  const index base = blockIdx.x * static_cast<index>(own);
  const int exchanges = static_cast<int>(min(static_cast<index>(own), count - base)), i = static_cast<int>(threadIdx.x);
  Moves& moves = all[blockIdx.x];
  if (i < exchanges) {
    const index row = static_cast<index>(pivots[parts * (base + i)]) - 1;
    target[i] = static_cast<std::int32_t>(min(max(row, base + i), rows - 1));
  }
  __syncthreads();
  std::int32_t further = Moves::unused;
  if (i < exchanges) {
    if (target[i] < base + exchanges) {
      slot[i] = static_cast<std::int32_t>(target[i] - base);
    } else {
      int first = 0;
      while (target[first] != target[i]) ++first;
      slot[i] = own + first;
      if (first == i) further = target[i];
    }
  }
  moves.to[i] = from[i] = i < exchanges ? static_cast<std::int32_t>(base) + i : Moves::unused;
  moves.to[own + i] = from[own + i] = further;
  __syncthreads();
  if (i == 0)
    for (int k = 0; k < exchanges; ++k) {
      const std::int32_t other = from[slot[k]];
      from[slot[k]] = from[k];
      from[k] = other;
    }
  __syncthreads();
  moves.from[i] = from[i];
  moves.from[own + i] = from[own + i];
}

constexpr index columns_a_block = 8;

/// Columns are moved one after the other by a block of threads, which reads all that changes before it writes.
template <class T>
__global__ void move_rows(index cols, T* A, index lda, const Moves* moves, bool backward) {
  constexpr int each = Moves::most / threads;
  std::int32_t to[each], from[each];
  for (int k = 0; k < each; ++k) {
    const int i = k * threads + static_cast<int>(threadIdx.x);
    to[k] = backward ? moves->from[i] : moves->to[i];
    from[k] = backward ? moves->to[i] : moves->from[i];
  }
  const index first = blockIdx.x * columns_a_block, end = min(first + columns_a_block, cols);
  for (index col = first; col < end; ++col) {
    T* const column = A + col * lda;
    T moved[each];
    for (int k = 0; k < each; ++k)
      if (to[k] != from[k]) moved[k] = column[from[k]];
    __syncthreads();
    for (int k = 0; k < each; ++k)
      if (to[k] != from[k]) column[to[k]] = moved[k];
  }
}

template <class T, class R, int parts>
cudaError_t exchange(const RowSwaps& p, cudaStream_t stream) {
  const index groups = (p.count + row_swaps_at_once - 1) / row_swaps_at_once;
  if (groups == 0 || p.n == 0) return cudaSuccess;
  auto* const moves = static_cast<Moves*>(p.moves);
  if (!p.prepared)
    plan_moves<R, parts><<<static_cast<unsigned>(groups), static_cast<unsigned>(row_swaps_at_once), 0, stream>>>(
        p.m, p.count, static_cast<const R*>(p.pivots), moves);
  const auto blocks = static_cast<unsigned>((p.n + columns_a_block - 1) / columns_a_block);
  for (index i = 0; i < groups; ++i)
    move_rows<<<blocks, threads, 0, stream>>>(p.n, static_cast<T*>(p.A), p.lda, moves + (p.backward ? groups - 1 - i : i),
                                              p.backward);
  return cudaGetLastError();
}

}  // namespace

cudaError_t getrf(const Getrf& p, Solver& solver, cudaStream_t stream) {
  switch (p.precision) {
    case Precision::s: return factor<float, 1>(p, solver, stream);
    case Precision::d: return factor<double, 1>(p, solver, stream);
    case Precision::c: return factor<float, 2>(p, solver, stream);
    case Precision::z: break;
  }
  return factor<double, 2>(p, solver, stream);
}

cudaError_t exchange_rows(const RowSwaps& p, cudaStream_t stream) {
  switch (p.precision) {
    case Precision::s: return exchange<float, float, 1>(p, stream);
    case Precision::d: return exchange<double, double, 1>(p, stream);
    case Precision::c: return exchange<float2, float, 2>(p, stream);
    case Precision::z: break;
  }
  return exchange<double2, double, 2>(p, stream);
}

}  // namespace blaslift
