// What is learned about the CPU, by precision and size.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "impl/runtime.hpp"

namespace blaslift {
namespace {

constexpr double unknown = 42;

TEST(SizeClass, IsThePowerOfFour) {
  EXPECT_EQ(size_class(-1), 0);
  EXPECT_EQ(size_class(0), 0);
  EXPECT_EQ(size_class(15.999), 0);
  for (int p = 2; p < size_classes; ++p) {
    const double from = std::pow(4.0, p);
    EXPECT_EQ(size_class(from), p - 1) << "4^" << p;
    EXPECT_EQ(size_class(std::nextafter(4 * from, 0)), p - 1) << "just below 4^" << p + 1;
  }
  EXPECT_EQ(size_class(1e30), size_classes - 1);
  EXPECT_EQ(size_class(std::numeric_limits<double>::infinity()), size_classes - 1);
  EXPECT_EQ(size_class(std::numeric_limits<double>::quiet_NaN()), 0);
}

TEST(CpuRates, KnowsNothingAtFirst) {
  CpuRates rates;
  EXPECT_EQ(rates.rate(Precision::d, 1e9, unknown), unknown);
}

TEST(CpuRates, ForgetsSlowlyAndKeepsPrecisionsApart) {
  CpuRates rates;
  rates.learn(Precision::d, 1e9, 0.1);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e9, unknown), 1e10);
  for (const Precision other : {Precision::s, Precision::c, Precision::z})
    EXPECT_EQ(rates.rate(other, 1e9, unknown), unknown);
  rates.learn(Precision::d, 1e9, 0.05);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e9, unknown), 1e10 + 0.3 * (2e10 - 1e10));
  for (int i = 0; i < 50; ++i) rates.learn(Precision::d, 1e9, 0.05);
  EXPECT_NEAR(rates.rate(Precision::d, 1e9, unknown), 2e10,
              1e10 * std::pow(0.7, 51) * 1.01);  // 0.7 of the error stays each time
}

TEST(CpuRates, AnswersFromTheNearestSmallerSizeThenTheNearestLarger) {
  CpuRates rates;
  rates.learn(Precision::s, 1e8, 0.1);   // 1e9
  rates.learn(Precision::s, 1e12, 100);  // 1e10
  EXPECT_DOUBLE_EQ(rates.rate(Precision::s, 1e8, unknown), 1e9);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::s, 1e10, unknown), 1e9) << "between: the smaller one's";
  EXPECT_DOUBLE_EQ(rates.rate(Precision::s, 1e12, unknown), 1e10);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::s, 1e15, unknown), 1e10) << "beyond";
  EXPECT_DOUBLE_EQ(rates.rate(Precision::s, 1e3, unknown), 1e9) << "below all: the nearest larger one's";
}

TEST(CpuRates, LearnsNothingFromCallsThatAreTooShortOrNotTimed) {
  CpuRates rates;
  for (const auto& [flops, seconds] :
       {std::pair{9.99e6, 1.0}, {1e9, 0.0}, {1e9, -1.0}, {std::nan(""), 1.0}, {1e9, std::nan("")}})
    rates.learn(Precision::d, flops, seconds);
  EXPECT_EQ(rates.rate(Precision::d, 1e9, unknown), unknown);
  rates.learn(Precision::d, 1e7, 1e-3);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e9, unknown), 1e10);
}

}  // namespace
}  // namespace blaslift
