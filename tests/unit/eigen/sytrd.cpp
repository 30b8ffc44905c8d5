// The reduction to tridiagonal form on a backend's lane, in whatever order it runs things: of the matrix only a
// triangle is read and written, and nothing of the caller's changes if anything fails or the matrix is not finite.
#include "impl/eigen/sytrd.hpp"

#include <gtest/gtest.h>

#include "compat/builtin.hpp"
#include "impl/core/args.hpp"
#include "impl/eigen/sytrd_plan.hpp"
#include "impl/judge/judge.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift {
namespace {

using namespace reference;

template <class T>
struct Reduction {
  using R = Real<T>;
  using Number = std::complex<long double>;

  Uplo uplo;
  index n;
  Matrix<T> A0, A;
  std::vector<T> d, e, tau, failed{T(7)};

  Reduction(Random& r, unsigned seed)
      : uplo(r.coin() ? Uplo::upper : Uplo::lower),
        n(r.up_to(20)),
        A0(n, n, r.up_to(4) - 1),
        A(A0),
        d(static_cast<std::size_t>(elements_of_reals(n, precision_of<T>))),
        e(d),
        tau(static_cast<std::size_t>(n)) {
    A0.random(seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!stored(i, j)) fill_with_canaries(&A0(i, j), sizeof(T));
    A = A0;
  }
  bool stored(index i, index j) const { return uplo == Uplo::upper ? i <= j : i >= j; }
  index turned(index i) const { return uplo == Uplo::lower ? i : n - 1 - i; }
  index beside(index i) const { return uplo == Uplo::lower ? i : n - 2 - i; }

  Plan plan(bool a_in_place = false) const {
    Plan plan = plan_sytrd(uplo, n, precision_of<T>, a_in_place);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Sound& is_sound = sound) {
    const auto column = [](std::vector<T>& x) { return CallOperand<T>{x.data(), static_cast<index>(x.size())}; };
    return run_leased<T>(plan, {{A.data(), A.ld(), a}, column(d), column(e), column(tau), column(failed)}, {}, lane,
                         is_sound);
  }
  std::string text() const { return std::string(1, static_cast<char>(uplo)) + " n " + std::to_string(n); }
  bool untouched() const {
    return std::memcmp(A.data(), A0.data(), static_cast<std::size_t>(A.ld() * n) * sizeof(T)) == 0;
  }

  static R real(const std::vector<T>& x, index i) { return reinterpret_cast<const R*>(x.data())[i]; }
  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }
  /// Of rows and columns in reverse, if the triangle is the upper one.
  Number element(index i, index j) const {
    const Number a = widened(A0(turned(std::max(i, j)), turned(std::min(i, j))));
    return i == j ? Number(a.real()) : i > j ? a : std::conj(a);
  }
  /// x := (I - tau v v^H) x
  void reflect(std::vector<Number>& x, index i) const {
    const Number factor = widened(tau[static_cast<std::size_t>(beside(i))]);
    const auto v = [&](index j) { return j == i + 1 ? Number(1) : widened(A(turned(j), turned(i))); };
    Number sum = 0;
    for (index j = i + 1; j < n; ++j) sum += std::conj(v(j)) * x[static_cast<std::size_t>(j)];
    for (index j = i + 1; j < n; ++j) x[static_cast<std::size_t>(j)] -= factor * sum * v(j);
  }
  /// A Q = Q T, column by column; of numbers below 1, so that |A| <= n.
  void expect_right() const {
    const long double allowed = 40 * static_cast<long double>(n * n) * std::numeric_limits<R>::epsilon();
    for (index col = 0; col < n; ++col) {
      std::vector<Number> q(static_cast<std::size_t>(n)), qt(q);
      q[static_cast<std::size_t>(col)] = 1;
      qt[static_cast<std::size_t>(col)] = real(d, turned(col));
      if (col > 0) qt[static_cast<std::size_t>(col - 1)] = real(e, beside(col - 1));
      if (col + 1 < n) qt[static_cast<std::size_t>(col + 1)] = real(e, beside(col));
      for (index i = n - 1; i-- > 0;) reflect(q, i), reflect(qt, i);
      for (index i = 0; i < n; ++i) {
        Number aq = 0;
        for (index j = 0; j < n; ++j) aq += element(i, j) * q[static_cast<std::size_t>(j)];
        ASSERT_LE(std::abs(aq - qt[static_cast<std::size_t>(i)]), allowed) << text() << " at " << i << ", " << col;
        if (!stored(i, col)) {
          ASSERT_TRUE(same_bits(A(i, col), A0(i, col))) << text() << " at " << i << ", " << col;
        }
      }
      ASSERT_EQ(A(col, col), T(real(d, col))) << text();
      if (col + 1 < n) {
        ASSERT_EQ(uplo == Uplo::lower ? A(col + 1, col) : A(col, col + 1), T(real(e, col))) << text();
      }
    }
    ASSERT_TRUE(A.canaries_intact()) << text();
  }
};

template <class T>
class SytrdExecute : public testing::Test {};
TYPED_TEST_SUITE(SytrdExecute, Precisions);

TYPED_TEST(SytrdExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  for (unsigned round = 0; round < 80; ++round) {
    Reduction<T> x(r, round);
    const Plan plan = x.plan();
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
      EXPECT_EQ(outcome.bytes_in, static_cast<double>(x.n * (x.n + 1) / 2) * sizeof(T));
      EXPECT_EQ(outcome.bytes_out, outcome.bytes_in);
    }
  }
}

TYPED_TEST(SytrdExecute, InMemoryOfItsOwnTheMatrixDoesNotMove) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Reduction<T> x(r, round);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(true), lane, {.device = x.A.data(), .ld = x.A.ld(), .in_place = true});
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(SytrdExecute, AMatrixThatIsNotFiniteIsSaidToBeSoAndStays) {
  using T = TypeParam;
  Random r(3);
  for (unsigned round = 0; round < 60; ++round) {
    Reduction<T> x(r, round);
    constexpr double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
    const index i = r.below(static_cast<int>(x.n)), j = r.below(static_cast<int>(x.n));
    x.A0(x.stored(i, j) ? i : j, x.stored(i, j) ? j : i) = scalar<T>(odd[round % 3], 0);
    x.A = x.A0;
    T said(7);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(), lane, {}, [&] { return said = x.failed[0], said == T(0); });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_EQ(said, T(1)) << x.text();
    ASSERT_TRUE(outcome.taken_back);
    ASSERT_TRUE(x.untouched()) << x.text();
  }
}

TYPED_TEST(SytrdExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Reduction<T> x(r, 90 + round);
    const Plan plan = x.plan();
    struck += with_each_operation_failing([&] { x.A = x.A0; }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_right(); }, [&] { ASSERT_TRUE(x.untouched()) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 80);
}

// ---- verification, by the plain loops that stand in for a library

template <class T>
class SytrdJudge : public testing::Test {};
TYPED_TEST_SUITE(SytrdJudge, Precisions);

TYPED_TEST(SytrdJudge, FindsWhatIsWrongAndNothingElse) {
  using T = TypeParam;
  using R = Real<T>;
  Site ormqr{}, orgqr{}, gemm{}, sytrd{};
  const auto set = [](Site& site, Symbol symbol) {
    site.symbol = symbol;
    site.wide = true;
    site.function = builtin(symbol, true);
  };
#define ORMQR(name, type) \
  if (std::is_same_v<T, type>) set(ormqr, Symbol::name##_);
#define ORGQR(name, type) \
  if (std::is_same_v<T, type>) set(orgqr, Symbol::name##_);
#define GEMM(name, type) \
  if (std::is_same_v<T, type>) set(gemm, Symbol::name##_);
#define SYTRD(name, type) \
  if (std::is_same_v<T, type>) set(sytrd, Symbol::name##_);
#include "api/routines.def"
  const Site* beside[] = {&ormqr, &orgqr, &gemm};
  Random r(5);
  for (unsigned round = 0; round < 40; ++round) {
    Reduction<T> x(r, round);
    std::vector<R> d(static_cast<std::size_t>(x.n)), e(d);
    std::vector<T> work(static_cast<std::size_t>(x.n));
    SytrdArgs<T> before{x.uplo, x.n, x.A0.data(), x.A0.ld(), d.data(), e.data(), x.tau.data()}, result = before;
    result.A = x.A.data();
    result.lda = x.A.ld();
    SytrdArgs<T> made = result;
    made.work = work.data();
    made.lwork = x.n;
    ASSERT_TRUE(call_by(sytrd, made));
    const auto judged = [&] {
      const Judgement found = judge({sytrd, beside}, before, result, before, {Reason::forced});
      return found.ratio / found.limit;
    };
    EXPECT_LE(judged(), 0.5) << x.text();
    const R right = d[0], wrong = right + R(1e4) * std::numeric_limits<R>::epsilon() * static_cast<R>(x.n * x.n);
    for (const R other : {wrong, std::numeric_limits<R>::quiet_NaN()}) {
      x.A(0, 0) = T(d[0] = other);
      EXPECT_GT(judged(), 1) << x.text();
    }
    d[0] = right;
    x.A(0, 0) = T(wrong);  // alone
    EXPECT_GT(judged(), 1) << x.text();
    x.A(0, 0) = T(right);
    if (x.n < 3) continue;
    const auto at = static_cast<std::size_t>(x.beside(0));
    const T factor = x.tau[at];
    x.tau[at] *= R(0.5);
    EXPECT_GT(judged(), 1) << x.text();
    x.tau[at] = T(std::numeric_limits<R>::max() / 2);  // with which sums are not finite
    EXPECT_GT(judged(), 1) << x.text();
    x.tau[at] = factor;
    T& off = x.uplo == Uplo::lower ? x.A(1, 0) : x.A(0, 1);
    const T is = off;
    off += T(1);
    EXPECT_GT(judged(), 1) << x.text();
    off = is;
    EXPECT_LE(judged(), 0.5) << x.text();
  }
}

TEST(SytrdFits, WithWhatALibraryWorksInOrNotAtAll) {
  EXPECT_TRUE(sytrd_fits(1000, Precision::d, 24'000'000));
  EXPECT_FALSE(sytrd_fits(1000, Precision::d, 23'999'999));
  EXPECT_FALSE(sytrd_fits(index{1} << 31, Precision::z, std::size_t{1} << 40));
}

}  // namespace
}  // namespace blaslift
