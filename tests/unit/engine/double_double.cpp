// Double-double arithmetic beside the qd library's numbers of 212 bits, in which sums of two pairs are exact.
#include "kernels/double_double.hpp"

#include <gtest/gtest.h>
#include <qd/qd_real.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace blaslift::double_double_tests {
namespace {

namespace dd = double_double;

constexpr double u2 = 0x1p-106;              ///< u^2
constexpr double first_order = 1 + 0x1p-45;  ///< what bounds leave out

/// By adding doubles one by one, each of them exactly.
template <class... Doubles>
qd_real sum(double first, Doubles... others) {
  qd_real all(first);
  ((all += others), ...);
  return all;
}
qd_real value(DoubleDouble x) { return sum(x.hi, x.lo); }

bool is_normalised(DoubleDouble x) { return x.hi + x.lo == x.hi; }

class DoubleDoubles : public testing::Test {
 protected:
  static constexpr int runs = 200000;

  std::size_t below(std::size_t end) { return chance_() % end; }

  /// Of either sign, with all 53 bits or few of them, and an exponent up to `range` in magnitude.
  double real(int range) {
    auto bits = static_cast<double>((std::uint64_t{1} << 52) + (chance_() >> 12));
    if (below(4) == 0) bits = std::trunc(std::ldexp(bits, -static_cast<int>(below(53)))) + 1;
    const int exponent = static_cast<int>(below(2 * static_cast<std::size_t>(range) + 1)) - range;
    return std::ldexp(below(2) ? bits : -bits, exponent - 52);
  }

  /// The second part between the most that there may be and nothing.
  DoubleDouble pair(int range) {
    const double hi = real(range);
    if (below(8) == 0) return {hi, 0};
    const DoubleDouble x =
        dd::quick_two_sum(hi, std::ldexp(real(0), std::ilogb(hi) - 53 - static_cast<int>(below(20))));
    EXPECT_TRUE(is_normalised(x));
    return x;
  }

  /// As large as that in magnitude but for the last bits of either part, and of the other sign.
  DoubleDouble nearly_minus(DoubleDouble x) {
    const double ulps = static_cast<double>(below(9)) - 4;
    const double hi = -x.hi + std::ldexp(ulps, std::ilogb(x.hi) - 52);
    const double lo = below(2) ? -x.lo : std::ldexp(real(0), std::ilogb(x.hi) - 54 - static_cast<int>(below(60)));
    return dd::two_sum(hi, lo);
  }

 private:
  std::mt19937_64 chance_{1};
};

TEST_F(DoubleDoubles, TransformationsAreFreeOfErrors) {
  for (int run = 0; run < runs; ++run) {
    const double a = real(60), b = real(60);
    const DoubleDouble s = dd::two_sum(a, b), p = dd::two_product(a, b);
    ASSERT_TRUE(is_normalised(s) && value(s) == sum(a, b)) << a << " + " << b;
    ASSERT_TRUE(is_normalised(p) && value(p) == qd_real(a) * b) << a << " * " << b;
    const bool ordered = std::fabs(a) >= std::fabs(b);
    ASSERT_EQ(dd::quick_two_sum(ordered ? a : b, ordered ? b : a), s) << a << " + " << b;
  }
}

TEST_F(DoubleDoubles, QuickSumsOfMultiplesOfTheLargerOnesUnit) {
  for (int run = 0; run < runs; ++run) {
    const double b = real(0), a = std::ldexp(static_cast<double>(below(1 << 20)), std::ilogb(b) - 52);
    ASSERT_EQ(dd::quick_two_sum(a, b), dd::two_sum(a, b)) << a << " + " << b;
  }
}

TEST_F(DoubleDoubles, SumsAreWithinTheirBound) {
  double worst = 0;
  for (int run = 0; run < runs; ++run) {
    const DoubleDouble a = pair(30), b = run % 2 ? pair(30) : nearly_minus(a), c = dd::add(a, b);
    const qd_real exact = sum(a.hi, b.hi, a.lo, b.lo), error = abs(sum(c.hi, c.lo, -a.hi, -b.hi, -a.lo, -b.lo));
    ASSERT_TRUE(is_normalised(c) && error <= abs(exact) * (3 * u2 * first_order)) << value(a) << " + " << value(b);
    ASSERT_EQ(c, dd::add(b, a));
    if (exact != 0.0) worst = std::max(worst, to_double(error / abs(exact)) / u2);
  }
  EXPECT_GT(worst, 1.0) << "of at most 3: these are no hard cases";
}

TEST_F(DoubleDoubles, ProductsAreWithinTheirBound) {
  double worst = 0;
  for (int run = 0; run < runs; ++run) {
    const DoubleDouble a = pair(300), b = pair(100), c = dd::multiply(a, b);
    const qd_real exact = value(a) * value(b), error = abs(value(c) - exact);
    ASSERT_TRUE(is_normalised(c) && error <= abs(exact) * (6 * u2 * first_order)) << value(a) << " * " << value(b);
    worst = std::max(worst, to_double(error / abs(exact)) / u2);
  }
  EXPECT_GT(worst, 2.0) << "of at most 6: these are no hard cases";
}

TEST_F(DoubleDoubles, ProductsThatAreAddedAreWithinTheirBound) {
  double worst = 0;
  for (int run = 0; run < runs; ++run) {
    const DoubleDouble a = pair(20), b = pair(20), p = dd::multiply(a, b);
    const DoubleDouble c = run % 2 ? pair(40) : run % 4 ? nearly_minus(p) : dd::multiply(p, DoubleDouble(real(2)));
    const DoubleDouble d = dd::multiply_add(a, b, c);
    const qd_real product = value(a) * value(b), exact = product + value(c), error = abs(value(d) - exact);
    const qd_real bound = (abs(product) * 13.0 + abs(value(c)) * 3.0) * (u2 * first_order);
    ASSERT_TRUE(is_normalised(d) && error <= bound) << value(a) << " * " << value(b) << " + " << value(c);
    worst = std::max(worst, to_double(error / bound));
  }
  EXPECT_GT(worst, 0.2) << "these are no hard cases";
}

TEST_F(DoubleDoubles, MultiplyAddKeepsWhatCancels) {
  // (1 + e)(1 - e) - 1 = -e^2, of which a product rounded to double would keep nothing.
  const double e = 0x1p-40;
  EXPECT_EQ(dd::multiply_add(DoubleDouble(1 + e), DoubleDouble(1 - e), DoubleDouble(-1)), DoubleDouble(-e * e));
  EXPECT_EQ(dd::add({1, e * e}, DoubleDouble(-1)), DoubleDouble(e * e));
}

TEST_F(DoubleDoubles, SquareOfPiHasThirtyDigits) {
  const DoubleDouble pi(qd_real::_pi[0], qd_real::_pi[1]);
  EXPECT_LE(abs(value(dd::multiply(pi, pi)) - sqr(qd_real::_pi)), 1e-30);
}

TEST_F(DoubleDoubles, WhatIsNotFiniteStaysSo) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {inf, -inf, nan}) {
    const DoubleDouble x(bad), y(2, 0x1p-60);
    for (const DoubleDouble z : {dd::add(x, y), dd::multiply(x, y), dd::multiply_add(x, y, y),
                                 dd::multiply_add(y, x, y), dd::multiply_add(y, y, x)})
      EXPECT_FALSE(std::isfinite(z.hi)) << bad;
  }
  EXPECT_FALSE(std::isfinite(dd::multiply(DoubleDouble(1e200), DoubleDouble(1e200)).hi));
  EXPECT_FALSE(std::isfinite(dd::add(DoubleDouble(1.7e308), DoubleDouble(1.7e308)).hi));
}

}  // namespace
}  // namespace blaslift::double_double_tests
