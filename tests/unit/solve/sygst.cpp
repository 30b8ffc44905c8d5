// Reductions of generalized eigenproblems on a backend's lane, in whatever order it runs things: the other triangles
// are neither read nor written, and nothing of the caller's changes if anything fails.
#include "impl/solve/sygst.hpp"

#include <gtest/gtest.h>

#include "compat/builtin.hpp"
#include "impl/judge/judge.hpp"
#include "impl/solve/sygv_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::sygst_tests {
namespace {

using namespace reference;
using Number = std::complex<long double>;

template <class T>
struct Pencil {
  index itype;
  Uplo uplo;
  index n;
  Matrix<T> A0, A, B0, B;

  Pencil(Random& r, unsigned seed)
      : itype(r.up_to(3)),
        uplo(r.coin() ? Uplo::upper : Uplo::lower),
        n(r.up_to(20)),
        A0(n, n, r.up_to(4) - 1),
        A(A0),
        B0(n, n, r.up_to(4) - 1),
        B(B0) {
    A0.random(seed);
    B0.random(seed + 1);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (!stored(i, j)) {
          fill_with_canaries(&A0(i, j), sizeof(T));
          fill_with_canaries(&B0(i, j), sizeof(T));
        } else if (i == j) {  // of A's the imaginary part is not read
          B0(i, i) = scalar<T>(1 + r.below(1000) / 2e3, 0);
        } else {
          B0(i, j) /= static_cast<Real<T>>(2 * n);
        }
      }
    restore();
  }
  void restore() { A = A0, B = B0; }
  bool stored(index i, index j) const { return uplo == Uplo::upper ? i <= j : i >= j; }
  std::string text() const { return std::to_string(itype) + " " + static_cast<char>(uplo) + " n " + std::to_string(n); }

  Plan plan(const SygvHeld& held = {}) const {
    Plan plan = plan_sygst(itype, uplo, n, precision_of<T>, held);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, const SygvHeld& held = {}) {
    Placed a, b;
    if (held.a) a = {.device = A.data(), .ld = A.ld(), .in_place = true};
    if (held.b) b = {.device = B.data(), .ld = B.ld()};
    return run_leased<T>(plan, {{A.data(), A.ld(), a}, {B.data(), B.ld(), b}}, {}, lane);
  }

  static Number wide(const T& x) { return {std::real(x), std::imag(x)}; }
  /// Of what is stored as a triangle, all.
  Number whole(const Matrix<T>& x, index i, index j) const {
    if (i == j) return std::real(x(i, i));
    return stored(i, j) ? wide(x(i, j)) : std::conj(wide(x(j, i)));
  }
  Number l(index i, index j) const {
    return i < j ? 0 : uplo == Uplo::lower ? wide(B(i, j)) : std::conj(wide(B(j, i)));
  }
  /// B's factor is well-conditioned, so everything is within a few n eps.
  void expect_right() const {
    const auto place = [this](index i, index j) { return static_cast<std::size_t>(i + j * n); };
    std::vector<Number> c(static_cast<std::size_t>(n * n));
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) c[place(i, j)] = whole(A0, i, j);
    for (int side = 0; side < 2; ++side) {
      std::vector<Number> adjoint(c.size());
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) {
          Number& x = c[place(i, j)];
          for (index k = 0; itype == 1 && k < i; ++k) x -= l(i, k) * c[place(k, j)];
          x = itype == 1 ? x / l(i, i) : x * std::conj(l(i, i));
          for (index k = i + 1; itype != 1 && k < n; ++k) x += std::conj(l(k, i)) * c[place(k, j)];
          adjoint[place(j, i)] = std::conj(x);
        }
      c = adjoint;
    }
    const long double allowed =
        100 * static_cast<long double>(n + 3) * static_cast<long double>(std::numeric_limits<Real<T>>::epsilon());
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        ASSERT_LE(std::abs(whole(A, i, j) - c[place(i, j)]), allowed) << text() << " at " << i << ", " << j;
        if (!stored(i, j)) {
          ASSERT_TRUE(same_bits(A(i, j), A0(i, j))) << text() << " at " << i << ", " << j;
        }
        ASSERT_TRUE(same_bits(B(i, j), B0(i, j))) << text() << " at " << i << ", " << j;
      }
    for (index i = 0; i < n; ++i) ASSERT_EQ(std::imag(A(i, i)), 0) << text();
    ASSERT_TRUE(A.canaries_intact() && B.canaries_intact()) << text();
  }
};

template <class T>
class SygstExecute : public testing::Test {};
TYPED_TEST_SUITE(SygstExecute, Precisions);

TYPED_TEST(SygstExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int types[4] = {};
  for (unsigned round = 0; round < 80; ++round) {
    Pencil<T> x(r, round);
    const Plan plan = x.plan();
    ++types[x.itype];
    Matrix<T> first = x.A0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.restore();
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_TRUE(lane.well_prepared) << x.text();
      x.expect_right();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.A;
      ASSERT_TRUE(x.A == first) << "other bits: " << x.text();
      const double triangle = static_cast<double>(x.n * (x.n + 1) / 2) * sizeof(T);
      EXPECT_EQ(outcome.bytes_in, 2 * triangle);
      EXPECT_EQ(outcome.bytes_out, triangle);
    }
  }
  for (const int type : {1, 2, 3}) EXPECT_GT(types[type], 12);
}

TYPED_TEST(SygstExecute, InMemoryOfTheirOwnNothingMovesAndTheOtherTriangleStays) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 60; ++round) {
    Pencil<T> x(r, round);
    const SygvHeld some{.a = r.coin(), .b = r.coin()};
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(some), lane, some);
    ASSERT_EQ(outcome.status, Status::done);
    const double triangle = static_cast<double>(x.n * (x.n + 1) / 2) * sizeof(T);
    EXPECT_EQ(outcome.bytes_in, (2 - some.a - some.b) * triangle);
    EXPECT_EQ(outcome.bytes_out, some.a ? 0 : triangle);
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(SygstExecute, AFaultAtEveryOperationLeavesTheMatricesAsTheyWere) {
  using T = TypeParam;
  Random r(3);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Pencil<T> x(r, 90 + round);
    const Plan plan = x.plan();
    struck += with_each_operation_failing([&] { x.restore(); }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_right(); },
                                          [&] { ASSERT_TRUE(x.A == x.A0 && x.B == x.B0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 60);
}

// ---- verification, by the plain loops that stand in for a library

template <class T>
struct Library {
  Site trsm{}, sygst{};
  const Site* beside[1] = {&trsm};
  static void set(Site& site, Symbol symbol) {
    site.symbol = symbol;
    site.wide = true;
    site.function = builtin(symbol, true);
  }
  Library() {
#define TRSM(name, type) \
  if (std::is_same_v<T, type>) set(trsm, Symbol::name##_);
#define SYGST(name, type) \
  if (std::is_same_v<T, type>) set(sygst, Symbol::name##_);
#include "api/routines.def"
  }
};

template <class T>
class SygstJudge : public testing::Test {};
TYPED_TEST_SUITE(SygstJudge, Precisions);

TYPED_TEST(SygstJudge, FindsWhatIsWrongAndNothingElse) {
  using T = TypeParam;
  const Library<T> library;
  Random r(4);
  for (unsigned round = 0; round < 40; ++round) {
    Pencil<T> x(r, round);
    SygstArgs<T> before{x.itype, x.uplo, x.n, x.A0.data(), x.A0.ld(), x.B0.data(), x.B0.ld()}, result = before,
                                                                                               reference = before;
    Matrix<T> theirs = x.A0;
    result.A = x.A.data();
    reference.A = theirs.data();
    reference.lda = theirs.ld();
    result.lda = x.A.ld();
    ASSERT_TRUE(call_by(library.sygst, reference));
    Shuffled lane(round);
    ASSERT_EQ(x.run(x.plan(), lane).status, Status::done);
    const auto judged = [&] {
      const Judgement found = judge({library.sygst, library.beside}, before, result, reference, {Reason::forced});
      return found.ratio / found.limit;
    };
    EXPECT_LE(judged(), 0.5) << x.text();
    const index row = x.n - 1, i = x.uplo == Uplo::lower ? row : 0, j = x.uplo == Uplo::lower ? 0 : row;
    const T right = x.A(i, j);
    x.A(i, j) += T(static_cast<Real<T>>(1e5)) * std::numeric_limits<Real<T>>::epsilon() * static_cast<Real<T>>(x.n);
    EXPECT_GT(judged(), 1) << x.text();
    x.A(i, j) = std::numeric_limits<Real<T>>::quiet_NaN();
    EXPECT_GT(judged(), 1) << x.text();
    x.A(i, j) = right;
    EXPECT_LE(judged(), 0.5) << x.text();
  }
}

}  // namespace
}  // namespace blaslift::sygst_tests
