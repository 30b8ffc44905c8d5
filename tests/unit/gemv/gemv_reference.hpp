// GEMV as the tests see it: one problem with everything that may not be read full of NaN, and its result in higher
// precision.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/gemv.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::reference {

/// y := alpha * op(A) * x + beta * y.  The gaps of the matrix and the vectors are canaries; y is NaN where beta is
/// zero, and so are A and x where alpha is.
template <class T>
struct GemvProblem {
  bool transposed, conjugated;
  index m, n;
  T alpha, beta;
  index incx, incy;
  Matrix<T> A, x, y;  ///< a vector is a matrix of one row

  GemvProblem(bool t, bool c, index m_, index n_, T a, T b, index ix = 1, index iy = 1, index gap = 0,
              unsigned seed = 1)
      : transposed(t),
        conjugated(c),
        m(m_),
        n(n_),
        alpha(a),
        beta(b),
        incx(ix),
        incy(iy),
        A(m, n, gap),
        x(1, terms(), std::abs(ix) - 1),
        y(1, results(), std::abs(iy) - 1) {
    A.random(seed);
    x.random(seed + 1);
    y.random(seed + 2);
    const double not_a_number = std::numeric_limits<double>::quiet_NaN();
    if (beta == T(0)) y.fill(scalar<T>(not_a_number, not_a_number));
    if (alpha == T(0)) {
      A.fill(scalar<T>(not_a_number, not_a_number));
      x.fill(scalar<T>(not_a_number, not_a_number));
    }
  }

  index results() const { return transposed ? n : m; }
  index terms() const { return transposed ? m : n; }
  T& op(index i, index j) { return transposed ? A(j, i) : A(i, j); }
  static T& at(Matrix<T>& v, index inc, index i) { return v(0, inc < 0 ? v.cols() - 1 - i : i); }
  static const T& at(const Matrix<T>& v, index inc, index i) { return v(0, inc < 0 ? v.cols() - 1 - i : i); }

  /// In host memory; what it points to is the problem's.
  Gemv gemv() {
    return {.precision = precision_of<T>,
            .transposed = transposed,
            .conjugated = conjugated,
            .m = m,
            .n = n,
            .alpha = &alpha,
            .A = A.data(),
            .lda = A.ld(),
            .x = x.data(),
            .incx = incx,
            .beta = &beta,
            .y = y.data(),
            .incy = incy};
  }

  /// Element i of the result, and how far from it any order of additions may be: with k terms, alpha and beta (k + 2) u
  /// (|alpha| |op(A)| |x| + |beta y|) (Higham, Accuracy and Stability, 3.1).  A part of a complex result has 2 k terms
  /// and twice the roundings for alpha and beta; the errors of both are added in terms of |re| + |im|.
  Expected<T> expected(index i) const {
    using Wide = typename Expected<T>::Wide;
    struct Number {
      Wide re = 0, im = 0;
      Wide size() const { return (re < 0 ? -re : re) + (im < 0 ? -im : im); }
      void add(Number p, Number q) {
        re += p.re * q.re - p.im * q.im;
        im += p.re * q.im + p.im * q.re;
      }
    };
    const auto number = [](const T& v) { return Number{std::real(v), std::imag(v)}; };
    Number sum, result;
    Wide size = 0;
    for (index k = 0; k < terms() && alpha != T(0); ++k) {
      Number a = number(transposed ? A(k, i) : A(i, k));
      if (conjugated) a.im = -a.im;
      const Number xk = number(at(x, incx, k));
      sum.add(a, xk);
      size += a.size() * xk.size();
    }
    result.add(number(alpha), sum);
    Expected<T> e;
    e.bound = number(alpha).size() * size;
    if (beta != T(0)) {
      const Number before = number(at(y, incy, i));
      result.add(number(beta), before);
      e.bound += number(beta).size() * before.size();
    }
    e.re = result.re;
    e.im = result.im;
    const auto k = static_cast<Wide>(terms());
    e.bound *= (complex_type<T> ? 2 * k + 5 : k + 2) * (static_cast<Wide>(std::numeric_limits<Real<T>>::epsilon()) / 2);
    return e;
  }

  /// Largest distance of `result` in units of the bound.
  double worst_excess(const Matrix<T>& result) const {
    double worst = 0;
    for (index i = 0; i < results(); ++i) {
      const double excess = expected(i).excess(at(result, incy, i));
      if (!(excess <= worst)) worst = std::isnan(excess) ? HUGE_VAL : excess;
    }
    return worst;
  }

  std::string describe() const {
    const auto text = [](T v) { return std::to_string(std::real(v)) + "," + std::to_string(std::imag(v)); };
    return std::string(1, letter(precision_of<T>)) + "gemv " + (conjugated ? "conjugated " : "") +
           (transposed ? "T" : "N") + " m=" + std::to_string(m) + " n=" + std::to_string(n) +
           " lda=" + std::to_string(A.ld()) + " incx=" + std::to_string(incx) + " incy=" + std::to_string(incy) +
           " alpha=" + text(alpha) + " beta=" + text(beta);
  }
};

}  // namespace blaslift::reference
