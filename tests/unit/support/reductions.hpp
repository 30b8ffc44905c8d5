// What plans promise that are one reduction of A in its place (impl/plan/reduction.hpp), asked of each of them.
//
// A Reduction is one call, drawn from a Random and a seed: A0 and A, which is worked on; columns(), what comes home
// besides, the last of them `failed`; make_plan(a_in_place); moved(), A's elements that move each way; poison(r, x),
// which puts a number into A0 where it is read; expect_right(); text().
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::reductions {

template <class Reduction>
Plan plan_of(const Reduction& x, bool a_in_place = false) {
  const Plan plan = x.make_plan(a_in_place);
  EXPECT_EQ(check(plan), "") << x.text() << "\n" << to_string(plan);
  return plan;
}

template <class Reduction, class Sound>
PlanOutcome run(Reduction& x, const Plan& plan, Lane& lane, const Placed& a, const Sound& is_sound) {
  using T = typename Reduction::Element;
  std::vector<CallOperand<T>> operands{{x.A.data(), x.A.ld(), a}};
  for (std::vector<T>* column : x.columns()) operands.push_back({column->data(), static_cast<index>(column->size())});
  return run_leased<T>(plan, operands, {}, lane, is_sound);
}
template <class Reduction>
PlanOutcome run(Reduction& x, const Plan& plan, Lane& lane, const Placed& a = {}) {
  return run(x, plan, lane, a, [] { return true; });
}

template <class Reduction>
void expect_untouched(const Reduction& x) {
  const auto bytes = static_cast<std::size_t>(x.A.ld() * x.A.cols()) * sizeof(typename Reduction::Element);
  ASSERT_EQ(std::memcmp(x.A.data(), x.A0.data(), bytes), 0) << x.text();
}

/// In every order that a lane may choose, with the same bits.
/// @param see  void(const Reduction&), of each call
template <class Reduction, class See>
void are_right_in_every_order(const See& see) {
  using T = typename Reduction::Element;
  Random r(1);
  for (unsigned round = 0; round < 80; ++round) {
    Reduction x(r, round);
    see(x);
    const Plan plan = plan_of(x);
    auto first = x.A0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.A = x.A0;
      x.columns().back()->front() = T(7);
      Shuffled lane(seed);
      const PlanOutcome outcome = run(x, plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(x.columns().back()->front(), T(0)) << x.text();
      x.expect_right();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.A;
      ASSERT_TRUE(x.A == first) << "other bits: " << x.text();
      EXPECT_EQ(outcome.bytes_in, static_cast<double>(x.moved()) * sizeof(T));
      EXPECT_EQ(outcome.bytes_out, outcome.bytes_in);
    }
  }
}

/// In memory of its own the matrix does not move.
template <class Reduction>
void stay_in_memory_of_their_own() {
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Reduction x(r, round);
    Shuffled lane(round);
    const PlanOutcome outcome =
        run(x, plan_of(x, true), lane, {.device = x.A.data(), .ld = x.A.ld(), .in_place = true});
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// A matrix that is not finite is said to be so, and stays.
template <class Reduction>
void say_what_is_not_finite() {
  using T = typename Reduction::Element;
  Random r(3);
  for (unsigned round = 0; round < 60; ++round) {
    Reduction x(r, round);
    constexpr double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
    x.poison(r, reference::scalar<T>(odd[round % 3], 0));
    x.A = x.A0;
    T said(7);
    Shuffled lane(round);
    const PlanOutcome outcome = run(x, plan_of(x), lane, {}, [&] {
      said = x.columns().back()->front();
      return said == T(0);
    });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_EQ(said, T(1)) << x.text();
    ASSERT_TRUE(outcome.taken_back);
    expect_untouched(x);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// A fault at every operation leaves the matrix as it was.
template <class Reduction>
void bear_a_fault_at_every_operation() {
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Reduction x(r, 90 + round);
    const Plan plan = plan_of(x);
    struck += with_each_operation_failing([&] { x.A = x.A0; }, [&](Lane& lane) { return run(x, plan, lane); },
                                          [&] { x.expect_right(); }, [&] { expect_untouched(x); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 60);
}

}  // namespace blaslift::reductions
