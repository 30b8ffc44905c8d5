// General eigenproblems on a backend's lane, in whatever order it runs things: only what is asked for is written, and
// nothing of the caller's changes if anything fails or the matrix is not finite.
#include "impl/eigen/geev.hpp"

#include <gtest/gtest.h>

#include "impl/core/args.hpp"
#include "impl/eigen/geev_plan.hpp"
#include "impl/route/built_in_profiles.hpp"
#include "kernels/schur.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/estimates.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::geev_tests {
namespace {

using namespace reference;

template <class T>
constexpr bool is_real = !is_complex(precision_of<T>);
using Number = std::complex<long double>;

/// A V = V diag(w), or without V the sums that no eigenvalue's condition is a part of.
template <class T, class A, class V>
void expect_right(index n, const A& a, const std::vector<T>& w, const std::vector<T>& wi, const V* v,
                  const std::string& text) {
  const auto number = [](const T& x) { return Number(std::real(x), std::imag(x)); };
  const auto value = [&](index i) {
    const auto at = static_cast<std::size_t>(i);
    return is_real<T> ? Number(std::real(w[at]), std::real(wi[at])) : number(w[at]);
  };
  long double squares = 0;
  Number sum = 0, sum_of_squares = 0;
  for (index j = 0; j < n; ++j) {
    for (index i = 0; i < n; ++i)
      squares += std::norm(number(a(i, j))), sum_of_squares -= number(a(i, j)) * number(a(j, i));
    sum += value(j) - number(a(j, j));
    sum_of_squares += value(j) * value(j);
  }
  const long double size = std::sqrt(squares),
                    unit = 20 * static_cast<long double>(n) * std::numeric_limits<Real<T>>::epsilon();
  ASSERT_LE(std::abs(sum), unit * size * std::sqrt(static_cast<long double>(n))) << text;
  ASSERT_LE(std::abs(sum_of_squares), 2 * unit * squares) << text;
  for (index j = 0; j < n; ++j) {
    const bool pair = is_real<T> && value(j).imag() != 0;
    if (pair) {
      ASSERT_GT(value(j).imag(), 0) << text;
      ASSERT_LT(j + 1, n) << text;
      ASSERT_EQ(value(j + 1), std::conj(value(j))) << text;
    }
    if (v) {
      std::vector<Number> x;
      for (index i = 0; i < n; ++i)
        x.push_back(pair ? Number(std::real((*v)(i, j)), std::real((*v)(i, j + 1))) : number((*v)(i, j)));
      long double off = 0, length = 0, largest = 0, nearest = 1;
      for (index i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        Number rest = -value(j) * x[at];
        for (index k = 0; k < n; ++k) rest += number(a(i, k)) * x[static_cast<std::size_t>(k)];
        off += std::norm(rest);
        length += std::norm(x[at]);
        largest = std::max(largest, std::abs(x[at]));
      }
      // Of several that are about as large it may be any.
      for (const Number& element : x)
        if (std::abs(element) >= largest * (1 - unit)) nearest = std::min(nearest, std::fabs(element.imag()));
      ASSERT_LE(std::sqrt(off), unit * size) << "vector " << j << " of " << text;
      ASSERT_LE(std::fabs(std::sqrt(length) - 1), unit) << "vector " << j << " of " << text;
      ASSERT_EQ(nearest, 0) << "vector " << j << " of " << text;
    }
    j += pair;
  }
}

template <class T>
struct General {
  index n;
  bool vectors;
  Matrix<T> A0, A, VR;
  std::vector<T> w, wi, failed{T(7)};

  General(Random& r, unsigned seed)
      : n(r.up_to(20)),
        vectors(r.below(3) > 0),
        A0(n, n, r.up_to(4) - 1),
        A(A0),
        VR(vectors ? n : 0, vectors ? n : 0, r.up_to(4) - 1),
        w(static_cast<std::size_t>(n)),
        wi(static_cast<std::size_t>(is_real<T> ? n : 0)) {
    A0.random(seed);
    A = A0;
  }

  Plan plan(bool in_place = false) const {
    Plan plan = plan_geev(n, vectors, precision_of<T>, in_place, in_place && vectors);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, bool in_place = false, const Sound& is_sound = sound) {
    const auto column = [](std::vector<T>& x) {
      return CallOperand<T>{x.data(), std::max<index>(1, static_cast<index>(x.size()))};
    };
    const auto matrix = [&](Matrix<T>& x) {
      CallOperand<T> operand{x.data(), x.ld()};
      if (in_place) operand.placed = {.device = x.data(), .ld = x.ld(), .in_place = true};
      return operand;
    };
    return run_leased<T>(plan, {matrix(A), matrix(VR), column(w), column(wi), column(failed)}, {}, lane, is_sound);
  }
  std::string text() const { return std::to_string(n) + (vectors ? " with" : " without") + " vectors"; }

  void expect_right() {
    geev_tests::expect_right<T>(n, A0, w, wi, vectors ? &VR : nullptr, text());
    ASSERT_TRUE(A.canaries_intact() && VR.canaries_intact()) << text();
    ASSERT_TRUE(A == A0) << "A written: " << text();
  }
  bool untouched(const Matrix<T>& vr_before) const {
    return std::memcmp(A.data(), A0.data(), static_cast<std::size_t>(A.ld() * n) * sizeof(T)) == 0 && VR == vr_before;
  }
};

template <class T>
class GeevExecute : public testing::Test {};
TYPED_TEST_SUITE(GeevExecute, Precisions);

TYPED_TEST(GeevExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int with = 0, pairs = 0;
  for (unsigned round = 0; round < 120; ++round) {
    General<T> x(r, round);
    const Plan plan = x.plan();
    with += x.vectors;
    Matrix<T> first = x.VR;
    std::vector<T> first_w;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.failed[0] = T(7);
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(x.failed[0], T(0)) << x.text();
      x.expect_right();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.VR, first_w = x.w;
      ASSERT_TRUE(x.VR == first && x.w == first_w) << "other bits: " << x.text();
      const double all = static_cast<double>(x.n * x.n) * sizeof(T);
      EXPECT_EQ(outcome.bytes_in, all);
      EXPECT_EQ(outcome.bytes_out, x.vectors ? all : 0);
    }
    for (const T& imaginary : x.wi) pairs += std::real(imaginary) > 0;
  }
  EXPECT_GT(with, 50);
  EXPECT_LT(with, 110);
  EXPECT_GT(pairs, is_real<T> ? 100 : -1);
}

TYPED_TEST(GeevExecute, InMemoryOfTheirOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 60; ++round) {
    General<T> x(r, round);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(true), lane, true);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(GeevExecute, AMatrixThatIsNotFiniteIsSaidToBeSoAndAllStays) {
  using T = TypeParam;
  Random r(3);
  for (unsigned round = 0; round < 60; ++round) {
    General<T> x(r, round);
    constexpr double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
    x.A0(r.below(static_cast<int>(x.n)), r.below(static_cast<int>(x.n))) = scalar<T>(odd[round % 3], 0);
    x.A = x.A0;
    const Matrix<T> vr = x.VR.random(5);
    T said(7);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(), lane, false, [&] { return said = x.failed[0], said == T(0); });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_EQ(said, T(1)) << x.text();
    ASSERT_TRUE(outcome.taken_back);
    ASSERT_TRUE(x.untouched(vr)) << x.text();
  }
}

TYPED_TEST(GeevExecute, AFaultAtEveryOperationLeavesAllAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 12; ++round) {
    General<T> x(r, 90 + round);
    const Plan plan = x.plan();
    const Matrix<T> vr = x.VR.random(5);
    struck += with_each_operation_failing([&] { x.A = x.A0, x.VR = vr; }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_right(); }, [&] { ASSERT_TRUE(x.untouched(vr)) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 50);
}

/// What the plain loops make of a matrix.
template <class T>
struct Found {
  Matrix<T> right, left;
  std::vector<T> w, wi;
  bool run(const Matrix<T>& A, index n) {
    std::vector<T> memory(SchurEigensystem<T>::elements(n, true));
    std::vector<std::complex<Real<T>>> numbers(SchurEigensystem<T>::numbers(n));
    SchurEigensystem<T> system(n, true, memory.data(), numbers.data());
    if (!system.run(A.data(), A.ld())) return false;
    system.write_vectors(right.data(), right.ld());
    system.write_vectors(left.data(), left.ld(), true);
    for (index i = 0; i < n; ++i)
      if constexpr (is_real<T>)
        w.push_back(system.value(i).real()), wi.push_back(system.value(i).imag());
      else
        w.push_back(system.value(i));
    return true;
  }
};

template <class T>
class Schur : public testing::Test {};
TYPED_TEST_SUITE(Schur, Precisions);

/// Cycles, with which shifts of QR iterations get nowhere; triangles, whose eigenvalues are their diagonals; zeros;
/// Jordan blocks; matrices of rank 1; of elements of very different sizes; bands; blocks of rotations.
TYPED_TEST(Schur, OfMatricesOfAllKindsIsRightForVectorsOfBothSides) {
  using T = TypeParam;
  for (int kind = 0; kind < 10; ++kind)
    for (const index n : {1, 2, 3, 4, 5, 8, 17, 40}) {
      Matrix<T> A(n, n, 2);
      A.random(static_cast<unsigned>(n + kind));
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) {
          T& x = A(i, j);
          const auto number = [](auto value) { return T(static_cast<Real<T>>(value)); };
          if (kind == 1) x = number(i == (j + 1) % n);
          if (kind == 2 && i > j) x = T(0);
          if (kind == 3) x = T(0);
          if (kind == 4) x = number(i == j || i == j - 1);
          if (kind == 5) x = T(1);
          if (kind == 6) x *= number(std::pow(10.0, static_cast<double>(i - j) * 8 / static_cast<double>(n)));
          if (kind == 7 && i != j && i != j + 1 && (i > 0 || j < n - 1)) x = T(0);
          if (kind == 8) x = number((i > j) - (i < j));
          if (kind == 9) x = i / 2 == j / 2 ? number(i >= j ? 1 : -1) : T(0);
        }
      const std::string text = "kind " + std::to_string(kind) + ", order " + std::to_string(n);
      Found<T> found{Matrix<T>(n, n), Matrix<T>(n, n), {}, {}};
      ASSERT_TRUE(found.run(A, n)) << text;
      expect_right<T>(n, A, found.w, found.wi, &found.right, text);
      if (testing::Test::HasFatalFailure()) return;
      // U^H A = diag(w) U^H: A^H U = U diag(conj w), and a real matrix's pair is its own conjugate in the other order.
      const auto adjoint = [&](index i, index j) {
        if constexpr (is_real<T>)
          return A(j, i);
        else
          return std::conj(A(j, i));
      };
      if constexpr (is_real<T>) {
        for (index j = 0; j < n; ++j)
          for (index i = 0; found.wi[static_cast<std::size_t>(j)] < 0 && i < n; ++i)
            found.left(i, j) = -found.left(i, j);
      } else {
        for (T& w : found.w) w = std::conj(w);
      }
      expect_right<T>(n, adjoint, found.w, found.wi, &found.left, "left, " + text);
      if (testing::Test::HasFatalFailure()) return;
      for (index i = 0; kind == 2 && is_real<T> && i < n; ++i)
        EXPECT_EQ(std::real(found.wi[static_cast<std::size_t>(i)]), 0);
    }
}

TEST(GeevFits, WithWhatALibraryWorksInOrNotAtAll) {
  EXPECT_TRUE(geev_fits(1000, true, Precision::d, 64'000'000));
  EXPECT_FALSE(geev_fits(1000, true, Precision::d, 63'999'999));
  EXPECT_TRUE(geev_fits(1000, false, Precision::d, 48'000'000));
  EXPECT_FALSE(geev_fits(1000, false, Precision::d, 47'999'999));
  EXPECT_FALSE(geev_fits((index{1} << 31) - 1, false, Precision::d, std::size_t{1} << 40));
}

Problem problem(Routine routine, Element element, index n, bool vectors) {
  return counted({.routine = routine, .element = element, .m = n, .n = n, .k = vectors ? n : 0});
}

/// cuSOLVER's times on an H100, double precision, on the device; what decisions expect is near them.
TEST(GeevCost, IsWhatAnH100Takes) {
  const Profile profile = without_lapack_times();
  const Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1};
  const auto seconds = [&](Routine routine, Element element, index n, bool vectors) {
    Problem p = problem(routine, element, n, vectors);
    p.bytes_out = 0;
    return geev_family.cost(p, facts, {}, p.bytes_in).seconds;
  };
  constexpr std::pair<index, double> measured[] = {{1000, 269e-3}, {2000, 941e-3}, {3000, 1681e-3}};
  for (const auto& [n, took] : measured) {
    EXPECT_GT(seconds(Routine::dgeev, Element::d, n, true), 0.95 * took) << n;
    EXPECT_LT(seconds(Routine::dgeev, Element::d, n, true), 1.05 * took) << n;
    EXPECT_LT(seconds(Routine::dgeev, Element::d, n, false), 0.65 * took) << n;
    EXPECT_LT(seconds(Routine::sgeev, Element::s, n, true), 0.7 * took) << n;
    EXPECT_GT(seconds(Routine::zgeev, Element::z, n, true), 1.4 * took) << n;
  }
  for (index n = 200; n < 5000; n += 100)
    EXPECT_LT(seconds(Routine::dgeev, Element::d, n, true), seconds(Routine::dgeev, Element::d, n + 100, true)) << n;
}

/// Where 16 cores take seconds, the first call opens the device.
TEST(GeevCost, OpensTheDeviceAtOnceWhereTheCpuTakesSeconds) {
  const Profile profile = built_in_profile("sm_90");
  const auto route = [&](index n, bool vectors) {
    const Facts facts{.device = DeviceState::unopened, .profile = &profile, .cpu_rate = 4e10, .slowdown = 1};
    return decide(problem(Routine::dgeev, Element::d, n, vectors), facts,
                  {.on = true, .measuring = false, .forced = false, .fixed = false})
        .route;
  };
  EXPECT_EQ(route(2000, true), Route::device);
  EXPECT_EQ(route(4000, false), Route::device);
  EXPECT_EQ(route(300, true), Route::cpu);
}

}  // namespace
}  // namespace blaslift::geev_tests
