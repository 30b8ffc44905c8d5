// One read of a block.  Magnitudes are compared as the integers that their bits are: the order is the same, NaN comes
// above infinity, and there are atomic maxima for them.
#include <algorithm>
#include <cstdint>

#include "kernels/cuda/product/survey.hpp"

namespace blaslift {
namespace of_survey {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int group = 8;                ///< columns: so many loads are under way before the first is waited for
constexpr int most_cols_a_block = 128;  ///< a row's elements in them are compared before one atomic maximum
constexpr int few_cols_a_block = 32;    ///< where more would leave multiprocessors without a block

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

/// What a thread reads at a time: some elements of a column.
template <class Real, int reals>
struct alignas(reals * sizeof(Real)) Unit {
  Real x[reals];
};

template <class Bits, class Real>
__device__ inline Bits magnitude(Real x) {
  Bits bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & ~Bits{0} >> 1;
}

/// Most values are not above what is there, and a look costs less than an atomic operation: what was there grows only.
template <class Bits>
__device__ inline void raise(Bits* at, Bits bits) {
  if (bits > __ldcg(at)) atomicMax(at, bits);
}

/// Each thread of a warp brings a value for each column of a group; thread 4 q gets the largest for column q, by
/// halves: at each distance a thread hands on the half of its columns that its partner keeps.
template <class Bits>
__device__ inline Bits largest_of_column(Bits (&value)[group], int lane) {
#pragma unroll
  for (int kept = group / 2; kept > 0; kept /= 2) {
    const int distance = kept * 4;
    const bool upper = (lane & distance) != 0;
#pragma unroll
    for (int c = 0; c < kept; ++c) {
      const Bits mine = upper ? value[c + kept] : value[c], other = upper ? value[c] : value[c + kept];
      value[c] = max(mine, __shfl_xor_sync(~0u, other, distance));
    }
  }
  value[0] = max(value[0], __shfl_xor_sync(~0u, value[0], 2));
  return max(value[0], __shfl_xor_sync(~0u, value[0], 1));
}

/// A block of threads has `threads` units down and cols_a_block columns, again and again.  Elements of `parts` reals.
template <class Real, int reals, int parts>
__global__ void __launch_bounds__(threads)
    survey_kernel(index units, index cols, const Real* at, index ld, int cols_a_block,
                  typename BitsOf<Real>::type* row_max, typename BitsOf<Real>::type* col_max) {
  using Bits = typename BitsOf<Real>::type;
  constexpr int elements = reals / parts;
  __shared__ Bits by_col[warps][most_cols_a_block];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (index j0 = blockIdx.y * static_cast<index>(cols_a_block); j0 < cols;
       j0 += gridDim.y * static_cast<index>(cols_a_block))
    for (index i0 = blockIdx.x * index{threads}; i0 < units; i0 += gridDim.x * index{threads}) {
      const index i = i0 + threadIdx.x;
      Bits by_row[elements] = {};
      for (int c0 = 0; c0 < cols_a_block; c0 += group) {
        Unit<Real, reals> x[group] = {};
#pragma unroll
        for (int c = 0; c < group; ++c)
          if (i < units && j0 + c0 + c < cols)
            x[c] = reinterpret_cast<const Unit<Real, reals>*>(at + (j0 + c0 + c) * ld)[i];
        Bits value[group];
#pragma unroll
        for (int c = 0; c < group; ++c) {
          value[c] = 0;
#pragma unroll
          for (int e = 0; e < elements; ++e) {
            Bits bits = 0;
#pragma unroll
            for (int p = 0; p < parts; ++p) bits = max(bits, magnitude<Bits>(x[c].x[e * parts + p]));
            by_row[e] = max(by_row[e], bits);
            value[c] = max(value[c], bits);
          }
        }
        const Bits largest = largest_of_column(value, lane);
        if (lane % 4 == 0) by_col[warp][c0 + lane / 4] = largest;
      }
#pragma unroll
      for (int e = 0; e < elements; ++e)
        if (i < units) raise(&row_max[i * elements + e], by_row[e]);
      __syncthreads();
      for (int c = threadIdx.x; c < cols_a_block && j0 + c < cols; c += threads) {
        Bits largest = 0;
#pragma unroll
        for (int w = 0; w < warps; ++w) largest = max(largest, by_col[w][c]);
        raise(&col_max[j0 + c], largest);
      }
      __syncthreads();
    }
}

/// The block's first rows, in units of `reals` reals: as many rows as make whole units.
template <class Real, int reals, int parts>
cudaError_t launch(const Survey& p, cudaStream_t stream) {
  using Bits = typename BitsOf<Real>::type;
  const index units = p.rows * parts / reals;
  if (units == 0) return cudaSuccess;
  const auto blocks = [](index size, index of) { return (size + of - 1) / of; };
  const index down = blocks(units, threads);
  constexpr index many = 1024;
  const int cols_a_block = down * blocks(p.cols, most_cols_a_block) < many ? few_cols_a_block : most_cols_a_block;
  const dim3 grid(static_cast<unsigned>(std::min<index>(down, 4096)),
                  static_cast<unsigned>(std::min<index>(blocks(p.cols, cols_a_block), 16384)));
  survey_kernel<Real, reals, parts>
      <<<grid, threads, 0, stream>>>(units, p.cols, static_cast<const Real*>(p.at), p.ld * parts, cols_a_block,
                                     static_cast<Bits*>(p.row_max), static_cast<Bits*>(p.col_max));
  return cudaGetLastError();
}

template <class Real, int parts>
cudaError_t survey_as(Survey p, cudaStream_t stream) {
  constexpr int wide = 16 / sizeof(Real);
  constexpr index element = parts * sizeof(Real), rows_a_unit = wide / parts;
  const bool aligned = reinterpret_cast<std::uintptr_t>(p.at) % 16 == 0 && (p.cols == 1 || p.ld * element % 16 == 0);
  if (aligned && rows_a_unit > 1) {
    if (const cudaError_t error = launch<Real, wide, parts>(p, stream); error != cudaSuccess) return error;
    const index done = p.rows / rows_a_unit * rows_a_unit;
    p.rows -= done;
    p.at = static_cast<const char*>(p.at) + done * element;
    p.row_max = static_cast<Real*>(p.row_max) + done;
  }
  return launch<Real, parts, parts>(p, stream);
}

}  // namespace
}  // namespace of_survey

cudaError_t survey(const Survey& p, cudaStream_t stream) {
  using namespace of_survey;
  if (p.rows <= 0 || p.cols <= 0) return cudaSuccess;
  switch (p.precision) {
    case Precision::s: return survey_as<float, 1>(p, stream);
    case Precision::d: return survey_as<double, 1>(p, stream);
    case Precision::c: return survey_as<float, 2>(p, stream);
    case Precision::z: return survey_as<double, 2>(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
