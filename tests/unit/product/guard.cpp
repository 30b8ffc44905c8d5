// When levels are trusted with two operands.  (What levels lose where they are not: docs/measurements/lab-notes.md.)
#include "impl/product/guard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace blaslift::guard_tests {
namespace {

template <class R>
struct Case {
  std::vector<R> a_rows{1, 0.5, 0.7}, a_cols{1, 0.3}, b_rows{0.9, 1}, b_cols{1, 0.6, 0.2, 0.8};
  int levels = 2;
  double alpha = 1;
  bool adds = false;

  Verdict verdict() const { return judge<R>({a_rows, a_cols, b_rows, b_cols}, levels, alpha, adds); }
  Case scaled(double a, double b) const {
    Case c = *this;
    for (auto* v : {&c.a_rows, &c.a_cols})
      for (R& x : *v) x = static_cast<R>(x * a);
    for (auto* v : {&c.b_rows, &c.b_cols})
      for (R& x : *v) x = static_cast<R>(x * b);
    return c;
  }
};

template <class R>
class Guard : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Guard, Reals);

TYPED_TEST(Guard, OrdinaryOperandsAreSoundWhateverTheirScale) {
  using R = TypeParam;
  const Case<R> plain;
  EXPECT_EQ(plain.verdict(), Verdict::sound);
  const int most = std::numeric_limits<R>::max_exponent;
  for (int e = -most / 2; e <= most / 2; e += most / 16)
    EXPECT_EQ(plain.scaled(std::exp2(e), std::exp2(-e)).verdict(), Verdict::sound) << e;
  EXPECT_EQ(plain.scaled(0, 1).verdict(), Verdict::sound);
  EXPECT_EQ(plain.scaled(1, 0).verdict(), Verdict::sound);
}

TYPED_TEST(Guard, WhatIsNotFiniteIsNot) {
  using R = TypeParam;
  for (const R bad : {std::numeric_limits<R>::infinity(), std::numeric_limits<R>::quiet_NaN()}) {
    // An element shows in its row and in its column.
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        Case<R> c;
        c.a_rows[i] = c.a_cols[j] = bad;
        EXPECT_EQ(c.verdict(), Verdict::not_finite);
      }
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        Case<R> c;
        c.b_rows[i] = c.b_cols[j] = bad;
        EXPECT_EQ(c.verdict(), Verdict::not_finite);
        c = c.scaled(0, 1);  // 0 * Inf is NaN, too
        EXPECT_EQ(c.verdict(), Verdict::not_finite);
      }
    Case<R> c;
    c.alpha = static_cast<double>(bad);
    EXPECT_EQ(c.verdict(), Verdict::not_finite);
  }
}

TYPED_TEST(Guard, SumsThatMightBeFlushedToZeroAreNot) {
  using R = TypeParam;
  const int least = std::numeric_limits<R>::min_exponent, digits = std::numeric_limits<R>::digits;
  const Case<R> c;
  for (const bool of_a : {true, false}) {
    const auto scaled = [&](int e) { return of_a ? c.scaled(std::exp2(e), 1) : c.scaled(1, std::exp2(e)); };
    EXPECT_EQ(scaled(least + digits).verdict(), Verdict::sound);
    EXPECT_EQ(scaled(least + digits - 2).verdict(), Verdict::badly_scaled);
    EXPECT_EQ(scaled(least).verdict(), Verdict::badly_scaled);
  }
}

TYPED_TEST(Guard, SumsThatMightOverflowAreNot) {
  using R = TypeParam;
  const int most = std::numeric_limits<R>::max_exponent;
  Case<R> c;
  EXPECT_EQ(c.scaled(std::exp2(most - 6), std::exp2(-most + 6)).verdict(), Verdict::may_overflow);  // A's own sums
  EXPECT_EQ(c.scaled(std::exp2(-most + 6), std::exp2(most - 6)).verdict(), Verdict::may_overflow);
  EXPECT_EQ(c.scaled(std::exp2(most / 2), std::exp2(most / 2 - 6)).verdict(), Verdict::may_overflow);  // products
  EXPECT_EQ(c.scaled(std::exp2(most / 2 - 16), std::exp2(most / 2 - 16)).verdict(), Verdict::sound);
  c = c.scaled(std::exp2(most / 2 - 16), std::exp2(most / 2 - 16));
  c.levels = 6;
  EXPECT_EQ(c.verdict(), Verdict::may_overflow);
  c.levels = 2;
  c.alpha = std::exp2(30);
  EXPECT_EQ(c.verdict(), Verdict::may_overflow);
  c.alpha = std::exp2(-30);  // makes nothing safe: it comes after the sums of A and B
  EXPECT_EQ(c.verdict(), Verdict::sound);
  c.adds = true;  // to what may be near the largest number
  EXPECT_EQ(c.verdict(), Verdict::may_overflow);
  // Zeros times sums that overflow are NaN.
  const Case<R> plain;
  EXPECT_EQ(plain.scaled(0, std::exp2(most - 2)).verdict(), Verdict::may_overflow);
  EXPECT_EQ(plain.scaled(std::exp2(most - 2), 0).verdict(), Verdict::may_overflow);
}

TYPED_TEST(Guard, RowsAndTermsThatWouldLoseTheirDigitsAreNot) {
  using R = TypeParam;
  const auto small = static_cast<R>(0.5 / scale_range), fair = static_cast<R>(2 / scale_range);
  Case<R> even;
  even.a_rows = {1, 1, 1};
  even.b_cols = {1, 1, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    Case<R> c = even;
    c.a_rows[i] = fair;
    EXPECT_EQ(c.verdict(), Verdict::sound);
    for (const R x : {small, R(0)}) {  // a row of zeros stays one only classically
      c.a_rows[i] = x;
      EXPECT_EQ(c.verdict(), Verdict::badly_scaled);
    }
  }
  for (std::size_t j = 0; j < 4; ++j) {
    Case<R> c = even;
    c.b_cols[j] = fair;
    EXPECT_EQ(c.verdict(), Verdict::sound);
    c.b_cols[j] = small;
    EXPECT_EQ(c.verdict(), Verdict::badly_scaled);
  }
  {  // each would do, but they meet
    Case<R> c = even;
    c.a_rows[1] = c.b_cols[2] = fair;
    EXPECT_EQ(c.verdict(), Verdict::badly_scaled);
    c.a_rows[1] = c.b_cols[2] = static_cast<R>(1.01 / std::sqrt(scale_range));
    EXPECT_EQ(c.verdict(), Verdict::sound);
  }
  {  // blocks that are small inside of large rows and columns, in so many slices
    const std::vector<R> along{1, 1, small, small, small, small, 1, 1}, across{small, small, 1, 1, 1, 1, small, small},
        k{1, 1, 1};
    const auto verdict = [&](std::span<const R> a, std::span<const R> b, std::size_t group) {
      return judge<R>({a, k, k, b, 2, group}, 1, 1, false);
    };
    EXPECT_EQ(verdict(along, along, 2), Verdict::badly_scaled) << "the blocks beside the diagonal";
    EXPECT_EQ(verdict(along, across, 2), Verdict::badly_scaled) << "those on it";
    const std::vector<R> equal(8, 1);
    EXPECT_EQ(verdict(along, equal, 2), Verdict::sound);
    EXPECT_EQ(verdict(equal, across, 2), Verdict::sound);
    EXPECT_EQ(verdict(along, equal, 3), Verdict::badly_scaled) << "where a group has small rows in both slices";
  }
  // Small columns of A and small rows of B alone do no harm: there are larger terms beside them.
  Case<R> c;
  c.a_cols[1] = c.b_rows[0] = small;
  EXPECT_EQ(c.verdict(), Verdict::badly_scaled);  // but they are what the large ones meet
  c.b_rows = {1, small};
  EXPECT_EQ(c.verdict(), Verdict::sound);
}

}  // namespace
}  // namespace blaslift::guard_tests
