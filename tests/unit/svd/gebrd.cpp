// The reduction to bidiagonal form on a backend's lane, in whatever order it runs things: only what is its own is
// written, and nothing of the caller's changes if anything fails or the matrix is not finite.
#include <gtest/gtest.h>

#include "impl/core/args.hpp"
#include "impl/svd/gebrd.hpp"
#include "impl/svd/gebrd_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/estimates.hpp"
#include "tests/unit/support/reductions.hpp"

namespace blaslift::gebrd_tests {
namespace {

using namespace reference;

template <class T>
struct Reduction {
  using Element = T;
  using R = Real<T>;
  using Number = std::complex<long double>;

  index m, n, k;
  Matrix<T> A0, A;
  std::vector<T> d, e, tauq, taup, failed{T(7)};

  Reduction(Random& r, unsigned seed)
      : m(r.up_to(20)),
        n(r.up_to(20)),
        k(std::min(m, n)),
        A0(m, n, r.up_to(4) - 1),
        A(A0),
        d(static_cast<std::size_t>(elements_of_reals(k, precision_of<T>))),
        e(d),
        tauq(static_cast<std::size_t>(k)),
        taup(tauq) {
    A0.random(seed);
    A = A0;
  }

  std::vector<std::vector<T>*> columns() { return {&d, &e, &tauq, &taup, &failed}; }
  Plan make_plan(bool a_in_place) const { return plan_gebrd(m, n, precision_of<T>, a_in_place); }
  index moved() const { return m * n; }
  void poison(Random& r, const T& x) { A0(r.below(static_cast<int>(m)), r.below(static_cast<int>(n))) = x; }
  std::string text() const { return std::to_string(m) + " x " + std::to_string(n); }

  static R real(const std::vector<T>& x, index i) { return reinterpret_cast<const R*>(x.data())[i]; }
  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }

  /// x := (I - tau v v^H) x, for the reflectors of Q and, of a matrix's adjoint, those of P.
  void reflect(std::vector<Number>& x, bool of_q, index i) const {
    const index shift = of_q == (m >= n) ? 0 : 1;
    const Number tau = widened(of_q ? tauq[static_cast<std::size_t>(i)] : taup[static_cast<std::size_t>(i)]);
    const auto v = [&](index j) {
      if (j <= i + shift) return Number(j == i + shift ? 1 : 0);
      return of_q ? widened(A(j, i)) : std::conj(widened(A(i, j)));
    };
    const auto length = static_cast<index>(x.size());
    Number sum = 0;
    for (index j = 0; j < length; ++j) sum += std::conj(v(j)) * x[static_cast<std::size_t>(j)];
    for (index j = 0; j < length; ++j) x[static_cast<std::size_t>(j)] -= tau * sum * v(j);
  }
  /// A P = Q B, column by column; of numbers below 1, so that |A| <= max(m, n).
  void expect_right() const {
    const long double unit = 20 * static_cast<long double>(m + n) * std::numeric_limits<R>::epsilon();
    for (index col = 0; col < n; ++col) {
      std::vector<Number> p(static_cast<std::size_t>(n)), qb(static_cast<std::size_t>(m));
      p[static_cast<std::size_t>(col)] = 1;
      for (index i = k; i-- > 0;) reflect(p, false, i);
      const bool tall = m >= n;
      if (col < k) qb[static_cast<std::size_t>(col)] = real(d, col);
      if (tall && col > 0) qb[static_cast<std::size_t>(col - 1)] = real(e, col - 1);
      if (!tall && col + 1 < k) qb[static_cast<std::size_t>(col + 1)] = real(e, col);
      for (index i = k; i-- > 0;) reflect(qb, true, i);
      for (index i = 0; i < m; ++i) {
        Number ap = 0;
        for (index j = 0; j < n; ++j) ap += widened(A0(i, j)) * p[static_cast<std::size_t>(j)];
        ASSERT_LE(std::abs(ap - qb[static_cast<std::size_t>(i)]), unit * static_cast<long double>(std::max(m, n)))
            << text() << " at " << i << ", " << col;
      }
    }
    ASSERT_TRUE(A.canaries_intact()) << text();
  }
};

template <class T>
class GebrdExecute : public testing::Test {};
TYPED_TEST_SUITE(GebrdExecute, Precisions);

TYPED_TEST(GebrdExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  int wide = 0;
  reductions::are_right_in_every_order<Reduction<TypeParam>>([&](const auto& x) { wide += x.m < x.n; });
  EXPECT_GT(wide, 20);
  EXPECT_LT(wide, 60);
}
TYPED_TEST(GebrdExecute, InMemoryOfItsOwnTheMatrixDoesNotMove) {
  reductions::stay_in_memory_of_their_own<Reduction<TypeParam>>();
}
TYPED_TEST(GebrdExecute, AMatrixThatIsNotFiniteIsSaidToBeSoAndStays) {
  reductions::say_what_is_not_finite<Reduction<TypeParam>>();
}
TYPED_TEST(GebrdExecute, AFaultAtEveryOperationLeavesTheMatrixAsItWas) {
  reductions::bear_a_fault_at_every_operation<Reduction<TypeParam>>();
}

TEST(GebrdFits, WithWhatALibraryWorksInOrNotAtAll) {
  EXPECT_TRUE(gebrd_fits(1000, 1000, Precision::d, 16'000'000));
  EXPECT_FALSE(gebrd_fits(1000, 1000, Precision::d, 15'999'999));
  EXPECT_TRUE(gebrd_fits(500, 2000, Precision::d, 24'000'000));
  EXPECT_FALSE(gebrd_fits(500, 2000, Precision::d, 23'999'999));
  EXPECT_FALSE(gebrd_fits(index{1} << 31, index{1} << 31, Precision::z, std::size_t{1} << 40));
}

/// cuSOLVER's times on an H100, double precision, on the device; what decisions expect is near them.
TEST(GebrdCost, IsWhatAnH100Takes) {
  const Profile profile = without_lapack_times();
  const Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1};
  constexpr std::pair<index, double> measured[] = {{1024, 51e-3}, {2048, 113e-3}, {4096, 336e-3}, {8192, 1515e-3}};
  for (const auto& [n, took] : measured) {
    const Problem problem = counted({.routine = Routine::dgebrd, .element = Element::d, .m = n, .n = n});
    const double seconds = gebrd_family.cost(problem, facts, {}, problem.bytes_in).seconds;
    EXPECT_GT(seconds, 0.8 * took) << n;
    EXPECT_LT(seconds, 1.25 * took) << n;
  }
}

}  // namespace
}  // namespace blaslift::gebrd_tests
