// The tile kernels of QR: each against Q multiplied out in a wider precision, with NaN in everything that they are not
// to read and canaries in what they are not to write.
//
// Bounds: r reflectors applied to columns of length m leave a backward error of at most gamma(c m) r ||A|| (Higham,
// Accuracy and Stability, theorem 19.4), with c small; in practice errors grow far more slowly.  What is allowed here
// is (m + r) eps ||A||, Frobenius norms, twice that for complex numbers.
#include "kernels/host/qr_tiles.hpp"

#include <gtest/gtest.h>

#include "tests/precisions.hpp"
#include "tests/unit/qr/qr_reference.hpp"

namespace blaslift::qr_tiles_tests {
namespace {

using namespace reference;

template <class T>
class QrTiles : public testing::Test {
 protected:
  static double allowed(index m, index reflectors) {
    return static_cast<double>(m + reflectors) * eps<T>() * (complex_type<T> ? 2 : 1);
  }
};
TYPED_TEST_SUITE(QrTiles, Precisions);

enum class Pair { none, square, triangle };

/// A canary's bits: what stays unread and unwritten.
template <class T>
T canary_element() {
  T x;
  fill_with_canaries(&x, sizeof x);
  return x;
}

/// One factorisation of A (m x n), or of a triangle (n x n) above A: everything before and after.
template <class T>
struct Factored {
  Pair pair;
  index m, n, ib, k;
  Matrix<T> top, A, t;     ///< after; top only for pairs
  Matrix<T> top0, A0, t0;  ///< before

  Factored(Pair which, index rows, index cols, index block, T scale = T(1), unsigned seed = 1)
      : pair(which),
        m(rows),
        n(cols),
        ib(block),
        k(which == Pair::none ? std::min(rows, cols) : cols),
        top(which == Pair::none ? 0 : cols, which == Pair::none ? 0 : cols, 2),
        A(rows, cols, 3),
        t(block, k, 1),
        top0(top),
        A0(A),
        t0(t) {
    A.random(seed);
    if (pair != Pair::none) top.random(seed + 100);
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < m; ++i) A(i, j) = pair == Pair::triangle && i > j ? canary_element<T>() : A(i, j) * scale;
      for (index i = 0; i < top.rows(); ++i) top(i, j) = i > j ? canary_element<T>() : top(i, j) * scale;
    }
    top0 = top;
    A0 = A;
  }

  void run() {
    switch (pair) {
      case Pair::none: return geqrt(m, n, ib, A.data(), A.ld(), t.data(), t.ld());
      case Pair::square: return tsqrt(m, n, ib, top.data(), top.ld(), A.data(), A.ld(), t.data(), t.ld());
      case Pair::triangle: return ttqrt(m, n, ib, top.data(), top.ld(), A.data(), A.ld(), t.data(), t.ld());
    }
  }

  using W = Wide<T>;
  using Scalar = typename W::Scalar;
  static Scalar number(T x) { return {std::real(x), std::imag(x)}; }
  index all_rows() const { return top.rows() + m; }

  /// Element i of reflector p, as the header draws it.
  Scalar v(index i, index p) const {
    if (pair == Pair::none) return i < p ? Scalar(0) : i == p ? Scalar(1) : number(A(i, p));
    if (i < n) return i == p ? Scalar(1) : Scalar(0);
    return pair == Pair::triangle && i - n > p ? Scalar(0) : number(A(i - n, p));
  }
  /// C := Q C or Q^H C
  void apply(bool adjoint, W& C) const {
    const index blocks = (k + ib - 1) / ib;
    for (index b = 0; b < blocks; ++b) {
      const index first = (adjoint ? b : blocks - 1 - b) * ib;
      apply_reflectors<T>(
          adjoint, std::min(ib, k - first), [&](index i, index p) { return v(i, first + p); },
          [&](index q, index p) { return number(t(q, first + p)); }, C);
    }
  }
  W before() const {
    W x(all_rows(), n);
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < top.rows(); ++i) x(i, j) = i > j ? Scalar(0) : number(top0(i, j));
      for (index i = 0; i < m; ++i)
        x(top.rows() + i, j) = pair == Pair::triangle && i > j ? Scalar(0) : number(A0(i, j));
    }
    return x;
  }
  W R() const {
    W x(all_rows(), n);
    const Matrix<T>& from = pair == Pair::none ? A : top;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i <= std::min(j, from.rows() - 1); ++i) x(i, j) = number(from(i, j));
    return x;
  }
  T tau(index p) const { return t(p % ib, p); }

  /// What is written and should not be; or empty.
  std::string trespassed() const {
    for (index p = 0; p < k; ++p)
      for (index i = p % ib + 1; i < ib; ++i)
        if (!same_bits(t(i, p), t0(i, p))) return "t below the diagonal";
    for (index j = 0; j < n; ++j) {
      for (index i = j + 1; i < top.rows(); ++i)
        if (!same_bits(top(i, j), top0(i, j))) return "below the triangle";
      for (index i = j + 1; pair == Pair::triangle && i < m; ++i)
        if (!same_bits(A(i, j), A0(i, j))) return "below the annihilated triangle";
    }
    return top.canaries_intact() && A.canaries_intact() && t.canaries_intact() ? "" : "outside of a matrix";
  }
};

struct Size {
  index m, n;
};
constexpr Size sizes[] = {{1, 1},   {5, 1},   {1, 4},   {4, 4},   {9, 4}, {4, 9},
                          {16, 16}, {23, 17}, {40, 12}, {12, 12}, {3, 20}};
constexpr index blocks[] = {1, 3, 4, 8, 32};

TYPED_TEST(QrTiles, FactorsAreOrthogonalAndMultiplyToTheMatrix) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr R least = std::numeric_limits<R>::min(), most = std::numeric_limits<R>::max();
  // With the last ones squares underflow, overflow, and numbers are hardly normal.
  for (const R scale :
       {R(1), std::sqrt(least) / 64, std::sqrt(most) * 64, least / std::numeric_limits<R>::epsilon() * 8, most / 1024})
    for (const Pair pair : {Pair::none, Pair::square, Pair::triangle})
      for (const Size size : sizes)
        for (const index ib : blocks) {
          Factored<T> f(pair, size.m, size.n, ib, T(scale));
          f.run();
          SCOPED_TRACE(testing::Message() << "pair " << static_cast<int>(pair) << " " << size.m << " x " << size.n
                                          << " ib=" << ib << " scale=" << scale);
          ASSERT_EQ(f.trespassed(), "");
          const double allowed = this->allowed(f.all_rows(), f.k);
          auto QR = f.R();
          f.apply(false, QR);
          const auto A = f.before();
          ASSERT_LE((QR - A).norm(), allowed * A.norm());
          auto Q = Wide<T>::identity(f.all_rows());
          f.apply(false, Q);
          ASSERT_LE(orthogonality(Q), allowed * std::sqrt(static_cast<double>(f.all_rows())));
          for (index p = 0; p < f.k; ++p) {
            const T tau = f.tau(p);
            ASSERT_TRUE(tau == T(0) || (std::real(tau) >= 1 && std::real(tau) <= 2)) << tau;
            ASSERT_EQ(std::imag((pair == Pair::none ? f.A : f.top)(p, p)), 0);
          }
        }
}

TYPED_TEST(QrTiles, ReflectorsAreAppliedAsTheyAreDefined) {
  using T = TypeParam;
  for (const Pair pair : {Pair::none, Pair::square, Pair::triangle})
    for (const Size size : sizes)
      for (const index ib : blocks)
        for (const index n : {1, 2, 7})
          for (const Op op : {Op::none, Op::conjugate}) {
            Factored<T> f(pair, size.m, size.n, ib);
            f.run();
            SCOPED_TRACE(testing::Message() << "pair " << static_cast<int>(pair) << " " << size.m << " x " << size.n
                                            << " ib=" << ib << " n=" << n << " " << static_cast<char>(op));
            // More rows on top than there are reflectors: those are not touched.
            Matrix<T> top(f.top.rows() + 2, n, 1), C(size.m, n, 2);
            top.random(5);
            C.random(6);
            const Matrix<T> below = top;
            Wide<T> expected(f.all_rows(), n);
            for (index j = 0; j < n; ++j) {
              for (index i = 0; i < f.top.rows(); ++i) expected(i, j) = f.number(top(i, j));
              for (index i = 0; i < size.m; ++i) expected(f.top.rows() + i, j) = f.number(C(i, j));
            }
            const double norm = expected.norm();
            f.apply(op == Op::conjugate, expected);
            // Not even the diagonal, or what geqrt has left above it, belongs to the reflectors.
            Matrix<T> V = f.A;
            if (pair == Pair::none)
              for (index j = 0; j < V.cols(); ++j)
                for (index i = 0; i <= std::min(j, V.rows() - 1); ++i) V(i, j) = canary_element<T>();
            switch (pair) {
              case Pair::none:
                larfb(op, size.m, n, f.k, ib, V.data(), V.ld(), f.t.data(), f.t.ld(), C.data(), C.ld());
                break;
              case Pair::square:
                ssrfb(op, size.m, n, f.k, ib, V.data(), V.ld(), f.t.data(), f.t.ld(), top.data(), top.ld(), C.data(),
                      C.ld());
                break;
              case Pair::triangle:
                ttmqr(op, size.m, n, f.k, ib, V.data(), V.ld(), f.t.data(), f.t.ld(), top.data(), top.ld(), C.data(),
                      C.ld());
                break;
            }
            Wide<T> result(f.all_rows(), n);
            for (index j = 0; j < n; ++j) {
              for (index i = 0; i < f.top.rows(); ++i) result(i, j) = f.number(top(i, j));
              for (index i = 0; i < size.m; ++i) result(f.top.rows() + i, j) = f.number(C(i, j));
              for (index i = f.top.rows(); i < top.rows(); ++i) ASSERT_TRUE(same_bits(top(i, j), below(i, j)));
            }
            ASSERT_LE((result - expected).norm(), this->allowed(f.all_rows(), f.k) * norm);
            ASSERT_TRUE(top.canaries_intact() && C.canaries_intact());
          }
}

TYPED_TEST(QrTiles, NothingIsDoneToZeros) {
  using T = TypeParam;
  for (const Pair pair : {Pair::none, Pair::square, Pair::triangle}) {
    Factored<T> f(pair, 9, 6, 4, T(0));
    f.run();
    for (index p = 0; p < f.k; ++p) EXPECT_EQ(f.tau(p), T(0));
    EXPECT_EQ(f.R().norm(), 0);
    EXPECT_EQ(f.trespassed(), "");
  }
}

TYPED_TEST(QrTiles, NotANumberStaysOutOfTheColumnsBeforeIt) {
  using T = TypeParam;
  for (const Pair pair : {Pair::none, Pair::square, Pair::triangle})
    for (const Real<T> bad : {std::numeric_limits<Real<T>>::quiet_NaN(), std::numeric_limits<Real<T>>::infinity()}) {
      Factored<T> clean(pair, 12, 10, 4), f(pair, 12, 10, 4);
      const index col = 5;
      f.A(3, col) = T(bad);
      clean.run();
      f.run();
      const Matrix<T>&R = pair == Pair::none ? f.A : f.top, &clean_R = pair == Pair::none ? clean.A : clean.top;
      for (index j = 0; j < col; ++j)
        for (index i = 0; i <= j; ++i) ASSERT_TRUE(same_bits(R(i, j), clean_R(i, j)));
      bool poisoned = false;
      for (index i = 0; i <= col; ++i) poisoned |= !finite(R(i, col));
      EXPECT_TRUE(poisoned);
      EXPECT_EQ(f.trespassed(), "");
    }
}

TYPED_TEST(QrTiles, BlocksDoNotChangeTheFactors) {
  using T = TypeParam;
  // Nor do they change more than roundings: one wide block against narrow ones.
  Factored<T> wide(Pair::none, 40, 24, 24), narrow(Pair::none, 40, 24, 5);
  wide.run();
  narrow.run();
  EXPECT_LE((Wide<T>::of(wide.A) - Wide<T>::of(narrow.A)).norm(),
            100 * this->allowed(40, 24) * Wide<T>::of(wide.A0).norm());
}

}  // namespace
}  // namespace blaslift::qr_tiles_tests
