// LU factorisations on a backend's lane: every cut, in whatever order the lane runs things; nothing of the caller's
// changes if anything fails or the matrix is singular.
#include "impl/lu/getrf.hpp"

#include <gtest/gtest.h>

#include "impl/lu/getrf_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::getrf_tests {
namespace {

using namespace reference;

template <class T>
struct General {
  index m, n;
  GetrfCut cut;
  Matrix<T> A0, A;
  std::vector<T> pivots, failed, kept;

  General(Random& r, unsigned seed, bool streamed = false)
      : m(r.up_to(30)), n(r.up_to(30)), A0(m, n, r.up_to(4) - 1), A(A0) {
    if (r.below(4) == 0) n = m, A0 = Matrix<T>(m, n, r.up_to(4) - 1);
    A0.random(seed);
    A = A0;
    cut.panel = r.up_to(n);
    if (streamed) cut.strip = r.up_to(cut.panel);
    pivots.assign(static_cast<std::size_t>(factored()), T(0));
    failed.assign(static_cast<std::size_t>(cut.panels(factored())), T(0));
  }
  index factored() const { return std::min(m, n); }

  Plan plan(bool in_place = false) const {
    Plan plan = cut.streamed() ? plan_getrf_streamed(m, n, precision_of<T>, cut)
                               : plan_getrf(m, n, precision_of<T>, cut, in_place);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Sound& is_sound = sound) {
    std::vector<CallOperand<T>> operands{
        {A.data(), A.ld(), a}, {pivots.data(), factored()}, {failed.data(), static_cast<index>(failed.size())}};
    if (cut.streamed()) {
      std::size_t elements = 0;
      for (const KeptFactors& x : kept_factors(m, n, cut)) elements += static_cast<std::size_t>(x.rows * x.cols);
      kept.assign(elements, std::numeric_limits<Real<T>>::quiet_NaN());
      const T* at = kept.data();
      for (const KeptFactors& x : kept_factors(m, n, cut)) operands.push_back({at, x.rows}), at += x.rows * x.cols;
    }
    return run_leased<T>(plan, operands, {}, lane, is_sound);
  }
  std::string text() const {
    return std::to_string(m) + " x " + std::to_string(n) + ", panels of " + std::to_string(cut.panel) + ", strips of " +
           std::to_string(cut.strip);
  }

  /// LAPACK's, through the library's own way to make them.
  std::vector<int> lapack_pivots() const {
    std::vector<int> ipiv(static_cast<std::size_t>(factored()), -1);
    set_pivots(Integers{ipiv.data(), false}, pivots, cut.panel, m);
    return ipiv;
  }

  using Number = std::complex<long double>;
  static Number wide(const T& x) { return {std::real(x), std::imag(x)}; }
  /// |P A - L U| <= gamma(min(m, n)) |L| |U| (Higham, Accuracy and Stability, theorem 9.3), and partial pivoting.
  void expect_factored(const Matrix<T>& x) const {
    const double allowed =
        4 * static_cast<double>(factored() + 3) * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
    Matrix<T> permuted = A0;
    const std::vector<int> ipiv = lapack_pivots();
    for (index i = 0; i < factored(); ++i) {
      const index row = ipiv[static_cast<std::size_t>(i)] - 1;
      ASSERT_TRUE(row >= i && row < m) << text() << ": pivot " << i << " is " << row;
      for (index j = 0; row != i && j < n; ++j) std::swap(permuted(i, j), permuted(row, j));
    }
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) {
        Number rest = wide(permuted(i, j));
        long double size = std::abs(rest);
        for (index k = 0; k <= std::min({i, j, factored() - 1}); ++k) {
          const Number term = (k == i ? Number(1) : wide(x(i, k))) * wide(x(k, j));
          rest -= term;
          size += std::abs(term);
        }
        ASSERT_LE(std::abs(rest), allowed * size) << text() << " at " << i << ", " << j;
        if (i > j && j < factored()) {
          ASSERT_LE(std::abs(wide(x(i, j))), 1.4143) << text() << " at " << i << ", " << j;
        }
      }
    ASSERT_TRUE(x.canaries_intact()) << text();
  }
};

template <class T>
class GetrfExecute : public testing::Test {};
TYPED_TEST_SUITE(GetrfExecute, Precisions);

/// Three orders of the same steps: factors, and the same bits.
/// @param look  void(const PlanOutcome&): at what each has moved
template <class T, class Look>
void factor_in_any_order(General<T>& x, const Plan& plan, const Look& look) {
  Matrix<T> first = x.A0;
  std::vector<T> first_pivots;
  for (unsigned seed = 0; seed < 3; ++seed) {
    x.A = x.A0;
    std::fill(x.failed.begin(), x.failed.end(), T(7));
    Shuffled lane(seed);
    const PlanOutcome outcome = x.run(plan, lane);
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_FALSE(outcome.taken_back);
    ASSERT_TRUE(lane.well_prepared) << x.text();
    for (const T& f : x.failed) ASSERT_EQ(f, T(0)) << x.text();
    x.expect_factored(x.A);
    if (testing::Test::HasFatalFailure()) return;
    if (seed == 0) first = x.A, first_pivots = x.pivots;
    ASSERT_TRUE(x.A == first && x.pivots == first_pivots) << "other bits: " << x.text();
    look(outcome);
  }
}

TYPED_TEST(GetrfExecute, FactorsInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int tall = 0, wide = 0, panels = 0;
  for (unsigned round = 0; round < 150; ++round) {
    General<T> x(r, round);
    const Plan plan = x.plan();
    tall += x.m > x.n && x.cut.panels(x.n) > 2;
    wide += x.m < x.n && x.cut.panels(x.n) > 2;
    panels += x.cut.panels(x.n) > 3;
    factor_in_any_order(x, plan, [&](const PlanOutcome& outcome) {
      const double all = static_cast<double>(x.m * x.n) * sizeof(T);
      EXPECT_EQ(outcome.bytes_in, all);
      EXPECT_EQ(outcome.bytes_out, all) << x.text();
    });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(tall, 10);
  EXPECT_GT(wide, 10);
  EXPECT_GT(panels, 20);
}

/// Of which all does not stay: two panels at a time, and L in strips.
TYPED_TEST(GetrfExecute, FactorsWhatThereIsNoRoomForInEveryOrder) {
  using T = TypeParam;
  Random r(8);
  int tall = 0, wide = 0, panels = 0, strips = 0;
  for (unsigned round = 0; round < 150; ++round) {
    General<T> x(r, 700 + round, true);
    const Plan plan = x.plan();
    const index count = x.cut.panels(x.factored());
    tall += x.m > x.n && count > 2;
    wide += x.m < x.n && x.cut.panels(x.n) > count && count > 1;
    panels += count > 3;
    strips += count > 2 && x.cut.strip < x.cut.panel && x.cut.panel % x.cut.strip != 0;
    factor_in_any_order(x, plan, [&](const PlanOutcome& outcome) {
      if (x.cut.panel % x.cut.strip != 0 || x.factored() % x.cut.panel % x.cut.strip != 0) return;
      const double all = static_cast<double>(x.m * x.n) * sizeof(T);
      EXPECT_EQ(outcome.bytes_in + outcome.bytes_out, 2 * all + sent_again(x.m, x.n, x.cut, sizeof(T))) << x.text();
    });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(tall, 10);
  EXPECT_GT(wide, 5);
  EXPECT_GT(panels, 20);
  EXPECT_GT(strips, 10);
}

TYPED_TEST(GetrfExecute, InMemoryOfItsOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    General<T> x(r, round);
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
TYPED_TEST(GetrfExecute, SaysWhichPivotEndedIt) {
  using T = TypeParam;
  Random r(3);
  int several = 0;
  for (unsigned round = 0; round < 60; ++round) {
    General<T> x(r, round, round % 3 == 0);
    const index bad = r.below(static_cast<std::size_t>(x.factored()));
    for (index i = 0; i < x.m; ++i) x.A0(i, bad) = T(0);
    x.A = x.A0;
    several += bad >= x.cut.panel;
    for (const bool sound : {false, true}) {
      std::vector<T> said;
      Shuffled lane(round);
      const PlanOutcome outcome = x.run(x.plan(), lane, {}, [&] { return said = x.failed, sound; });
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(outcome.taken_back, !sound);
      ASSERT_EQ(first_failure(said, x.cut.panel), bad + 1) << x.text();
      if (!sound) {
        ASSERT_TRUE(x.A == x.A0) << x.text();
      }
      ASSERT_TRUE(x.A.canaries_intact()) << x.text();
    }
  }
  EXPECT_GT(several, 10);
}

/// Anywhere in a square matrix, which LAPACK may factor all the same.
TYPED_TEST(GetrfExecute, FindsWhatIsNotFinite) {
  using T = TypeParam;
  Random r(5);
  for (unsigned round = 0; round < 60; ++round) {
    General<T> x(r, round);
    if (x.m != x.n) continue;
    x.A0(r.below(static_cast<std::size_t>(x.n)), r.below(static_cast<std::size_t>(x.n))) =
        scalar<T>(round % 2 ? std::numeric_limits<double>::quiet_NaN() : -HUGE_VAL, 0);
    x.A = x.A0;
    std::vector<T> said;
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(), lane, {}, [&] { return said = x.failed, false; });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_GT(first_failure(said, x.cut.panel), 0) << x.text();
    ASSERT_TRUE(std::memcmp(x.A.data(), x.A0.data(), static_cast<std::size_t>(x.A.ld() * x.n) * sizeof(T)) == 0);
  }
}

TYPED_TEST(GetrfExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 9; ++round) {
    General<T> x(r, 90 + round, round >= 6);
    const Plan plan = x.plan();
    struck +=
        with_each_operation_failing([&] { x.A = x.A0; }, [&](Lane& lane) { return x.run(plan, lane); },
                                    [&] { x.expect_factored(x.A); }, [&] { ASSERT_TRUE(x.A == x.A0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

/// And what one place makes of it in panels as wide, to the last bit.
TYPED_TEST(GetrfExecute, PlacesFactorTogetherInEveryOrderWithTheSameBits) {
  using T = TypeParam;
  Random r(6);
  int busy = 0, idle = 0, wide = 0;
  for (unsigned round = 0; round < 60; ++round) {
    General<T> x(r, 300 + round);
    if (round % 6 == 0) {  // few panels are factored, and many get their share
      x.m = r.up_to(3), x.n = index{20} + r.up_to(20);
      x.A0 = Matrix<T>(x.m, x.n, 2);
      x.A0.random(static_cast<unsigned>(round));
      x.A = x.A0;
      x.pivots.assign(static_cast<std::size_t>(x.factored()), T(0));
    }
    x.cut = {std::min(x.n, index{r.up_to(6)})};
    x.failed.assign(static_cast<std::size_t>(x.cut.panels(x.factored())), T(0));
    const int places = static_cast<int>(1 + r.up_to(6));
    busy += x.cut.panels(x.factored()) >= 2 * places;
    idle += x.cut.panels(x.factored()) < places;
    wide += x.cut.panels(x.n) > x.cut.panels(x.factored());
    std::vector<Plan> plans;
    for (int place = 0; place < places; ++place) {
      plans.push_back(plan_getrf_together(x.m, x.n, precision_of<T>, x.cut, place, places));
      ASSERT_EQ(check(plans.back()), "") << x.text() << ", place " << place << " of " << places << "\n"
                                         << to_string(plans.back());
    }
    Shuffled alone(round);
    ASSERT_EQ(x.run(x.plan(), alone).status, Status::done);
    const Matrix<T> expected = x.A;
    const std::vector<T> expected_pivots = x.pivots;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.A = x.A0;
      std::vector<std::vector<T>> pivots(static_cast<std::size_t>(places), std::vector<T>(x.pivots.size(), T(-1)));
      const std::vector<Outcome> outcomes = run_together(places, [&](Seat& seat) -> Outcome {
        const auto place = static_cast<std::size_t>(seat.number());
        Shuffled lane(seed);
        std::vector<T> failed(x.failed.size());
        return run_leased<T>(plans[place],
                             {{x.A.data(), x.A.ld(), {}},
                              {pivots[place].data(), x.factored()},
                              {failed.data(), static_cast<index>(failed.size())}},
                             {}, lane, {}, &seat);
      });
      ASSERT_TRUE(all_well(outcomes)) << x.text();
      for (const std::vector<T>& its : pivots) ASSERT_TRUE(its == expected_pivots) << x.text();
      x.expect_factored(x.A);
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_TRUE(x.A == expected) << "other bits: " << x.text() << ", " << places << " places";
      double in = 0, out = 0;
      for (const Outcome& y : outcomes) in += y.bytes_in, out += y.bytes_out;
      EXPECT_EQ(in, static_cast<double>(x.m * x.n) * sizeof(T));
      EXPECT_EQ(out, static_cast<double>(x.m * x.n) * sizeof(T));
    }
  }
  EXPECT_GT(busy, 5);
  EXPECT_GT(idle, 5);
  EXPECT_GT(wide, 5);
}

TYPED_TEST(GetrfExecute, AFaultAtAnyPlaceLeavesTheMatrixAsItWas) {
  using T = TypeParam;
  Random r(7);
  int struck = 0;
  for (unsigned round = 0; round < 3; ++round) {
    General<T> x(r, 500 + round);
    x.cut = {(x.n + 4) / 5};
    const int places = 3;
    struck += with_each_operation_failing_together(
        places, [&] { x.A = x.A0; },
        [&](Lane& lane, Seat& seat) {
          std::vector<T> pivots(x.pivots.size()), failed(static_cast<std::size_t>(x.cut.panels(x.factored())));
          const Plan plan = plan_getrf_together(x.m, x.n, precision_of<T>, x.cut, seat.number(), places);
          const PlanOutcome outcome = run_leased<T>(plan,
                                                    {{x.A.data(), x.A.ld(), {}},
                                                     {pivots.data(), x.factored()},
                                                     {failed.data(), static_cast<index>(failed.size())}},
                                                    {}, lane, {}, &seat);
          if (seat.number() == 0) x.pivots = pivots;
          return outcome;
        },
        [&] { x.expect_factored(x.A); }, [&] { ASSERT_TRUE(x.A == x.A0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

TEST(GetrfCut, IsForSeveralPlacesWhereEachHasRoomAndAPanel) {
  for (const int places : {2, 3, 8})
    for (const index n : {1, 5, 7, 100, 8192, 32768}) {
      const GetrfCut cut = getrf_cut_together(n + 1, n, Precision::d, std::size_t{1} << 40, places);
      EXPECT_EQ(cut.panel > 0, n >= places) << n << " by " << places;
      if (cut.panel > 0) {
        EXPECT_GE(cut.panels(n), places);
      }
    }
  // Place 0 has the narrow last panel, and another one more of others' factors.
  const index n = 33000;
  for (std::size_t memory = std::size_t{8} << 30; memory < std::size_t{12} << 30; memory += std::size_t{64} << 20) {
    const GetrfCut cut = getrf_cut_together(n, n, Precision::d, memory, 2);
    for (int place = 0; cut.panel > 0 && place < 2; ++place) {
      EXPECT_LE(plan_getrf_together(n, n, Precision::d, cut, place, 2).bytes(sizeof(double)), memory);
    }
  }
  EXPECT_EQ(getrf_cut_together(1000, 1000, Precision::d, 1 << 20, 2).panel, 0);
}

TEST(GetrfCut, FitsAnyMemoryOrSaysSo) {
  int narrow = 0, none = 0;
  for (const index n : {1, 7, 100, 511, 2049, 6000})
    for (const index m : {n, 3 * n, n / 2 + 1})
      for (std::size_t memory = 1 << 10; memory < std::size_t{1} << 33; memory *= 3) {
        const GetrfCut cut = getrf_cut(m, n, Precision::d, memory);
        if (cut.panel == 0) {
          ++none;
          continue;
        }
        EXPECT_LE(cut.panel, n);
        narrow += cut.panel < n;
        if (cut.panels(n) > 40) continue;  // the list of steps would take long
        EXPECT_LE(plan_getrf(m, n, Precision::d, cut).bytes(sizeof(double)), memory) << m << " x " << n;
      }
  EXPECT_GT(narrow, 5);
  EXPECT_GT(none, 5);
}

TEST(GetrfCut, OfWhatIsStreamedFitsAnyMemoryOrSaysSo) {
  int several = 0, none = 0;
  for (const index n : {1, 7, 100, 511, 2049, 6000})
    for (const index m : {n, 3 * n, n / 2 + 1})
      for (std::size_t memory = 1 << 10; memory < std::size_t{1} << 33; memory *= 3) {
        const GetrfCut cut = getrf_cut_streamed(m, n, Precision::d, memory);
        if (cut.panel == 0) {
          ++none;
          continue;
        }
        ASSERT_TRUE(cut.streamed());
        ASSERT_LT(cut.panel, n);
        ASSERT_LE(cut.strip, cut.panel);
        several += cut.panels(n) > 4;
        if (cut.panels(n) > 12) continue;  // the list of steps would take long
        const Plan plan = plan_getrf_streamed(m, n, Precision::d, cut);
        EXPECT_LE(plan.bytes(sizeof(double)), memory) << m << " x " << n;
        EXPECT_EQ(check(plan), "") << m << " x " << n;
      }
  EXPECT_GT(several, 5);
  EXPECT_GT(none, 5);
  EXPECT_EQ(sent_again(9, 9, {}, sizeof(double)), 0);
  Random r(9);
  int fitting = 0;
  for (int round = 0; round < 300; ++round) {
    const index m = r.up_to(400), n = r.up_to(400);
    const auto all = static_cast<std::size_t>(m * n) * sizeof(float);
    const std::size_t memory = all / 4 + r.below(all + 100'000);
    const GetrfCut cut = getrf_cut_streamed(m, n, Precision::s, memory);
    if (cut.panel == 0) continue;
    ++fitting;
    EXPECT_LE(plan_getrf_streamed(m, n, Precision::s, cut).bytes(sizeof(float)), memory) << m << " x " << n;
  }
  EXPECT_GT(fitting, 50);
}

/// What is no row, as a factorisation that ended early may leave it, becomes a pivot in its place.
TEST(GetrfPivots, AreAlwaysRows) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  int ipiv[] = {0, 0, 0, 0, 0};
  set_pivots(Integers{ipiv, false}, std::vector<double>{2, nan, 9, 0, -5}, 2, 6);
  EXPECT_EQ(std::vector<int>(ipiv, ipiv + 5), (std::vector<int>{2, 2, 6, 4, 5}));
}

}  // namespace
}  // namespace blaslift::getrf_tests
