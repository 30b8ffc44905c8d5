// The reduction to Hessenberg form.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::hessenberg_tests {
namespace {

template <class T>
struct Reduced {
  using R = Real<T>;
  using Wide = long double;
  using Number = std::complex<Wide>;

  index size, above, rows, cols;
  Matrix<T> A;
  index offset = 0;  ///< of A on the device

  /// @param behind  columns
  Reduced(index order, index rows_above, index behind, index gap = 3, unsigned seed = 1)
      : size(order), above(rows_above), rows(above + size), cols(size + behind), A(rows, cols, gap) {
    A.random(seed);
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i)
        if (!touched(i, j)) A(i, j) = scalar<T>(nan, nan);  // neither read nor written
  }
  bool touched(index i, index j) const { return i > above || (j > 0 && j < size); }
  /// Of what is touched.
  template <class Of>
  void set(const Of& of) {
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i)
        if (touched(i, j)) A(i, j) = of(i, j);
  }

  struct Result {
    Matrix<T> factors;
    std::vector<T> tau;
    T failed;
  };
  Result run() const {
    Call call(room(A, offset) + 4096 + Call::part_size<T>(size) + Call::part_size<T>(2));
    const Placed<T> a = call.put(A, offset);
    const std::vector<T> elements(static_cast<std::size_t>(size), scalar<T>(77, 78)), unsaid(2, T(5));
    std::vector<Ticket> ready{a.ready};
    const auto filled = [&](const std::vector<T>& with) {
      const auto count = static_cast<index>(with.size());
      T* const at = call.part<T>(count);
      ready.push_back(call.upload(at, count, with.data(), count, count, 1));
      return at;
    };
    T *const tau = filled(elements), *const failed = filled(unsaid);
    const Ticket found = call.ask(Gehrd{.precision = precision_of<T>,
                                        .rows = rows,
                                        .cols = cols,
                                        .above = above,
                                        .A = a.at,
                                        .lda = A.ld(),
                                        .tau = tau,
                                        .failed = failed},
                                  ready);
    Result result{A, elements, T(0)};
    std::vector<T> said(2);
    call.download(result.tau.data(), size, tau, size, size, 1, {found});
    call.download(said.data(), 2, failed, 2, 2, 1, {found});
    call.get(result.factors, a.at, {found});
    result.failed = said[0];
    EXPECT_EQ(said[1], T(5)) << describe();
    EXPECT_EQ(result.tau.back(), elements.back()) << "more than there are reflectors: " << describe();
    EXPECT_TRUE(result.factors.canaries_intact()) << "rows between rows and lda written: " << describe();
    return result;
  }

  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }
  /// x := (I - tau v v^H) x, by rows of the matrix.
  void reflect(const Result& r, std::vector<Number>& x, index of) const {
    const index one = above + of + 1;
    const auto v = [&](index i) { return i == one ? Number(1) : widened(r.factors(i, of)); };
    Number sum = 0;
    for (index i = one; i < rows; ++i) sum += std::conj(v(i)) * x[static_cast<std::size_t>(i)];
    for (index i = one; i < rows; ++i)
      x[static_cast<std::size_t>(i)] -= widened(r.tau[static_cast<std::size_t>(of)]) * sum * v(i);
  }
  /// Of some columns: A Q = Q H, of those behind the square A = Q H, and that Q keeps lengths.
  void expect_right(const Result& r) const {
    ASSERT_EQ(r.failed, T(0)) << describe();
    const auto length_of = [](const std::vector<Number>& x) {
      Wide sum = 0;
      for (const Number& one : x) sum += std::norm(one);
      return std::sqrt(sum);
    };
    Wide squares = 0;
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i)
        if (touched(i, j)) squares += std::norm(widened(A(i, j)));
    const Wide few = 16 * static_cast<Wide>(rows) * std::numeric_limits<R>::epsilon(), length = std::sqrt(squares);
    for (index col = 0; col < cols; col += std::max<index>(1, cols / 12)) {
      const bool square = col < size;
      std::vector<Number> q(static_cast<std::size_t>(rows)), qh(q);
      if (square) q[static_cast<std::size_t>(above + col)] = 1;
      for (index i = 0; i < rows; ++i)
        if (touched(i, col) && (!square || i <= above + col + 1))
          qh[static_cast<std::size_t>(i)] = widened(r.factors(i, col));
      for (index of = size - 1; of-- > 0;) reflect(r, q, of), reflect(r, qh, of);
      if (square) {
        ASSERT_LE(std::fabs(length_of(q) - 1), few) << "Q, column " << col << " of " << describe();
      }
      for (index i = 0; i < rows; ++i) {
        if (!touched(i, col)) continue;
        Number& off = qh[static_cast<std::size_t>(i)];
        if (!square) off -= widened(A(i, col));
        for (index j = 0; square && j < size; ++j)
          if (touched(i, j)) off -= widened(A(i, j)) * q[static_cast<std::size_t>(above + j)];
      }
      ASSERT_LE(length_of(qh), few * length) << "column " << col << " of " << describe();
    }
    for (index j = 0; j < cols; ++j) {
      if (j + 1 < size) {
        ASSERT_EQ(std::imag(r.factors(above + j + 1, j)), R(0)) << j << " of " << describe();
      }
      for (index i = 0; i < rows; ++i)
        if (!touched(i, j)) {
          ASSERT_EQ(std::memcmp(&r.factors(i, j), &A(i, j), sizeof(T)), 0) << i << ", " << j << " of " << describe();
        }
    }
  }
  void expect_right() const {
    const Result first = run();
    expect_right(first);
    if (testing::Test::HasFatalFailure()) return;
    const Result again = run();
    ASSERT_EQ(again.tau, first.tau) << "other bits: " << describe();
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i)
        if (touched(i, j)) {
          ASSERT_EQ(again.factors(i, j), first.factors(i, j)) << "other bits: " << describe();
        }
  }

  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "gehrd " + std::to_string(rows) + " x " + std::to_string(cols) +
           " from " + std::to_string(above) + " lda " + std::to_string(A.ld());
  }
};

template <class T>
class Hessenberg : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::gehrd, precision_of<T>))
      GTEST_SKIP() << "no Hessenberg form on this backend";
  }
};
TYPED_TEST_SUITE(Hessenberg, Precisions, TypeNames);

/// Of panels, and of a column's blocks.
TYPED_TEST(Hessenberg, OfAllOrdersAroundBlocks) {
  using T = TypeParam;
  unsigned seed = 0;
  for (const index size : {2, 3, 4, 17, 32, 33, 34, 35, 64, 65, 66, 127, 200, 257, 258, 300})
    for (const auto& [above, behind] : {std::pair<index, index>{0, 0}, {3, 0}, {0, 5}, {40, 33}}) {
      ++seed;
      Reduced<T> matrix(size, above, behind, seed % 4, seed);
      matrix.offset = seed % 3;
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

/// Where there is nothing to reflect, or only a column's first element, and where columns repeat.
TYPED_TEST(Hessenberg, OfMatricesThatComeApartAreRight) {
  using T = TypeParam;
  for (const int kind : {0, 1, 2, 3, 4}) {
    Reduced<T> matrix(70, 2, 3);
    const index above = matrix.above;
    matrix.set([&](index i, index j) -> T {
      const index below = i - above - j;
      switch (kind) {
        case 0: return T(0);
        case 1: return T(below == 0);
        case 2: return T(1);
        case 3: return below > 1 ? T(0) : scalar<T>(0.5, 0.25 * static_cast<double>(i % 3));  // H already, or nearly
        default: return j % 2 == 0 && below > 1 ? T(0) : scalar<T>(0.5, 0.25 * static_cast<double>(i % 3));
      }
    });
    matrix.expect_right();
    if (testing::Test::HasFailure()) return;
  }
}

/// Their squares are no numbers, nor those of some columns beside others: reflectors bear that.
TYPED_TEST(Hessenberg, OfHugeAndTinyMatricesAreRight) {
  using T = TypeParam;
  const double huge = static_cast<double>(std::numeric_limits<Real<T>>::max()) / 1e4,
               tiny = static_cast<double>(std::numeric_limits<Real<T>>::min()) * 1e4;
  for (const double size : {huge, tiny}) {
    Reduced<T> matrix(60, 1, 2, 3, 9);
    const Matrix<T> random = matrix.A;
    matrix.set([&](index i, index j) { return random(i, j) * static_cast<Real<T>>(size); });
    matrix.expect_right();
    if (testing::Test::HasFailure()) return;
  }
  Reduced<T> matrix(60, 1, 2, 3, 9);
  const Matrix<T> random = matrix.A;
  matrix.set([&](index i, index j) { return random(i, j) * static_cast<Real<T>>(j % 7 == 3 || j == 0 ? tiny : 1); });
  matrix.expect_right();
}

TYPED_TEST(Hessenberg, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  for (const double poison : {nan, inf, -inf})
    for (const auto& [row, col] : {std::pair<index, index>{3, 0}, {0, 1}, {50, 30}, {61, 59}, {61, 62}}) {
      Reduced<T> matrix(60, 2, 3, 1, 7);
      matrix.A(row, col) = scalar<T>(poison, 0);
      const auto result = matrix.run();
      ASSERT_EQ(result.failed, T(1)) << poison << " at " << row << " " << col << " of " << matrix.describe();
    }
}

}  // namespace
}  // namespace blaslift::conformance::hessenberg_tests
