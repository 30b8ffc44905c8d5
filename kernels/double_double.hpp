// Double-double arithmetic: a number as the unevaluated sum of two doubles, some 106 bits, at the price of 20
// operations for a sum, 7 for a product and 15 for a product that is added.
//
// Error-free transformations give the rounding error of a sum (Knuth; Dekker, 1971, where magnitudes allow less) or of
// a product (a fused multiply-add) as a double of its own.  What is made of them follows Joldes, Muller and Popescu,
// Tight and rigorous error bounds for basic building blocks of double-word arithmetic, 2017: their AccurateDWPlusDW, a
// product like DWTimesDW2, and SloppyDWPlusDW for what is added to it.  Bounds leave out what is u = 2^-53 times them.
//
// They hold for finite operands without overflow, and with products that are 0 or above 2^-960 in magnitude.  Where an
// operand or the exact result is not finite, nor is the result: mostly NaN, as the error of an infinity is one.  Host
// and device give the same bits but for NaN's, since each operation is rounded by itself: what includes this is
// compiled with -ffp-contract=off.
#pragma once
#include <cmath>

#include "kernels/both.hpp"
#include "kernels/types.hpp"

#ifdef __FAST_MATH__
#error "double-double arithmetic takes IEEE arithmetic"
#endif

namespace blaslift {

/// hi + lo, with hi = hi + lo rounded to double.
struct alignas(16) DoubleDouble {
  double hi, lo;

  DoubleDouble() = default;
  BLASLIFT_BOTH constexpr explicit DoubleDouble(double x) : hi(x), lo(0) {}
  BLASLIFT_BOTH constexpr DoubleDouble(double h, double l) : hi(h), lo(l) {}
  BLASLIFT_BOTH friend constexpr bool operator==(const DoubleDouble& a, const DoubleDouble& b) {
    return a.hi == b.hi && a.lo == b.lo;
  }
};

template <>
inline constexpr Element element_of<DoubleDouble> = Element::w;

namespace double_double {

// Each rounded once, never fused with what surrounds it.
BLASLIFT_BOTH inline double add(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
BLASLIFT_BOTH inline double subtract(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dsub_rn(a, b);
#else
  return a - b;
#endif
}
BLASLIFT_BOTH inline double multiply(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
BLASLIFT_BOTH inline double multiply_add(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

/// a + b exactly (Knuth).
BLASLIFT_BOTH inline DoubleDouble two_sum(double a, double b) {
  const double s = add(a, b), of_b = subtract(s, a), of_a = subtract(s, of_b);
  return {s, add(subtract(a, of_a), subtract(b, of_b))};
}

/// a + b exactly, where |a| >= |b| or a is a multiple of ulp(b) (Dekker).
BLASLIFT_BOTH inline DoubleDouble quick_two_sum(double a, double b) {
  const double s = add(a, b);
  return {s, subtract(b, subtract(s, a))};
}

/// a b exactly.
BLASLIFT_BOTH inline DoubleDouble two_product(double a, double b) {
  const double p = multiply(a, b);
  return {p, multiply_add(a, b, -p)};
}

/// a + b, within 3 u^2 |a + b|, also where they cancel.
BLASLIFT_BOTH inline DoubleDouble add(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble high = two_sum(a.hi, b.hi), low = two_sum(a.lo, b.lo);
  const DoubleDouble sum = quick_two_sum(high.hi, add(high.lo, low.hi));
  return quick_two_sum(sum.hi, add(sum.lo, low.lo));
}

/// a b within 6 u^2 |a b|, as two doubles of which the second may be 3 u of the first.  Its parts are at most u (not
/// rounded), 2 u and 3 u of |a b|; a.lo b.lo, u^2 of it, is left out.
BLASLIFT_BOTH inline DoubleDouble multiply_unnormalised(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = two_product(a.hi, b.hi);
  return {p.hi, multiply_add(a.lo, b.hi, multiply_add(a.hi, b.lo, p.lo))};
}

/// a b, within 6 u^2 |a b|.
BLASLIFT_BOTH inline DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = multiply_unnormalised(a, b);
  return quick_two_sum(p.hi, p.lo);
}

/// a b + c, within u^2 (13 |a b| + 3 |c|): what a sum of products can promise anyway, since it has rounded c before. To
/// promise as much in terms of |a b + c|, like add(), would take another 9 operations.
///
/// Why: with p the unnormalised product, the second parts' sum is at most u (|c| + 3 |p|) and the error of the first
/// parts' u (|c| + |p|), so that these and their sum are rounded by u^2 (|c| + 3 |p|) and u^2 (2 |c| + 4 |p|).  Both
/// sums' sum is smaller than sum.hi; or p.hi and c.hi are of different signs and so close that sum.hi is exact, a
/// multiple of the last bit of one of them, which is far above that of a few u of them: quick_two_sum() may be used.
BLASLIFT_BOTH inline DoubleDouble multiply_add(DoubleDouble a, DoubleDouble b, DoubleDouble c) {
  const DoubleDouble p = multiply_unnormalised(a, b), sum = two_sum(c.hi, p.hi);
  return quick_two_sum(sum.hi, add(sum.lo, add(c.lo, p.lo)));
}

}  // namespace double_double
}  // namespace blaslift
