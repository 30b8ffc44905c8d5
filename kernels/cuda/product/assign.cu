#include <algorithm>

#include "kernels/cuda/product/assign.hpp"

namespace blaslift {
namespace of_assign {
namespace {

constexpr int threads = 256;
// One after the other by each thread: of a transposed matrix these share what is read from memory at once.
constexpr index columns_a_block = 8;

/// As Assign::covers.
__device__ bool covers(const Assign& x, index under) {
  return (x.part == Part::whole || (x.part == Part::lower ? under >= 0 : under <= 0)) && !(x.strict && under == 0);
}

/// A thread a row of C; blocks side by side have groups of columns in turn.  An element has `parts` numbers.
template <class R, int parts>
__global__ void assign_elements(Assign x) {
  const index i = blockIdx.x * static_cast<index>(threads) + threadIdx.x;
  if (i >= x.m) return;
  const R* const A = static_cast<const R*>(x.A);
  R* const C = static_cast<R*>(x.C);
  for (index first = blockIdx.y * columns_a_block; first < x.n; first += gridDim.y * columns_a_block)
    for (index j = first; j < min(first + columns_a_block, x.n); ++j)
      if (covers(x, i + x.below - j))
        for (int part = 0; part < parts; ++part) {
          const R of_identity = part == 0 && i + x.below == j ? 1 : 0;
          const index from = x.transposed ? j + i * x.lda : i + j * x.lda;
          const R of_a = A ? A[from * parts + part] : 0;
          C[(i + j * x.ldc) * parts + part] = !A ? of_identity : part == 1 && x.conjugated ? -of_a : of_a;
        }
}

constexpr int side = 32, rows_a_step = 8;  // of a tile: a block's threads take it in steps

/// A block a tile of the stored triangle and others of its row, or of its column in the upper one: it is read, and
/// written where it is transposed, along columns.
template <class R, int parts>
__global__ void mirror_tiles(Mirror x) {
  __shared__ R tile[parts][side][side + 1];
  R* const A = static_cast<R*>(x.A);
  const bool lower = x.uplo == Uplo::lower;
  const index far = blockIdx.x * static_cast<index>(side);
  for (index near = blockIdx.y * static_cast<index>(side); near <= far; near += gridDim.y * static_cast<index>(side)) {
    const index row = lower ? far : near, col = lower ? near : far;
    for (int k = threadIdx.y; k < side; k += rows_a_step) {
      const index i = row + threadIdx.x, j = col + k;
      if (i >= x.n || j >= x.n || (lower ? i < j : i > j)) continue;
      for (int part = 0; part < parts; ++part) tile[part][k][threadIdx.x] = A[(i + j * x.lda) * parts + part];
    }
    __syncthreads();
    for (int k = threadIdx.y; k < side; k += rows_a_step) {
      const index i = col + threadIdx.x, j = row + k;
      if (i >= x.n || j >= x.n || (lower ? i > j : i < j)) continue;
      for (int part = 0; part < parts; ++part) {
        const R stored = tile[part][threadIdx.x][k];
        if (i != j)
          A[(i + j * x.lda) * parts + part] = part == 0 ? stored : -stored;
        else if (part == 1)
          A[(i + j * x.lda) * parts + part] = 0;
      }
    }
    __syncthreads();
  }
}

constexpr index most_blocks_across = 65535;

template <class R, int parts>
cudaError_t start(const Mirror& p, cudaStream_t stream) {
  if (p.n == 0) return cudaSuccess;
  const index tiles = (p.n + side - 1) / side;
  const dim3 blocks(static_cast<unsigned>(tiles), static_cast<unsigned>(std::min(most_blocks_across, tiles)));
  mirror_tiles<R, parts><<<blocks, dim3(side, rows_a_step), 0, stream>>>(p);
  return cudaGetLastError();
}

template <class R, int parts>
cudaError_t start(const Assign& p, cudaStream_t stream) {
  if (p.m == 0 || p.n == 0) return cudaSuccess;
  const dim3 blocks(static_cast<unsigned>((p.m + threads - 1) / threads),
                    static_cast<unsigned>(std::min(most_blocks_across, (p.n + columns_a_block - 1) / columns_a_block)));
  assign_elements<R, parts><<<blocks, threads, 0, stream>>>(p);
  return cudaGetLastError();
}

template <class Operation>
cudaError_t start_by_precision(const Operation& p, cudaStream_t stream) {
  switch (p.precision) {
    case Precision::s: return start<float, 1>(p, stream);
    case Precision::d: return start<double, 1>(p, stream);
    case Precision::c: return start<float, 2>(p, stream);
    case Precision::z: break;
  }
  return start<double, 2>(p, stream);
}

}  // namespace
}  // namespace of_assign

cudaError_t assign(const Assign& p, cudaStream_t stream) {
  using namespace of_assign;
  return start_by_precision(p, stream);
}
cudaError_t mirror(const Mirror& p, cudaStream_t stream) {
  using namespace of_assign;
  return start_by_precision(p, stream);
}

}  // namespace blaslift
