// Kernels that read a matrix once: loads, sums over a warp, and the kernel behind them that may begin early.  Tests
// have their own of some (tests/unit/support/cuda_on_host.hpp), and run these kernels where there is no GPU.
#pragma once
#include <type_traits>

#include "kernels/arithmetic.hpp"

namespace blaslift::streaming {

using namespace arithmetic;

/// 16 bytes of a column.
template <class T>
struct alignas(16) Unit {
  static constexpr int size = 16 / sizeof(T);
  T x[size];
};

__device__ inline float load(const float* at) { return __ldg(at); }
__device__ inline double load(const double* at) { return __ldg(at); }
__device__ inline Complex<float> load(const Complex<float>* at) {
  const float2 x = __ldg(reinterpret_cast<const float2*>(at));
  return {x.x, x.y};
}
__device__ inline Complex<double> load(const Complex<double>* at) {
  const double2 x = __ldg(reinterpret_cast<const double2*>(at));
  return {x.x, x.y};
}
__device__ inline DoubleDouble load(const DoubleDouble* at) {
  const double2 x = __ldg(reinterpret_cast<const double2*>(at));
  return {x.x, x.y};
}

#ifdef __CUDACC__
// Loads of what is read once: it is the first to leave the second-level cache, which then keeps the parts of the sums
// that wait to be read again (on an H100 1 to 6 % of all; docs/measurements/lab-notes.md).  What comes in 16 bytes
// leaves nothing for another load of this multiprocessor.
__device__ inline unsigned long long leaves_first() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ inline float4 load_once(const float4* at) {
  float4 x;
  asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
      : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
      : "l"(at), "l"(leaves_first()));
  return x;
}
__device__ inline double2 load_once(const double2* at) {
  double2 x;
  asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
      : "=d"(x.x), "=d"(x.y)
      : "l"(at), "l"(leaves_first()));
  return x;
}
__device__ inline float2 load_once(const float2* at) {
  float2 x;
  asm("ld.global.nc.L2::cache_hint.v2.f32 {%0, %1}, [%2], %3;" : "=f"(x.x), "=f"(x.y) : "l"(at), "l"(leaves_first()));
  return x;
}
__device__ inline float load_once(const float* at) {
  float x;
  asm("ld.global.nc.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(x) : "l"(at), "l"(leaves_first()));
  return x;
}
__device__ inline double load_once(const double* at) {
  double x;
  asm("ld.global.nc.L2::cache_hint.f64 %0, [%1], %2;" : "=d"(x) : "l"(at), "l"(leaves_first()));
  return x;
}
#endif
__device__ inline Complex<float> load_once(const Complex<float>* at) {
  const float2 x = load_once(reinterpret_cast<const float2*>(at));
  return {x.x, x.y};
}
__device__ inline Complex<double> load_once(const Complex<double>* at) {
  const double2 x = load_once(reinterpret_cast<const double2*>(at));
  return {x.x, x.y};
}
/// These are busy computing, too: the compiler places its own loads better (8 % on an H100).
__device__ inline DoubleDouble load_once(const DoubleDouble* at) {
  const double2 x = __ldcs(reinterpret_cast<const double2*>(at));
  return {x.x, x.y};
}

/// At once where the address allows it; otherwise one element after the other, and the second finds in the cache what
/// the first has fetched.
template <bool wide, class T>
__device__ inline Unit<T> load_unit(const T* at) {
  Unit<T> unit;
  if constexpr (wide && sizeof(T) == sizeof(float)) {
    const float4 x = load_once(reinterpret_cast<const float4*>(at));
    unit = {x.x, x.y, x.z, x.w};
  } else if constexpr (wide && std::is_same_v<T, double>) {
    const double2 x = load_once(reinterpret_cast<const double2*>(at));
    unit = {x.x, x.y};
  } else if constexpr (wide && std::is_same_v<T, Complex<float>>) {
    const float4 x = load_once(reinterpret_cast<const float4*>(at));
    unit = {{{x.x, x.y}, {x.z, x.w}}};
  } else {
#pragma unroll
    for (int e = 0; e < Unit<T>::size; ++e) unit.x[e] = load_once(at + e);
  }
  return unit;
}

template <class R>
__device__ inline R from_lane_xor(R x, int distance) {
  return __shfl_xor_sync(~0u, x, distance);
}
template <class R>
__device__ inline Complex<R> from_lane_xor(Complex<R> x, int distance) {
  return {from_lane_xor(x.re, distance), from_lane_xor(x.im, distance)};
}
__device__ inline DoubleDouble from_lane_xor(DoubleDouble x, int distance) {
  return {from_lane_xor(x.hi, distance), from_lane_xor(x.lo, distance)};
}

/// The sums over a warp of `count` values by halves of the warp, first the two of 16 threads.  At each distance a
/// thread hands on the half of its values that its partner keeps, so the sum of value k ends in the threads from 32 /
/// count k on.
template <int distance = 16, int count, class T>
__device__ inline T sum_over_warp(const T (&value)[count], int lane) {
  constexpr int kept = count > 1 ? count / 2 : 1;
  const bool upper = count > 1 && (lane & distance) != 0;
  T sum[kept];
#pragma unroll
  for (int c = 0; c < kept; ++c) {
    const T mine = upper ? value[c + count - kept] : value[c], other = upper ? value[c] : value[c + count - kept];
    sum[c] = plus(mine, from_lane_xor(other, distance));
  }
  if constexpr (distance == 1)
    return sum[0];
  else
    return sum_over_warp<distance / 2>(sum, lane);
}

// What other blocks write while this kernel may be running is read past the first-level cache, which belongs to one
// multiprocessor.
__device__ inline float load_shared_by_all(const float* at) { return __ldcg(at); }
__device__ inline double load_shared_by_all(const double* at) { return __ldcg(at); }
template <class R>
__device__ inline Complex<R> load_shared_by_all(const Complex<R>* at) {
  return {__ldcg(&at->re), __ldcg(&at->im)};
}
__device__ inline DoubleDouble load_shared_by_all(const DoubleDouble* at) { return {__ldcg(&at->hi), __ldcg(&at->lo)}; }

#ifdef __CUDACC__
// Programmatic dependent launch: the second kernel's blocks may begin once all of the first one's have said so, but
// wait before they read what it writes: until all of it has ended, and is visible.  Where there is none, kernels come
// one after the other.
__device__ inline void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ inline void await_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
#endif

}  // namespace blaslift::streaming
