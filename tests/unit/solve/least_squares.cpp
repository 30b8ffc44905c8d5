// Least squares on a backend's lane, in whatever order it runs things: A is only read, R and Q^H B are those of it, and
// nothing changes if anything fails.
#include "impl/solve/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "impl/qr/lq_plan.hpp"
#include "impl/qr/panel_qr.hpp"
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
    Tall<T> x(r, round, round % 20 == 7 ? 3 * panel_qr_columns : 12);
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

/// A call of gels, with a matrix of a condition that is no matter.
template <class T>
struct FullRank {
  LeastSquaresShape shape;
  Matrix<T> A0, A, B0, B;

  FullRank(Random& r, unsigned seed)
      : shape(drawn(r, seed)),
        A0(shape.m, shape.n, r.up_to(4) - 1),
        A(A0),
        B0(shape.longer(), shape.nrhs, r.up_to(3) - 1),
        B(B0) {
    A0.random(seed);
    B0.random(seed + 1);
    for (index i = 0; i < shape.order(); ++i) A0(i, i) += scalar<T>(static_cast<double>(shape.order()), 0);
    for (index j = 0; j < shape.nrhs; ++j)  // not read
      for (index i = shape.equations(); i < shape.longer(); ++i) fill_with_canaries(&B0(i, j), sizeof(T));
    reset();
  }
  static LeastSquaresShape drawn(Random& r, unsigned seed) {
    const index order = seed % 12 == 5 ? 2 * panel_qr_columns + r.up_to(20) : r.up_to(14),
                longer = order + (seed % 5 == 2 ? 0 : r.below(30));
    const bool wide = r.below(2) == 1;
    return {wide ? order : longer, wide ? longer : order, r.up_to(5), r.below(2) == 1};
  }
  void reset() { A = A0, B = B0; }

  Plan plan(bool in_place = false) const {
    Plan plan = plan_gels(shape, precision_of<T>, in_place);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, bool in_place = false) {
    CallOperand<T> a{A.data(), A.ld()};
    if (in_place) a.placed = {.device = A.data(), .ld = A.ld(), .in_place = true};
    return run_leased<T>(plan, {a, {B.data(), B.ld()}}, {}, lane);
  }
  std::string text() const {
    return std::to_string(shape.m) + " x " + std::to_string(shape.n) + (shape.adjoint ? " C, " : ", ") +
           std::to_string(shape.nrhs) + " right-hand sides";
  }

  static long double length(const std::vector<Number>& x) {
    long double squares = 0;
    for (const Number& e : x) squares += std::norm(e);
    return std::sqrt(squares);
  }
  static Number dot(const std::vector<Number>& x, const std::vector<Number>& y) {
    Number sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::conj(x[i]) * y[i];
    return sum;
  }
  /// Of M = A, or of its adjoint, which is what equations are made of.
  Number element(index i, index j) const { return shape.adjoint ? std::conj(number(A0(j, i))) : number(A0(i, j)); }

  /// The residual is orthogonal to M's columns and as long as what is behind X; and X is in the span of M's rows.
  void expect_right() const {
    const index rows = shape.equations(), cols = shape.m + shape.n - rows;
    const long double unit = 8 * static_cast<long double>(rows + cols) * std::numeric_limits<Real<T>>::epsilon();
    long double squares = 0;
    std::vector<std::vector<Number>> columns(static_cast<std::size_t>(cols)), basis;
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i) {
        columns[static_cast<std::size_t>(j)].push_back(element(i, j));
        squares += std::norm(element(i, j));
      }
    const long double size = std::sqrt(squares);
    for (index i = 0; rows < cols && i < rows; ++i) {
      std::vector<Number> row;
      for (index j = 0; j < cols; ++j) row.push_back(std::conj(element(i, j)));
      remove(basis, row);
      const long double of_row = length(row);
      for (Number& e : row) e /= of_row;
      basis.push_back(row);
    }
    for (index q = 0; q < shape.nrhs; ++q) {
      std::vector<Number> x, rest, behind;
      for (index j = 0; j < cols; ++j) x.push_back(number(B(j, q)));
      for (index i = cols; i < rows; ++i) behind.push_back(number(B(i, q)));
      long double of_b = 0;
      for (index i = 0; i < rows; ++i) {
        Number sum = number(B0(i, q));
        of_b += std::norm(sum);
        for (index j = 0; j < cols; ++j) sum -= element(i, j) * x[static_cast<std::size_t>(j)];
        rest.push_back(sum);
      }
      const long double all = size * length(x) + std::sqrt(of_b);
      for (const auto& column : columns) ASSERT_LE(std::abs(dot(column, rest)), unit * size * all) << text();
      ASSERT_LE(std::fabs(length(rest) - length(behind)), unit * all) << text();  // which is nothing but of more rows
      if (rows >= cols) continue;
      const long double of_x = length(x);
      remove(basis, x);
      ASSERT_LE(length(x), 8 * unit * of_x) << text();
    }
    ASSERT_TRUE(A.canaries_intact() && B.canaries_intact()) << text();
  }
  /// Twice: what is left of the first time is orthogonal to roundings.
  static void remove(const std::vector<std::vector<Number>>& basis, std::vector<Number>& x) {
    for (int pass = 0; pass < 2; ++pass)
      for (const auto& q : basis) {
        const Number part = dot(q, x);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] -= part * q[i];
      }
  }

  /// In A are R of A^H A = R^H R, or with more columns than rows what gelqf leaves.
  void expect_factors() const {
    if (shape.turned()) {
      Matrix<T> factored = A0;
      std::vector<T> tau(static_cast<std::size_t>(shape.m));
      Shuffled lane(1);
      const Plan lq = plan_lq({shape.m, shape.n, shape.m, false}, precision_of<T>);
      ASSERT_EQ(run_leased<T>(lq, {{factored.data(), factored.ld()}, {tau.data(), shape.m}}, {}, lane).status,
                Status::done);
      ASSERT_TRUE(factored == A) << text();
      return;
    }
    const long double unit = 8 * static_cast<long double>(shape.m) * std::numeric_limits<Real<T>>::epsilon();
    for (index j = 0; j < shape.n; ++j)
      for (index q = 0; q <= j; ++q) {
        Number sum = 0;
        long double of_j = 0, of_q = 0;
        for (index i = 0; i < shape.m; ++i) {
          sum += std::conj(number(A0(i, q))) * number(A0(i, j));
          of_j += std::norm(number(A0(i, j))), of_q += std::norm(number(A0(i, q)));
        }
        for (index i = 0; i <= q; ++i) sum -= std::conj(number(A(i, q))) * number(A(i, j));
        ASSERT_LE(std::abs(sum), unit * std::sqrt(of_j * of_q)) << text();
      }
  }
};

TYPED_TEST(LeastSquaresExecute, OfFullRankIsSolvedInEveryOrderWithTheSameBits) {
  using T = TypeParam;
  Random r(4);
  int shapes[2][3] = {}, panels = 0;
  for (unsigned round = 0; round < 72; ++round) {
    FullRank<T> x(r, round);
    const LeastSquaresShape& shape = x.shape;
    ++shapes[shape.adjoint][shape.m < shape.n ? 0 : shape.m == shape.n ? 1 : 2];
    panels += shape.order() > 2 * panel_qr_columns;
    const bool in_place = round % 3 == 1;
    const Plan plan = x.plan(in_place);
    Matrix<T> first_a = x.A, first_b = x.B;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.reset();
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane, in_place);
      ASSERT_EQ(outcome.status, Status::done);
      const index in = (in_place ? 0 : shape.m * shape.n) + shape.equations() * shape.nrhs,
                  out = (in_place ? 0 : shape.m * shape.n) + shape.longer() * shape.nrhs;
      EXPECT_EQ(outcome.bytes_in, static_cast<double>(in) * sizeof(T));
      EXPECT_EQ(outcome.bytes_out, static_cast<double>(out) * sizeof(T));
      if (seed == 0) {  // the others have its bits
        x.expect_right();
        x.expect_factors();
        if (testing::Test::HasFatalFailure()) return;
        first_a = x.A, first_b = x.B;
      }
      ASSERT_TRUE(x.A == first_a && x.B == first_b) << "other bits: " << x.text();
    }
  }
  for (const auto& of_both : shapes)
    for (const int count : of_both) EXPECT_GT(count, 2);
  EXPECT_GT(panels, 3);
}

TYPED_TEST(LeastSquaresExecute, OfFullRankAFaultAtEveryOperationLeavesAllAsItWas) {
  using T = TypeParam;
  Random r(6);
  int struck = 0;
  for (unsigned round = 0; round < 11; ++round) {
    FullRank<T> x(r, 126 + round);  // of one panel each
    const Plan plan = x.plan();
    struck += with_each_operation_failing([&] { x.reset(); }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_right(); },
                                          [&] { ASSERT_TRUE(x.A == x.A0 && x.B == x.B0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 60);
}

TEST(LeastSquaresFits, WithAllOfItOrNotAtAll) {
  const std::size_t all = plan_least_squares(1000, 100, 3, Precision::d).bytes(8);
  EXPECT_TRUE(least_squares_fits(1000, 100, 3, Precision::d, all));
  EXPECT_FALSE(least_squares_fits(1000, 100, 3, Precision::d, all - 1));
  EXPECT_FALSE(least_squares_fits((index{1} << 31) - 1, 1000000, 1, Precision::z, std::size_t{1} << 40));
  for (const LeastSquaresShape& shape : {LeastSquaresShape{1000, 100, 3}, LeastSquaresShape{100, 1000, 3, true}}) {
    const std::size_t of_gels = plan_gels(shape, Precision::d).bytes(8);
    EXPECT_GT(of_gels, (shape.turned() ? 2 : 1) * std::size_t{8} * 1000 * 100);
    EXPECT_TRUE(gels_fits(shape, Precision::d, of_gels));
    EXPECT_FALSE(gels_fits(shape, Precision::d, of_gels - 1));
  }
  EXPECT_FALSE(gels_fits({1000000, (index{1} << 31) - 1, 1}, Precision::z, std::size_t{1} << 40));
}

/// Where an H100's CPU takes seconds, the first call opens the device; a square matrix's R is as much work as itself.
TEST(LeastSquaresCost, GoesWhereRIsLittleBesideA) {
  const Profile profile = built_in_profile("sm_90");
  const auto route = [&](Routine routine, index m, index n, DeviceState state = DeviceState::unopened,
                         bool adjoint = false) {
    const Problem p = counted({.routine = routine, .element = Element::d, .m = m, .n = n, .k = 1, .adjoint = adjoint});
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
  EXPECT_EQ(route(Routine::dgelss, 1000, 200000), Route::device);
  EXPECT_EQ(route(Routine::dgelss, 2000, 2001, DeviceState::ready), Route::cpu);
  for (const bool adjoint : {false, true}) {
    EXPECT_EQ(route(Routine::dgels, 1000, 200000, DeviceState::unopened, adjoint), Route::device);
    EXPECT_EQ(route(Routine::dgels, 200000, 1000, DeviceState::unopened, adjoint), Route::device);
    EXPECT_EQ(route(Routine::dgels, 4000, 4001, DeviceState::ready, adjoint), Route::device);
    EXPECT_EQ(route(Routine::dgels, 200, 300, DeviceState::ready, adjoint), Route::cpu);
  }
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
