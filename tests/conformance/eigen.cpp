// Eigenvalues and eigenvectors.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::eigen_tests {
namespace {

/// A matrix, with canaries in the triangle that must not be read.
template <class T>
struct Hermitian {
  using R = Real<T>;
  using Wide = long double;

  bool vectors;
  Uplo uplo;
  index n;
  Matrix<T> A;
  index offset = 0;  ///< of A on the device
  index first = 0, count = n;
  bool apart = false;  ///< with vectors; without them, and always where not all are asked for, A is only read

  Hermitian(bool with, Uplo triangle, index order, index gap = 3, unsigned seed = 1)
      : vectors(with), uplo(triangle), n(order), A(n, n, gap) {
    A.random(seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!in_triangle(i, j))
          A(i, j) = scalar<T>(nan, nan);
        else if (i == j)
          A(i, j) = scalar<T>(std::real(A(i, j)), nan);
  }
  bool in_triangle(index i, index j) const { return uplo == Uplo::lower ? i >= j : i <= j; }
  T& in(index i, index j) { return in_triangle(i, j) ? A(i, j) : A(j, i); }
  std::complex<Wide> element(index i, index j) const {
    const bool there = in_triangle(i, j);
    const T a = there ? A(i, j) : A(j, i);
    if (i == j) return std::real(a);
    return {std::real(a), there ? std::imag(a) : -std::imag(a)};
  }

  struct Result {
    Matrix<T> V;  ///< as A lies: where it is after vectors took its place
    std::vector<R> w;
    T failed;
    bool apart = false;
    Matrix<T> Z;
    const Matrix<T>& vectors() const { return apart ? Z : V; }
  };
  Result run() const {
    Matrix<T> Z(n, count, 2);
    Z.random(5);
    Call call(room(A, offset) + room(Z, 1) + 512 + 2 * Call::part_size<T>(2) + Call::part_size<R>(count + 1));
    const Placed<T> a = call.put(A, offset), z = call.put(Z, 1);
    const T full[] = {scalar<T>(77, 78), scalar<T>(79, 80)};
    const std::vector<R> before(static_cast<std::size_t>(count + 1), R(81));
    T* const failed = call.part<T>(2);
    R* const w = call.part<R>(count + 1);
    const Ticket filled = call.upload(failed, 2, full, 2, 2, 1),
                 values = call.upload(w, count + 1, before.data(), count + 1, count + 1, 1);
    const Ticket found = call.ask(Syevd{.precision = precision_of<T>,
                                        .vectors = vectors,
                                        .uplo = uplo,
                                        .n = n,
                                        .first = first,
                                        .count = count,
                                        .A = a.at,
                                        .lda = A.ld(),
                                        .V = apart ? z.at : a.at,
                                        .ldv = apart ? Z.ld() : A.ld(),
                                        .w = w,
                                        .failed = failed},
                                  {a.ready, z.ready, filled, values});
    Result result{A, std::vector<R>(static_cast<std::size_t>(count + 1)), T(0), apart, Z};
    T both[2];
    call.download(both, 2, failed, 2, 2, 1, {found});
    call.download(result.w.data(), count + 1, w, count + 1, count + 1, 1, {found});
    call.get(result.V, a.at, {found});
    call.get(result.Z, z.at, {found});
    result.failed = both[0];
    EXPECT_EQ(both[1], full[1]) << describe();
    EXPECT_EQ(result.w[static_cast<std::size_t>(count)], R(81)) << "more eigenvalues than asked for: " << describe();
    EXPECT_TRUE(result.V.canaries_intact() && result.Z.canaries_intact())
        << "rows between n and lda written: " << describe();
    if (!vectors || apart) {
      EXPECT_EQ(std::memcmp(result.V.data(), A.data(), static_cast<std::size_t>(A.ld() * n) * sizeof(T)), 0)
          << "A written: " << describe();
    }
    if (!vectors || !apart) {
      EXPECT_TRUE(result.Z == Z) << "written where nothing is asked for: " << describe();
    }
    return result;
  }

  Wide size() const {  // Frobenius's norm
    Wide sum = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) sum += std::norm(element(i, j));
    return std::sqrt(sum);
  }
  Wide few() const { return 8 * static_cast<Wide>(n + 4) * std::numeric_limits<R>::epsilon(); }

  /// Of some columns: |A v - w v|, and |V^H V - I|.
  void expect_vectors(const Result& result) const {
    const Wide whole = size();
    const auto v = [&](index i, index j) {
      const Matrix<T>& V = result.vectors();
      return std::complex<Wide>(std::real(V(i, j)), std::imag(V(i, j)));
    };
    for (index j = 0; j < count; j += std::max<index>(1, count / 12)) {
      Wide off = 0;
      for (index i = 0; i < n; ++i) {
        std::complex<Wide> rest = -v(i, j) * static_cast<Wide>(result.w[static_cast<std::size_t>(j)]);
        for (index k = 0; k < n; ++k) rest += element(i, k) * v(k, j);
        off += std::norm(rest);
      }
      for (index i = 0; i < count; ++i) {
        std::complex<Wide> product = i == j ? -1 : 0;
        for (index k = 0; k < n; ++k) product += std::conj(v(k, i)) * v(k, j);
        ASSERT_LE(std::abs(product), few()) << i << ", " << j << " of " << describe();
      }
      ASSERT_LE(std::sqrt(off), few() * whole) << "column " << j << " of " << describe();
    }
  }
  void expect_ascending(const Result& result) const {
    for (std::size_t i = 1; i < static_cast<std::size_t>(count); ++i)
      ASSERT_LE(result.w[i - 1], result.w[i]) << describe();
  }
  void expect_values(const Result& result, const std::vector<Wide>& due) const {
    Wide largest = 0;
    for (const Wide x : due) largest = std::max(largest, std::fabs(x));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      ASSERT_LE(std::fabs(static_cast<Wide>(result.w[i]) - due[i + static_cast<std::size_t>(first)]), few() * largest)
          << i << " of " << describe();
  }

  /// With vectors in A's place; without them, or with some of them apart, the values have to be the same but for
  /// roundings.  The bits are those of another run.
  void expect_right() {
    vectors = true;
    apart = false;
    first = 0;
    count = n;
    const Result with = run();
    ASSERT_EQ(with.failed, T(0)) << describe();
    expect_ascending(with);
    expect_vectors(with);
    if (testing::Test::HasFatalFailure()) return;
    expect_same_bits(with);
    vectors = false;
    const Result without = run();
    ASSERT_EQ(without.failed, T(0)) << describe();
    expect_ascending(without);
    expect_values(without, {with.w.begin(), with.w.end() - 1});
    expect_same_bits(without);
    for (const auto& [from, some] : {std::pair<index, index>{0, n}, {n / 3, (n + 2) / 3}}) {
      first = from;
      count = some;
      for (const bool with_vectors : {true, false}) {
        vectors = apart = with_vectors;
        const Result part = run();
        ASSERT_EQ(part.failed, T(0)) << describe();
        expect_ascending(part);
        expect_values(part, {with.w.begin(), with.w.end() - 1});
        if (vectors) expect_vectors(part);
        if (testing::Test::HasFatalFailure()) return;
        expect_same_bits(part);
      }
    }
  }
  void expect_same_bits(const Result& result) const {
    const Result again = run();
    ASSERT_EQ(again.w, result.w) << "other bits: " << describe();
    for (index j = 0; vectors && j < count; ++j)
      for (index i = 0; i < n; ++i)
        ASSERT_EQ(again.vectors()(i, j), result.vectors()(i, j)) << "other bits: " << describe();
  }

  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "syevd " + (vectors ? "V" : "N") + static_cast<char>(uplo) +
           (apart ? " apart" : "") + " n " + std::to_string(n) + " lda " + std::to_string(A.ld()) + ", " +
           std::to_string(count) + " from " + std::to_string(first);
  }
};

constexpr Uplo both_triangles[] = {Uplo::lower, Uplo::upper};

template <class T>
class Eigenvalues : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::syevd, precision_of<T>) ||
        !backend->equip(Operation::Kind::syevd))
      GTEST_SKIP() << "no eigenvalues on this backend";
  }
};
TYPED_TEST_SUITE(Eigenvalues, Precisions, TypeNames);

TYPED_TEST(Eigenvalues, OfAllSizesAroundBlocks) {
  using T = TypeParam;
  unsigned seed = 0;
  for (const Uplo uplo : both_triangles)
    for (const index n : {1, 2, 3, 17, 31, 32, 33, 64, 65, 127, 200}) {
      ++seed;
      Hermitian<T> matrix(true, uplo, n, seed % 4, seed);
      matrix.offset = seed % 3;
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

/// The second difference, whose eigenvalues are 2 - 2 cos(k pi / (n + 1)); in the complex case with phases.
TYPED_TEST(Eigenvalues, OfAKnownMatrixAreThese) {
  using T = TypeParam;
  const long double pi = std::acos(-1.0L);
  for (const Uplo uplo : both_triangles)
    for (const bool vectors : {true, false})
      for (const index n : {2, 50, 129}) {
        Hermitian<T> matrix(vectors, uplo, n);
        std::vector<long double> due;
        for (index j = 0; j < n; ++j) {
          for (index i = 0; i < n; ++i)
            if (matrix.in_triangle(i, j) && i != j)
              matrix.A(i, j) = i - j != 1 && j - i != 1      ? T(0)
                               : is_complex(precision_of<T>) ? scalar<T>(0.6, -0.8)
                                                             : T(-1);
          matrix.A(j, j) = scalar<T>(2, nan);
          due.push_back(2 - 2 * std::cos(static_cast<long double>(j + 1) * pi / static_cast<long double>(n + 1)));
        }
        const auto result = matrix.run();
        ASSERT_EQ(result.failed, T(0));
        matrix.expect_values(result, due);
        if (vectors) matrix.expect_vectors(result);
        if (testing::Test::HasFailure()) return;
      }
}

/// Where QL and the division into halves meet zeros, and values that come several times.
TYPED_TEST(Eigenvalues, OfMatricesThatComeApartAreRight) {
  using T = TypeParam;
  for (const Uplo uplo : both_triangles)
    for (const int kind : {0, 1, 2, 3}) {
      Hermitian<T> matrix(true, uplo, 70);
      for (index j = 0; j < matrix.n; ++j)
        for (index i = 0; i < matrix.n; ++i) {
          if (!matrix.in_triangle(i, j)) continue;
          const bool diagonal = i == j;
          const double x = kind == 0               ? 0         // nothing
                           : kind == 1             ? diagonal  // the identity
                           : kind == 2             ? 1         // of rank 1
                           : i + j == matrix.n - 1 ? 1
                                                   : 0;  // pairs of 1 and -1
          matrix.A(i, j) = T(static_cast<Real<T>>(x));
        }
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Eigenvalues, OfHugeAndTinyMatricesAreRight) {
  using T = TypeParam;
  for (const Uplo uplo : both_triangles)
    for (const double size : {static_cast<double>(std::numeric_limits<Real<T>>::max()) / 1e4,
                              static_cast<double>(std::numeric_limits<Real<T>>::min()) * 1e4}) {
      Hermitian<T> matrix(true, uplo, 60, 3, 9);
      for (index j = 0; j < matrix.n; ++j)
        for (index i = 0; i < matrix.n; ++i)
          if (matrix.in_triangle(i, j)) matrix.A(i, j) *= static_cast<Real<T>>(size);
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Eigenvalues, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  constexpr index n = 90;
  for (const Uplo uplo : both_triangles)
    for (const bool vectors : {true, false})
      for (const double poison : {nan, inf, -inf})
        for (const auto& [row, col] : {std::pair<index, index>{0, 0}, {1, 0}, {70, 30}, {89, 89}}) {
          Hermitian<T> matrix(vectors, uplo, n, 1, 7);
          matrix.in(row, col) = scalar<T>(poison, 0);
          const auto result = matrix.run();
          ASSERT_EQ(result.failed, T(1)) << poison << " at " << row << " " << col << " of " << matrix.describe();
        }
}

}  // namespace
}  // namespace blaslift::conformance::eigen_tests
