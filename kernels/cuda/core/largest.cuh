// The largest number of a matrix, found by many blocks; and whether squares of it are numbers.
#pragma once

namespace blaslift {

/// Of |x|, in an order that is that of the numbers, with NaN above all.
__device__ inline unsigned long long bits_of(float x) { return __float_as_uint(fabsf(x)); }
__device__ inline unsigned long long bits_of(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(fabs(x)));
}
template <class R>
__device__ R number_of(unsigned long long bits) {
  if constexpr (sizeof(R) == 4)
    return __uint_as_float(static_cast<unsigned>(bits));
  else
    return __longlong_as_double(static_cast<long long>(bits));
}

/// By all threads of a block, each with the largest bits of its own.
__device__ inline void raise_to_largest(unsigned long long own, unsigned long long* largest) {
  __shared__ unsigned long long of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  atomicMax(&of_block, own);
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(largest, of_block);
}

/// The exponent of a largest number outside of what squares of elements bear, as LAPACK has it for eigenvalues;
/// otherwise 0.
/// @param bearable  such an exponent, or its negative
template <class R>
__device__ int unbearable_exponent(R largest, int bearable = sizeof(R) == 4 ? 50 : 484) {
  const int exponent = largest > 0 && isfinite(largest) ? ilogb(largest) : 0;
  return exponent > bearable || exponent < -bearable ? exponent : 0;
}

}  // namespace blaslift
