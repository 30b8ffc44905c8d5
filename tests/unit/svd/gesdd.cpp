// Singular value decompositions on a backend's lane, in whatever order it runs things: only what is asked for is
// written, and nothing of the caller's changes if anything fails or the matrix is not finite.
#include "impl/svd/gesdd.hpp"

#include <gtest/gtest.h>

#include "impl/core/args.hpp"
#include "impl/qr/panel_qr.hpp"
#include "impl/route/built_in_profiles.hpp"
#include "impl/svd/gesdd_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/estimates.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::gesdd_tests {
namespace {

using namespace reference;

template <class T>
SvdArgs<T> args_of(SvdDriver driver, SvdJob u, SvdJob vt, index m, index n) {
  SvdArgs<T> x{};
  x.driver = driver;
  x.jobu = u, x.jobvt = vt, x.m = m, x.n = n;
  x.lda = std::max<index>(1, m), x.ldu = std::max<index>(1, m), x.ldvt = std::max<index>(1, n);
  return x;
}
constexpr SvdJob jobs[] = {SvdJob::all, SvdJob::some, SvdJob::in_a, SvdJob::none};

template <class T>
struct Decomposition {
  using R = Real<T>;
  using Number = std::complex<long double>;

  index m, n;
  SvdShape shape;
  Matrix<T> A0, A, U, VT;
  std::vector<T> s, failed{T(7)};

  /// @param of_panels  one side is much longer, and a QR of two panels comes first
  Decomposition(Random& r, unsigned seed, bool of_panels = false)
      : Decomposition(r, seed, of_panels ? sizes_of_panels(r) : std::pair<index, index>{r.up_to(20), r.up_to(20)}) {}

  Decomposition(Random& r, unsigned seed, const std::pair<index, index>& sizes)
      : m(sizes.first),
        n(sizes.second),
        shape(shape_of(r, m, n)),
        A0(m, n, r.up_to(4) - 1),
        A(A0),
        U(m, shape.cols_of_u(), r.up_to(4) - 1),
        VT(shape.rows_of_vt(), n, r.up_to(4) - 1),
        s(static_cast<std::size_t>(elements_of_reals(shape.count(), precision_of<T>))) {
    A0.random(seed);
    A = A0;
  }
  static std::pair<index, index> sizes_of_panels(Random& r) {
    const index k = panel_qr_columns + r.up_to(8), longer = 8 * k / 5 + r.up_to(20);
    return r.below(2) ? std::pair(k, longer) : std::pair(longer, k);
  }
  static SvdShape shape_of(Random& r, index m, index n) {
    const SvdJob u = jobs[r.below(4)], vt = jobs[r.below(u == SvdJob::in_a ? 2 : 4)];
    return args_of<T>(SvdDriver::gesvd, u, vt, m, n).shape();
  }

  Plan plan(bool in_place = false) const {
    Plan plan = plan_svd(shape, precision_of<T>, in_place, in_place && shape.cols_of_u() > 0,
                         in_place && shape.rows_of_vt() > 0);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, bool in_place = false, const Sound& is_sound = sound) {
    const auto column = [](std::vector<T>& x) { return CallOperand<T>{x.data(), static_cast<index>(x.size())}; };
    const auto matrix = [&](Matrix<T>& x) {
      CallOperand<T> operand{x.data(), x.ld()};
      if (in_place) operand.placed = {.device = x.data(), .ld = x.ld(), .in_place = true};
      return operand;
    };
    return run_leased<T>(plan, {matrix(A), matrix(U), matrix(VT), column(s), column(failed)}, {}, lane, is_sound);
  }
  std::string text() const {
    return std::to_string(m) + " x " + std::to_string(n) + ", U " + std::to_string(shape.u_cols) +
           (shape.u_in_a ? " in A" : "") + ", VT " + std::to_string(shape.vt_rows) + (shape.vt_in_a ? " in A" : "");
  }

  long double value(index i) const { return reinterpret_cast<const R*>(s.data())[i]; }
  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }
  Number u(index i, index j) { return widened((shape.u_in_a ? A : U)(i, j)); }
  Number vt(index i, index j) { return widened((shape.vt_in_a ? A : VT)(i, j)); }

  /// Of numbers below 1, so that |A| <= max(m, n).
  void expect_right() {
    const long double unit = 20 * static_cast<long double>(m + n) * std::numeric_limits<R>::epsilon(),
                      size = static_cast<long double>(std::max(m, n));
    long double squares = 0, sum = 0;
    for (index i = 0; i < shape.count(); ++i) sum += value(i) * value(i);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) squares += std::norm(widened(A0(i, j)));
    ASSERT_LE(std::fabs(sum - squares), unit * size * size) << text();
    for (index i = 0; i < shape.u_cols; ++i)
      for (index j = 0; j < shape.u_cols; ++j) {
        Number product = i == j ? -1 : 0;
        for (index q = 0; q < m; ++q) product += std::conj(u(q, i)) * u(q, j);
        ASSERT_LE(std::abs(product), unit) << "U, " << text();
      }
    for (index i = 0; i < shape.vt_rows; ++i)
      for (index j = 0; j < shape.vt_rows; ++j) {
        Number product = i == j ? -1 : 0;
        for (index q = 0; q < n; ++q) product += vt(i, q) * std::conj(vt(j, q));
        ASSERT_LE(std::abs(product), unit) << "VT, " << text();
      }
    for (index i = 0; shape.both_sides() && i < m; ++i)
      for (index j = 0; j < n; ++j) {
        Number rest = -widened(A0(i, j));
        for (index q = 0; q < shape.count(); ++q) rest += u(i, q) * value(q) * vt(q, j);
        ASSERT_LE(std::abs(rest), unit * size) << text() << " at " << i << ", " << j;
      }
    ASSERT_TRUE(A.canaries_intact() && U.canaries_intact() && VT.canaries_intact()) << text();
    if (!shape.replaced()) {
      ASSERT_TRUE(A == A0) << "A written: " << text();
    }
  }
  bool untouched(const Matrix<T>& u_before, const Matrix<T>& vt_before) const {
    return std::memcmp(A.data(), A0.data(), static_cast<std::size_t>(A.ld() * n) * sizeof(T)) == 0 && U == u_before &&
           VT == vt_before;
  }
};

template <class T>
class SvdExecute : public testing::Test {};
TYPED_TEST_SUITE(SvdExecute, Precisions);

TYPED_TEST(SvdExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int wide = 0, replaced = 0, without = 0, long_ones = 0, panels = 0;
  for (unsigned round = 0; round < 120; ++round) {
    Decomposition<T> x(r, round, round % 40 == 4);
    const Plan plan = x.plan();
    wide += x.m < x.n, replaced += x.shape.replaced(), without += !x.shape.vectors();
    long_ones += begins_with_qr(x.shape), panels += x.shape.count() > panel_qr_columns;
    Matrix<T> first = x.A0, first_u = x.U, first_vt = x.VT;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.A = x.A0;
      x.failed[0] = T(7);
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(x.failed[0], T(0)) << x.text();
      x.expect_right();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.A, first_u = x.U, first_vt = x.VT;
      ASSERT_TRUE(x.A == first && x.U == first_u && x.VT == first_vt) << "other bits: " << x.text();
      const double in = static_cast<double>(x.m * x.n), out = (x.shape.replaced() ? in : 0) +
                                                              static_cast<double>(x.m * x.shape.cols_of_u()) +
                                                              static_cast<double>(x.shape.rows_of_vt() * x.n);
      EXPECT_EQ(outcome.bytes_in, in * sizeof(T));
      EXPECT_EQ(outcome.bytes_out, out * sizeof(T));
    }
  }
  EXPECT_GT(wide, 30);
  EXPECT_GT(replaced, 30);
  EXPECT_GT(without, 3);
  EXPECT_GT(long_ones, 40);
  EXPECT_EQ(panels, 3);
}

/// Wider than what reflectors are applied to at a time: too many numbers to compute with here.
TEST(SvdPlan, IsWholeForLongMatricesOfAnySize) {
  Random r(5);
  for (unsigned round = 0; round < 60; ++round) {
    const index k = r.up_to(1400), longer = 8 * k / 5 + 1 + r.up_to(900);
    const bool wide = r.below(2) > 0;
    const SvdShape shape = Decomposition<double>::shape_of(r, wide ? k : longer, wide ? longer : k);
    ASSERT_TRUE(begins_with_qr(shape));
    for (const bool a : {false, true})
      for (const bool u : {false, true})
        for (const bool vt : {false, true}) {
          const Plan plan =
              plan_svd(shape, Precision::d, a, u && shape.cols_of_u() > 0, vt && shape.rows_of_vt() > 0, a);
          ASSERT_EQ(check(plan), "") << shape.m << " x " << shape.n << "\n" << to_string(plan);
        }
  }
}

TYPED_TEST(SvdExecute, InMemoryOfTheirOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 60; ++round) {
    Decomposition<T> x(r, round, round % 20 == 7);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(true), lane, true);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(SvdExecute, AMatrixThatIsNotFiniteIsSaidToBeSoAndAllStays) {
  using T = TypeParam;
  Random r(3);
  for (unsigned round = 0; round < 60; ++round) {
    Decomposition<T> x(r, round, round % 20 == 9);
    constexpr double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
    x.A0(r.below(static_cast<int>(x.m)), r.below(static_cast<int>(x.n))) = scalar<T>(odd[round % 3], 0);
    x.A = x.A0;
    const Matrix<T> u = x.U.random(5), vt = x.VT.random(6);
    T said(7);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(), lane, false, [&] { return said = x.failed[0], said == T(0); });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_EQ(said, T(1)) << x.text();
    ASSERT_TRUE(outcome.taken_back);
    ASSERT_TRUE(x.untouched(u, vt)) << x.text();
  }
}

TYPED_TEST(SvdExecute, AFaultAtEveryOperationLeavesAllAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Decomposition<T> x(r, 90 + round);
    const Plan plan = x.plan();
    const Matrix<T> u = x.U.random(5), vt = x.VT.random(6);
    struck += with_each_operation_failing([&] { x.A = x.A0, x.U = u, x.VT = vt; },
                                          [&](Lane& lane) { return x.run(plan, lane); }, [&] { x.expect_right(); },
                                          [&] { ASSERT_TRUE(x.untouched(u, vt)) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

/// What xGESDD's letter comes to, by LAPACK's documentation.
TEST(SvdShape, IsWhatTheLettersSay) {
  const auto halves = [](SvdJob job, index m, index n) {
    return args_of<double>(SvdDriver::gesdd, job, job, m, n).shape();
  };
  const auto is = [](const SvdShape& x, index u_cols, index vt_rows, bool u_in_a, bool vt_in_a) {
    return x.u_cols == u_cols && x.vt_rows == vt_rows && x.u_in_a == u_in_a && x.vt_in_a == vt_in_a;
  };
  for (const auto& [m, n] : {std::pair<index, index>{7, 4}, {4, 7}, {5, 5}}) {
    const index k = std::min(m, n);
    EXPECT_TRUE(is(halves(SvdJob::all, m, n), m, n, false, false));
    EXPECT_TRUE(is(halves(SvdJob::some, m, n), k, k, false, false));
    EXPECT_TRUE(is(halves(SvdJob::none, m, n), 0, 0, false, false));
    EXPECT_TRUE(is(halves(SvdJob::in_a, m, n), k, k, m >= n, m < n));
    EXPECT_TRUE(is(args_of<double>(SvdDriver::gesvd, SvdJob::in_a, SvdJob::all, m, n).shape(), k, n, true, false));
    EXPECT_TRUE(is(args_of<double>(SvdDriver::gesvd, SvdJob::none, SvdJob::in_a, m, n).shape(), 0, k, false, true));
  }
  EXPECT_FALSE(args_of<double>(SvdDriver::gesvd, SvdJob::in_a, SvdJob::in_a, 4, 4).valid());
  EXPECT_TRUE(args_of<double>(SvdDriver::gesdd, SvdJob::in_a, SvdJob::in_a, 4, 4).valid());
}

TEST(SvdFits, WithWhatALibraryWorksInOrNotAtAll) {
  const auto fits = [](index m, index n, SvdJob job, std::size_t memory) {
    return svd_fits(args_of<double>(SvdDriver::gesdd, job, job, m, n).shape(), Precision::d, memory);
  };
  EXPECT_TRUE(fits(1000, 1000, SvdJob::none, 116'000'000));
  EXPECT_FALSE(fits(1000, 1000, SvdJob::none, 115'999'999));
  EXPECT_TRUE(fits(1000, 1000, SvdJob::some, 132'000'000));
  EXPECT_FALSE(fits(1000, 1000, SvdJob::some, 131'999'999));
  EXPECT_TRUE(fits(750, 500, SvdJob::all, 54'500'000));
  EXPECT_FALSE(fits(750, 500, SvdJob::all, 54'499'999));
  EXPECT_FALSE(fits((index{1} << 31) - 1, (index{1} << 31) - 1, SvdJob::none, std::size_t{1} << 40));
  for (const bool wide : {false, true}) {  // a Q of 2.25e9 elements
    const index m = wide ? 40000 : 60000, n = wide ? 60000 : 40000;
    EXPECT_FALSE(fits(m, n, SvdJob::none, std::size_t{1} << 40));
  }
  // Where a QR comes first: A, U, and of order 500 R, VT, what a decomposition works in, and panels.
  for (const bool wide : {false, true}) {
    const index m = wide ? 500 : 50000, n = wide ? 50000 : 500;
    const std::size_t tall = 50000 * 500 * 8, square = 500 * 500 * 8, panels = 50000 * 64 * 8;
    EXPECT_TRUE(fits(m, n, SvdJob::some, (wide ? 4 : 2) * tall + 17 * square + panels));
    EXPECT_FALSE(fits(m, n, SvdJob::some, (wide ? 4 : 2) * tall + 15 * square + panels));
    EXPECT_TRUE(fits(m, n, SvdJob::none, (wide ? 2 : 1) * tall + 16 * square + panels));
  }
}

/// Double precision, on the device; what decisions expect is near it.
TEST(SvdCost, IsWhatAnH200Takes) {
  const Profile profile = without_lapack_times();
  const Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1};
  constexpr std::pair<index, double> measured[] = {{1024, 17.8e-3}, {2048, 43.7e-3}, {3000, 89.9e-3}};
  for (const auto& [n, took] : measured) {
    Problem problem =
        counted({.routine = Routine::dgesdd, .element = Element::d, .m = n, .n = n, .k = n, .right_vectors = n});
    problem.bytes_out = 0;
    const double seconds = gesdd_family.cost(problem, facts, {}, problem.bytes_in).seconds;
    EXPECT_GT(seconds, 0.9 * took) << n;
    EXPECT_LT(seconds, 1.1 * took) << n;
  }
}

/// Where 16 cores take seconds, the first call opens the device.
TEST(SvdCost, OpensTheDeviceAtOnceWhereTheCpuTakesSeconds) {
  const Profile profile = built_in_profile("sm_90");
  const auto route = [&](Routine routine, index m, index n) {
    const Problem problem =
        counted({.routine = routine, .element = Element::d, .m = m, .n = n, .k = std::min(m, n), .right_vectors = n});
    const Facts facts{.device = DeviceState::unopened, .profile = &profile, .cpu_rate = 8e10, .slowdown = 1};
    return decide(problem, facts, {.on = true, .measuring = false, .forced = false, .fixed = false}).route;
  };
  for (const Routine routine : {Routine::dgesdd, Routine::dgesvd}) {
    EXPECT_EQ(route(routine, 2000, 2000), Route::device);
    EXPECT_EQ(route(routine, 3000, 3000), Route::device);
    EXPECT_EQ(route(routine, 300, 300), Route::cpu);
  }
  EXPECT_EQ(route(Routine::dgesdd, 40000, 1000), Route::device);
}

}  // namespace
}  // namespace blaslift::gesdd_tests
