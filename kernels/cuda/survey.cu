// One read of a block.  Magnitudes are compared as the integers that their bits are: the order is the same, NaN comes
// above infinity, and there are atomic maxima for them.
#include <algorithm>
#include <cstdint>

#include "kernels/cuda/survey.hpp"

namespace blaslift {
namespace {

constexpr int threads = 256;
constexpr int rows_each = 8;      ///< of a thread: so many loads are under way before the first is waited for
constexpr int cols_a_block = 32;  ///< so many elements of a row are compared before one atomic maximum

template <class Real>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = unsigned int;
};
template <>
struct BitsOf<double> {
  using type = unsigned long long;
};

template <class Real, int parts>
struct alignas(parts * sizeof(Real)) Element {
  Real part[parts];
};

template <class Bits, class Real, int parts>
__device__ inline Bits magnitude(const Element<Real, parts>& x) {
  constexpr Bits all_but_sign = ~Bits{0} >> 1;
  Bits most = 0;
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    Bits bits;
    memcpy(&bits, &x.part[i], sizeof bits);
    most = max(most, bits & all_but_sign);
  }
  return most;
}

/// A block of threads has threads * rows_each rows of cols_a_block columns, again and again.
template <class Real, int parts>
__global__ void __launch_bounds__(threads)
    survey_kernel(index rows, index cols, const Element<Real, parts>* at, index ld,
                  typename BitsOf<Real>::type* row_max, typename BitsOf<Real>::type* col_max) {
  using Bits = typename BitsOf<Real>::type;
  constexpr index rows_a_block = index{threads} * rows_each;
  for (index j0 = blockIdx.y * index{cols_a_block}; j0 < cols; j0 += gridDim.y * index{cols_a_block})
    for (index i0 = blockIdx.x * rows_a_block + threadIdx.x; i0 - threadIdx.x < rows; i0 += gridDim.x * rows_a_block) {
      const index end = j0 + cols_a_block < cols ? j0 + cols_a_block : cols;
      Bits by_row[rows_each] = {};
      for (index j = j0; j < end; ++j) {
        Element<Real, parts> x[rows_each];
#pragma unroll
        for (int r = 0; r < rows_each; ++r)
          if (i0 + r * threads < rows) x[r] = at[i0 + r * threads + j * ld];
        Bits by_col = 0;
#pragma unroll
        for (int r = 0; r < rows_each; ++r) {
          const Bits bits = i0 + r * threads < rows ? magnitude<Bits>(x[r]) : 0;
          by_row[r] = max(by_row[r], bits);
          by_col = max(by_col, bits);
        }
        // All threads of a warp are here: they leave the loops together.
#pragma unroll
        for (int distance = warpSize / 2; distance > 0; distance /= 2)
          by_col = max(by_col, __shfl_xor_sync(~0u, by_col, distance));
        if (threadIdx.x % warpSize == 0 && by_col != 0) atomicMax(&col_max[j], by_col);
      }
#pragma unroll
      for (int r = 0; r < rows_each; ++r)
        if (by_row[r] != 0) atomicMax(&row_max[i0 + r * threads], by_row[r]);
    }
}

template <class Real, int parts>
cudaError_t launch(const Survey& p, cudaStream_t stream) {
  using Bits = typename BitsOf<Real>::type;
  constexpr index rows_a_block = index{threads} * rows_each;
  const dim3 grid(static_cast<unsigned>(std::min<index>((p.rows + rows_a_block - 1) / rows_a_block, 1024)),
                  static_cast<unsigned>(std::min<index>((p.cols + cols_a_block - 1) / cols_a_block, 16384)));
  survey_kernel<Real, parts>
      <<<grid, threads, 0, stream>>>(p.rows, p.cols, static_cast<const Element<Real, parts>*>(p.at), p.ld,
                                     static_cast<Bits*>(p.row_max), static_cast<Bits*>(p.col_max));
  return cudaGetLastError();
}

}  // namespace

cudaError_t survey(const Survey& p, cudaStream_t stream) {
  if (p.rows <= 0 || p.cols <= 0) return cudaSuccess;
  switch (p.precision) {
    case Precision::s: return launch<float, 1>(p, stream);
    case Precision::d: return launch<double, 1>(p, stream);
    case Precision::c: return launch<float, 2>(p, stream);
    case Precision::z: return launch<double, 2>(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
