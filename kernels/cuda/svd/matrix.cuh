// What is done to a matrix beside the vendor's reduction, which takes tall ones alone: its adjoint, and its largest
// number.
#pragma once
#include <algorithm>

#include "kernels/cuda/core/largest.cuh"
#include "kernels/cuda/core/solver.hpp"

namespace blaslift::of_svd {

constexpr int threads = 256;
constexpr index most_blocks = 1024;

inline cudaError_t started() { return cudaGetLastError(); }

/// The largest number of it becomes `largest` if that is less, as bits_of() has them.  Threads share a column, blocks
/// the columns; rows counted in reals.
template <class R>
__global__ void survey(index rows, index cols, const R* A, index ld, unsigned long long* largest) {
  unsigned long long own = 0;
  for (index j = blockIdx.x; j < cols; j += gridDim.x)
    for (index i = threadIdx.x; i < rows; i += threads) own = max(own, bits_of(A[i + j * ld]));
  raise_to_largest(own, largest);
}

constexpr int side = 32, rows_at_once = 8;

__device__ inline float adjoint_of(float x) { return x; }
__device__ inline double adjoint_of(double x) { return x; }
__device__ inline float2 adjoint_of(float2 x) { return {x.x, -x.y}; }
__device__ inline double2 adjoint_of(double2 x) { return {x.x, -x.y}; }

/// to := from^H, with from of rows x cols; a block takes squares of `side` in turn.
template <class E>
__global__ void transpose(index rows, index cols, const E* from, index ld_from, E* to, index ld_to) {
  __shared__ E square[side][side + 1];
  const index down = (rows + side - 1) / side, all = down * ((cols + side - 1) / side);
  for (index s = blockIdx.x; s < all; s += gridDim.x) {
    const index row = s % down * side, col = s / down * side;
    for (int j = threadIdx.y; j < side; j += rows_at_once)
      if (row + threadIdx.x < rows && col + j < cols)
        square[j][threadIdx.x] = from[row + threadIdx.x + (col + j) * ld_from];
    __syncthreads();
    for (int i = threadIdx.y; i < side; i += rows_at_once)
      if (row + i < rows && col + threadIdx.x < cols)
        to[col + threadIdx.x + (row + i) * ld_to] = adjoint_of(square[threadIdx.x][i]);
    __syncthreads();
  }
}

template <class E>
cudaError_t start_transpose(index rows, index cols, const E* from, index ld_from, E* to, index ld_to,
                            cudaStream_t stream) {
  const auto blocks =
      static_cast<unsigned>(std::min((rows + side - 1) / side * ((cols + side - 1) / side), most_blocks));
  transpose<E><<<blocks, dim3(side, rows_at_once), 0, stream>>>(rows, cols, from, ld_from, to, ld_to);
  return started();
}

}  // namespace blaslift::of_svd
