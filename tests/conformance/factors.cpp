// Cholesky factors.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::factors_tests {
namespace {

/// A matrix, with canaries in the triangle that must be neither read nor written.
template <class T>
struct Definite {
  Uplo uplo;
  index n;
  Matrix<T> A;
  index offset = 0;  ///< of A on the device

  Definite(Uplo uplo_, index n_, index gap = 3, unsigned seed = 1) : uplo(uplo_), n(n_), A(n, n, gap) {
    A.random(seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        T& a = A(i, j);
        if (!in_triangle(i, j))
          a = canary_of();
        else if (i == j)  // large enough for any such matrix, and no larger: what is left of it counts
          a = scalar<T>(1 + 0.01 * std::real(a), nan);
        else
          a *= static_cast<Real<T>>(0.4 / std::sqrt(static_cast<double>(n)));
      }
  }

  static T canary_of() { return scalar<T>(nan, nan); }
  bool in_triangle(index i, index j) const { return uplo == Uplo::lower ? i >= j : i <= j; }
  std::size_t bytes() const { return room(A, offset) + 256 + Call::part_size<T>(2); }

  struct Result {
    Matrix<T> L;
    T failed, behind;
  };
  Result run() const {
    Call call(bytes());
    const Placed<T> a = call.put(A, offset);
    const T full[] = {scalar<T>(77, 78), scalar<T>(79, 80)};
    T* const failed = call.part<T>(2);
    const Ticket filled = call.upload(failed, 2, full, 2, 2, 1);
    const Ticket factored =
        call.ask(Potrf{.precision = precision_of<T>, .uplo = uplo, .n = n, .A = a.at, .lda = A.ld(), .failed = failed},
                 {a.ready, filled});
    Result result{A, T(0), T(0)};
    T both[2];
    call.download(both, 2, failed, 2, 2, 1, {factored});
    call.get(result.L, a.at, {factored});
    result.failed = both[0];
    result.behind = both[1];
    EXPECT_EQ(result.behind, full[1]) << describe();
    EXPECT_TRUE(result.L.canaries_intact()) << "rows between n and lda written: " << describe();
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!in_triangle(i, j)) {
          const T left = result.L(i, j), was = A(i, j);
          EXPECT_EQ(std::memcmp(&left, &was, sizeof left), 0) << "the other triangle written: " << describe();
          if (testing::Test::HasFailure()) return result;
        }
    return result;
  }

  /// Element of L; U is its adjoint.
  T factor(const Matrix<T>& L, index i, index j) const {
    if (uplo == Uplo::lower) return L(i, j);
    if constexpr (complex_type<T>)
      return std::conj(L(j, i));
    else
      return L(j, i);
  }

  /// |A - L L^H| <= gamma(n + 1) |L| |L|^H, element by element, in whatever order its sums are made (Higham, Accuracy
  /// and Stability, theorem 10.3); some more for factors by blocks.  Complex products count twice.
  double worst_excess(const Matrix<T>& L) const {
    using Wide = typename Expected<T>::Wide;
    double worst = 0;
    const index step = std::max<index>(1, n / 40);
    for (index j = 0; j < n; j += step)
      for (index i = j; i < n; i += i + step < n || i == n - 1 ? step : n - 1 - i) {
        const T a = factor(A, i, j);
        Wide re = std::real(a), im = i == j ? 0 : static_cast<Wide>(std::imag(a)), size = 0;
        for (index k = 0; k <= j; ++k) {
          const T x = factor(L, i, k), y = factor(L, j, k);
          const Wide xr = std::real(x), xi = std::imag(x), yr = std::real(y), yi = -std::imag(y);
          re -= xr * yr - xi * yi;
          im -= xr * yi + xi * yr;
          size += (std::fabs(xr) + std::fabs(xi)) * (std::fabs(yr) + std::fabs(yi));
        }
        const Wide bound =
            static_cast<Wide>(n + 8) * std::numeric_limits<Real<T>>::epsilon() * (complex_type<T> ? 2 : 1) * size +
            std::numeric_limits<Real<T>>::min();
        const double excess = static_cast<double>((std::fabs(re) + std::fabs(im)) / bound);
        if (!(excess <= worst)) worst = std::isnan(excess) ? HUGE_VAL : excess;
      }
    return worst;
  }

  void expect_right() const {
    const Result result = run();
    ASSERT_EQ(result.failed, T(0)) << describe();
    ASSERT_LE(worst_excess(result.L), 1.0) << describe();
    for (index i = 0; i < n; ++i) ASSERT_EQ(std::imag(result.L(i, i)), 0) << i << " of " << describe();
    const Result again = run();
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (in_triangle(i, j)) {
          ASSERT_EQ(again.L(i, j), result.L(i, j)) << "other bits: " << describe();
        }
  }

  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "potrf " + static_cast<char>(uplo) + " n " + std::to_string(n) +
           " lda " + std::to_string(A.ld());
  }
};

constexpr Uplo both_triangles[] = {Uplo::lower, Uplo::upper};

template <class T>
class Factors : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::potrf, precision_of<T>) ||
        !backend->equip(Operation::Kind::potrf))
      GTEST_SKIP() << "no Cholesky factors on this backend";
  }
};
TYPED_TEST_SUITE(Factors, Precisions, TypeNames);

TYPED_TEST(Factors, OfAllSizesAroundBlocks) {
  using T = TypeParam;
  unsigned seed = 0;
  for (const Uplo uplo : both_triangles)
    for (const index n : {1, 2, 3, 17, 31, 32, 33, 63, 64, 65, 127, 130, 257, 400}) {
      ++seed;
      Definite<T> matrix(uplo, n, seed % 4, seed);
      matrix.offset = seed % 3;
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Factors, NameTheFirstPivotThatWillNotDo) {
  using T = TypeParam;
  for (const Uplo uplo : both_triangles)
    for (const index n : {1, 5, 64, 65, 200})
      for (const index bad : {index{0}, n / 2, n - 1})
        for (const double pivot : {-1.0, nan, -inf, -0.0}) {
          Definite<T> matrix(uplo, n, 2, 5);
          matrix.A(bad, bad) = scalar<T>(pivot, 3);
          if (pivot == 0)  // exactly so only where nothing is subtracted from it
            for (index k = 0; k < bad; ++k) (uplo == Uplo::lower ? matrix.A(bad, k) : matrix.A(k, bad)) = T(0);
          const auto result = matrix.run();
          ASSERT_EQ(result.failed, scalar<T>(static_cast<double>(bad + 1), 0))
              << pivot << " at " << bad << " of " << matrix.describe();
        }
}

TYPED_TEST(Factors, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  constexpr index n = 150;
  for (const Uplo uplo : both_triangles)
    for (const double poison : {nan, inf, -inf})
      for (const auto& [row, col] : {std::pair<index, index>{1, 0}, {70, 30}, {149, 148}}) {
        Definite<T> matrix(uplo, n, 1, 7);
        (uplo == Uplo::lower ? matrix.A(row, col) : matrix.A(col, row)) = scalar<T>(poison, 0);
        const auto result = matrix.run();
        // Their own pivot is the first that they reach, unless they spread within a block.
        const double failed = std::real(result.failed);
        ASSERT_TRUE(failed > static_cast<double>(col) && failed <= static_cast<double>(row + 1))
            << failed << ": " << poison << " at " << row << " " << col << " of " << matrix.describe();
      }
}

TYPED_TEST(Factors, OfHugeAndTinyMatricesAreRight) {
  using T = TypeParam;
  for (const Uplo uplo : both_triangles)
    for (const double size : {std::sqrt(static_cast<double>(std::numeric_limits<Real<T>>::max())) / 4,
                              std::sqrt(static_cast<double>(std::numeric_limits<Real<T>>::min())) * 4}) {
      Definite<T> matrix(uplo, 100, 3, 9);
      for (index j = 0; j < matrix.n; ++j)
        for (index i = 0; i < matrix.n; ++i)
          if (matrix.in_triangle(i, j)) matrix.A(i, j) *= static_cast<Real<T>>(size);
      matrix.expect_right();
    }
}

}  // namespace
}  // namespace blaslift::conformance::factors_tests
