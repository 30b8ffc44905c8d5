// Eigenproblems on a backend's lane, in whatever order it runs things: the other triangle is never read, without
// vectors nothing of A is written, and nothing of the caller's changes if anything fails or the matrix is not finite.
#include <gtest/gtest.h>

#include "impl/core/args.hpp"
#include "impl/eigen/syevd.hpp"
#include "impl/eigen/syevd_plan.hpp"
#include "impl/route/built_in_profiles.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift {
namespace {

using namespace reference;

template <class T>
struct Eigenproblem {
  using R = Real<T>;
  using Number = std::complex<long double>;

  bool vectors;
  Uplo uplo;
  index n;
  Matrix<T> A0, A;
  std::vector<T> w, failed{T(7)};

  Eigenproblem(Random& r, unsigned seed)
      : vectors(r.coin()),
        uplo(r.coin() ? Uplo::upper : Uplo::lower),
        n(r.up_to(20)),
        A0(n, n, r.up_to(4) - 1),
        A(A0),
        w(static_cast<std::size_t>(elements_of_reals(n, precision_of<T>))) {
    A0.random(seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!in_triangle(i, j))
          fill_with_canaries(&A0(i, j), sizeof(T));
        else if (i == j)
          A0(i, j) = scalar<T>(std::real(A0(i, j)), std::numeric_limits<double>::quiet_NaN());
    A = A0;
  }
  bool in_triangle(index i, index j) const { return uplo == Uplo::upper ? i <= j : i >= j; }

  Plan plan(bool a_in_place = false, bool w_in_place = false) const {
    Plan plan = plan_syevd(vectors, uplo, n, precision_of<T>, a_in_place, w_in_place);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Placed& values = {},
                  const Sound& is_sound = sound) {
    const auto count = static_cast<index>(w.size());
    return run_leased<T>(plan, {{A.data(), A.ld(), a}, {w.data(), count, values}, {failed.data(), 1}}, {}, lane,
                         is_sound);
  }
  std::string text() const {
    return std::string(vectors ? "V" : "N") + static_cast<char>(uplo) + " " + std::to_string(n);
  }

  R value(index i) const { return reinterpret_cast<const R*>(w.data())[i]; }
  Number element(index i, index j) const {
    const T a = in_triangle(i, j) ? A0(i, j) : A0(j, i);
    if (i == j) return std::real(a);
    return {std::real(a), in_triangle(i, j) ? std::imag(a) : -std::imag(a)};
  }
  /// Of numbers below 1, so that |A| <= n.  Without vectors by the traces of A and A^2.
  void expect_right() const {
    const long double unit = 20 * static_cast<long double>(n) * std::numeric_limits<R>::epsilon(),
                      size = static_cast<long double>(n);
    long double trace = 0, squares = 0;
    for (index j = 0; j < n; ++j) {
      trace += std::real(element(j, j)) - static_cast<long double>(value(j));
      squares -= static_cast<long double>(value(j)) * static_cast<long double>(value(j));
      for (index i = 0; i < n; ++i) squares += std::norm(element(i, j));
      if (j > 0) {
        ASSERT_LE(value(j - 1), value(j)) << text();
      }
    }
    ASSERT_LE(std::fabs(trace), unit * size) << text();
    ASSERT_LE(std::fabs(squares), unit * size * size) << text();
    ASSERT_TRUE(A.canaries_intact()) << text();
    if (!vectors) {
      ASSERT_TRUE(A == A0) << text();
      return;
    }
    const auto v = [this](index i, index j) { return Number(std::real(A(i, j)), std::imag(A(i, j))); };
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        Number rest = -v(i, j) * static_cast<long double>(value(j)), product = i == j ? -1 : 0;
        for (index k = 0; k < n; ++k) {
          rest += element(i, k) * v(k, j);
          product += std::conj(v(k, i)) * v(k, j);
        }
        ASSERT_LE(std::abs(rest), unit * size) << text() << " at " << i << ", " << j;
        ASSERT_LE(std::abs(product), unit) << text() << " at " << i << ", " << j;
      }
  }
};

template <class T>
class SyevdExecute : public testing::Test {};
using Precisions = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(SyevdExecute, Precisions);

TYPED_TEST(SyevdExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int with = 0;
  for (unsigned round = 0; round < 80; ++round) {
    Eigenproblem<T> x(r, round);
    const Plan plan = x.plan();
    with += x.vectors;
    Matrix<T> first = x.A0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.A = x.A0;
      x.failed[0] = T(7);
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(x.failed[0], T(0)) << x.text();
      x.expect_right();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.A;
      ASSERT_TRUE(x.A == first) << "other bits: " << x.text();
      const double all = static_cast<double>(x.n * x.n) * sizeof(T),
                   triangle = static_cast<double>(x.n * (x.n + 1) / 2) * sizeof(T);
      EXPECT_EQ(outcome.bytes_in, x.vectors ? all : triangle);
      EXPECT_EQ(outcome.bytes_out, x.vectors ? all : 0);
    }
  }
  EXPECT_GT(with, 20);
  EXPECT_LT(with, 60);
}

TYPED_TEST(SyevdExecute, InMemoryOfTheirOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Eigenproblem<T> x(r, round);
    // Exactly n reals are written.
    auto* const values = reinterpret_cast<Real<T>*>(x.w.data());
    const bool odd = x.n < static_cast<index>(x.w.size() * sizeof(T) / sizeof(Real<T>));
    values[x.n - !odd] = 77;
    Shuffled lane(round);
    const auto count = static_cast<index>(x.w.size());
    const PlanOutcome outcome =
        x.run(x.plan(true, true), lane, {.device = x.A.data(), .ld = x.A.ld(), .in_place = true},
              {.device = x.w.data(), .ld = count, .in_place = true});
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    if (odd) {
      EXPECT_EQ(values[x.n], 77) << x.text();
    }
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(SyevdExecute, AMatrixThatIsNotFiniteIsSaidToBeSoAndStays) {
  using T = TypeParam;
  Random r(3);
  for (unsigned round = 0; round < 60; ++round) {
    Eigenproblem<T> x(r, round);
    const index row = r.below(static_cast<int>(x.n)), col = r.below(static_cast<int>(x.n));
    constexpr double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
    (x.in_triangle(row, col) ? x.A0(row, col) : x.A0(col, row)) = scalar<T>(odd[round % 3], 0);
    x.A = x.A0;
    T said(7);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(), lane, {}, {}, [&] { return said = x.failed[0], said == T(0); });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_EQ(said, T(1)) << x.text();
    ASSERT_TRUE(outcome.taken_back);
    ASSERT_EQ(std::memcmp(x.A.data(), x.A0.data(), static_cast<std::size_t>(x.A.ld() * x.n) * sizeof(T)), 0)
        << x.text();
  }
}

TYPED_TEST(SyevdExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Eigenproblem<T> x(r, 90 + round);
    const Plan plan = x.plan();
    struck += with_each_operation_failing(
        [&] { x.A = x.A0; }, [&](Lane& lane) { return x.run(plan, lane); }, [&] { x.expect_right(); },
        [&] {
          ASSERT_EQ(std::memcmp(x.A.data(), x.A0.data(), static_cast<std::size_t>(x.A.ld() * x.n) * sizeof(T)), 0)
              << x.text();
        });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

TEST(SyevdFits, WithWhatALibraryWorksInOrNotAtAll) {
  EXPECT_TRUE(syevd_fits(1000, Precision::d, true, std::size_t{40} << 20));
  EXPECT_FALSE(syevd_fits(1000, Precision::d, true, std::size_t{39} << 20));
  EXPECT_TRUE(syevd_fits(1000, Precision::d, false, std::size_t{48} << 20));
  EXPECT_FALSE(syevd_fits(1000, Precision::d, false, std::size_t{47} << 20));
  EXPECT_FALSE(syevd_fits(index{1} << 31, Precision::z, false, std::size_t{1} << 40));
}

/// cuSOLVER's times on an H100, double precision, from and to the host's memory; what decisions expect is near them.
TEST(SyevdCost, IsWhatAnH100Takes) {
  const Profile profile = built_in_profile("sm_90");
  const Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1};
  const auto seconds = [&](index n, index vectors) {
    return syevd_family
        .cost(counted({.routine = Routine::dsyevd, .element = Element::d, .m = n, .n = n, .k = vectors}), facts, {}, 0)
        .seconds;
  };
  constexpr std::pair<index, double> measured[] = {
      {1024, 11e-3}, {2048, 27.7e-3}, {4096, 127e-3}, {8192, 626e-3}, {16384, 3784e-3}};
  for (const auto& [n, took] : measured) {
    EXPECT_GT(seconds(n, n), 0.75 * took) << n;
    EXPECT_LT(seconds(n, n), 1.3 * took) << n;
    EXPECT_GT(seconds(n, 0), 0.27 * took) << n;
    EXPECT_LT(seconds(n, 0), 0.55 * took) << n;
  }
}

}  // namespace
}  // namespace blaslift
