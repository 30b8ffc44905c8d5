// Numbers in kernels: what a real or complex element type is made of, conversions between precisions, and what there is
// beyond sums and products (kernels/arithmetic.hpp).
#pragma once
#include <cmath>
#include <limits>

#include "kernels/arithmetic.hpp"

namespace blaslift::numbers {

using namespace arithmetic;

/// Double precision, as real or complex as T.
template <class T>
struct WideOf {
  using type = double;
};
template <class R>
struct WideOf<Complex<R>> {
  using type = Complex<double>;
};
template <class T>
using Wide = typename WideOf<T>::type;
template <class T>
inline constexpr bool is_complex_number = sizeof(T) > sizeof(Real<T>);

// As constants, which device code may use.
template <class T>
inline constexpr Real<T> eps = std::numeric_limits<Real<T>>::epsilon();
template <class T>
inline constexpr Real<T> largest_number = std::numeric_limits<Real<T>>::max();

template <class R>
__device__ inline R re(R x) {
  return x;
}
template <class R>
__device__ inline R re(Complex<R> x) {
  return x.re;
}
template <class R>
__device__ inline R im(R) {
  return 0;
}
template <class R>
__device__ inline R im(Complex<R> x) {
  return x.im;
}
template <class T>
__device__ inline T conj(T x) {
  return conjugate_if(true, x);
}
__device__ inline float minus(float x) { return -x; }
__device__ inline double minus(double x) { return -x; }
template <class R>
__device__ inline Complex<R> minus(Complex<R> x) {
  return {-x.re, -x.im};
}
/// By a real number.
template <class R>
__device__ inline R scaled(R x, R by) {
  return x * by;
}
template <class R>
__device__ inline Complex<R> scaled(Complex<R> x, R by) {
  return {x.re * by, x.im * by};
}
__device__ inline double inverse(double x) { return 1 / x; }
__device__ inline float inverse(float x) { return 1 / x; }
/// Of numbers whose squares are far from overflow and underflow.
template <class R>
__device__ inline Complex<R> inverse(Complex<R> x) {
  const R length = 1 / (x.re * x.re + x.im * x.im);
  return {x.re * length, -x.im * length};
}
/// Within a few roundings, of numbers that are neither tiny nor huge; in half the time.
__device__ inline double quick_inverse(double x) {
#ifdef __CUDA_ARCH__
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));  // 20 bits; twice as many each time
  y = __fma_rn(y, __fma_rn(-x, y, 1.0), y);
  return __fma_rn(y, __fma_rn(-x, y, 1.0), y);
#else
  return 1 / x;
#endif
}
__device__ inline Complex<double> quick_inverse(Complex<double> x) {
  const double length = quick_inverse(x.re * x.re + x.im * x.im);
  return {x.re * length, -x.im * length};
}
template <class T>
__device__ inline T number(Real<T> x) {
  if constexpr (is_complex_number<T>)
    return {x, 0};
  else
    return x;
}
template <class T>
__device__ inline Wide<T> wide(T x) {
  if constexpr (is_complex_number<T>)
    return {static_cast<double>(x.re), static_cast<double>(x.im)};
  else
    return static_cast<double>(x);
}
template <class T>
__device__ inline T narrow(Wide<T> x) {
  if constexpr (is_complex_number<T>)
    return {static_cast<Real<T>>(x.re), static_cast<Real<T>>(x.im)};
  else
    return static_cast<T>(x);
}
/// sum - x y
template <class T>
__device__ inline T minus_product(T x, T y, T sum) {
  return add_product(minus(x), y, sum);
}
/// The larger part's size; NaN if there is one.
template <class T>
__device__ inline Real<T> largest_part(T x) {
  const Real<T> a = std::fabs(re(x)), b = std::fabs(im(x));
  return a >= b || a != a ? a : b;
}

}  // namespace blaslift::numbers
