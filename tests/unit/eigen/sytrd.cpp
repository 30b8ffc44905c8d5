// The reduction to tridiagonal form on a backend's lane, in whatever order it runs things: of the matrix only a
// triangle is read and written, and nothing of the caller's changes if anything fails or the matrix is not finite.
#include "impl/eigen/sytrd.hpp"

#include <gtest/gtest.h>

#include "compat/builtin.hpp"
#include "impl/core/args.hpp"
#include "impl/eigen/sytrd_plan.hpp"
#include "impl/judge/judge.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/reductions.hpp"

namespace blaslift::sytrd_tests {
namespace {

using namespace reference;

template <class T>
struct Reduction {
  using Element = T;
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

  std::vector<std::vector<T>*> columns() { return {&d, &e, &tau, &failed}; }
  Plan make_plan(bool a_in_place) const { return plan_sytrd(uplo, n, precision_of<T>, a_in_place); }
  index moved() const { return n * (n + 1) / 2; }
  void poison(Random& r, const T& x) {
    const index i = r.below(static_cast<int>(n)), j = r.below(static_cast<int>(n));
    A0(stored(i, j) ? i : j, stored(i, j) ? j : i) = x;
  }
  std::string text() const { return std::string(1, static_cast<char>(uplo)) + " n " + std::to_string(n); }

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
  reductions::are_right_in_every_order<Reduction<TypeParam>>([](const auto&) {});
}
TYPED_TEST(SytrdExecute, InMemoryOfItsOwnTheMatrixDoesNotMove) {
  reductions::stay_in_memory_of_their_own<Reduction<TypeParam>>();
}
TYPED_TEST(SytrdExecute, AMatrixThatIsNotFiniteIsSaidToBeSoAndStays) {
  reductions::say_what_is_not_finite<Reduction<TypeParam>>();
}
TYPED_TEST(SytrdExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  reductions::bear_a_fault_at_every_operation<Reduction<TypeParam>>();
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
}  // namespace blaslift::sytrd_tests
