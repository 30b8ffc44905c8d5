// LQ factorisations and their Q on a backend's lane, in whatever order it runs things: the result is that of the
// adjoint, and nothing of the caller's changes if anything fails.
#include "impl/qr/lq.hpp"

#include <gtest/gtest.h>

#include "compat/builtin.hpp"
#include "impl/judge/judge.hpp"
#include "impl/qr/lq_plan.hpp"
#include "impl/qr/panel_qr.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/qr/qr_reference.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::lq_tests {
namespace {

using namespace reference;

template <class T>
Matrix<T> adjoint(const Matrix<T>& A) {
  Matrix<T> columns(A.cols(), A.rows());
  for (index j = 0; j < A.rows(); ++j)
    for (index i = 0; i < A.cols(); ++i)
      if constexpr (std::is_same_v<T, Real<T>>)
        columns(i, j) = A(j, i);
      else
        columns(i, j) = std::conj(A(j, i));
  return columns;
}

template <class T>
struct Rows {
  LqShape shape;
  Matrix<T> A0, A;
  std::vector<T> tau0, tau;

  /// @param widest  about so many rows and columns; 0: a few
  Rows(Random& r, unsigned seed, int widest = 0) : shape{r.up_to(14), r.up_to(30), 0, seed % 2 == 1}, A0(0, 0), A(A0) {
    if (widest > 0) shape.m = widest - r.below(40), shape.n = widest - r.below(40);
    if (shape.makes_q) shape.n = std::max(shape.n, shape.m);
    shape.k = shape.makes_q ? r.below(static_cast<int>(shape.m) + 1) : std::min(shape.m, shape.n);
    if (shape.makes_q && widest > 0) shape.k = shape.m - r.below(20);
    A0 = Matrix<T>(shape.m, shape.n, r.up_to(4) - 1);
    A0.random(seed);
    tau0.resize(static_cast<std::size_t>(std::max<index>(1, shape.k)));
    for (index i = 0; shape.makes_q && i < shape.k; ++i) {
      Real<T> sum = 1;
      for (index j = i + 1; j < shape.n; ++j) sum += std::norm(A0(i, j));
      tau0[static_cast<std::size_t>(i)] = T(2 / sum);
      for (index j = 0; j <= i; ++j) fill_with_canaries(&A0(i, j), sizeof(T));  // not read
    }
    for (index i = shape.k; shape.makes_q && i < shape.m; ++i)
      for (index j = 0; j < shape.n; ++j) fill_with_canaries(&A0(i, j), sizeof(T));
    reset();
  }
  void reset() { A = A0, tau = tau0; }
  Plan plan(bool in_place = false) const {
    Plan made = plan_lq(shape, precision_of<T>, in_place);
    EXPECT_EQ(check(made), "") << text() << "\n" << to_string(made);
    return made;
  }
  PlanOutcome run(const Plan& steps, Lane& lane, bool in_place = false) {
    CallOperand<T> a{A.data(), A.ld()};
    if (in_place) a.placed = {.device = A.data(), .ld = A.ld(), .in_place = true};
    return run_leased<T>(steps, {a, {tau.data(), static_cast<index>(tau.size())}}, {}, lane);
  }
  /// As a QR: (n + k) eps |A|, twice that for complex numbers (Higham, Accuracy and Stability, 19.3).
  void expect_right() const {
    const Matrix<T> found = adjoint(A), was = adjoint(A0);
    const double allowed = static_cast<double>(shape.n + shape.k) * eps<T>() * (std::is_same_v<T, Real<T>> ? 1 : 2);
    Wide<T> Q(shape.n, shape.m);
    for (index j = 0; j < std::min(shape.m, shape.n); ++j) Q(j, j) = 1;
    const Matrix<T>& reflectors = shape.makes_q ? was : found;
    apply_lapack_q(false, shape.n, shape.k, reflectors.data(), reflectors.ld(), tau.data(), Q);
    if (shape.makes_q) {
      ASSERT_LE((Wide<T>::of(found) - Q).norm(), allowed * std::sqrt(static_cast<double>(shape.m))) << text();
      ASSERT_EQ(tau, tau0) << text();
    } else {
      Wide<T> all = Wide<T>::of(was);
      const double norm = all.norm();
      apply_lapack_q(true, shape.n, shape.k, found.data(), found.ld(), tau.data(), all);
      ASSERT_LE((all - upper_part(shape.n, shape.m, found.data(), found.ld())).norm(), allowed * norm) << text();
      ASSERT_LE(orthogonality(Q.columns(0, shape.k)), allowed * std::sqrt(static_cast<double>(shape.k))) << text();
    }
    ASSERT_TRUE(A.canaries_intact()) << text();
  }
  std::string text() const {
    return (shape.makes_q ? "Q " : "") + std::to_string(shape.m) + " x " + std::to_string(shape.n) + " of " +
           std::to_string(shape.k);
  }
};

template <class T>
class LqExecute : public testing::Test {};
TYPED_TEST_SUITE(LqExecute, Precisions);

TYPED_TEST(LqExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  bool of_panels[2] = {};  // L and Q of three panels
  for (unsigned round = 0; round < 60; ++round) {
    // Some of several panels.
    Rows<T> x(r, round, round % 10 < 2 ? 3 * static_cast<int>(panel_qr_columns) : 0);
    of_panels[x.shape.makes_q] |= x.shape.k > 2 * panel_qr_columns;
    const Plan plan = x.plan();
    Matrix<T> first = x.A0;
    std::vector<T> first_tau;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.reset();
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      if (seed == 0) {  // the others have its bits
        x.expect_right();
        if (testing::Test::HasFatalFailure()) return;
        first = x.A, first_tau = x.tau;
      }
      ASSERT_TRUE(x.A == first && x.tau == first_tau) << "other bits: " << x.text();
      const auto bytes = [&](index rows) { return static_cast<double>(rows * x.shape.n) * sizeof(T); };
      EXPECT_EQ(outcome.bytes_in, bytes(x.shape.makes_q ? x.shape.k : x.shape.m));
      EXPECT_EQ(outcome.bytes_out, bytes(x.shape.m));
    }
  }
  EXPECT_TRUE(of_panels[0] && of_panels[1]);
}

/// A = R^H Q^H, with Q's columns orthonormal, and A only read.
TYPED_TEST(LqExecute, HasItsFactorsApartInEveryOrderWithTheSameBits) {
  using T = TypeParam;
  Random r(5);
  int panels = 0;
  for (unsigned round = 0; round < 40; ++round) {
    const index m = round % 10 == 3 ? 2 * panel_qr_columns + r.up_to(20) : r.up_to(14), n = m + r.below(30);
    const bool in_place = round % 3 == 1;
    panels += m > 2 * panel_qr_columns;
    Matrix<T> A0(m, n, r.up_to(4) - 1), R0(m, m), Q0(n, m);
    A0.random(round), R0.random(round + 1), Q0.random(round + 2);
    if (round % 4 == 2)  // of less than full rank
      for (index j = 0; j < n; ++j) A0(m - 1, j) = A0(0, j);
    const Plan plan = plan_lq_apart(m, n, precision_of<T>, in_place);
    ASSERT_EQ(check(plan), "") << to_string(plan);
    Matrix<T> first_r = R0, first_q = Q0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      Matrix<T> A = A0, R = R0, Q = Q0;
      CallOperand<T> a{A.data(), A.ld()};
      if (in_place) a.placed = {.device = A.data(), .ld = A.ld(), .in_place = true};
      Shuffled lane(seed);
      const PlanOutcome outcome = run_leased<T>(plan, {a, {R.data(), R.ld()}, {Q.data(), Q.ld()}}, {}, lane);
      ASSERT_EQ(outcome.status, Status::done);
      EXPECT_EQ(outcome.bytes_in, in_place ? 0 : static_cast<double>(m * n) * sizeof(T));
      ASSERT_TRUE(A == A0 && A.canaries_intact());
      if (seed == 0) first_r = R, first_q = Q;
      ASSERT_TRUE(R == first_r && Q == first_q) << "other bits: " << m << " x " << n;
    }
    for (index j = 0; j < m; ++j)
      for (index i = j + 1; i < m; ++i) {
        ASSERT_TRUE(same_bits(first_r(i, j), R0(i, j))) << "below R";
        first_r(i, j) = T(0);
      }
    const double allowed = static_cast<double>(n + m) * eps<T>() * (std::is_same_v<T, Real<T>> ? 1 : 2);
    const Wide<T> q = Wide<T>::of(first_q);
    ASSERT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(m))) << m << " x " << n;
    Wide<T> rest = Wide<T>::of(adjoint(A0));  // - Q R
    const double norm = rest.norm();
    for (index j = 0; j < m; ++j)
      for (index k = 0; k <= j; ++k)
        for (index i = 0; i < n; ++i) rest(i, j) -= q(i, k) * typename Wide<T>::Scalar(first_r(k, j));
    ASSERT_LE(rest.norm(), allowed * norm) << m << " x " << n;
  }
  EXPECT_GT(panels, 2);
}

TYPED_TEST(LqExecute, InMemoryOfItsOwnTheMatrixDoesNotMove) {
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Rows<TypeParam> x(r, round);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(true), lane, true);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in + outcome.bytes_out, 0);
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(LqExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  Random r(3);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Rows<TypeParam> x(r, round);
    const Plan plan = x.plan();
    struck += with_each_operation_failing([&] { x.reset(); }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_right(); }, [&] { ASSERT_TRUE(x.A == x.A0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 60);
}

template <class T>
class LqJudge : public testing::Test {};
TYPED_TEST_SUITE(LqJudge, Precisions);

TYPED_TEST(LqJudge, FindsWhatIsWrongAndNothingElse) {
  using T = TypeParam;
  using R = Real<T>;
  Site ormqr{}, orgqr{}, gemm{}, gelqf{}, orglq{};
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
#define GELQF(name, type) \
  if (std::is_same_v<T, type>) set(gelqf, Symbol::name##_);
#define ORGLQ(name, type) \
  if (std::is_same_v<T, type>) set(orglq, Symbol::name##_);
#include "api/routines.def"
  const Site* beside[] = {&ormqr, &orgqr, &gemm};
  Random r(5);
  for (unsigned round = 0; round < 40; ++round) {
    Rows<T> x(r, round);
    const auto args = [&](Matrix<T>& A) {
      return LqArgs<T>{.m = x.shape.m,
                       .n = x.shape.n,
                       .A = A.data(),
                       .lda = A.ld(),
                       .tau = x.tau.data(),
                       .k = x.shape.makes_q ? x.shape.k : 0,
                       .makes_q = x.shape.makes_q};
    };
    const LqArgs<T> before = args(x.A0);
    LqArgs<T> result = args(x.A);
    std::vector<T> work(static_cast<std::size_t>(x.shape.m));
    LqArgs<T> made = result;
    made.work = work.data();
    made.lwork = x.shape.m;
    const Site& site = x.shape.makes_q ? orglq : gelqf;
    ASSERT_TRUE(call_by(site, made));
    const auto judged = [&] {
      const Judgement found = judge({site, beside}, before, result, before, {Reason::forced});
      return found.ratio / found.limit;
    };
    EXPECT_LE(judged(), 0.5) << x.text();
    const R off = R(1e5) * std::numeric_limits<R>::epsilon() * static_cast<R>(x.shape.n);
    for (T* const at : {&x.A(0, 0), &x.A(x.shape.m - 1, 0), &x.A(0, x.shape.n - 1)}) {
      const T is = *at;
      *at = is + T(off);
      EXPECT_GT(judged(), 1) << x.text();
      *at = T(std::numeric_limits<R>::quiet_NaN());
      EXPECT_GT(judged(), 1) << x.text();
      *at = is;
    }
    if (x.shape.makes_q || x.tau[0] == T(0)) continue;
    x.tau[0] *= R(0.5);
    EXPECT_GT(judged(), 1) << x.text();
  }
}

TEST(LqFits, TwiceOrNotAtAll) {
  const LqShape shape{1000, 2000, 1000, false};
  const std::size_t bytes = plan_lq(shape, Precision::d).bytes(8);
  EXPECT_GT(bytes, 2u * 1000 * 2000 * 8);
  EXPECT_TRUE(lq_fits(shape, Precision::d, bytes));
  EXPECT_FALSE(lq_fits(shape, Precision::d, bytes - 1));
  EXPECT_FALSE(lq_fits({index{1} << 31, index{1} << 31, index{1} << 31, false}, Precision::z, std::size_t{1} << 40));
}

}  // namespace
}  // namespace blaslift::lq_tests
