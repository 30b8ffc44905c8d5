// Eigenvalues and right eigenvectors of general matrices.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::general_eigen_tests {
namespace {

template <class T>
struct General {
  using R = Real<T>;
  using Wide = long double;
  using Number = std::complex<Wide>;
  static constexpr bool is_real = !is_complex(precision_of<T>);

  index n;
  bool vectors = true;
  Matrix<T> A;
  index offset = 0;  ///< of matrices on the device

  explicit General(index order, index gap = 3, unsigned seed = 1) : n(order), A(n, n, gap) { A.random(seed); }

  struct Result {
    Matrix<T> A, VR;  ///< as they lie on the device afterwards
    std::vector<T> w, wi;
    T failed;
  };
  Result run() const {
    Matrix<T> VR(n, vectors ? n : 0, 2);
    VR.fill(scalar<T>(31, 32));
    Call call(room(A, offset) + room(VR, offset) + 4096 + 2 * Call::part_size<T>(n + 1) + Call::part_size<T>(2));
    const Placed<T> a = call.put(A, offset), vr = call.put(VR, offset);
    const std::vector<T> values(static_cast<std::size_t>(n + 1), T(81)), unsaid(2, T(5));
    T *const w = call.part<T>(n + 1), *const wi = call.part<T>(n + 1), *const failed = call.part<T>(2);
    const auto put = [&](T* to, const std::vector<T>& from) {
      const auto rows = static_cast<index>(from.size());
      return call.upload(to, rows, from.data(), rows, rows, 1);
    };
    const Ticket first = put(w, values), second = put(wi, values), said = put(failed, unsaid);
    const Ticket found = call.ask(Geev{.precision = precision_of<T>,
                                       .vectors = vectors,
                                       .n = n,
                                       .A = a.at,
                                       .lda = A.ld(),
                                       .VR = vectors ? vr.at : nullptr,
                                       .ldvr = VR.ld(),
                                       .w = w,
                                       .wi = is_real ? wi : nullptr,
                                       .failed = failed},
                                  {a.ready, vr.ready, first, second, said});
    Result result{A, VR, values, values, T(0)};
    T both[2];
    call.download(both, 2, failed, 2, 2, 1, {found});
    call.download(result.w.data(), n + 1, w, n + 1, n + 1, 1, {found});
    call.download(result.wi.data(), n + 1, wi, n + 1, n + 1, 1, {found});
    if (vectors) call.get(result.VR, vr.at, {found});
    call.get(result.A, a.at, {found});
    result.failed = both[0];
    EXPECT_EQ(both[1], T(5)) << describe();
    EXPECT_EQ(result.w.back(), T(81)) << "more than n of w: " << describe();
    EXPECT_EQ(result.wi.back(), T(81)) << "more than n of wi: " << describe();
    if (!is_real) {
      EXPECT_EQ(result.wi, values) << "imaginary parts apart: " << describe();
    }
    EXPECT_TRUE(result.A.canaries_intact() && result.VR.canaries_intact()) << "written between columns: " << describe();
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        const bool same = std::memcmp(&result.A(i, j), &A(i, j), sizeof(T)) == 0;  // NaN, too
        EXPECT_TRUE(same) << "A written at " << i << ", " << j << ": " << describe();
        if (!same) return result;
      }
    return result;
  }

  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }
  static Number value(const Result& r, index i) {
    const auto at = static_cast<std::size_t>(i);
    return is_real ? Number(std::real(r.w[at]), std::real(r.wi[at])) : widened(r.w[at]);
  }
  Wide size() const {  // Frobenius's norm
    Wide sum = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) sum += std::norm(widened(A(i, j)));
    return std::sqrt(sum);
  }
  Wide few() const { return 16 * static_cast<Wide>(n + 2) * std::numeric_limits<R>::epsilon(); }

  /// The sums of eigenvalues and of their squares are A's and A^2's traces, and each vector is one.
  void expect_right(const Result& r) const {
    ASSERT_EQ(r.failed, T(0)) << describe();
    const Wide whole = size();
    Number sum = 0, sum_of_squares = 0;
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < n; ++i) sum_of_squares -= widened(A(i, j)) * widened(A(j, i));
      sum += value(r, j) - widened(A(j, j));
      sum_of_squares += value(r, j) * value(r, j);
    }
    ASSERT_LE(std::abs(sum), few() * whole * std::sqrt(static_cast<Wide>(n))) << describe();
    ASSERT_LE(std::abs(sum_of_squares), 2 * few() * whole * whole) << describe();
    for (index j = 0; j < n; ++j) {
      const bool pair = is_real && value(r, j).imag() != 0;
      if (pair) {
        ASSERT_GT(value(r, j).imag(), 0) << j << " of " << describe();
        ASSERT_LT(j + 1, n) << describe();
        ASSERT_EQ(value(r, j + 1), std::conj(value(r, j))) << j << " of " << describe();
      }
      if (vectors) expect_vector(r, j, pair, whole);
      if (testing::Test::HasFatalFailure()) return;
      j += pair;
    }
  }
  void expect_vector(const Result& r, index j, bool pair, Wide whole) const {
    std::vector<Number> x;
    Wide length = 0, off = 0;
    std::size_t largest = 0;
    for (index i = 0; i < n; ++i) {
      x.push_back(pair ? Number(std::real(r.VR(i, j)), std::real(r.VR(i, j + 1))) : widened(r.VR(i, j)));
      length += std::norm(x.back());
      if (std::norm(x.back()) > std::norm(x[largest])) largest = x.size() - 1;
    }
    for (index i = 0; i < n; ++i) {
      Number rest = -value(r, j) * x[static_cast<std::size_t>(i)];
      for (index k = 0; k < n; ++k) rest += widened(A(i, k)) * x[static_cast<std::size_t>(k)];
      off += std::norm(rest);
    }
    ASSERT_LE(std::sqrt(off), few() * whole) << "vector " << j << " of " << describe();
    ASSERT_LE(std::fabs(std::sqrt(length) - 1), few()) << "vector " << j << " of " << describe();
    // Of several that are about as large it may be any.
    Wide nearest = 1;
    for (const Number& element : x)
      if (std::abs(element) >= std::abs(x[largest]) * (1 - few()))
        nearest = std::min(nearest, std::fabs(element.imag()));
    ASSERT_EQ(nearest, 0) << "vector " << j << " of " << describe();
  }
  void expect_right() const {
    const Result first = run();
    expect_right(first);
    if (testing::Test::HasFailure()) return;
    const Result again = run();
    ASSERT_TRUE(again.w == first.w && again.wi == first.wi && again.VR == first.VR) << "other bits: " << describe();
  }
  /// A backend may say that it has no result, but not a wrong one.
  void expect_right_or_none() const {
    const Result r = run();
    if (r.failed == T(0)) expect_right(r);
  }

  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "geev " + (vectors ? "V" : "N") + " n " + std::to_string(n) +
           " lda " + std::to_string(A.ld());
  }
};

template <class T>
class GeneralEigen : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::geev, precision_of<T>) ||
        !backend->equip(Operation::Kind::geev))
      GTEST_SKIP() << "no eigenvalues of general matrices on this backend";
  }
};
TYPED_TEST_SUITE(GeneralEigen, Precisions, TypeNames);

TYPED_TEST(GeneralEigen, OfAllOrdersAreRight) {
  using T = TypeParam;
  unsigned seed = 0;
  for (const index n : {1, 2, 3, 4, 5, 16, 17, 31, 32, 33, 63, 65, 100, 127}) {
    ++seed;
    General<T> matrix(n, seed % 4, seed);
    matrix.offset = seed % 3;
    for (const bool vectors : {true, false}) {
      matrix.vectors = vectors;
      matrix.expect_right();
      if (testing::Test::HasFailure()) return;
    }
  }
}

/// Rotations in planes by known angles, in an orthogonal basis of two reflectors: eigenvalues on the unit circle.
TYPED_TEST(GeneralEigen, OfAKnownMatrixAreThese) {
  using T = TypeParam;
  using Wide = long double;
  constexpr index n = 40;
  General<T> matrix(n);
  std::vector<Wide> A(n * n, 0), v(n);
  const auto at = [&](index i, index j) -> Wide& { return A[static_cast<std::size_t>(i + j * n)]; };
  const auto angle_of = [](index k) { return (static_cast<Wide>(k) + 1) / 10; };
  for (index k = 0; k < n / 2; ++k) {
    const index p = 2 * k, q = p + 1;
    at(p, p) = at(q, q) = std::cos(angle_of(k));
    at(q, p) = std::sin(angle_of(k)), at(p, q) = -at(q, p);
  }
  for (index i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = std::sin(static_cast<Wide>(i + 1));
  Wide squares = 0;
  for (const Wide x : v) squares += x * x;
  for (index j = 0; j < n; ++j) {  // P A
    Wide sum = 0;
    for (index i = 0; i < n; ++i) sum += v[static_cast<std::size_t>(i)] * at(i, j);
    for (index i = 0; i < n; ++i) at(i, j) -= 2 * sum / squares * v[static_cast<std::size_t>(i)];
  }
  for (index i = 0; i < n; ++i) {  // P A P
    Wide sum = 0;
    for (index j = 0; j < n; ++j) sum += at(i, j) * v[static_cast<std::size_t>(j)];
    for (index j = 0; j < n; ++j) at(i, j) -= 2 * sum / squares * v[static_cast<std::size_t>(j)];
  }
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) matrix.A(i, j) = T(static_cast<Real<T>>(at(i, j)));
  const auto result = matrix.run();
  matrix.expect_right(result);
  if (testing::Test::HasFailure()) return;
  // A normal matrix's eigenvalues are off by no more than the matrix (Bauer and Fike).
  for (index k = 0; k < n / 2; ++k)
    for (const Wide sign : {1, -1}) {
      const std::complex<Wide> due = std::polar(Wide(1), sign * angle_of(k));
      Wide nearest = 10;
      for (index i = 0; i < n; ++i) nearest = std::min(nearest, std::abs(matrix.value(result, i) - due));
      EXPECT_LE(nearest, matrix.few() * matrix.size()) << k;
    }
}

/// Of zeros; an identity; a cycle, with which shifts get nowhere; a triangle; a Jordan block; ones; a skew-symmetric
/// matrix.
TYPED_TEST(GeneralEigen, OfSpecialMatricesAreRight) {
  using T = TypeParam;
  for (const index n : {1, 2, 3, 40})
    for (int kind = 0; kind < 7; ++kind)
      for (const bool vectors : {true, false}) {
        General<T> matrix(n, 2, 3);
        matrix.vectors = vectors;
        for (index j = 0; j < n; ++j)
          for (index i = 0; i < n; ++i) {
            T& a = matrix.A(i, j);
            const auto number = [](auto x) { return T(static_cast<Real<T>>(x)); };
            if (kind == 0) a = T(0);
            if (kind == 1) a = number(i == j);
            if (kind == 2) a = number(i == (j + 1) % n);
            if (kind == 3 && i > j) a = T(0);
            if (kind == 4) a = number(i == j || i + 1 == j);
            if (kind == 5) a = T(1);
            if (kind == 6) a = number((i > j) - (i < j));
          }
        matrix.expect_right_or_none();
        if (testing::Test::HasFailure()) {
          ADD_FAILURE() << "kind " << kind;
          return;
        }
      }
}

TYPED_TEST(GeneralEigen, OfHugeAndTinyMatricesAreRightOrNone) {
  using T = TypeParam;
  for (const double size : {static_cast<double>(std::numeric_limits<Real<T>>::max()) / 1e4,
                            static_cast<double>(std::numeric_limits<Real<T>>::min()) * 1e4}) {
    General<T> matrix(50, 3, 9);
    for (index j = 0; j < matrix.n; ++j)
      for (index i = 0; i < matrix.n; ++i) matrix.A(i, j) *= static_cast<Real<T>>(size);
    matrix.expect_right_or_none();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(GeneralEigen, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  for (const double poison : {nan, inf, -inf})
    for (const auto& [row, col] : {std::pair<index, index>{0, 0}, {1, 0}, {50, 30}, {59, 59}})
      for (const bool vectors : {true, false}) {
        General<T> matrix(60, 1, 7);
        matrix.vectors = vectors;
        matrix.A(row, col) = scalar<T>(poison, 0);
        ASSERT_EQ(matrix.run().failed, T(1)) << poison << " at " << row << " " << col << " of " << matrix.describe();
      }
}

}  // namespace
}  // namespace blaslift::conformance::general_eigen_tests
