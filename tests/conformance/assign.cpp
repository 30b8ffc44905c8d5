// Copies of matrices, as they are or transposed, identities, and whole matrices of triangles.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::assign_tests {
namespace {

template <class T>
struct Assigned {
  Assign p;
  Matrix<T> A, C;
  index offset;  ///< of both on the device

  Assigned(index m, index n, Part part, bool strict, bool transposed, bool of_identity, index below, index gap,
           index offset_)
      : p{.precision = precision_of<T>,
          .part = part,
          .strict = strict,
          .transposed = transposed,
          .m = m,
          .n = n,
          .below = below,
          .A = nullptr,
          .lda = 0,
          .C = nullptr,
          .ldc = 0,
          .conjugated = transposed && offset_ == 1},
        A(transposed ? n : m, transposed ? m : n, gap),
        C(m, n, gap),
        offset(offset_) {
    A.random(1);
    C.random(2);
    // What is not written is not read either.
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i)
        if (!covered(i, j)) (transposed ? A(j, i) : A(i, j)) = scalar<T>(nan, nan);
    identity = of_identity;
  }
  bool identity;

  static T conjugate(const T& x) {
    if constexpr (is_complex(precision_of<T>))
      return std::conj(x);
    else
      return x;
  }
  /// As kernels/types.hpp has it: the element's own row and column in the matrix that C is a block of.
  bool covered(index i, index j) const {
    const index row = i + p.below, col = j;
    if (p.strict && row == col) return false;
    return p.part == Part::whole || (p.part == Part::lower ? row >= col : row <= col);
  }

  void expect_right() const {
    Call call(room(A, offset) + room(C, offset) + 256);
    const Placed<T> a = call.put(A, offset), c = call.put(C, offset);
    Assign x = p;
    if (!identity) {
      x.A = a.at;
      x.lda = A.ld();
    }
    x.C = c.at;
    x.ldc = C.ld();
    const Ticket done = call.ask(x, {a.ready, c.ready});
    Matrix<T> result = C, read = A;
    call.get(result, c.at, {done});
    call.get(read, a.at, {done});
    ASSERT_TRUE(result.canaries_intact());
    for (index j = 0; j < p.n; ++j)
      for (index i = 0; i < p.m; ++i) {
        const T due = !covered(i, j) ? C(i, j)
                      : identity     ? T(i + p.below == j ? 1 : 0)
                      : p.transposed ? (p.conjugated ? conjugate(A(j, i)) : A(j, i))
                                     : A(i, j);
        ASSERT_TRUE(same_bits(result(i, j), due))
            << i << ", " << j << " of " << p.m << " x " << p.n << ", part " << static_cast<int>(p.part) << " below "
            << p.below << (p.strict ? " strict" : "") << (p.transposed ? " transposed" : "")
            << (p.conjugated ? " conjugated" : "") << (identity ? " identity" : "");
      }
    for (index j = 0; j < A.cols(); ++j)
      for (index i = 0; i < A.rows(); ++i) ASSERT_TRUE(same_bits(read(i, j), A(i, j)));
  }
};

template <class T>
class Assignments : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::assign, precision_of<T>)) GTEST_SKIP() << "not on this backend";
  }
};
TYPED_TEST_SUITE(Assignments, Precisions, TypeNames);

TYPED_TEST(Assignments, WriteWhatTheySayAndNothingElse) {
  using T = TypeParam;
  index turn = 0;
  for (const auto& [m, n] : {std::pair<index, index>{1, 1}, {1, 9}, {7, 8}, {8, 7}, {33, 70}, {256, 9}, {300, 130}})
    for (const Part part : {Part::whole, Part::lower, Part::upper})
      for (const bool strict : {false, true})
        for (const bool transposed : {false, true})
          for (const bool identity : {false, true})
            for (const index below : {index{0}, index{5}, -n / 2, m}) {
              ++turn;
              Assigned<T>(m, n, part, strict, transposed, identity, below, turn % 4, turn % 3).expect_right();
              if (testing::Test::HasFatalFailure()) return;
            }
}

/// A Hermitian matrix of which a triangle is stored; the other one, and the diagonal's imaginary parts, are NaN.
template <class T>
void expect_mirrored(index n, Uplo uplo, index gap, index offset) {
  const auto stored = [uplo](index i, index j) { return uplo == Uplo::lower ? i >= j : i <= j; };
  Matrix<T> A(n, n, gap);
  A.random(3);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i)
      if (!stored(i, j))
        A(i, j) = scalar<T>(nan, nan);
      else if (i == j)
        A(i, j) = scalar<T>(static_cast<double>(std::real(A(i, j))), nan);
  Call call(room(A, offset) + 256);
  const Placed<T> a = call.put(A, offset);
  const Mirror p{.precision = precision_of<T>, .uplo = uplo, .n = n, .A = a.at, .lda = A.ld()};
  const Ticket done = call.ask(p, {a.ready});
  Matrix<T> result = A;
  call.get(result, a.at, {done});
  ASSERT_TRUE(result.canaries_intact());
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) {
      const T from = stored(i, j) ? A(i, j) : A(j, i);
      const double re = static_cast<double>(std::real(from)), im = static_cast<double>(std::imag(from));
      const T due = scalar<T>(re, i == j ? 0 : stored(i, j) ? im : -im);
      ASSERT_TRUE(same_bits(result(i, j), due))
          << i << ", " << j << " of " << n << (uplo == Uplo::lower ? " lower" : " upper");
    }
}

template <class T>
class Mirrors : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::mirror, precision_of<T>)) GTEST_SKIP() << "not on this backend";
  }
};
TYPED_TEST_SUITE(Mirrors, Precisions, TypeNames);

TYPED_TEST(Mirrors, MakeWholeMatricesOfTriangles) {
  index turn = 0;
  for (const index n : {1, 2, 31, 32, 33, 64, 100, 257})
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
      for (int times = 0; times < 3; ++times) {
        ++turn;
        expect_mirrored<TypeParam>(n, uplo, turn % 4, turn % 3);
        if (testing::Test::HasFatalFailure()) return;
      }
}

}  // namespace
}  // namespace blaslift::conformance::assign_tests
