// Products with a triangular matrix on a backend's lane: every cut, streamed or not, in whatever order the lane runs
// things; what is not to be read is NaN, and nothing of the caller's changes if anything fails.
#include <gtest/gtest.h>

#include "impl/product/trmm_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"
#include "tests/unit/support/triangular.hpp"

namespace blaslift::trmm_tests {
namespace {

using namespace reference;

template <class T>
struct Product {
  TrmmArgs<T> args{};
  Matrix<T> A, B0, B;
  TrmmShape shape{};
  TrmmCut cut{};
  std::vector<T> magnitudes{};  ///< that have come home

  Product(Random& r, unsigned seed)
      : args{any_triangular<T>(r)},
        A(args.order(), args.order(), r.up_to(4) - 1),
        B0(args.m, args.n, r.up_to(4) - 1),
        B(B0) {
    for (index j = 0; j < args.order(); ++j)
      for (index i = 0; i < args.order(); ++i)
        if ((args.uplo == Uplo::upper ? i < j : i > j) || (i == j && !args.unit))
          A(i, j) = scalar<T>((r.below(1000) + 0.5) / 500 - 1, (r.below(1000) + 0.5) / 500 - 1);  // no zeros
    B0.random(seed);
    B = B0;
    shape = {args.left, args.uplo, args.trans, args.unit, args.m, args.n};
    cut = {r.up_to(args.order()), r.up_to(shape.others()), r.coin()};
  }
  Plan plan(const TrmmHeld& held = {}) const {
    Plan plan = plan_trmm(shape, precision_of<T>, cut, held);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Placed& b = {}) {
    const index rows = trmm_magnitudes(precision_of<T>, cut);
    magnitudes.assign(static_cast<std::size_t>(rows * panels()), T(-1));
    return run_leased<T>(plan, {{A.data(), A.ld(), a}, {B.data(), B.ld(), b}, {magnitudes.data(), rows}},
                         {.alpha = args.alpha}, lane);
  }
  index tiles() const { return cut.tiles(shape); }
  index panels() const { return cut.panels(shape); }
  std::string text() const {
    return std::string(1, "RL"[args.left]) + static_cast<char>(args.uplo) + static_cast<char>(args.trans) +
           (args.unit ? "U " : "N ") + std::to_string(args.m) + " x " + std::to_string(args.n) + ", tiles of " +
           std::to_string(cut.tile) + ", panels of " + std::to_string(cut.width) + (cut.streamed ? ", streamed" : "");
  }
  using Number = std::complex<long double>;
  static Number number(const T& x) { return {std::real(x), std::imag(x)}; }
  Number op(index i, index j) const {
    if (args.trans != Op::none) std::swap(i, j);
    if (i == j && args.unit) return 1;
    if (args.uplo == Uplo::upper ? i > j : i < j) return 0;
    return args.trans == Op::conjugate ? std::conj(number(A(i, j))) : number(A(i, j));
  }
  /// @param all  not those that a number makes NaN that is not finite
  void expect_multiplied(bool all = true) const {
    const double allowed =
        2 * static_cast<double>(args.order() + 4) * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
    for (index j = 0; j < args.n; ++j)
      for (index i = 0; i < args.m; ++i) {
        Number rest = number(B(i, j));
        long double size = 0;
        for (index p = 0; p < args.order(); ++p) {
          const Number a = args.left ? op(i, p) : op(p, j);
          if (a == Number()) continue;
          const Number term = number(args.alpha) * a * number(args.left ? B0(p, j) : B0(i, p));
          rest -= term;
          size += std::abs(term);
        }
        if (!all && !std::isfinite(size)) {
          ASSERT_FALSE(std::isfinite(std::abs(number(B(i, j))))) << text() << " at " << i << ", " << j;
          continue;
        }
        ASSERT_LE(std::abs(rest), allowed * size) << text() << " at " << i << ", " << j;
      }
    ASSERT_TRUE(B.canaries_intact()) << text();
  }
  /// The largest part of an element of each column, or each row with A on the right.
  void expect_magnitudes() const {
    for (index line = 0; line < shape.others(); ++line) {
      Real<T> largest = 0;
      for (index p = 0; p < shape.order(); ++p) {
        const T& x = args.left ? B0(p, line) : B0(line, p);
        largest = std::max({largest, std::fabs(std::real(x)), std::fabs(std::imag(x))});
      }
      const index panel = line / cut.width, rows = trmm_magnitudes(precision_of<T>, cut);
      const auto* const found = reinterpret_cast<const Real<T>*>(&magnitudes[static_cast<std::size_t>(panel * rows)]);
      ASSERT_EQ(found[line % cut.width], largest) << text() << ", " << line;
    }
    for (const T& x : magnitudes) ASSERT_TRUE(std::real(x) >= 0 && std::imag(x) >= 0) << text();
  }
};

template <class T>
Placed own(Matrix<T>& matrix) {
  return {.device = matrix.data(), .ld = matrix.ld(), .in_place = true};
}

template <class T>
class TrmmExecute : public testing::Test {};
TYPED_TEST_SUITE(TrmmExecute, Precisions);

TYPED_TEST(TrmmExecute, MultipliesInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int streamed = 0, tiles = 0, panels = 0;
  for (unsigned round = 0; round < 120; ++round) {
    Product<T> x(r, round);
    const Plan plan = x.plan();
    streamed += x.cut.streamed && x.panels() > 1;
    tiles += x.tiles() > 3;
    panels += x.panels() > 3;
    Matrix<T> first = x.B0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.B = x.B0;
      Shuffled lane(seed);
      const Outcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      x.expect_multiplied();
      x.expect_magnitudes();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.B;
      ASSERT_TRUE(x.B == first) << "other bits: " << x.text();
      const double b = static_cast<double>(x.args.m * x.args.n) * sizeof(T), n = static_cast<double>(x.shape.order());
      EXPECT_EQ(outcome.bytes_out, b);
      const double times = static_cast<double>(x.cut.streamed ? x.panels() : 1);
      EXPECT_EQ(outcome.bytes_in, b + times * n * (n + 1) / 2 * sizeof(T)) << x.text();
    }
  }
  EXPECT_GT(streamed, 20);
  EXPECT_GT(tiles, 20);
  EXPECT_GT(panels, 20);
}

TYPED_TEST(TrmmExecute, InMemoryOfTheirOwnNothingMovesAndAIsLeftAlone) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Product<T> x(r, round);
    x.cut.streamed = false;
    const Matrix<T> A = x.A;
    Shuffled lane(round);
    const Outcome outcome = x.run(x.plan({true, true}), lane, own(x.A), own(x.B));
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in + outcome.bytes_out, 0);
    ASSERT_TRUE(x.A == A) << x.text();
    x.expect_multiplied();
    x.expect_magnitudes();
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// In tiles of one row nothing is multiplied with the zeros beside a triangle.
TYPED_TEST(TrmmExecute, WhatIsNotFiniteIsFoundAndRowByRowAffectsWhatItHasTo) {
  using T = TypeParam;
  Random r(3);
  for (unsigned round = 0; round < 40; ++round) {
    Product<T> x(r, round);
    const index row = static_cast<index>(r.below(static_cast<std::size_t>(x.args.m))),
                col = static_cast<index>(r.below(static_cast<std::size_t>(x.args.n)));
    x.B0(row, col) = T(static_cast<Real<T>>(r.coin() ? std::nan("") : -HUGE_VAL));
    x.B = x.B0;
    Shuffled lane(round), by_rows(round);
    ASSERT_EQ(x.run(x.plan(), lane).status, Status::done);
    const auto is_finite_number = [](const T& number) { return is_finite(number); };
    EXPECT_FALSE(std::all_of(x.magnitudes.begin(), x.magnitudes.end(), is_finite_number)) << x.text();
    x.B = x.B0;
    x.cut.tile = 1;
    ASSERT_EQ(x.run(x.plan(), by_rows).status, Status::done);
    x.expect_multiplied(false);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(TrmmExecute, ASurveyInPlaceFindsTheSame) {
  using T = TypeParam;
  Random r(4);
  for (unsigned round = 0; round < 40; ++round) {
    Product<T> x(r, round);
    const Plan plan = plan_survey(x.shape, precision_of<T>);
    ASSERT_EQ(check(plan), "") << to_string(plan);
    x.cut.width = x.shape.others();
    x.magnitudes.assign(static_cast<std::size_t>(plan.operands[1].rows), T(-1));
    Shuffled lane(round);
    const PlanOutcome outcome =
        run_leased<T>(plan, {{x.B.data(), x.B.ld(), own(x.B)}, {x.magnitudes.data(), plan.operands[1].rows}}, {}, lane);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in + outcome.bytes_out, 0);
    x.expect_magnitudes();
    ASSERT_TRUE(x.B == x.B0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(TrmmExecute, AFailureLeavesAllOfBAlone) {
  using T = TypeParam;
  Random r(5);
  int failed = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Product<T> x(r, round);
    const Plan plan = x.plan();
    Shuffled whole(round);
    ASSERT_EQ(x.run(plan, whole).status, Status::done);
    const Matrix<T> good = x.B;
    failed += with_each_operation_failing([&] { x.B = x.B0; }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { ASSERT_TRUE(x.B == good) << x.text(); },
                                          [&] { ASSERT_TRUE(x.B == x.B0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(failed, 60);
}

TEST(TrmmCut, FitsAnyMemoryOrSaysSo) {
  Random r(6);
  int streamed = 0, none = 0, in_place = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto size = [&r] { return index{1} << r.below(15) | static_cast<index>(r.below(100)); };
    const TrmmShape s{r.coin(), r.coin() ? Uplo::upper : Uplo::lower, ops[r.below(3)], r.coin(), size(), size()};
    const auto precision = static_cast<Precision>(r.below(4));
    const std::size_t memory = std::size_t{1} << (10 + r.below(26));
    const TrmmHeld there{r.below(4) == 0, r.below(4) == 0};
    const TrmmCut cut = trmm_cut(s, precision, memory, there);
    if (cut.tile == 0) {
      ++none;
      // The least: tiles of one row, A's strips, three panels, and magnitudes of each row and column.
      const auto strip = leased_bytes(s.order(), 1, element_size(precision)),
                 others = leased_bytes(s.others(), 1, element_size(precision));
      const std::size_t panels = there.b ? 0 : static_cast<std::size_t>(std::min<index>(s.others(), 3));
      EXPECT_GT(((there.a ? 1 : 2) + panels + 1) * strip + others + 2048, memory);
      continue;
    }
    streamed += cut.streamed;
    in_place += there.b;
    EXPECT_FALSE(cut.streamed && there.a);
    EXPECT_TRUE(cut.tile >= 1 && cut.tile <= s.order() && cut.width >= 1 && cut.width <= s.others());
    if ((s.order() / cut.tile) * (s.others() / cut.width) > 2000) continue;  // the plan's own time
    EXPECT_LE(plan_trmm(s, precision, cut, there).bytes(element_size(precision)), memory);
  }
  EXPECT_GT(streamed, 200);
  EXPECT_GT(none, 20);
  EXPECT_GT(in_place, 20);
}

TEST(TrmmPlan, SaysWhoWaitsForWhom) {
  const TrmmShape shape{true, Uplo::lower, Op::none, true, 4, 2};
  EXPECT_EQ(to_string(plan_trmm(shape, Precision::d, {2, 2, false})),
            "0: upload B(0:4, 0:2) to panel0(0:4, 0:2)\n"
            "1: upload A(2:4, 2:4) to A(2:4, 2:4)\n"
            "2: upload A(2:4, 0:2) to A(2:4, 0:2)\n"
            "3: upload A(0:2, 0:2) to A(0:2, 0:2)\n"
            "4: assign magnitudes(0:2, 0)*\n"
            "5: assign others(0:4, 0)*\n"
            "6: survey panel0(0:4, 0:2) others(0:4, 0)* magnitudes(0:2, 0)* after 5 4 0\n"
            "7: download magnitudes(0:2, 0) from magnitudes(0:2, 0) after 6\n"
            "8: assign triangles(0:2, 2:4)*\n"
            "9: assign A(2:4, 2:4) triangles(0:2, 2:4)* after 8 1\n"
            "10: assign panel0(2:4, 0:2) before(0:2, 0:2)* after 0\n"
            "11: gemm triangles(0:2, 2:4) before(0:2, 0:2) panel0(2:4, 0:2)* after 10 9 6\n"
            "12: gemm A(2:4, 0:2) panel0(0:2, 0:2) panel0(2:4, 0:2)* after 11 2\n"
            "13: download B(2:4, 0:2) from panel0(2:4, 0:2) after 12\n"
            "14: assign triangles(0:2, 0:2)*\n"
            "15: assign A(0:2, 0:2) triangles(0:2, 0:2)* after 14 3\n"
            "16: assign panel0(0:2, 0:2) before(0:2, 0:2)* after 11\n"
            "17: gemm triangles(0:2, 0:2) before(0:2, 0:2) panel0(0:2, 0:2)* after 16 15 12\n"
            "18: download B(0:2, 0:2) from panel0(0:2, 0:2) after 17\n");
}

}  // namespace
}  // namespace blaslift::trmm_tests
