// Singular value decompositions.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::svd_tests {
namespace {

template <class T>
struct Decomposed {
  using R = Real<T>;
  using Wide = long double;
  using Number = std::complex<Wide>;

  index m, n, k;
  index u_cols, vt_rows;
  bool u_in_a = false, vt_in_a = false;
  Matrix<T> A;
  index offset = 0;  ///< of matrices on the device

  Decomposed(index rows, index cols, index gap = 3, unsigned seed = 1)
      : m(rows), n(cols), k(std::min(m, n)), u_cols(k), vt_rows(k), A(m, n, gap) {
    A.random(seed);
  }
  Decomposed& with(index left, index right, bool left_in_a = false, bool right_in_a = false) {
    u_cols = left, vt_rows = right, u_in_a = left_in_a, vt_in_a = right_in_a;
    return *this;
  }

  struct Result {
    Matrix<T> A, U, VT;  ///< as they lie on the device afterwards
    std::vector<R> s;
    T failed;
  };
  Result run() const {
    Matrix<T> U(m, u_in_a ? 0 : u_cols, 2), VT(vt_in_a ? 0 : vt_rows, n, 1);
    U.fill(scalar<T>(31, 32));
    VT.fill(scalar<T>(33, 34));
    Call call(room(A, offset) + room(U, offset) + room(VT, offset) + 4096 + Call::part_size<R>(k + 1) +
              Call::part_size<T>(2));
    const Placed<T> a = call.put(A, offset), u = call.put(U, offset), vt = call.put(VT, offset);
    const std::vector<R> reals(static_cast<std::size_t>(k + 1), R(81));
    const std::vector<T> unsaid(2, T(5));
    R* const s = call.part<R>(k + 1);
    T* const failed = call.part<T>(2);
    const Ticket values = call.upload(s, k + 1, reals.data(), k + 1, k + 1, 1),
                 said = call.upload(failed, 2, unsaid.data(), 2, 2, 1);
    const Ticket found = call.ask(Svd{.precision = precision_of<T>,
                                      .m = m,
                                      .n = n,
                                      .u_cols = u_cols,
                                      .vt_rows = vt_rows,
                                      .u_in_a = u_in_a,
                                      .vt_in_a = vt_in_a,
                                      .A = a.at,
                                      .lda = A.ld(),
                                      .U = u_in_a ? a.at : u.at,
                                      .ldu = u_in_a ? A.ld() : U.ld(),
                                      .VT = vt_in_a ? a.at : vt.at,
                                      .ldvt = vt_in_a ? A.ld() : VT.ld(),
                                      .s = s,
                                      .failed = failed},
                                  {a.ready, u.ready, vt.ready, values, said});
    Result result{A, U, VT, reals, T(0)};
    T both[2];
    call.download(both, 2, failed, 2, 2, 1, {found});
    call.download(result.s.data(), k + 1, s, k + 1, k + 1, 1, {found});
    if (!u_in_a && u_cols > 0) call.get(result.U, u.at, {found});
    if (!vt_in_a && vt_rows > 0) call.get(result.VT, vt.at, {found});
    call.get(result.A, a.at, {found});
    result.failed = both[0];
    EXPECT_EQ(both[1], T(5)) << describe();
    EXPECT_EQ(result.s[static_cast<std::size_t>(k)], R(81)) << "more than k of s: " << describe();
    EXPECT_TRUE(result.A.canaries_intact() && result.U.canaries_intact() && result.VT.canaries_intact())
        << "written between columns: " << describe();
    // Of A, what the vectors do not take the place of.
    const index rows = vt_in_a ? vt_rows : u_in_a ? m : 0, cols = vt_in_a ? n : u_in_a ? u_cols : 0;
    for (index j = 0; j < n && result.failed == T(0); ++j)
      for (index i = 0; i < m; ++i) {
        if (i < rows && j < cols) continue;
        EXPECT_EQ(result.A(i, j), A(i, j)) << "A written at " << i << ", " << j << ": " << describe();
        if (testing::Test::HasFailure()) return result;
      }
    return result;
  }

  static Number widened(const T& x) { return {std::real(x), std::imag(x)}; }
  Number u(const Result& r, index i, index j) const { return widened((u_in_a ? r.A : r.U)(i, j)); }
  Number vt(const Result& r, index i, index j) const { return widened((vt_in_a ? r.A : r.VT)(i, j)); }
  Wide size() const {  // Frobenius's norm
    Wide sum = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) sum += std::norm(widened(A(i, j)));
    return std::sqrt(sum);
  }
  Wide few() const { return 8 * static_cast<Wide>(m + n) * std::numeric_limits<R>::epsilon(); }

  template <class Element>
  void expect_orthonormal(const char* what, index count, index order, const Element& element) const {
    for (index q = 0; q < count; q += std::max<index>(1, count / 12))
      for (index p = 0; p < count; ++p) {
        Number product = p == q ? -1 : 0;
        for (index i = 0; i < order; ++i) product += std::conj(element(i, p)) * element(i, q);
        ASSERT_LE(std::abs(product), few()) << what << ' ' << p << ", " << q << " of " << describe();
      }
  }
  /// Of both sides some rows of A; of one, how long A^H u and A v are.
  void expect_right(const Result& r) const {
    ASSERT_EQ(r.failed, T(0)) << describe();
    const Wide whole = size();
    const auto s = [&](index i) { return static_cast<Wide>(r.s[static_cast<std::size_t>(i)]); };
    Wide squares = 0;
    for (index i = 0; i < k; ++i) {
      ASSERT_GE(s(i), i + 1 < k ? s(i + 1) : 0) << i << " of " << describe();
      squares += s(i) * s(i);
    }
    ASSERT_LE(std::fabs(std::sqrt(squares) - whole), few() * whole) << describe();
    expect_orthonormal("U", u_cols, m, [&](index i, index j) { return u(r, i, j); });
    expect_orthonormal("V", vt_rows, n, [&](index i, index j) { return std::conj(vt(r, j, i)); });
    if (testing::Test::HasFatalFailure()) return;
    if (u_cols > 0 && vt_rows > 0) {
      for (index i = 0; i < m; i += std::max<index>(1, m / 12)) {
        Wide off = 0;
        for (index j = 0; j < n; ++j) {
          Number rest = -widened(A(i, j));
          for (index q = 0; q < k; ++q) rest += u(r, i, q) * s(q) * vt(r, q, j);
          off += std::norm(rest);
        }
        ASSERT_LE(std::sqrt(off), few() * whole) << "row " << i << " of " << describe();
      }
      return;
    }
    for (index q = 0; q < (u_cols + vt_rows > 0 ? k : 0); q += std::max<index>(1, k / 12)) {
      Wide length = 0;
      for (index j = 0; j < (u_cols > 0 ? n : m); ++j) {
        Number sum = 0;
        for (index i = 0; i < (u_cols > 0 ? m : n); ++i)
          sum += u_cols > 0 ? std::conj(widened(A(i, j))) * u(r, i, q) : widened(A(j, i)) * std::conj(vt(r, q, i));
        length += std::norm(sum);
      }
      ASSERT_LE(std::fabs(std::sqrt(length) - s(q)), few() * whole) << "vector " << q << " of " << describe();
    }
  }
  void expect_right() const {
    const Result first = run();
    expect_right(first);
    if (testing::Test::HasFailure()) return;
    const Result again = run();
    ASSERT_EQ(again.s, first.s) << "other bits: " << describe();
    ASSERT_TRUE(again.A == first.A && again.U == first.U && again.VT == first.VT) << "other bits: " << describe();
  }
  /// Singular values are those that come with vectors, but for roundings.
  void expect_values(const Result& with) const {
    const Result r = run();
    ASSERT_EQ(r.failed, T(0)) << describe();
    for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i)
      ASSERT_LE(std::fabs(static_cast<Wide>(r.s[i]) - static_cast<Wide>(with.s[i])), few() * size())
          << i << " of " << describe();
  }
  /// A backend may say that it has no result, but not a wrong one.
  bool right_or_none() const {
    const Result r = run();
    if (r.failed != T(0)) return false;
    expect_right(r);
    return true;
  }

  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "svd " + std::to_string(m) + " x " + std::to_string(n) + " U " +
           std::to_string(u_cols) + (u_in_a ? " in A" : "") + " VT " + std::to_string(vt_rows) +
           (vt_in_a ? " in A" : "") + " lda " + std::to_string(A.ld());
  }
};

template <class T>
class SingularValues : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::svd, precision_of<T>) || !backend->equip(Operation::Kind::svd))
      GTEST_SKIP() << "no singular values on this backend";
  }
};
TYPED_TEST_SUITE(SingularValues, Precisions, TypeNames);

constexpr std::pair<index, index> shapes[] = {{1, 1},    {2, 1},   {1, 2},   {3, 3},    {17, 17},
                                              {31, 33},  {33, 31}, {64, 64}, {65, 65},  {127, 80},
                                              {80, 127}, {130, 7}, {7, 130}, {150, 33}, {33, 150}};

TYPED_TEST(SingularValues, OfAllShapesAndVectorsAskedFor) {
  using T = TypeParam;
  unsigned seed = 0;
  for (const auto& [m, n] : shapes) {
    ++seed;
    Decomposed<T> matrix(m, n, seed % 4, seed);
    matrix.offset = seed % 3;
    const index k = matrix.k;
    const auto with_both = matrix.run();
    const std::pair<index, index> asked[] = {{k, k}, {m, n}, {m, 0}, {k, 0}, {0, n}, {0, k}, {m, k}, {k, n}};
#ifdef CONFORMANCE_BRIEF
    const std::size_t step = k > 40 ? 3 : 1;  // other large shapes are asked for the rest
#else
    const std::size_t step = 1;
#endif
    for (std::size_t i = seed % step; i < std::size(asked); i += step)
      matrix.with(asked[i].first, asked[i].second).expect_right();
    matrix.with(k, n, true, false).expect_right();
    matrix.with(k, 0, true, false).expect_right();
    matrix.with(m, k, false, true).expect_right();
    matrix.with(0, k, false, true).expect_right();
    matrix.with(0, 0).expect_values(with_both);
    if (testing::Test::HasFailure()) return;
  }
}

/// Whose singular values are known: 1 / (i + 1) in front of orthogonal columns of cosines.
TYPED_TEST(SingularValues, OfAKnownMatrixAreThese) {
  using T = TypeParam;
  const long double pi = std::acos(-1.0L);
  for (const auto& [m, n] : {std::pair<index, index>{60, 60}, {90, 40}, {40, 90}}) {
    Decomposed<T> matrix(m, n);
    const index rows = std::max(m, n), k = matrix.k;
    for (index j = 0; j < k; ++j)
      for (index i = 0; i < rows; ++i) {
        // The discrete cosine transform's columns, of length 1; in the complex case with phases.
        const long double angle = pi * static_cast<long double>((2 * i + 1) * j) / static_cast<long double>(2 * rows),
                          length = std::sqrt((j == 0 ? 1.0L : 2.0L) / static_cast<long double>(rows)),
                          x = std::cos(angle) * length / static_cast<long double>(j + 1);
        const T value = is_complex(precision_of<T>)
                            ? scalar<T>(static_cast<double>(0.6L * x), static_cast<double>(0.8L * x))
                            : T(static_cast<Real<T>>(x));
        (m >= n ? matrix.A(i, j) : matrix.A(j, i)) = value;
      }
    const auto result = matrix.run();
    matrix.expect_right(result);
    for (index i = 0; i < k && !testing::Test::HasFailure(); ++i)
      ASSERT_LE(std::fabs(static_cast<long double>(result.s[static_cast<std::size_t>(i)]) -
                          1 / static_cast<long double>(i + 1)),
                matrix.few() * 2)
          << i << " of " << matrix.describe();
    if (testing::Test::HasFailure()) return;
  }
}

/// A part of an identity, ones, and columns that repeat or vanish; zeros may be refused.
TYPED_TEST(SingularValues, OfMatricesWithoutFullRankAreRight) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair<index, index>{70, 70}, {90, 40}, {40, 90}, {1, 1}, {5, 1}})
    for (const int kind : {0, 1, 2, 3, 4}) {
      Decomposed<T> matrix(m, n, 2, 3);
      bool zero = true;
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < m; ++i) {
          T& a = matrix.A(i, j);
          if (kind == 0) a = T(0);
          if (kind == 1) a = T(static_cast<Real<T>>(i == j && i % 3 != 0));
          if (kind == 2) a = T(1);
          if (kind == 3 && j > 0) a = matrix.A(i, j - j % 2);
          if (kind == 4 && (i % 4 == 0 || j % 5 == 0)) a = T(0);
          zero = zero && a == T(0);
        }
      for (const auto& [left, right] : {std::pair<index, index>{matrix.k, matrix.k}, {m, n}, {0, 0}}) {
        const bool found = matrix.with(left, right).right_or_none();
        ASSERT_TRUE(found || zero) << "kind " << kind << ": " << matrix.describe();
      }
      if (testing::Test::HasFailure()) return;
    }
}

/// U diag(values) V^T with cosines for vectors.
template <class T>
Decomposed<T> with_values(index m, index n, const std::vector<long double>& values) {
  const long double pi = std::acos(-1.0L);
  const auto cosines = [&](index order) {
    std::vector<long double> all;
    for (index q = 0; q < static_cast<index>(values.size()); ++q)
      for (index i = 0; i < order; ++i)
        all.push_back(std::cos(pi * static_cast<long double>((2 * i + 1) * q) / static_cast<long double>(2 * order)) *
                      std::sqrt((q == 0 ? 1.0L : 2.0L) / static_cast<long double>(order)));
    return all;
  };
  const std::vector<long double> left = cosines(m), right = cosines(n);
  Decomposed<T> matrix(m, n, 1, 5);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      long double sum = 0;
      for (index q = 0; q < matrix.k; ++q)
        sum += left[static_cast<std::size_t>(i + q * m)] * values[static_cast<std::size_t>(q)] *
               right[static_cast<std::size_t>(j + (matrix.k - 1 - q) * n)];
      matrix.A(i, j) = T(static_cast<Real<T>>(sum));
    }
  return matrix;
}
template <class T>
void expect_values(Decomposed<T> matrix, const std::vector<long double>& values) {
  for (const index vectors : {matrix.k, index{0}}) {
    const auto result = matrix.with(vectors, vectors).run();
    matrix.expect_right(result);
    for (index q = 0; q < matrix.k && !testing::Test::HasFailure(); ++q)
      ASSERT_LE(std::fabs(static_cast<long double>(result.s[static_cast<std::size_t>(q)]) -
                          values[static_cast<std::size_t>(q)]),
                matrix.few())
          << q << " of " << matrix.describe();
    if (testing::Test::HasFailure()) return;
  }
}

/// Of which a decomposition by stages finds some in each.
TYPED_TEST(SingularValues, ThatFallFarAreRight) {
  using T = TypeParam;
#ifdef CONFORMANCE_BRIEF
  constexpr int falls[] = {12, 30};
#else
  constexpr int falls[] = {3, 7, 12, 18, 30};
#endif
  for (const auto& [m, n] : {std::pair<index, index>{60, 60}, {75, 40}, {40, 75}})
    for (const int digits : falls)
      for (const bool all_but_one : {false, true}) {
        const index k = std::min(m, n);
        std::vector<long double> values;
        for (index q = 0; q < k; ++q)
          values.push_back(std::pow(10.0L, -digits * static_cast<long double>(all_but_one ? q == k - 1 : q) /
                                               static_cast<long double>(all_but_one ? 1 : k - 1)));
        expect_values(with_values<T>(m, n, values), values);
        ASSERT_FALSE(testing::Test::HasFailure()) << "down to 1e-" << digits;
      }
}

/// Many that lie where a stage ends, which each stage finds with roundings of its own: in order all the same.
TYPED_TEST(SingularValues, ThatLieAtAStagesEndDescend) {
  using T = TypeParam;
  constexpr index n = 120;
  for (const long double end : {1e-5L, 1e-7L})
    for (const long double spread : {4.0L, 1.0L}) {
      std::vector<long double> values{1};
      for (index q = 1; q < n; ++q)
        values.push_back(1.25125L * end *
                         (spread == 1 ? 1 : 1.6L - 1.2L * static_cast<long double>(q) / static_cast<long double>(n)));
      expect_values(with_values<T>(n, n, values), values);
      ASSERT_FALSE(testing::Test::HasFailure()) << static_cast<double>(end) << ", " << static_cast<double>(spread);
    }
}

/// The identity has full rank.
TYPED_TEST(SingularValues, OfAnIdentityAreOnes) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair<index, index>{70, 70}, {90, 40}, {40, 90}}) {
    Decomposed<T> matrix(m, n);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) matrix.A(i, j) = T(static_cast<Real<T>>(i == j));
    matrix.with(m, n).expect_right();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(SingularValues, OfHugeAndTinyMatricesAreRightOrNone) {
  using T = TypeParam;
  for (const double size : {static_cast<double>(std::numeric_limits<Real<T>>::max()) / 1e4,
                            static_cast<double>(std::numeric_limits<Real<T>>::min()) * 1e4})
    for (const auto& [m, n] : {std::pair<index, index>{60, 50}, {50, 60}}) {
      Decomposed<T> matrix(m, n, 3, 9);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < m; ++i) matrix.A(i, j) *= static_cast<Real<T>>(size);
      (void)matrix.right_or_none();
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(SingularValues, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair<index, index>{90, 60}, {60, 90}})
    for (const double poison : {nan, inf, -inf})
      for (const auto& [row, col] : {std::pair<index, index>{0, 0}, {1, 0}, {50, 30}, {59, 59}})
        for (const index vectors : {index{0}, index{60}}) {
          Decomposed<T> matrix(m, n, 1, 7);
          matrix.A(row, col) = scalar<T>(poison, 0);
          const auto result = matrix.with(vectors, vectors).run();
          ASSERT_EQ(result.failed, T(1)) << poison << " at " << row << " " << col << " of " << matrix.describe();
        }
}

}  // namespace
}  // namespace blaslift::conformance::svd_tests
