// Eigenproblems on a backend's lane, in whatever order it runs things: the other triangle is never read, unless vectors
// take A's place nothing of it is written, and nothing of the caller's changes if anything fails or the matrix is not
// finite.
#include <gtest/gtest.h>

#include "impl/core/args.hpp"
#include "impl/eigen/interval.hpp"
#include "impl/eigen/syevd.hpp"
#include "impl/eigen/syevd_plan.hpp"
#include "impl/route/built_in_profiles.hpp"
#include "kernels/host/syevd.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/estimates.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::syevd_tests {
namespace {

using namespace reference;

template <class T>
struct Eigenproblem {
  using R = Real<T>;
  using Number = std::complex<long double>;

  EigenShape shape;
  index n;
  bool vectors, replaced;  ///< A, by the vectors
  Matrix<T> A0, A, Z0, Z;
  std::vector<T> w, failed{T(7)};

  static EigenShape random_shape(Random& r) {
    const bool vectors = r.coin(), apart = vectors && r.coin();
    const index n = r.up_to(20), first = r.coin() ? 0 : r.up_to(static_cast<int>(n)) - 1;
    const index count = first == 0 && r.coin() ? n : r.up_to(static_cast<int>(n - first));
    const bool all = vectors && !apart;
    return {vectors, apart, r.coin() ? Uplo::upper : Uplo::lower, n, all ? 0 : first, all ? n : count};
  }
  Eigenproblem(Random& r, unsigned seed)
      : shape(random_shape(r)),
        n(shape.n),
        vectors(shape.vectors),
        replaced(shape.vectors && !shape.apart),
        A0(n, n, r.up_to(4) - 1),
        A(A0),
        Z0(n, shape.count, r.up_to(4) - 1),
        Z(Z0),
        w(static_cast<std::size_t>(elements_of_reals(shape.count, precision_of<T>))) {
    Z0.random(seed + 1000);
    Z = Z0;
    A0.random(seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!in_triangle(i, j))
          fill_with_canaries(&A0(i, j), sizeof(T));
        else if (i == j)
          A0(i, j) = scalar<T>(std::real(A0(i, j)), std::numeric_limits<double>::quiet_NaN());
    A = A0;
  }
  bool in_triangle(index i, index j) const { return shape.uplo == Uplo::upper ? i <= j : i >= j; }

  Plan plan(bool in_place = false) const {
    Plan plan = plan_syevd(shape, precision_of<T>, in_place, in_place && shape.apart, in_place);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  void restore() {
    A = A0;
    Z = Z0;
  }
  bool untouched() const {
    const auto same = [](const Matrix<T>& x, const Matrix<T>& y) {
      return std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.ld() * x.cols()) * sizeof(T)) == 0;
    };
    return same(A, A0) && same(Z, Z0);
  }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, bool in_place = false, const Sound& is_sound = sound) {
    const auto placed = [in_place](void* at, index ld) {
      return in_place ? Placed{.device = at, .ld = ld, .in_place = true} : Placed{};
    };
    const auto count = static_cast<index>(w.size());
    std::vector<CallOperand<T>> operands{{A.data(), A.ld(), placed(A.data(), A.ld())}};
    if (shape.apart) operands.push_back({Z.data(), Z.ld(), placed(Z.data(), Z.ld())});
    operands.push_back({w.data(), count, placed(w.data(), count)});
    operands.push_back({failed.data(), 1});
    return run_leased<T>(plan, operands, {}, lane, is_sound);
  }
  std::string text() const {
    return std::string(vectors ? "V" : "N") + static_cast<char>(shape.uplo) + (shape.apart ? " apart " : " ") +
           std::to_string(n) + ", " + std::to_string(shape.count) + " from " + std::to_string(shape.first);
  }

  R value(index i) const { return reinterpret_cast<const R*>(w.data())[i]; }
  Number element(index i, index j) const {
    const T a = in_triangle(i, j) ? A0(i, j) : A0(j, i);
    if (i == j) return std::real(a);
    return {std::real(a), in_triangle(i, j) ? std::imag(a) : -std::imag(a)};
  }
  /// All eigenvalues, by the operation that has them without vectors.
  std::vector<R> all_values() const {
    Matrix<T> copy = A0;
    std::vector<T> values(static_cast<std::size_t>(elements_of_reals(n, precision_of<T>)));
    T none(7);
    find_eigenvalues(Syevd{.precision = precision_of<T>,
                           .vectors = false,
                           .uplo = shape.uplo,
                           .n = n,
                           .first = 0,
                           .count = n,
                           .A = copy.data(),
                           .lda = copy.ld(),
                           .V = nullptr,
                           .ldv = 0,
                           .w = values.data(),
                           .failed = &none});
    const R* const all = reinterpret_cast<const R*>(values.data());
    return {all, all + n};
  }
  /// Of numbers below 1, so that |A| <= n.  All eigenvalues by the traces of A and A^2.
  void expect_right() const {
    const long double unit = 20 * static_cast<long double>(n) * std::numeric_limits<R>::epsilon(),
                      size = static_cast<long double>(n);
    const std::vector<R> due = all_values();
    long double trace = 0, squares = 0;
    for (index j = 0; j < n; ++j) {
      const auto value = static_cast<long double>(due[static_cast<std::size_t>(j)]);
      trace += std::real(element(j, j)) - value;
      squares -= value * value;
      for (index i = 0; i < n; ++i) squares += std::norm(element(i, j));
    }
    ASSERT_LE(std::fabs(trace), unit * size) << text();
    ASSERT_LE(std::fabs(squares), unit * size * size) << text();
    for (index j = 0; j < shape.count; ++j) {
      const auto off =
          static_cast<long double>(value(j)) - static_cast<long double>(due[static_cast<std::size_t>(shape.first + j)]);
      ASSERT_LE(std::fabs(off), unit * size) << text();
      if (j > 0) {
        ASSERT_LE(value(j - 1), value(j)) << text();
      }
    }
    ASSERT_TRUE(A.canaries_intact() && Z.canaries_intact()) << text();
    if (!replaced) {
      ASSERT_TRUE(A == A0) << text();
    }
    if (!vectors) return;
    const Matrix<T>& V = shape.apart ? Z : A;
    const auto v = [&V](index i, index j) { return Number(std::real(V(i, j)), std::imag(V(i, j))); };
    for (index j = 0; j < shape.count; ++j) {
      for (index i = 0; i < n; ++i) {
        Number rest = -v(i, j) * static_cast<long double>(value(j));
        for (index k = 0; k < n; ++k) rest += element(i, k) * v(k, j);
        ASSERT_LE(std::abs(rest), unit * size) << text() << " at " << i << ", " << j;
      }
      for (index i = 0; i < shape.count; ++i) {
        Number product = i == j ? -1 : 0;
        for (index k = 0; k < n; ++k) product += std::conj(v(k, i)) * v(k, j);
        ASSERT_LE(std::abs(product), unit) << text() << " at " << i << ", " << j;
      }
    }
  }
};

template <class T>
class SyevdExecute : public testing::Test {};
TYPED_TEST_SUITE(SyevdExecute, Precisions);

TYPED_TEST(SyevdExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int with = 0, apart = 0;
  for (unsigned round = 0; round < 80; ++round) {
    Eigenproblem<T> x(r, round);
    const Plan plan = x.plan();
    with += x.vectors;
    apart += x.shape.apart;
    Matrix<T> first = x.A0, first_apart = x.Z0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.restore();
      x.failed[0] = T(7);
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(x.failed[0], T(0)) << x.text();
      x.expect_right();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.A, first_apart = x.Z;
      ASSERT_TRUE(x.A == first && x.Z == first_apart) << "other bits: " << x.text();
      const double all = static_cast<double>(x.n * x.n) * sizeof(T),
                   triangle = static_cast<double>(x.n * (x.n + 1) / 2) * sizeof(T);
      EXPECT_EQ(outcome.bytes_in, x.replaced ? all : triangle);
      EXPECT_EQ(outcome.bytes_out, x.vectors ? static_cast<double>(x.n * x.shape.count) * sizeof(T) : 0);
    }
  }
  EXPECT_GT(with, 20);
  EXPECT_LT(with, 60);
  EXPECT_GT(apart, 8);
}

/// Of low rank, most of what is left while the form is made is roundings of roundings.
TYPED_TEST(SyevdExecute, VectorsOfLowRankAreOrthogonal) {
  using T = TypeParam;
  using R = Real<T>;
  for (const index period : {1, 2, 3, 7})
    for (const index n : {12, 35, 60}) {
      Matrix<T> A(n, n);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) A(i, j) = T(static_cast<R>(period == 1 ? 1 : (i % period) * (j % period)));
      std::vector<T> w(static_cast<std::size_t>(elements_of_reals(n, precision_of<T>)));
      T failed(7);
      Matrix<T> V(n, n);
      find_eigenvalues(Syevd{.precision = precision_of<T>,
                             .vectors = true,
                             .uplo = Uplo::lower,
                             .n = n,
                             .first = 0,
                             .count = n,
                             .A = A.data(),
                             .lda = A.ld(),
                             .V = V.data(),
                             .ldv = V.ld(),
                             .w = w.data(),
                             .failed = &failed});
      ASSERT_EQ(failed, T(0)) << period << ", " << n;
      for (index j = 0; j < n; ++j)
        for (index i = 0; i <= j; ++i) {
          std::complex<long double> sum = i == j ? -1 : 0;
          for (index k = 0; k < n; ++k)
            sum += std::conj(std::complex<long double>(V(k, i))) * std::complex<long double>(V(k, j));
          ASSERT_LE(std::abs(sum), 20 * static_cast<long double>(n) * std::numeric_limits<R>::epsilon())
              << "period " << period << " of " << n << " at " << i << ", " << j;
        }
    }
}

TYPED_TEST(SyevdExecute, InMemoryOfTheirOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Eigenproblem<T> x(r, round);
    // Exactly so many reals are written.
    auto* const values = reinterpret_cast<Real<T>*>(x.w.data());
    const bool odd = x.shape.count < static_cast<index>(x.w.size() * sizeof(T) / sizeof(Real<T>));
    values[x.shape.count - !odd] = 77;
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(true), lane, true);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    if (odd) {
      EXPECT_EQ(values[x.shape.count], 77) << x.text();
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
    const PlanOutcome outcome = x.run(x.plan(), lane, false, [&] { return said = x.failed[0], said == T(0); });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_EQ(said, T(1)) << x.text();
    ASSERT_TRUE(outcome.taken_back);
    ASSERT_TRUE(x.untouched()) << x.text();
  }
}

TYPED_TEST(SyevdExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Eigenproblem<T> x(r, 90 + round);
    const Plan plan = x.plan();
    struck += with_each_operation_failing([&] { x.restore(); }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_right(); }, [&] { ASSERT_TRUE(x.untouched()) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

TEST(SyevdFits, WithWhatALibraryWorksInOrNotAtAll) {
  const auto fits = [](index n, Precision precision, bool vectors, index apart, std::size_t memory) {
    return syevd_fits({vectors, apart > 0, Uplo::lower, n, 0, apart > 0 ? apart : n}, precision, memory);
  };
  EXPECT_TRUE(fits(1000, Precision::d, true, 0, std::size_t{40} << 20));
  EXPECT_FALSE(fits(1000, Precision::d, true, 0, std::size_t{39} << 20));
  EXPECT_TRUE(fits(1000, Precision::d, false, 0, std::size_t{48} << 20));
  EXPECT_FALSE(fits(1000, Precision::d, false, 0, std::size_t{47} << 20));
  EXPECT_TRUE(fits(1000, Precision::d, true, 1000, std::size_t{55} << 20));
  EXPECT_FALSE(fits(1000, Precision::d, true, 1000, std::size_t{54} << 20));
  EXPECT_TRUE(fits(1000, Precision::d, true, 100, std::size_t{49} << 20));
  EXPECT_FALSE(fits(index{1} << 31, Precision::z, false, 0, std::size_t{1} << 40));
}

/// cuSOLVER's times on an H100, double precision, from and to the host's memory; what decisions expect is near them.
TEST(SyevdCost, IsWhatAnH100Takes) {
  const Profile profile = without_lapack_times();
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
    EXPECT_GT(seconds(n, 0), 0.7 * took) << n;
    EXPECT_LT(seconds(n, 0), seconds(n, n)) << n;
  }
}

/// The device does the same for every driver, and the CPU does not: who asks for few vectors has most of it for
/// nothing.
TEST(SyevdCost, IsTheDriversOnTheCpuAndOneOnTheDevice) {
  const Profile profile = built_in_profile("sm_90");
  const Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1};
  constexpr index n = 3000;
  const auto problem = [](Routine routine, index vectors) {
    return counted({.routine = routine, .element = Element::d, .m = n, .n = n, .k = vectors});
  };
  const auto seconds = [&](Routine routine, index vectors) {
    const Problem p = problem(routine, vectors);
    return family_of(routine).cost(p, facts, {}, 0).seconds - seconds_in(p, facts, 0) - seconds_out(p, facts);
  };
  for (const Routine routine : {Routine::dsyev, Routine::dsyevr, Routine::dsyevx})
    for (const index vectors : {index{0}, index{1}, n}) {
      EXPECT_EQ(seconds(routine, vectors), seconds(Routine::dsyevd, vectors > 0 ? n : 0));
    }
  const double cube = static_cast<double>(n) * n * n;
  EXPECT_DOUBLE_EQ(problem(Routine::dsyevd, n).flops, 14 * cube / 3);
  EXPECT_DOUBLE_EQ(problem(Routine::dsyev, n).flops, 26 * cube / 3);
  EXPECT_DOUBLE_EQ(problem(Routine::dsyevr, n).flops, 10 * cube / 3);
  EXPECT_DOUBLE_EQ(problem(Routine::dsyevx, 30).flops, (4.0 / 3 + 0.02) * cube);
  for (const Routine routine : {Routine::dsyevd, Routine::dsyev, Routine::dsyevr, Routine::dsyevx})
    EXPECT_DOUBLE_EQ(problem(routine, 0).flops, 4 * cube / 3);
  EXPECT_EQ(problem(Routine::dsyevr, 30).bytes_out, 30.0 * n * 8);
  EXPECT_EQ(problem(Routine::dsyevr, 30).bytes_in, static_cast<double>(n * (n + 1) / 2) * 8);
  EXPECT_EQ(problem(Routine::dsyev, n).bytes_in, static_cast<double>(n) * n * 8);
}

/// The lower end is not in it, the upper one is.
TEST(SyevdInterval, HasWhatLiesAboveItsLowerEnd) {
  const std::vector<double> all{-3, -1, -1, 0, 2, 5};
  const auto found = [&](double vl, double vu) {
    const auto [first, count] = in_interval(SyevdArgs<double>{.n = 6, .vl = vl, .vu = vu}, all.data());
    return std::pair(first, count);
  };
  EXPECT_EQ(found(-9, 9), (std::pair<index, index>(0, 6)));
  EXPECT_EQ(found(-3, 2), (std::pair<index, index>(1, 4)));
  EXPECT_EQ(found(-1, -0.5).second, 0);
  EXPECT_EQ(found(-1.5, -1), (std::pair<index, index>(1, 2)));
  EXPECT_EQ(found(5, 6).second, 0);
  EXPECT_EQ(found(-9, -8).second, 0);
}

/// What lies within the margin of an end may be in it or not, by whose rounding it was.
TEST(SyevdInterval, IsComparedWithAllThereAre) {
  const std::vector<double> all{-3, -1, -0.999, 0, 2, 5};
  const auto first = [&](std::vector<double> found, double vl, double vu) {
    return first_in_interval(SyevdArgs<double>{.n = 6, .vl = vl, .vu = vu}, all, found.data(),
                             static_cast<index>(found.size()), 0.01L);
  };
  EXPECT_EQ(first({-1, -0.999, 0}, -1.5, 1), 1);
  EXPECT_EQ(first({-0.999, 0}, -0.9995, 1), 2);
  EXPECT_EQ(first({-0.998, -0.997, 0}, -0.9995, 1), 1) << "both may be in it";
  EXPECT_EQ(first({-0.9991}, -0.9995, -0.5), 2) << "the nearer one";
  EXPECT_EQ(first({0}, -0.9995, 1), 3) << "or neither";
  EXPECT_EQ(first({-1, 0}, -1.5, 1), std::nullopt) << "one is missing";
  EXPECT_EQ(first({-1, -0.999, 0, 0.5}, -1.5, 1), std::nullopt) << "one is none";
  EXPECT_EQ(first({-3, -1, -0.999, 0}, -1.5, 1), std::nullopt) << "one is not in it";
  EXPECT_EQ(first({}, 3, 4), 5);
  EXPECT_EQ(first({}, 1, 4), std::nullopt);
}

}  // namespace
}  // namespace blaslift::syevd_tests
