// QR with pivoting on a backend's lane, in whatever order it runs things: fixed columns come first, nothing else is
// read or written, and nothing of the caller's changes if anything fails or the matrix is not finite.
#include "impl/qr/geqp3.hpp"

#include <gtest/gtest.h>

#include "compat/builtin.hpp"
#include "impl/core/args.hpp"
#include "impl/judge/judge.hpp"
#include "impl/qr/geqp3_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/qr/pivoted.hpp"
#include "tests/unit/support/reductions.hpp"

namespace blaslift::geqp3_tests {
namespace {

using namespace reference;

template <class T>
struct Pivoted {
  using Element = T;

  index m, n;
  Kind kind;
  Matrix<T> A0, A;
  std::vector<T> fixed, order, tau, failed{T(7)};

  Pivoted(Random& r, unsigned seed)
      : m(r.up_to(30)),
        n(r.up_to(20)),
        kind(kinds[seed % std::size(kinds)]),
        A0(m, n, r.up_to(4) - 1),
        A(A0),
        fixed(static_cast<std::size_t>(n)),
        order(fixed),
        tau(static_cast<std::size_t>(std::min(m, n))) {
    const Matrix<T> hard = matrix_of<T>(kind, m, n, seed);
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < m; ++i) A0(i, j) = hard(i, j);
      if (seed % 3 == 0 && r.below(4) == 0) fixed[static_cast<std::size_t>(j)] = T(1);
    }
    A = A0;
  }
  std::vector<std::vector<T>*> columns() { return {&fixed, &order, &tau, &failed}; }
  Plan make_plan(bool a_in_place) const { return plan_geqp3(m, n, precision_of<T>, a_in_place); }
  index moved() const { return m * n; }
  void poison(Random& r, const T& x) { A0(r.below(static_cast<int>(m)), r.below(static_cast<int>(n))) = x; }
  std::string text() const {
    return std::to_string(m) + " x " + std::to_string(n) + " kind " + std::to_string(static_cast<int>(kind));
  }
  void expect_right() const {
    ASSERT_EQ(wrong_in_pivoted(A0, A, fixed, order, tau), "") << text();
    ASSERT_TRUE(A.canaries_intact()) << text();
  }
};

template <class T>
class Geqp3Execute : public testing::Test {};
TYPED_TEST_SUITE(Geqp3Execute, Precisions);

TYPED_TEST(Geqp3Execute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  int with_fixed = 0, wide = 0;
  reductions::are_right_in_every_order<Pivoted<TypeParam>>([&](const auto& x) {
    with_fixed += std::count(x.fixed.begin(), x.fixed.end(), TypeParam(1)) > 1;
    wide += x.m < x.n;
  });
  EXPECT_GT(with_fixed, 10);
  EXPECT_GT(wide, 10);
}
TYPED_TEST(Geqp3Execute, InMemoryOfItsOwnTheMatrixDoesNotMove) {
  reductions::stay_in_memory_of_their_own<Pivoted<TypeParam>>();
}
TYPED_TEST(Geqp3Execute, AMatrixThatIsNotFiniteIsSaidToBeSoAndStays) {
  reductions::say_what_is_not_finite<Pivoted<TypeParam>>();
}
TYPED_TEST(Geqp3Execute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  reductions::bear_a_fault_at_every_operation<Pivoted<TypeParam>>();
}

// ---- verification, by the plain loops that stand in for a library

template <class T>
class Geqp3Judge : public testing::Test {};
TYPED_TEST_SUITE(Geqp3Judge, Precisions);

TYPED_TEST(Geqp3Judge, FindsWhatIsWrongAndNothingElse) {
  using T = TypeParam;
  using R = Real<T>;
  Site ormqr{}, orgqr{}, gemm{}, geqp3{};
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
#define GEQP3(name, type) \
  if (std::is_same_v<T, type>) set(geqp3, Symbol::name##_);
#include "api/routines.def"
  const Site* beside[] = {&ormqr, &orgqr, &gemm};
  Random r(5);
  for (unsigned round = 0; round < 40; ++round) {
    const index m = r.up_to(20) + 1, n = r.up_to(20) + 1, k = std::min(m, n);
    const bool any_fixed = round % 2 == 1;
    const Matrix<T> A0 = matrix_of<T>(Kind::random, m, n, round);
    Matrix<T> A = A0, given = A0;
    std::vector<std::int64_t> fixed(static_cast<std::size_t>(n)), order;
    if (any_fixed) fixed.back() = 3;
    order = fixed;
    std::vector<T> tau(static_cast<std::size_t>(k)), work(static_cast<std::size_t>(3 * n + 1));
    std::vector<R> rwork(static_cast<std::size_t>(2 * n));
    const Geqp3Args<T> before{m, n, given.data(), given.ld(), {fixed.data(), true}, tau.data()};
    Geqp3Args<T> result{m, n, A.data(), A.ld(), {order.data(), true}, tau.data()};
    Geqp3Args<T> made = result;
    made.work = work.data();
    made.lwork = static_cast<index>(work.size());
    made.rwork = rwork.data();
    ASSERT_TRUE(call_by(geqp3, made));
    const auto judged = [&] {
      const Judgement found = judge({geqp3, beside}, before, result, before, {Reason::forced});
      return found.ratio / found.limit;
    };
    const std::string text = std::to_string(m) + " x " + std::to_string(n) + (any_fixed ? " fixed" : "");
    EXPECT_LE(judged(), 0.5) << text;
    const auto with = [&](auto& at, const auto& other) {
      const auto is = at;
      at = other;
      EXPECT_GT(judged(), 1) << text;
      at = is;
    };
    const R off = R(1e4) * std::numeric_limits<R>::epsilon() * static_cast<R>(m + n);
    for (T* const x : {&A(0, 0), &A(0, n - 1), &A(m - 1, 0)}) {
      with(*x, *x + T(off));
      with(*x, T(std::numeric_limits<R>::quiet_NaN()));
    }
    with(tau[0], tau[0] * R(0.5));
    with(order[0], order[1]);
    with(order[0], std::int64_t{0});
    with(order[1], std::int64_t{n + 1});
    std::swap(order[0], order[1]);
    EXPECT_GT(judged(), 1) << text;
    std::swap(order[0], order[1]);
    // A QR as it should be, of columns in another order.
    const std::vector<std::int64_t> right = order;
    const std::vector<T> taus = tau;
    A = A0;
    std::fill(order.begin(), order.end(), 5);
    ASSERT_TRUE(call_by(geqp3, made));
    if (order != right) {
      EXPECT_GT(judged(), 1) << text;
    }
  }
}

TEST(Geqp3Fits, WithPanelsBesideItOrNotAtAll) {
  EXPECT_TRUE(geqp3_fits(1000, 1000, Precision::d, 8'384'000));
  EXPECT_FALSE(geqp3_fits(1000, 1000, Precision::d, 8'383'999));
  EXPECT_FALSE(geqp3_fits(index{1} << 31, index{1} << 31, Precision::z, std::size_t{1} << 40));
}

}  // namespace
}  // namespace blaslift::geqp3_tests
