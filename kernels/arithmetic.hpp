// Arithmetic with elements of every type, complex and double-double ones among them, to the same bits on host and
// device: products are fused with sums where it says so, and nowhere else.  What includes this on the host is compiled
// with -ffp-contract=off where bits count.
#pragma once
#include <cmath>

#include "kernels/both.hpp"
#include "kernels/double_double.hpp"
#include "kernels/types.hpp"

namespace blaslift {
namespace arithmetic {

/// As std::complex lies in memory.
template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

}  // namespace arithmetic

template <class R>
struct RealOf<arithmetic::Complex<R>> {
  using type = R;
};

namespace arithmetic {

BLASLIFT_BOTH inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
BLASLIFT_BOTH inline double fused(double a, double b, double c) { return fma(a, b, c); }
BLASLIFT_BOTH inline DoubleDouble fused(DoubleDouble a, DoubleDouble b, DoubleDouble c) {
  return double_double::multiply_add(a, b, c);
}

/// Never fused with what surrounds it.
BLASLIFT_BOTH inline float times(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
BLASLIFT_BOTH inline double times(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
BLASLIFT_BOTH inline DoubleDouble times(DoubleDouble a, DoubleDouble b) { return double_double::multiply(a, b); }
template <class R>
BLASLIFT_BOTH Complex<R> times(Complex<R> a, Complex<R> b) {
  return {fused(-a.im, b.im, times(a.re, b.re)), fused(a.re, b.im, times(a.im, b.re))};
}

template <class R>
BLASLIFT_BOTH R plus(R a, R b) {
  return a + b;
}
template <class R>
BLASLIFT_BOTH Complex<R> plus(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
BLASLIFT_BOTH inline DoubleDouble plus(DoubleDouble a, DoubleDouble b) { return double_double::add(a, b); }

/// a x + sum
template <class R>
BLASLIFT_BOTH R add_product(R a, R x, R sum) {
  return fused(a, x, sum);
}
template <class R>
BLASLIFT_BOTH Complex<R> add_product(Complex<R> a, Complex<R> x, Complex<R> sum) {
  return {fused(-a.im, x.im, fused(a.re, x.re, sum.re)), fused(a.im, x.re, fused(a.re, x.im, sum.im))};
}

template <class R>
BLASLIFT_BOTH R conjugate_if(bool, R x) {
  return x;
}
template <class R>
BLASLIFT_BOTH Complex<R> conjugate_if(bool yes, Complex<R> x) {
  return {x.re, yes ? -x.im : x.im};
}

BLASLIFT_BOTH inline bool equals(float x, int value) { return x == static_cast<float>(value); }
BLASLIFT_BOTH inline bool equals(double x, int value) { return x == value; }
BLASLIFT_BOTH inline bool equals(DoubleDouble x, int value) { return x == DoubleDouble(value); }
template <class R>
BLASLIFT_BOTH bool equals(Complex<R> x, int value) {
  return equals(x.re, value) && equals(x.im, 0);
}

/// What becomes of y.  `sum` is not looked at where alpha is zero, nor is y where beta is.
template <class T>
BLASLIFT_BOTH T updated(T alpha, T sum, T beta, const T* y) {
  if (equals(alpha, 0)) return equals(beta, 0) ? T{} : times(beta, *y);
  const T product = times(alpha, sum);
  // Not 1 * y: with complex numbers that would spread infinities.
  return equals(beta, 0) ? product : equals(beta, 1) ? plus(*y, product) : add_product(beta, *y, product);
}

}  // namespace arithmetic
}  // namespace blaslift
