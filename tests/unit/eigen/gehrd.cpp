// The reduction to Hessenberg form on a backend's lane, in whatever order it runs things: only what is its own is read
// and written, and nothing of the caller's changes if anything fails or the matrix is not finite.
#include "impl/eigen/gehrd.hpp"

#include <gtest/gtest.h>

#include "compat/builtin.hpp"
#include "impl/core/args.hpp"
#include "impl/eigen/gehrd_plan.hpp"
#include "impl/judge/judge.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/reductions.hpp"

namespace blaslift::gehrd_tests {
namespace {

using namespace reference;

template <class T>
struct Reduction {
  using Element = T;
  using R = Real<T>;
  using Number = std::complex<long double>;

  index size, above, rows, cols;
  Matrix<T> A0, A;
  std::vector<T> tau, failed{T(7)};

  /// @param behind  there may be columns behind those that are reduced, and rows below them
  Reduction(Random& r, unsigned seed, index below = 0)
      : size(r.up_to(19) + 1),
        above(r.up_to(6) - 1),
        rows(above + size),
        cols(size + r.up_to(6) - 1),
        A0(rows + below, cols, r.up_to(4) - 1),
        A(A0),
        tau(static_cast<std::size_t>(size - 1)) {
    A0.random(seed);
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < A0.rows(); ++i)
        if (!touched(i, j)) fill_with_canaries(&A0(i, j), sizeof(T));
    A = A0;
  }
  bool touched(index i, index j) const { return i < rows && (i > above || (j > 0 && j < size)); }
  std::vector<std::vector<T>*> columns() { return {&tau, &failed}; }
  Plan make_plan(bool a_in_place) const { return plan_gehrd(rows, cols, above, precision_of<T>, a_in_place); }
  index moved() const { return rows * cols; }
  void poison(Random& r, const T& x) {
    index i = 0, j = 0;
    do {
      i = r.below(static_cast<int>(rows)), j = r.below(static_cast<int>(cols));
    } while (!touched(i, j));
    A0(i, j) = x;
  }
  std::string text() const {
    return std::to_string(rows) + " x " + std::to_string(cols) + " from " + std::to_string(above);
  }

  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }
  Number v(index i, index of) const {
    const index one = above + of + 1;
    return i < one ? Number(0) : i == one ? Number(1) : widened(A(i, of));
  }
  /// x := (I - tau v v^H) x, by rows of the matrix.
  void reflect(std::vector<Number>& x, index of) const {
    Number sum = 0;
    for (index i = above; i < rows; ++i) sum += std::conj(v(i, of)) * x[static_cast<std::size_t>(i)];
    for (index i = above; i < rows; ++i)
      x[static_cast<std::size_t>(i)] -= widened(tau[static_cast<std::size_t>(of)]) * sum * v(i, of);
  }
  /// Of what is touched: A = Q H Q^H as A Q = Q H, column by column; of numbers below 1, so that |A| <= rows.
  void expect_right() const {
    const long double allowed = 40 * static_cast<long double>(rows * rows) * std::numeric_limits<R>::epsilon();
    for (index col = 0; col < cols; ++col) {
      std::vector<Number> q(static_cast<std::size_t>(rows)), qh(q);
      if (col < size) q[static_cast<std::size_t>(above + col)] = 1;
      for (index i = 0; i < rows; ++i)
        if (touched(i, col) && (col >= size || i <= above + col + 1))
          qh[static_cast<std::size_t>(i)] = widened(A(i, col));
      for (index of = size - 1; of-- > 0;) reflect(q, of), reflect(qh, of);
      for (index i = 0; i < rows; ++i) {
        if (!touched(i, col)) continue;
        Number aq = col < size ? Number(0) : widened(A0(i, col));
        for (index j = 0; j < size && col < size; ++j)
          if (touched(i, j)) aq += widened(A0(i, j)) * q[static_cast<std::size_t>(above + j)];
        ASSERT_LE(std::abs(aq - qh[static_cast<std::size_t>(i)]), allowed) << text() << " at " << i << ", " << col;
      }
      for (index i = 0; i < A.rows(); ++i)
        if (!touched(i, col)) {
          ASSERT_TRUE(same_bits(A(i, col), A0(i, col))) << text() << " at " << i << ", " << col;
        }
    }
    ASSERT_TRUE(A.canaries_intact()) << text();
  }
};

template <class T>
class GehrdExecute : public testing::Test {};
TYPED_TEST_SUITE(GehrdExecute, Precisions);

TYPED_TEST(GehrdExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  int parts = 0;
  reductions::are_right_in_every_order<Reduction<TypeParam>>(
      [&](const auto& x) { parts += x.above > 0 && x.cols > x.size; });
  EXPECT_GT(parts, 20);
}
TYPED_TEST(GehrdExecute, InMemoryOfItsOwnTheMatrixDoesNotMove) {
  reductions::stay_in_memory_of_their_own<Reduction<TypeParam>>();
}
TYPED_TEST(GehrdExecute, AMatrixThatIsNotFiniteIsSaidToBeSoAndStays) {
  reductions::say_what_is_not_finite<Reduction<TypeParam>>();
}
TYPED_TEST(GehrdExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  reductions::bear_a_fault_at_every_operation<Reduction<TypeParam>>();
}

// ---- verification, by the plain loops that stand in for a library

template <class T>
class GehrdJudge : public testing::Test {};
TYPED_TEST_SUITE(GehrdJudge, Precisions);

TYPED_TEST(GehrdJudge, FindsWhatIsWrongAndNothingElse) {
  using T = TypeParam;
  using R = Real<T>;
  Site ormqr{}, orgqr{}, gemm{}, gehrd{};
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
#define GEHRD(name, type) \
  if (std::is_same_v<T, type>) set(gehrd, Symbol::name##_);
#include "api/routines.def"
  const Site* beside[] = {&ormqr, &orgqr, &gemm};
  Random r(5);
  for (unsigned round = 0; round < 40; ++round) {
    // A square matrix of which columns above + 1 to rows are reduced.
    const index n = r.up_to(20) + 1, ilo = r.up_to(static_cast<int>(n - 1)),
                ihi = ilo + r.up_to(static_cast<int>(n - ilo)), k = ihi - ilo;
    Matrix<T> A0(n, n, 2);
    A0.random(round);
    Matrix<T> A = A0;
    std::vector<T> tau(static_cast<std::size_t>(n - 1), T(5)), work(static_cast<std::size_t>(n));
    const GehrdArgs<T> before{n, ilo, ihi, A0.data(), A0.ld(), tau.data()};
    GehrdArgs<T> result = before;
    result.A = A.data();
    GehrdArgs<T> made = result;
    made.work = work.data();
    made.lwork = n;
    ASSERT_TRUE(call_by(gehrd, made));
    const auto judged = [&] {
      const Judgement found = judge({gehrd, beside}, before, result, before, {Reason::forced});
      return found.ratio / found.limit;
    };
    const std::string text = std::to_string(n) + " from " + std::to_string(ilo) + " to " + std::to_string(ihi);
    EXPECT_LE(judged(), 0.5) << text;
    const auto with = [&](T& at, const T& other) {
      const T is = at;
      at = other;
      EXPECT_GT(judged(), 1) << text;
      at = is;
    };
    // Above what is reduced, on its diagonal, and right of it.
    const R off = R(1e4) * std::numeric_limits<R>::epsilon() * static_cast<R>(n * n);
    for (T* const x : {&A(0, ilo), &A(ilo, ilo), &A(ihi - 1, n - 1)}) {
      with(*x, *x + T(off));
      with(*x, T(std::numeric_limits<R>::quiet_NaN()));
    }
    with(tau[static_cast<std::size_t>(k < n - 1 && ilo > 1 ? 0 : ilo - 1)], T(std::numeric_limits<R>::max() / 2));
    if (ilo > 1) with(tau[0], T(1));
    if (k > 1) with(tau[static_cast<std::size_t>(ilo - 1)], tau[static_cast<std::size_t>(ilo - 1)] * R(0.5));
    EXPECT_LE(judged(), 0.5) << text;
  }
}

TEST(GehrdFits, WithPanelsBesideItOrNotAtAll) {
  EXPECT_TRUE(gehrd_fits(1000, 1000, Precision::d, 9'024'000));
  EXPECT_FALSE(gehrd_fits(1000, 1000, Precision::d, 9'023'999));
  EXPECT_FALSE(gehrd_fits(index{1} << 31, index{1} << 31, Precision::z, std::size_t{1} << 40));
}

}  // namespace
}  // namespace blaslift::gehrd_tests
