// Cholesky factorisations on a backend's lane: every cut, streamed or not, in whatever order the lane runs things; the
// other triangle is NaN and stays so, and nothing of the caller's changes if anything fails or the matrix is not
// definite.
#include <gtest/gtest.h>

#include "impl/cholesky/potrf_plan.hpp"
#include "impl/core/args.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::potrf_tests {
namespace {

using namespace reference;

template <class T>
struct Definite {
  Uplo uplo;
  index n;
  PotrfCut cut;
  Matrix<T> A0, A;
  std::vector<T> failed;

  Definite(Random& r, unsigned seed)
      : uplo(r.coin() ? Uplo::upper : Uplo::lower), n(r.up_to(30)), A0(n, n, r.up_to(4) - 1), A(A0) {
    A0.random(seed);
    const auto share = static_cast<Real<T>>(1) / static_cast<Real<T>>(2 * n);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!in_triangle(i, j))
          fill_with_canaries(&A0(i, j), sizeof(T));
        else
          A0(i, j) = i == j ? scalar<T>(2 + r.below(1000) / 1e3, r.below(1000) / 1e3) : A0(i, j) * share;
    A = A0;
    cut.panel = r.up_to(n);
    cut.strip = r.coin() ? r.up_to(cut.panel) : 0;
    failed.assign(static_cast<std::size_t>(cut.panels(n)), T(0));
  }
  bool in_triangle(index i, index j) const { return uplo == Uplo::upper ? i <= j : i >= j; }

  Plan plan(bool in_place = false) const {
    Plan plan = plan_potrf(uplo, n, precision_of<T>, cut, in_place);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Sound& is_sound = sound) {
    return run_leased<T>(plan, {{A.data(), A.ld(), a}, {failed.data(), cut.panels(n)}}, {}, lane, is_sound);
  }
  std::string text() const {
    return std::string(1, static_cast<char>(uplo)) + " " + std::to_string(n) + ", panels of " +
           std::to_string(cut.panel) + ", strips of " + std::to_string(cut.strip);
  }

  using Number = std::complex<long double>;
  static Number wide(const T& x) { return {std::real(x), std::imag(x)}; }
  Number factor(const Matrix<T>& x, index i, index k) const {  // of L
    return uplo == Uplo::lower ? wide(x(i, k)) : std::conj(wide(x(k, i)));
  }
  /// |A - L L^H| <= gamma(n + 1) |L| |L^H| (Higham, Accuracy and Stability, theorem 10.3).
  void expect_factored(const Matrix<T>& x) const {
    const double allowed =
        4 * static_cast<double>(n + 3) * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
    for (index j = 0; j < n; ++j)
      for (index i = j; i < n; ++i) {
        Number rest = i == j ? Number(std::real(A0(i, i))) : factor(A0, i, j);
        long double size = std::abs(rest);
        for (index k = 0; k <= j; ++k) {
          const Number term = factor(x, i, k) * std::conj(factor(x, j, k));
          rest -= term;
          size += std::abs(term);
        }
        ASSERT_LE(std::abs(rest), allowed * size) << text() << " at " << i << ", " << j;
      }
    expect_untouched(x);
  }
  void expect_untouched(const Matrix<T>& x) const {
    ASSERT_TRUE(x.canaries_intact()) << text();
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!in_triangle(i, j)) {
          ASSERT_EQ(std::memcmp(&x(i, j), &A0(i, j), sizeof(T)), 0) << text() << " at " << i << ", " << j;
        }
  }
};

template <class T>
class PotrfExecute : public testing::Test {};
TYPED_TEST_SUITE(PotrfExecute, Precisions);

TYPED_TEST(PotrfExecute, FactorsInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int streamed = 0, panels = 0;
  for (unsigned round = 0; round < 150; ++round) {
    Definite<T> x(r, round);
    const Plan plan = x.plan();
    streamed += x.cut.streamed() && x.cut.panels(x.n) > 2;
    panels += x.cut.panels(x.n) > 3;
    Matrix<T> first = x.A0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.A = x.A0;
      std::fill(x.failed.begin(), x.failed.end(), T(7));
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_FALSE(outcome.taken_back);
      for (const T& f : x.failed) ASSERT_EQ(f, T(0)) << x.text();
      x.expect_factored(x.A);
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.A;
      ASSERT_TRUE(x.A == first) << "other bits: " << x.text();
      const double triangle = static_cast<double>(x.n * (x.n + 1) / 2) * sizeof(T);
      EXPECT_EQ(outcome.bytes_out, triangle);
      EXPECT_EQ(outcome.bytes_in, triangle + sent_again(x.n, x.cut, sizeof(T))) << x.text();
    }
  }
  EXPECT_GT(streamed, 20);
  EXPECT_GT(panels, 20);
}

TYPED_TEST(PotrfExecute, InMemoryOfItsOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Definite<T> x(r, round);
    x.cut.strip = 0;
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(true), lane, {.device = x.A.data(), .ld = x.A.ld(), .in_place = true});
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    x.expect_factored(x.A);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// By the panel's number, as LAPACK counts; the first that failed says it.
TYPED_TEST(PotrfExecute, SaysWhichPivotEndedIt) {
  using T = TypeParam;
  Random r(3);
  int several = 0;
  for (unsigned round = 0; round < 60; ++round) {
    Definite<T> x(r, round);
    const index bad = r.below(static_cast<int>(x.n));
    const double pivots[] = {-1, 0, std::numeric_limits<double>::quiet_NaN()};
    x.A0(bad, bad) = scalar<T>(pivots[round % 3], 0);
    x.A = x.A0;
    several += bad >= x.cut.panel;
    for (const bool sound : {false, true}) {
      std::fill(x.failed.begin(), x.failed.end(), T(0));
      std::vector<T> said;
      Shuffled lane(round);
      const PlanOutcome outcome = x.run(x.plan(), lane, {}, [&] { return said = x.failed, sound; });
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(outcome.taken_back, !sound);
      for (index panel = 0; panel <= bad / x.cut.panel; ++panel)
        ASSERT_EQ(said[static_cast<std::size_t>(panel)],
                  T(static_cast<Real<T>>(panel < bad / x.cut.panel ? 0 : bad % x.cut.panel + 1)))
            << x.text();
      if (!sound) {
        ASSERT_TRUE(x.A == x.A0) << x.text();
      }
      x.expect_untouched(x.A);
    }
  }
  EXPECT_GT(several, 10);
}

TYPED_TEST(PotrfExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 6; ++round) {
    Definite<T> x(r, 90 + round);
    const Plan plan = x.plan();
    struck +=
        with_each_operation_failing([&] { x.A = x.A0; }, [&](Lane& lane) { return x.run(plan, lane); },
                                    [&] { x.expect_factored(x.A); }, [&] { ASSERT_TRUE(x.A == x.A0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

TYPED_TEST(PotrfExecute, PlacesFactorTogetherInEveryOrderWithTheSameBits) {
  using T = TypeParam;
  Random r(5);
  int busy = 0, idle = 0;
  for (unsigned round = 0; round < 60; ++round) {
    Definite<T> x(r, 300 + round);
    x.cut = {std::min(x.n, index{r.up_to(6)})};
    const int places = static_cast<int>(1 + r.up_to(6));
    busy += x.cut.panels(x.n) >= 2 * places;
    idle += x.cut.panels(x.n) < places;
    std::vector<Plan> plans;
    for (int place = 0; place < places; ++place) {
      plans.push_back(plan_potrf_together(x.uplo, x.n, precision_of<T>, x.cut, place, places));
      ASSERT_EQ(check(plans.back()), "") << x.text() << ", place " << place << " of " << places << "\n"
                                         << to_string(plans.back());
    }
    Matrix<T> first = x.A0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.A = x.A0;
      const std::vector<Outcome> outcomes = run_together(places, [&](Seat& seat) -> Outcome {
        Shuffled lane(seed);
        std::vector<T> failed(static_cast<std::size_t>(x.cut.panels(x.n)));
        return run_leased<T>(
            plans[static_cast<std::size_t>(seat.number())],
            {{x.A.data(), x.A.ld(), {}}, {failed.data(), x.cut.panels(x.n)}}, {}, lane,
            [&] { return std::count(failed.begin(), failed.end(), T(0)) == std::ssize(failed); }, &seat);
      });
      ASSERT_TRUE(all_well(outcomes)) << x.text();
      x.expect_factored(x.A);
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.A;
      ASSERT_TRUE(x.A == first) << "other bits: " << x.text();
      double in = 0, out = 0;
      for (const Outcome& y : outcomes) in += y.bytes_in, out += y.bytes_out;
      const double triangle = static_cast<double>(x.n * (x.n + 1) / 2) * sizeof(T);
      EXPECT_EQ(in, triangle);
      EXPECT_EQ(out, triangle);
    }
  }
  EXPECT_GT(busy, 10);
  EXPECT_GT(idle, 5);
}

/// Of a place that says so, all places' results are taken back.
TYPED_TEST(PotrfExecute, PlacesTakeBackTogether) {
  using T = TypeParam;
  Random r(6);
  for (unsigned round = 0; round < 12; ++round) {
    Definite<T> x(r, 400 + round);
    x.cut = {std::min(x.n, index{2})};
    const int places = 3, unsound = static_cast<int>(round) % places;
    const std::vector<Outcome> outcomes = run_together(places, [&](Seat& seat) -> Outcome {
      Shuffled lane(round);
      std::vector<T> failed(static_cast<std::size_t>(x.cut.panels(x.n)));
      const Plan plan = plan_potrf_together(x.uplo, x.n, precision_of<T>, x.cut, seat.number(), places);
      return run_leased<T>(
          plan, {{x.A.data(), x.A.ld(), {}}, {failed.data(), x.cut.panels(x.n)}}, {}, lane,
          [&] { return seat.number() != unsound; }, &seat);
    });
    for (const Outcome& y : outcomes) ASSERT_TRUE(y.status == Status::done && y.taken_back) << x.text();
    ASSERT_TRUE(x.A == x.A0) << x.text();
  }
}

TYPED_TEST(PotrfExecute, AFaultAtAnyPlaceLeavesTheMatrixAsItWas) {
  using T = TypeParam;
  Random r(7);
  int struck = 0;
  for (unsigned round = 0; round < 3; ++round) {
    Definite<T> x(r, 500 + round);
    x.cut = {(x.n + 4) / 5};
    const int places = 3;
    struck += with_each_operation_failing_together(
        places, [&] { x.A = x.A0; },
        [&](Lane& lane, Seat& seat) {
          std::vector<T> failed(static_cast<std::size_t>(x.cut.panels(x.n)));
          const Plan plan = plan_potrf_together(x.uplo, x.n, precision_of<T>, x.cut, seat.number(), places);
          return run_leased<T>(plan, {{x.A.data(), x.A.ld(), {}}, {failed.data(), x.cut.panels(x.n)}}, {}, lane, {},
                               &seat);
        },
        [&] { x.expect_factored(x.A); }, [&] { ASSERT_TRUE(x.A == x.A0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

TEST(PotrfCut, IsForSeveralPlacesWhereEachHasRoomAndAPanel) {
  for (const int places : {2, 3, 8})
    for (const index n : {1, 5, 7, 100, 8192, 32768}) {
      const PotrfCut cut = potrf_cut_together(n, Precision::d, std::size_t{1} << 40, places);
      EXPECT_EQ(cut.panel > 0, n >= places) << n << " by " << places;
      if (cut.panel > 0) {
        EXPECT_GE(cut.panels(n), places);
      }
    }
  EXPECT_EQ(potrf_cut_together(1000, Precision::d, 1 << 20, 2).panel, 0);
}

TEST(PotrfCut, FitsAnyMemoryOrSaysSo) {
  int streamed = 0, none = 0;
  for (const index n : {1, 7, 100, 511, 513, 3000, 20000})
    for (std::size_t memory = 1 << 10; memory < std::size_t{1} << 34; memory *= 3) {
      const PotrfCut cut = potrf_cut(n, Precision::d, memory);
      none += cut.panel == 0;
      streamed += cut.streamed();
      if (cut.panel == 0) {
        continue;
      }
      EXPECT_LE(plan_potrf(Uplo::upper, n, Precision::d, cut).bytes(sizeof(double)), memory) << n << " in " << memory;
      EXPECT_LE(cut.panel, n);
    }
  EXPECT_GT(streamed, 5);
  EXPECT_GT(none, 5);
}

}  // namespace
}  // namespace blaslift::potrf_tests
