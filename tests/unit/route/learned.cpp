// What is learned from calls: the CPU's rates, by precision, size and load; the device's slowdowns; and trials.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "impl/route/learned.hpp"

namespace blaslift::learned_tests {
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

TEST(LoadClass, DoublesFromOneCallToMoreThanSixteen) {
  const int first[load_classes] = {1, 2, 3, 5, 9, 17};
  for (int load = 0; load < load_classes; ++load) {
    EXPECT_EQ(load_class(first[load]), load);
    if (load > 0) {
      EXPECT_EQ(load_class(first[load] - 1), load - 1);
    }
  }
  EXPECT_EQ(load_class(0), 0);
  EXPECT_EQ(load_class(-5), 0);
  EXPECT_EQ(load_class(1000000), load_classes - 1);
}

TEST(CpuRates, KeepsLoadsApartAndAnswersFromTheNearest) {
  CpuRates rates;
  rates.learn(Precision::d, 1e9, 1.0, 16);  // 1e9
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e9, unknown, 16), 1e9);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e9, unknown, 1), 1e9) << "nothing nearer is known";
  rates.learn(Precision::d, 1e9, 0.1);  // 1e10
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e9, unknown, 1), 1e10);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e9, unknown, 2), 1e10);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e9, unknown, 9), 1e9);
  EXPECT_DOUBLE_EQ(rates.rate(Precision::d, 1e11, unknown, 100), 1e9) << "another size at the nearest load";
}

/// Learns the same often enough to be sure of it.
void learn_well(Slowdowns& slowdowns, int calls, double ratio) {
  for (int i = 0; i < 400; ++i) slowdowns.learn(calls, 1e-3, ratio * 1e-3);
}

TEST(Slowdowns, KeepLoadsApartAndAnswerFromTheNextSmallerOne) {
  Slowdowns slowdowns;
  EXPECT_EQ(slowdowns.at(1), 1);
  EXPECT_EQ(slowdowns.at(100), 1);
  learn_well(slowdowns, 4, 3);
  EXPECT_EQ(slowdowns.at(1), 1) << "alone it may well be as fast as predicted";
  EXPECT_NEAR(slowdowns.at(4), 3, 1e-6);
  EXPECT_NEAR(slowdowns.at(100), 3, 1e-6);
  learn_well(slowdowns, 16, 20);
  EXPECT_NEAR(slowdowns.at(4), 3, 1e-6);
  EXPECT_NEAR(slowdowns.at(8), 3, 1e-6);
  EXPECT_NEAR(slowdowns.at(16), 20, 1e-6);
}

TEST(Slowdowns, TheFirstCallsOfEachLoadTeachNothing) {
  for (int load = 0; load < load_classes; ++load) {
    Slowdowns slowdowns;
    const int calls = 1 << load;
    for (int i = 0; i < 4 * calls; ++i) slowdowns.learn(calls, 1e-3, 1);
    EXPECT_EQ(slowdowns.at(calls), 1) << calls;
    slowdowns.learn(calls, 1e-3, 1);
    EXPECT_GT(slowdowns.at(calls), 1.2) << calls;
  }
}

TEST(Slowdowns, OneCallThatTookVeryLongIsNoRule) {
  Slowdowns slowdowns;
  learn_well(slowdowns, 1, 1);
  slowdowns.learn(1, 1e-3, 1);
  EXPECT_LE(slowdowns.at(1), 1.25);
  slowdowns.learn(1, 1e-3, 1e-3);
  EXPECT_LE(slowdowns.at(1), 1.125);
}

TEST(Slowdowns, AreBounded) {
  Slowdowns slowdowns;
  learn_well(slowdowns, 1, 1e9);
  EXPECT_NEAR(slowdowns.at(1), 50, 1e-6);
  learn_well(slowdowns, 1, 1e-9);
  EXPECT_NEAR(slowdowns.at(1), 0.2, 1e-6);
}

TEST(Trials, AreEarnedByAHundredthOfTheTimeAndTakenByOne) {
  Trials trials;
  EXPECT_FALSE(trials.take(1e-3));
  for (int i = 0; i < 100; ++i) trials.earn(2e-3);
  EXPECT_NEAR(trials.allowed(), 2e-3, 1e-9);
  EXPECT_FALSE(trials.take(2.1e-3));
  EXPECT_TRUE(trials.take(1.9e-3));
  EXPECT_FALSE(trials.take(1.9e-3)) << "another has taken it";
  trials.settle(1, 2);  // it took longer than expected
  for (int i = 0; i < 90; ++i) trials.earn(1);
  EXPECT_FALSE(trials.take(1e-6)) << "paid back first";
  for (int i = 0; i < 11; ++i) trials.earn(1);
  EXPECT_TRUE(trials.take(1e-6));
}

/// Calls that take `cpu` seconds on the CPU and `device` on the device, which was supposed to take `predicted`: what
/// they take altogether, over what they would on the CPU alone.
double cost_of_finding_out(double cpu, double device, double predicted, int calls, int load) {
  Slowdowns slowdowns;
  Trials trials;
  double seconds = 0;
  for (int i = 0; i < calls; ++i) {
    const double expected = predicted * slowdowns.at(load), loss = expected - cpu;
    const bool tries = loss > 0 && loss <= trials.allowed() && trials.take(loss);
    if (loss > 0 && !tries) {
      seconds += cpu;
      if (predicted < cpu) trials.earn(cpu);
      continue;
    }
    seconds += device;
    slowdowns.learn(load, predicted, device);
    if (tries) trials.settle(expected, device);
  }
  return seconds / (calls * cpu);
}

TEST(Trials, CostTwoHundredthsWhereTheDeviceStaysSlow) {
  for (const double device : {1.2e-3, 2e-3, 5e-3, 20e-3})
    EXPECT_LT(cost_of_finding_out(1e-3, device, 0.1e-3, 100000, 16), 1.03) << device;
}

TEST(Trials, FindOutThatTheDeviceIsFastAgain) {
  Slowdowns slowdowns;
  Trials trials;
  learn_well(slowdowns, 16, 40);  // it was busy with others: 4 ms instead of 0.1, and the CPU takes 1
  int stayed = 0;
  for (double expected; (expected = 0.1e-3 * slowdowns.at(16)) > 1e-3;) {
    if (trials.take(expected - 1e-3)) {
      slowdowns.learn(16, 0.1e-3, 0.1e-3);
      trials.settle(expected, 0.1e-3);
      continue;
    }
    trials.earn(1e-3);
    ASSERT_LT(++stayed, 3000);
  }
  EXPECT_GT(stayed, 100);
}

}  // namespace
}  // namespace blaslift::learned_tests
