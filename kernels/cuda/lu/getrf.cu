#include <algorithm>
#include <climits>

#include "kernels/cuda/lu/getrf.hpp"

namespace blaslift {
namespace of_getrf {
namespace {

// ---- factors

constexpr int threads = 256, none = 0x7f7f7f7f;

/// A column for each block: notes, in what starts as more than any, the first that has an element that is not finite.
/// cuSOLVER's factors of a matrix with NaN are finite.
template <class R, int parts>
__global__ void find_not_finite(index m, const R* A, index lda, int* first) {
  const R* const column = A + blockIdx.x * lda * parts;
  bool found = false;
  for (index i = threadIdx.x; i < m * parts; i += threads) found = found || !isfinite(column[i]);
  if (__syncthreads_or(found) && threadIdx.x == 0) atomicMin(first, static_cast<int>(blockIdx.x + 1));
}

/// One block; an element has `parts` numbers.
/// @param info    cuSOLVER's
/// @param failed  holds what find_not_finite has noted
template <class R, int parts>
__global__ void note_pivots(index m, index n, const R* A, index lda, const index* found, const int* info, R* pivots,
                            R* failed) {
  __shared__ int first;
  const index count = min(m, n);
  if (threadIdx.x == 0) {
    const int noted = *reinterpret_cast<const int*>(failed);
    first = noted == none ? INT_MAX : min(noted, static_cast<int>(count));
    if (*info > 0) first = min(first, *info);
  }
  __syncthreads();
  for (index i = threadIdx.x; i < count; i += threads) {
    pivots[parts * i] = static_cast<R>(found[i]);
    if (parts == 2) pivots[2 * i + 1] = 0;
    R size = 0;
    for (int part = 0; part < parts; ++part) size += fabs(A[parts * i * (lda + 1) + part]);
    if (!(size > 0)) atomicMin(&first, static_cast<int>(i + 1));
  }
  __syncthreads();
  if (threadIdx.x < parts) failed[threadIdx.x] = threadIdx.x == 0 && first != INT_MAX ? static_cast<R>(first) : 0;
}

template <class R, int parts>
cudaError_t factor(const Getrf& p, Solver& solver, cudaStream_t stream) {
  const auto* const A = static_cast<const R*>(p.A);
  const auto look = [&] {
    find_not_finite<R, parts>
        <<<static_cast<unsigned>(p.n), threads, 0, stream>>>(p.m, A, p.lda, static_cast<int*>(p.failed));
    return cudaGetLastError();
  };
  cudaError_t error = cudaMemsetAsync(p.failed, none & 0xff, sizeof(int), stream);
  if (error == cudaSuccess) error = look();
  if (error == cudaSuccess) error = solver.getrf(p, stream);
  if (error == cudaSuccess) error = look();  // what has overflowed
  if (error != cudaSuccess) return error;
  note_pivots<R, parts><<<1, threads, 0, stream>>>(p.m, p.n, A, p.lda, solver.pivots(), solver.info(),
                                                   static_cast<R*>(p.pivots), static_cast<R*>(p.failed));
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
    move_rows<<<blocks, threads, 0, stream>>>(p.n, static_cast<T*>(p.A), p.lda,
                                              moves + (p.backward ? groups - 1 - i : i), p.backward);
  return cudaGetLastError();
}

}  // namespace
}  // namespace of_getrf

cudaError_t getrf(const Getrf& p, Solver& solver, cudaStream_t stream) {
  using namespace of_getrf;
  switch (p.precision) {
    case Precision::s: return factor<float, 1>(p, solver, stream);
    case Precision::d: return factor<double, 1>(p, solver, stream);
    case Precision::c: return factor<float, 2>(p, solver, stream);
    case Precision::z: break;
  }
  return factor<double, 2>(p, solver, stream);
}

cudaError_t exchange_rows(const RowSwaps& p, cudaStream_t stream) {
  using namespace of_getrf;
  switch (p.precision) {
    case Precision::s: return exchange<float, float, 1>(p, stream);
    case Precision::d: return exchange<double, double, 1>(p, stream);
    case Precision::c: return exchange<float2, float, 2>(p, stream);
    case Precision::z: break;
  }
  return exchange<double2, double, 2>(p, stream);
}

}  // namespace blaslift
