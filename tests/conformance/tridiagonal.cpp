// The reduction to tridiagonal form.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::tridiagonal_tests {
namespace {

template <class T>
struct Tridiagonalised {
  using R = Real<T>;
  using Wide = long double;
  using Number = std::complex<Wide>;

  Uplo uplo;
  index n;
  Matrix<T> A;
  index offset = 0;  ///< of A on the device

  Tridiagonalised(Uplo triangle, index order, index gap = 3, unsigned seed = 1)
      : uplo(triangle), n(order), A(n, n, gap) {
    A.random(seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (!stored(i, j)) A(i, j) = scalar<T>(nan, nan);  // neither read nor written
        if constexpr (is_complex(precision_of<T>))
          if (i == j) A(i, i).imag(static_cast<R>(nan));
      }
  }
  bool stored(index i, index j) const { return uplo == Uplo::lower ? i >= j : i <= j; }
  index turned(index i) const { return uplo == Uplo::lower ? i : n - 1 - i; }
  std::size_t beside(index i) const { return static_cast<std::size_t>(uplo == Uplo::lower ? i : n - 2 - i); }

  struct Result {
    Matrix<T> factors;
    std::vector<R> d, e;
    std::vector<T> tau;
    T failed;
  };
  Result run() const {
    Call call(room(A, offset) + 4096 + 3 * Call::part_size<T>(n + 1) + Call::part_size<T>(2));
    const Placed<T> a = call.put(A, offset);
    const std::vector<R> reals(static_cast<std::size_t>(n + 1), R(81));
    const std::vector<T> elements(static_cast<std::size_t>(n + 1), scalar<T>(77, 78)), unsaid(2, T(5));
    std::vector<Ticket> ready{a.ready};
    const auto filled = [&]<class X>(const std::vector<X>& with) {
      const auto count = static_cast<index>(with.size());
      X* const at = call.part<X>(count);
      ready.push_back(call.upload(at, count, with.data(), count, count, 1));
      return at;
    };
    R *const d = filled(reals), *const e = filled(reals);
    T *const tau = filled(elements), *const failed = filled(unsaid);
    const Ticket found = call.ask(Sytrd{.precision = precision_of<T>,
                                        .uplo = uplo,
                                        .n = n,
                                        .A = a.at,
                                        .lda = A.ld(),
                                        .d = d,
                                        .e = e,
                                        .tau = tau,
                                        .failed = failed},
                                  ready);
    Result result{A, reals, reals, elements, T(0)};
    const auto get = [&]<class X>(std::vector<X>& to, X* from) {
      const auto count = static_cast<index>(to.size());
      call.download(to.data(), count, from, count, count, 1, {found});
    };
    std::vector<T> said(2);
    get(result.d, d), get(result.e, e), get(result.tau, tau), get(said, failed);
    call.get(result.factors, a.at, {found});
    result.failed = said[0];
    const auto last = static_cast<std::size_t>(n);
    EXPECT_EQ(said[1], T(5)) << describe();
    EXPECT_EQ(result.d[last], R(81)) << "more than n of d: " << describe();
    EXPECT_EQ(result.e[last], R(81)) << "more than n of e: " << describe();
    EXPECT_EQ(result.tau[last], elements[last]) << describe();
    EXPECT_TRUE(result.factors.canaries_intact()) << "rows between n and lda written: " << describe();
    return result;
  }

  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }
  /// Of rows and columns in reverse, if the triangle is the upper one.
  Number element(index i, index j) const {
    const index row = turned(std::max(i, j)), col = turned(std::min(i, j));
    const Number a = widened(A(row, col));
    return i == j ? Number(a.real()) : i > j ? a : std::conj(a);
  }
  /// x := (I - tau v v^H) x
  void reflect(const Result& r, std::vector<Number>& x, index i) const {
    const Number tau = widened(r.tau[beside(i)]);
    const auto v = [&](index j) { return j == i + 1 ? Number(1) : widened(r.factors(turned(j), turned(i))); };
    Number sum = 0;
    for (index j = i + 1; j < n; ++j) sum += std::conj(v(j)) * x[static_cast<std::size_t>(j)];
    for (index j = i + 1; j < n; ++j) x[static_cast<std::size_t>(j)] -= tau * sum * v(j);
  }
  /// Of some columns: A Q = Q T, and that Q keeps lengths.
  void expect_right(const Result& r) const {
    ASSERT_EQ(r.failed, T(0)) << describe();
    Wide squares = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) squares += std::norm(element(i, j));
    const Wide few = 16 * static_cast<Wide>(n) * std::numeric_limits<R>::epsilon(), size = std::sqrt(squares);
    const auto length_of = [](const std::vector<Number>& x) {
      Wide sum = 0;
      for (const Number& one : x) sum += std::norm(one);
      return std::sqrt(sum);
    };
    for (index col = 0; col < n; col += std::max<index>(1, n / 12)) {
      std::vector<Number> q(static_cast<std::size_t>(n)), qt(q);
      q[static_cast<std::size_t>(col)] = 1;
      qt[static_cast<std::size_t>(col)] = r.d[static_cast<std::size_t>(turned(col))];
      if (col > 0) qt[static_cast<std::size_t>(col - 1)] = r.e[beside(col - 1)];
      if (col + 1 < n) qt[static_cast<std::size_t>(col + 1)] = r.e[beside(col)];
      for (index i = n - 1; i-- > 0;) reflect(r, q, i), reflect(r, qt, i);
      ASSERT_LE(std::fabs(length_of(q) - 1), few) << "Q, column " << col << " of " << describe();
      for (index i = 0; i < n; ++i)
        for (index j = 0; j < n; ++j) qt[static_cast<std::size_t>(i)] -= element(i, j) * q[static_cast<std::size_t>(j)];
      ASSERT_LE(length_of(qt), few * size) << "column " << col << " of " << describe();
    }
    // T is where LAPACK has it, too, and what is beside the triangle is as it was.
    for (index i = 0; i < n; ++i) {
      ASSERT_EQ(widened(r.factors(i, i)), Number(r.d[static_cast<std::size_t>(i)])) << i << " of " << describe();
      if (i + 1 == n) break;
      ASSERT_EQ(widened(uplo == Uplo::lower ? r.factors(i + 1, i) : r.factors(i, i + 1)),
                Number(r.e[static_cast<std::size_t>(i)]))
          << i << " of " << describe();
    }
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!stored(i, j)) {
          ASSERT_EQ(std::memcmp(&r.factors(i, j), &A(i, j), sizeof(T)), 0) << i << ", " << j << " of " << describe();
        }
  }
  void expect_right() const {
    const Result first = run();
    expect_right(first);
    if (testing::Test::HasFatalFailure()) return;
    const Result again = run();
    ASSERT_EQ(again.d, first.d) << "other bits: " << describe();
    ASSERT_TRUE(std::equal(first.e.begin(), first.e.begin() + n - 1, again.e.begin())) << "other bits: " << describe();
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (stored(i, j)) {
          ASSERT_EQ(again.factors(i, j), first.factors(i, j)) << "other bits: " << describe();
        }
  }

  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "sytrd " + static_cast<char>(uplo) + " " + std::to_string(n) +
           " lda " + std::to_string(A.ld());
  }
};

template <class T>
class Tridiagonal : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::sytrd, precision_of<T>) ||
        !backend->equip(Operation::Kind::sytrd))
      GTEST_SKIP() << "no tridiagonal form on this backend";
  }
};
TYPED_TEST_SUITE(Tridiagonal, Precisions, TypeNames);

TYPED_TEST(Tridiagonal, OfAllOrdersAroundBlocks) {
  using T = TypeParam;
  unsigned seed = 0;
  for (const index n : {1, 2, 3, 17, 31, 32, 33, 64, 65, 127, 200, 300})
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
      ++seed;
      Tridiagonalised<T> matrix(uplo, n, seed % 4, seed);
      matrix.offset = seed % 3;
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

/// Where there is nothing to reflect, and where columns repeat.
TYPED_TEST(Tridiagonal, OfMatricesThatComeApartAreRight) {
  using T = TypeParam;
  for (const Uplo uplo : {Uplo::lower, Uplo::upper})
    for (const int kind : {0, 1, 2}) {
      Tridiagonalised<T> matrix(uplo, 70);
      for (index j = 0; j < matrix.n; ++j)
        for (index i = 0; i < matrix.n; ++i)
          if (matrix.stored(i, j)) matrix.A(i, j) = T(static_cast<Real<T>>(kind == 0 ? 0 : kind == 1 ? i == j : 1));
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

/// Their squares are no numbers: a backend may say that it has no result, but not a wrong one.
TYPED_TEST(Tridiagonal, OfHugeAndTinyMatricesAreRightOrNone) {
  using T = TypeParam;
  for (const double size : {static_cast<double>(std::numeric_limits<Real<T>>::max()) / 1e4,
                            static_cast<double>(std::numeric_limits<Real<T>>::min()) * 1e4})
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
      Tridiagonalised<T> matrix(uplo, 60, 3, 9);
      for (index j = 0; j < matrix.n; ++j)
        for (index i = 0; i < matrix.n; ++i)
          if (matrix.stored(i, j)) matrix.A(i, j) *= static_cast<Real<T>>(size);
      const auto result = matrix.run();
      if (result.failed == T(0)) matrix.expect_right(result);
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Tridiagonal, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  for (const Uplo uplo : {Uplo::lower, Uplo::upper})
    for (const double poison : {nan, inf, -inf})
      for (const auto& [row, col] : {std::pair<index, index>{0, 0}, {1, 0}, {50, 30}, {59, 59}}) {
        Tridiagonalised<T> matrix(uplo, 60, 1, 7);
        matrix.A(uplo == Uplo::lower ? row : col, uplo == Uplo::lower ? col : row) = scalar<T>(poison, 0);
        const auto result = matrix.run();
        ASSERT_EQ(result.failed, T(1)) << poison << " at " << row << " " << col << " of " << matrix.describe();
      }
}

}  // namespace
}  // namespace blaslift::conformance::tridiagonal_tests
