// Least squares on a backend's lane, in whatever order it runs things: A is only read, R and Q^H B are those of it, and
// nothing changes if anything fails.
#include "impl/solve/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "impl/route/built_in_profiles.hpp"
#include "impl/solve/least_squares_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::least_squares_tests {
namespace {

using namespace reference;
using Number = std::complex<long double>;

template <class T>
Number number(const T& x) {
  return {std::real(x), std::imag(x)};
}

template <class T>
struct Tall {
  index n, m, nrhs;
  Matrix<T> A0, A, B0, B, R0, R;

  /// @param widest  columns at most
  Tall(Random& r, unsigned seed, index widest = 12)
      : n(r.up_to(static_cast<int>(widest))),
        m(n + r.up_to(30) - 1),
        nrhs(r.up_to(5)),
        A0(m, n, r.up_to(4) - 1),
        A(A0),
        B0(m, nrhs),
        B(B0),
        R0(n, n),
        R(R0) {
    A0.random(seed);
    B0.random(seed + 1);
    R0.random(seed + 2);
    reset();
  }
  void reset() { A = A0, B = B0, R = R0; }

  Plan plan(bool in_place = false) const {
    Plan plan = plan_least_squares(m, n, nrhs, precision_of<T>, in_place);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, bool in_place = false) {
    CallOperand<T> a{A.data(), A.ld()};
    if (in_place) a.placed = {.device = A.data(), .ld = A.ld(), .in_place = true};
    return run_leased<T>(plan, {a, {B.data(), B.ld()}, {R.data(), R.ld()}}, {}, lane);
  }
  std::string text() const {
    return std::to_string(m) + " x " + std::to_string(n) + ", " + std::to_string(nrhs) + " right-hand sides";
  }

  /// R^H R = A^H A and R^H (Q^H B) = A^H B, which are exact of the exact ones; Q^H B is as long as B.
  void expect_right() {
    const auto product = [](auto&& x, auto&& y, index terms) {
      Number sum = 0;
      for (index i = 0; i < terms; ++i) sum += std::conj(x(i)) * y(i);
      return sum;
    };
    const long double unit = 8 * static_cast<long double>(m + n) * std::numeric_limits<Real<T>>::epsilon();
    const auto column = [](const Matrix<T>& x, index j) { return [&x, j](index i) { return number(x(i, j)); }; };
    const auto length = [&](const Matrix<T>& x, index j, index rows) {
      return std::sqrt(std::abs(product(column(x, j), column(x, j), rows)));
    };
    for (index j = 0; j < n; ++j) {
      ASSERT_EQ(std::imag(number(R(j, j))), 0) << text();
      for (index q = 0; q <= j; ++q)
        ASSERT_LE(std::abs(product(column(R, q), column(R, j), q + 1) - product(column(A0, q), column(A0, j), m)),
                  unit * length(A0, q, m) * length(A0, j, m))
            << text();
      for (index q = 0; q < nrhs; ++q)
        ASSERT_LE(std::abs(product(column(R, j), column(B, q), j + 1) - product(column(A0, j), column(B0, q), m)),
                  unit * length(A0, j, m) * length(B0, q, m))
            << text();
    }
    for (index q = 0; q < nrhs; ++q)
      ASSERT_LE(std::fabs(length(B, q, m) - length(B0, q, m)), unit * length(B0, q, m)) << text();
    ASSERT_TRUE(A == A0 && A.canaries_intact() && B.canaries_intact() && R.canaries_intact()) << text();
  }
};

template <class T>
class LeastSquaresExecute : public testing::Test {};
TYPED_TEST_SUITE(LeastSquaresExecute, Precisions);

TYPED_TEST(LeastSquaresExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  for (unsigned round = 0; round < 60; ++round) {
    Tall<T> x(r, round, round % 20 == 7 ? 3 * least_squares_panel : 12);
    const Plan plan = x.plan();
    Matrix<T> first = x.B, first_r = x.R;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.reset();
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      x.expect_right();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.B, first_r = x.R;
      ASSERT_TRUE(x.B == first && x.R == first_r) << "other bits: " << x.text();
      EXPECT_EQ(outcome.bytes_in, static_cast<double>(x.m * (x.n + x.nrhs)) * sizeof(T));
    }
  }
}

TYPED_TEST(LeastSquaresExecute, InMemoryOfItsOwnTheMatrixStaysAsItIs) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Tall<T> x(r, round);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(true), lane, true);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, static_cast<double>(x.m * x.nrhs) * sizeof(T));
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(LeastSquaresExecute, AFaultAtEveryOperationLeavesAllAsItWas) {
  using T = TypeParam;
  Random r(3);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Tall<T> x(r, 90 + round);
    const Plan plan = x.plan();
    struck += with_each_operation_failing([&] { x.reset(); }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_right(); },
                                          [&] { ASSERT_TRUE(x.A == x.A0 && x.B == x.B0 && x.R == x.R0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 50);
}

/// X in B's first rows, and A's QR in its place: R^H R = A^H A, and R X = Q^H B.
TYPED_TEST(LeastSquaresExecute, OfFullRankIsSolvedWithTheQrInItsPlace) {
  using T = TypeParam;
  Random r(4);
  for (unsigned round = 0; round < 40; ++round) {
    Tall<T> x(r, round, round % 20 == 7 ? 2 * least_squares_panel : 12);
    const bool in_place = round % 3 == 1;
    const Plan plan = plan_gels(x.m, x.n, x.nrhs, precision_of<T>, in_place);
    ASSERT_EQ(check(plan), "") << x.text() << "\n" << to_string(plan);
    Shuffled lane(round);
    CallOperand<T> a{x.A.data(), x.A.ld()};
    if (in_place) a.placed = {.device = x.A.data(), .ld = x.A.ld(), .in_place = true};
    const PlanOutcome outcome = run_leased<T>(plan, {a, {x.B.data(), x.B.ld()}}, {}, lane);
    ASSERT_EQ(outcome.status, Status::done);
    for (index j = 0; j < x.n; ++j)
      for (index i = 0; i <= j; ++i) x.R(i, j) = x.A(i, j);
    for (index q = 0; q < x.nrhs; ++q) {  // back to Q^H B
      std::vector<Number> first;
      for (index i = 0; i < x.n; ++i) {
        Number sum = 0;
        for (index j = i; j < x.n; ++j) sum += number(x.A(i, j)) * number(x.B(j, q));
        first.push_back(sum);
      }
      for (index i = 0; i < x.n; ++i) {
        const Number& value = first[static_cast<std::size_t>(i)];
        x.B(i, q) = scalar<T>(static_cast<double>(value.real()), static_cast<double>(value.imag()));
      }
    }
    ASSERT_TRUE(x.A.canaries_intact()) << x.text();
    x.A = x.A0;
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(LeastSquaresFits, WithAllOfItOrNotAtAll) {
  const std::size_t all = plan_least_squares(1000, 100, 3, Precision::d).bytes(8);
  EXPECT_TRUE(least_squares_fits(1000, 100, 3, Precision::d, all));
  EXPECT_FALSE(least_squares_fits(1000, 100, 3, Precision::d, all - 1));
  EXPECT_FALSE(least_squares_fits((index{1} << 31) - 1, 1000000, 1, Precision::z, std::size_t{1} << 40));
}

/// Where an H100's CPU takes seconds, the first call opens the device; a square matrix's R is as much work as itself.
TEST(LeastSquaresCost, GoesWhereRIsLittleBesideA) {
  const Profile profile = built_in_profile("sm_90");
  const auto route = [&](Routine routine, index m, index n, DeviceState state = DeviceState::unopened) {
    const Problem p = counted({.routine = routine, .element = Element::d, .m = m, .n = n, .k = 1});
    const Facts facts{
        .device = state, .profile = &profile, .cpu_rate = family_of(routine).cpu_rate(p, profile), .slowdown = 1};
    return decide(p, facts, {.on = true, .measuring = false, .forced = false, .fixed = false}).route;
  };
  for (const Routine routine : {Routine::dgelsy, Routine::dgelsd, Routine::dgelss}) {
    EXPECT_EQ(route(routine, 200000, 1000), Route::device);
    EXPECT_EQ(route(routine, 2000, 2000, DeviceState::ready), Route::cpu);
    EXPECT_EQ(route(routine, 300, 200, DeviceState::ready), Route::cpu);
  }
  EXPECT_EQ(route(Routine::dgelsy, 20000, 2000), Route::device);
  EXPECT_EQ(route(Routine::dgelsd, 1000, 200000), Route::device);
  EXPECT_EQ(route(Routine::dgelsd, 2000, 2001, DeviceState::ready), Route::cpu);
}

/// Fixed decisions know nothing of how long calls have taken.
TEST(LeastSquaresCost, IsTheSameWhateverWasMeasuredWhereDecisionsAreFixed) {
  const Profile profile = built_in_profile("sm_90");
  for (const index n : {200, 500, 1000, 1500}) {
    const Problem p = counted({.routine = Routine::dgelsd, .element = Element::d, .m = 2000, .n = n, .k = 1});
    const auto decided = [&](double rate) {
      const Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = rate, .slowdown = 1};
      return decide(p, facts, {.on = true, .measuring = false, .forced = false, .fixed = true});
    };
    const Decision slow = decided(1e9), fast = decided(1e12);
    EXPECT_EQ(slow.route, fast.route) << n;
    EXPECT_EQ(slow.device_seconds, fast.device_seconds) << n;
  }
}

}  // namespace
}  // namespace blaslift::least_squares_tests
