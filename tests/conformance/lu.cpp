// LU factors, and exchanges of rows.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::lu_tests {
namespace {

template <class T>
double size_of(const T& x) {
  return std::fabs(static_cast<double>(std::real(x))) + std::fabs(static_cast<double>(std::imag(x)));
}

template <class T>
struct General {
  index m, n;
  Matrix<T> A;
  index offset = 0;  ///< of A on the device

  General(index m_, index n_, index gap = 3, unsigned seed = 1) : m(m_), n(n_), A(m, n, gap) { A.random(seed); }

  index factored() const { return std::min(m, n); }
  std::size_t bytes() const {
    return room(A, offset) + 256 + Call::part_size<T>(factored() + 1) + Call::part_size<T>(2);
  }

  struct Result {
    Matrix<T> LU;
    std::vector<index> pivots;
    T failed;
  };
  Result run() const {
    Call call(bytes());
    const Placed<T> a = call.put(A, offset);
    T* const pivots = call.part<T>(factored() + 1);
    T* const failed = call.part<T>(2);
    const std::vector<T> full(static_cast<std::size_t>(factored() + 1), scalar<T>(77, 78));
    const Ticket p = call.upload(pivots, factored() + 1, full.data(), factored() + 1, factored() + 1, 1);
    const Ticket f = call.upload(failed, 2, full.data(), 2, 2, 1);
    const Ticket done = call.ask(
        Getrf{
            .precision = precision_of<T>, .m = m, .n = n, .A = a.at, .lda = A.ld(), .pivots = pivots, .failed = failed},
        {a.ready, p, f});
    Result result{A, {}, T(0)};
    std::vector<T> all(full), both(2);
    call.download(all.data(), factored() + 1, pivots, factored() + 1, factored() + 1, 1, {done});
    call.download(both.data(), 2, failed, 2, 2, 1, {done});
    call.get(result.LU, a.at, {done});
    EXPECT_EQ(all.back(), full[0]) << "behind the pivots: " << describe();
    EXPECT_EQ(both[1], full[0]) << "behind failed: " << describe();
    EXPECT_TRUE(result.LU.canaries_intact()) << "rows between m and lda written: " << describe();
    all.pop_back();
    for (const T& x : all) result.pivots.push_back(static_cast<index>(std::real(x)));
    result.failed = both[0];
    return result;
  }

  /// |P A - L U| <= gamma(min(m, n)) |L| |U|, element by element, in whatever order its sums are made (Higham, Accuracy
  /// and Stability, theorem 9.3), some more for factors by blocks; complex products count twice.  No multiplier is
  /// larger than its pivot, but for roundings: so pivoting was partial.
  void expect_right(const Result& result) const {
    using Wide = typename Expected<T>::Wide;
    Matrix<T> permuted = A;
    for (index i = 0; i < factored(); ++i) {
      const index row = result.pivots[static_cast<std::size_t>(i)] - 1;
      ASSERT_TRUE(row >= i && row < m) << "pivot " << i << ": " << describe();
      for (index j = 0; row != i && j < n; ++j) std::swap(permuted(i, j), permuted(row, j));
    }
    const double most = complex_type<T> ? std::sqrt(2.0) : 1;
    for (index j = 0; j < factored(); ++j)
      for (index i = j + 1; i < m; ++i)
        ASSERT_LE(std::abs(std::complex<double>(std::real(result.LU(i, j)), std::imag(result.LU(i, j)))), most * 1.0001)
            << i << ", " << j << ": " << describe();
    const index down = std::max<index>(1, m / 40), across = std::max<index>(1, n / 40);
    for (index j = 0; j < n; j += j + across < n || j == n - 1 ? across : n - 1 - j)
      for (index i = 0; i < m; i += i + down < m || i == m - 1 ? down : m - 1 - i) {
        Wide re = std::real(permuted(i, j)), im = std::imag(permuted(i, j)), size = 0;
        for (index k = 0; k <= std::min({i, j, factored() - 1}); ++k) {
          const T x = k == i ? T(1) : result.LU(i, k), y = result.LU(k, j);
          const Wide xr = std::real(x), xi = std::imag(x), yr = std::real(y), yi = std::imag(y);
          re -= xr * yr - xi * yi;
          im -= xr * yi + xi * yr;
          size += (std::fabs(xr) + std::fabs(xi)) * (std::fabs(yr) + std::fabs(yi));
        }
        const Wide bound = static_cast<Wide>(factored() + 8) * std::numeric_limits<Real<T>>::epsilon() *
                               (complex_type<T> ? 2 : 1) * size +
                           std::numeric_limits<Real<T>>::min();
        ASSERT_LE(std::fabs(re) + std::fabs(im), bound) << i << ", " << j << ": " << describe();
      }
  }

  void expect_right() const {
    const Result result = run();
    ASSERT_EQ(result.failed, T(0)) << describe();
    expect_right(result);
    const Result again = run();
    ASSERT_TRUE(again.LU == result.LU && again.pivots == result.pivots) << "other bits: " << describe();
  }

  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "getrf " + std::to_string(m) + " x " + std::to_string(n) +
           " lda " + std::to_string(A.ld());
  }
};

bool computes(Operation::Kind kind, Precision precision) {
  return backend->facts().computes.can(kind, precision) && backend->equip(kind);
}

template <class T>
class LuFactors : public testing::Test {
 protected:
  void SetUp() override {
    if (!computes(Operation::Kind::getrf, precision_of<T>)) GTEST_SKIP() << "no LU factors on this backend";
  }
};
TYPED_TEST_SUITE(LuFactors, Precisions, TypeNames);

TYPED_TEST(LuFactors, OfAllShapesAroundBlocks) {
  using T = TypeParam;
  unsigned seed = 0;
  for (const index n : {1, 2, 3, 17, 31, 32, 33, 63, 64, 65, 127, 130, 257, 400})
    for (const index m : {n, 2 * n + 5, std::max<index>(1, n - 7)}) {
      ++seed;
      General<T> matrix(m, n, seed % 4, seed);
      matrix.offset = seed % 3;
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

/// A multiple of each row's first element exchanges many rows with ones far away.
TYPED_TEST(LuFactors, OfMatricesWhosePivotsAreFarAway) {
  using T = TypeParam;
  for (const index n : {50, 200}) {
    General<T> matrix(n, n, 1, 3);
    for (index i = 0; i < n; ++i) matrix.A(n - 1 - i, i) = scalar<T>(10 + static_cast<double>(i % 7), 1);
    const auto result = matrix.run();
    ASSERT_EQ(result.failed, T(0));
    matrix.expect_right(result);
    ASSERT_EQ(result.pivots[0], n);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(LuFactors, NameTheFirstPivotThatIsZero) {
  using T = TypeParam;
  for (const index n : {1, 5, 64, 65, 200})
    for (const index m : {n, n + 3})
      for (const index bad : {index{0}, n / 2, n - 1}) {
        General<T> matrix(m, n, 2, 5);
        // Exactly so, whatever the roundings: what is left of the others is subtracted from zeros times zeros.
        for (index i = 0; i < m; ++i) matrix.A(i, bad) = T(0);
        const auto result = matrix.run();
        ASSERT_EQ(result.failed, scalar<T>(static_cast<double>(bad + 1), 0)) << bad << " of " << matrix.describe();
      }
}

TYPED_TEST(LuFactors, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  constexpr index n = 150;
  for (const index m : {n, n + 40})
    for (const double poison : {nan, inf, -inf})
      for (const auto& [row, col] :
           {std::pair<index, index>{0, 0}, {1, 0}, {70, 30}, {30, 70}, {149, 149}, {148, 149}}) {
        General<T> matrix(m, n, 1, 7);
        matrix.A(row, col) = scalar<T>(poison, 0);
        ASSERT_NE(matrix.run().failed, T(0)) << poison << " at " << row << " " << col << " of " << matrix.describe();
      }
}

TYPED_TEST(LuFactors, OfHugeAndTinyMatricesAreRight) {
  using T = TypeParam;
  for (const double size : {static_cast<double>(std::numeric_limits<Real<T>>::max()) / 1e6,
                            static_cast<double>(std::numeric_limits<Real<T>>::min()) * 1e10}) {
    General<T> matrix(100, 100, 3, 9);
    for (index j = 0; j < matrix.n; ++j)
      for (index i = 0; i < matrix.m; ++i) matrix.A(i, j) *= static_cast<Real<T>>(size);
    matrix.expect_right();
  }
}

template <class T>
class RowExchanges : public testing::Test {
 protected:
  void SetUp() override {
    if (!computes(Operation::Kind::row_swaps, precision_of<T>)) GTEST_SKIP() << "no exchanges on this backend";
  }
};
TYPED_TEST_SUITE(RowExchanges, Precisions, TypeNames);

/// One after the other, there and back; so is a second matrix, with what the first one prepared.
TYPED_TEST(RowExchanges, AreMadeOneAfterTheOtherAndUndone) {
  using T = TypeParam;
  std::minstd_rand bits(1);
  const index once = row_swaps_at_once;
  for (const index count : {index{1}, index{2}, index{33}, index{300}, once - 1, once, once + 1, 2 * once + 77})
    for (const bool near : {false, true}) {
      const index m = count + static_cast<index>(bits() % 3) * 500, n = 1 + static_cast<index>(bits() % 20);
      std::vector<T> pivots;
      for (index i = 0; i < count; ++i) {
        const index reach = near ? std::min<index>(m - i, 5) : m - i;
        pivots.push_back(
            scalar<T>(static_cast<double>(i + static_cast<index>(bits() % static_cast<unsigned>(reach)) + 1), 0));
      }
      Matrix<T> A(m, n, 2), B(m, n + 9, 1), swapped_a = A.random(1), swapped_b = B.random(2);
      for (Matrix<T>* x : {&swapped_a, &swapped_b})
        for (index i = 0; i < count; ++i) {
          const index row = static_cast<index>(std::real(pivots[static_cast<std::size_t>(i)])) - 1;
          for (index j = 0; row != i && j < x->cols(); ++j) std::swap((*x)(i, j), (*x)(row, j));
        }
      const auto moves = static_cast<index>(row_swaps_workspace(count));
      Call call(room(A, 1) + room(B, 2) + Call::part_size<T>(count) + Call::part_size<char>(moves) + 256);
      const Placed<T> a = call.put(A, 1), b = call.put(B, 2);
      T* const there = call.part<T>(count);
      RowSwaps swaps{.precision = precision_of<T>,
                     .m = m,
                     .n = n,
                     .A = a.at,
                     .lda = A.ld(),
                     .count = count,
                     .pivots = there,
                     .moves = call.part<char>(moves)};
      const Ticket filled = call.upload(there, count, pivots.data(), count, count, 1);
      const Ticket first = call.ask(swaps, {a.ready, filled});
      swaps.prepared = true;
      RowSwaps others = swaps;
      others.A = b.at;
      others.lda = B.ld();
      others.n = B.cols();
      const Ticket second = call.ask(others, {b.ready, first});
      Matrix<T> result_a = A, result_b = B;
      call.get(result_a, a.at, {first});
      call.get(result_b, b.at, {second});
      ASSERT_TRUE(result_a == swapped_a) << count << " of " << m << " rows";
      ASSERT_TRUE(result_b == swapped_b) << count << " of " << m << " rows, prepared";
      swaps.backward = true;
      const Ticket back = call.ask(swaps, {});
      call.get(result_a, a.at, {back});
      ASSERT_TRUE(result_a == A) << count << " of " << m << " rows, backward";
    }
}

}  // namespace
}  // namespace blaslift::conformance::lu_tests
