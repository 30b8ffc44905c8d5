// The reduction to bidiagonal form.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::bidiagonal_tests {
namespace {

template <class T>
struct Reduced {
  using R = Real<T>;
  using Wide = long double;
  using Number = std::complex<Wide>;

  index m, n, k;
  Matrix<T> A;
  index offset = 0;  ///< of A on the device

  Reduced(index rows, index cols, index gap = 3, unsigned seed = 1)
      : m(rows), n(cols), k(std::min(m, n)), A(m, n, gap) {
    A.random(seed);
  }

  struct Result {
    Matrix<T> factors;
    std::vector<R> d, e;
    std::vector<T> tauq, taup;
    T failed;
  };
  Result run() const {
    Call call(room(A, offset) + 4096 + 4 * Call::part_size<T>(k + 1) + Call::part_size<T>(2));
    const Placed<T> a = call.put(A, offset);
    const std::vector<R> reals(static_cast<std::size_t>(k + 1), R(81));
    const std::vector<T> elements(static_cast<std::size_t>(k + 1), scalar<T>(77, 78)), unsaid(2, T(5));
    std::vector<Ticket> ready{a.ready};
    const auto filled = [&]<class X>(const std::vector<X>& with) {
      const auto count = static_cast<index>(with.size());
      X* const at = call.part<X>(count);
      ready.push_back(call.upload(at, count, with.data(), count, count, 1));
      return at;
    };
    R *const d = filled(reals), *const e = filled(reals);
    T *const tauq = filled(elements), *const taup = filled(elements), *const failed = filled(unsaid);
    const Ticket found = call.ask(Gebrd{.precision = precision_of<T>,
                                        .m = m,
                                        .n = n,
                                        .A = a.at,
                                        .lda = A.ld(),
                                        .d = d,
                                        .e = e,
                                        .tauq = tauq,
                                        .taup = taup,
                                        .failed = failed},
                                  ready);
    Result result{A, reals, reals, elements, elements, T(0)};
    const auto get = [&]<class X>(std::vector<X>& to, X* from) {
      const auto count = static_cast<index>(to.size());
      call.download(to.data(), count, from, count, count, 1, {found});
    };
    std::vector<T> said(2);
    get(result.d, d), get(result.e, e), get(result.tauq, tauq), get(result.taup, taup), get(said, failed);
    call.get(result.factors, a.at, {found});
    result.failed = said[0];
    const auto last = static_cast<std::size_t>(k);
    EXPECT_EQ(said[1], T(5)) << describe();
    EXPECT_EQ(result.d[last], R(81)) << "more than k of d: " << describe();
    EXPECT_EQ(result.e[last], R(81)) << "more than k of e: " << describe();
    EXPECT_EQ(result.tauq[last], elements[last]) << describe();
    EXPECT_EQ(result.taup[last], elements[last]) << describe();
    EXPECT_TRUE(result.factors.canaries_intact()) << "rows between m and lda written: " << describe();
    return result;
  }

  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }
  /// x := (I - tau v v^H) x, with Q's reflectors or those of P.
  void reflect(const Result& r, std::vector<Number>& x, bool of_q, index i) const {
    const index shift = of_q == (m >= n) ? 0 : 1;
    const Number tau = widened((of_q ? r.tauq : r.taup)[static_cast<std::size_t>(i)]);
    const auto v = [&](index j) {
      if (j == i + shift) return Number(1);
      return of_q ? widened(r.factors(j, i)) : std::conj(widened(r.factors(i, j)));
    };
    const auto length = static_cast<index>(x.size());
    Number sum = 0;
    for (index j = i + shift; j < length; ++j) sum += std::conj(v(j)) * x[static_cast<std::size_t>(j)];
    for (index j = i + shift; j < length; ++j) x[static_cast<std::size_t>(j)] -= tau * sum * v(j);
  }
  /// Of some columns: A P = Q B, and that Q and P keep lengths.
  void expect_right(const Result& r) const {
    ASSERT_EQ(r.failed, T(0)) << describe();
    Wide squares = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) squares += std::norm(widened(A(i, j)));
    const Wide few = 8 * static_cast<Wide>(m + n) * std::numeric_limits<R>::epsilon(), size = std::sqrt(squares);
    const auto length_of = [](const std::vector<Number>& x) {
      Wide sum = 0;
      for (const Number& element : x) sum += std::norm(element);
      return std::sqrt(sum);
    };
    const bool tall = m >= n;
    for (index col = 0; col < n; col += std::max<index>(1, n / 12)) {
      std::vector<Number> p(static_cast<std::size_t>(n)), qb(static_cast<std::size_t>(m));
      p[static_cast<std::size_t>(col)] = 1;
      for (index i = k; i-- > 0;) reflect(r, p, false, i);
      ASSERT_LE(std::fabs(length_of(p) - 1), few) << "P, column " << col << " of " << describe();
      if (col < k) qb[static_cast<std::size_t>(col)] = r.d[static_cast<std::size_t>(col)];
      if (tall && col > 0) qb[static_cast<std::size_t>(col - 1)] = r.e[static_cast<std::size_t>(col - 1)];
      if (!tall && col + 1 < k) qb[static_cast<std::size_t>(col + 1)] = r.e[static_cast<std::size_t>(col)];
      const Wide before = length_of(qb);
      for (index i = k; i-- > 0;) reflect(r, qb, true, i);
      ASSERT_LE(std::fabs(length_of(qb) - before), few * size) << "Q, column " << col << " of " << describe();
      for (index i = 0; i < m; ++i) {
        for (index j = 0; j < n; ++j)
          qb[static_cast<std::size_t>(i)] -= widened(A(i, j)) * p[static_cast<std::size_t>(j)];
      }
      ASSERT_LE(length_of(qb), few * size) << "column " << col << " of " << describe();
    }
    // B is where LAPACK has it, too.
    for (index i = 0; i < k; ++i) {
      ASSERT_EQ(widened(r.factors(i, i)), Number(r.d[static_cast<std::size_t>(i)])) << i << " of " << describe();
      if (i + 1 == k) break;
      ASSERT_EQ(widened(tall ? r.factors(i, i + 1) : r.factors(i + 1, i)), Number(r.e[static_cast<std::size_t>(i)]))
          << i << " of " << describe();
    }
    // Of P or Q there is one less.
    ASSERT_EQ((tall ? r.taup : r.tauq)[static_cast<std::size_t>(k - 1)], T(0)) << describe();
  }
  void expect_right() const {
    const Result first = run();
    expect_right(first);
    if (testing::Test::HasFatalFailure()) return;
    const Result again = run();
    ASSERT_EQ(again.d, first.d) << "other bits: " << describe();
    ASSERT_TRUE(std::equal(first.e.begin(), first.e.begin() + k - 1, again.e.begin())) << "other bits: " << describe();
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) ASSERT_EQ(again.factors(i, j), first.factors(i, j)) << "other bits: " << describe();
  }

  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "gebrd " + std::to_string(m) + " x " + std::to_string(n) +
           " lda " + std::to_string(A.ld());
  }
};

template <class T>
class Bidiagonal : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::gebrd, precision_of<T>) ||
        !backend->equip(Operation::Kind::gebrd))
      GTEST_SKIP() << "no bidiagonal form on this backend";
  }
};
TYPED_TEST_SUITE(Bidiagonal, Precisions, TypeNames);

constexpr std::pair<index, index> shapes[] = {{1, 1},   {2, 1},   {1, 2},    {3, 3},    {17, 17},  {31, 33},
                                              {33, 31}, {64, 64}, {65, 65},  {127, 80}, {80, 127}, {200, 200},
                                              {300, 7}, {7, 300}, {200, 33}, {33, 200}};

TYPED_TEST(Bidiagonal, OfAllShapesAroundBlocks) {
  using T = TypeParam;
  unsigned seed = 0;
  for (const auto& [m, n] : shapes) {
    ++seed;
    Reduced<T> matrix(m, n, seed % 4, seed);
    matrix.offset = seed % 3;
    matrix.expect_right();
    if (testing::Test::HasFailure()) return;
  }
}

/// Where there is nothing to reflect, and where columns repeat.
TYPED_TEST(Bidiagonal, OfMatricesThatComeApartAreRight) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair<index, index>{70, 70}, {90, 40}, {40, 90}})
    for (const int kind : {0, 1, 2}) {
      Reduced<T> matrix(m, n);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < m; ++i) matrix.A(i, j) = T(static_cast<Real<T>>(kind == 0 ? 0 : kind == 1 ? i == j : 1));
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

/// Their squares are no numbers: a backend may say that it has no result, but not a wrong one.
TYPED_TEST(Bidiagonal, OfHugeAndTinyMatricesAreRightOrNone) {
  using T = TypeParam;
  for (const double size : {static_cast<double>(std::numeric_limits<Real<T>>::max()) / 1e4,
                            static_cast<double>(std::numeric_limits<Real<T>>::min()) * 1e4})
    for (const auto& [m, n] : {std::pair<index, index>{60, 50}, {50, 60}}) {
      Reduced<T> matrix(m, n, 3, 9);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < m; ++i) matrix.A(i, j) *= static_cast<Real<T>>(size);
      const auto result = matrix.run();
      if (result.failed == T(0)) matrix.expect_right(result);
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Bidiagonal, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair<index, index>{90, 60}, {60, 90}})
    for (const double poison : {nan, inf, -inf})
      for (const auto& [row, col] : {std::pair<index, index>{0, 0}, {1, 0}, {50, 30}, {59, 59}}) {
        Reduced<T> matrix(m, n, 1, 7);
        matrix.A(row, col) = scalar<T>(poison, 0);
        const auto result = matrix.run();
        ASSERT_EQ(result.failed, T(1)) << poison << " at " << row << " " << col << " of " << matrix.describe();
      }
}

}  // namespace
}  // namespace blaslift::conformance::bidiagonal_tests
