// SYMV as the tests see it: one problem with everything that may not be read full of NaN, and its result in higher
// precision.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/symv.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::reference {

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// ---- pairs of doubles where complex numbers have their parts

/// The second part, at most 2^-54 of the first and so never part of it, takes the imaginary part's place.
template <>
inline DoubleDouble scalar<DoubleDouble>(double re, double im) {
  return {re, re * im * 0x1p-54};
}
inline bool finite(const DoubleDouble& x) { return std::isfinite(x.hi) && std::isfinite(x.lo); }

/// With 113 bits, against double-double's 106: enough for sums, whose bounds are of n times the last of these.
template <>
struct Expected<DoubleDouble> {
  using Wide = __float128;
  Wide re = 0, im = 0, bound = 0;
  double excess(const DoubleDouble& x) const {
    const Wide error = static_cast<Wide>(x.hi) + x.lo - re;
    return error == 0 ? 0.0 : static_cast<double>((error < 0 ? -error : error) / bound);
  }
};

// ---- problems

/// Every blocking of a precision: strips, and panels with chunks as low as they can be and twice that.
inline std::vector<SymvBlocking> all_blockings(Element precision) {
  std::vector<SymvBlocking> all{{}};
  const auto add = [&](SymvBlocking b) {
    for (const int times : {1, 2}) {
      b.H = times * std::max(b.U, symv_rows_a_step(b, element_size(precision)));
      all.push_back(b);
    }
  };
  if (element_size(precision) == 16)
    for (const SymvBlocking& b : symv_blockings_16) add(b);
  else
    for (const SymvBlocking& b : symv_blockings) add(b);
  return all;
}

/// y := alpha * A * x + beta * y.  The other triangle, the imaginary parts of a Hermitian diagonal and the gaps of the
/// vectors are NaN; so is y where beta is zero.
template <class T>
struct SymvProblem {
  Uplo uplo;
  bool hermitian;
  bool conjugated = false;
  index n;
  T alpha, beta;
  index incx, incy;
  Matrix<T> A, x, y;  ///< a vector is a matrix of one row

  SymvProblem(Uplo u, bool h, index n_, T a, T b, index ix = 1, index iy = 1, index gap = 0, unsigned seed = 1)
      : uplo(u),
        hermitian(h),
        n(n_),
        alpha(a),
        beta(b),
        incx(ix),
        incy(iy),
        A(n, n, gap),
        x(1, n, std::abs(ix) - 1),
        y(1, n, std::abs(iy) - 1) {
    A.random(seed);
    x.random(seed + 1);
    y.random(seed + 2);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if constexpr (complex_type<T>)
          if (i == j && hermitian) A(i, i) = scalar<T>(static_cast<double>(std::real(A(i, i))), not_a_number);
        if (!stored(i, j) && i != j) A(i, j) = scalar<T>(not_a_number, not_a_number);
      }
    if (beta == T(0)) y.fill(scalar<T>(not_a_number, not_a_number));
  }

  bool stored(index i, index j) const { return uplo == Uplo::upper ? i <= j : i >= j; }
  static T& at(Matrix<T>& v, index inc, index i) { return v(0, inc < 0 ? v.cols() - 1 - i : i); }
  static const T& at(const Matrix<T>& v, index inc, index i) { return v(0, inc < 0 ? v.cols() - 1 - i : i); }

  /// In host memory; what it points to is the problem's.
  Symv symv(const SymvBlocking& blocking) {
    return {.precision = element_of<T>,
            .hermitian = hermitian,
            .uplo = uplo,
            .n = n,
            .alpha = &alpha,
            .A = A.data(),
            .lda = A.ld(),
            .x = x.data(),
            .incx = incx,
            .beta = &beta,
            .y = y.data(),
            .incy = incy,
            .blocking = blocking,
            .conjugated = conjugated};
  }

  /// Element i of the result, and how far from it any order of additions may be: with products fused with their
  /// additions or rounded first, n terms, alpha and beta make (n + 2) u (|alpha| |A| |x| + |beta y|) (Higham, Accuracy
  /// and Stability, 3.1).  A part of a complex result has 2 n terms and twice the roundings for alpha and beta; the
  /// errors of both are added in terms of |re| + |im|.  In double-double a sum has at most 3 u^2 of what it adds, and a
  /// product 13 u^2 or, alone, 6 u^2 (kernels/double_double.hpp): n terms, alpha and beta make 3 n + 13 + 6 + 3.
  Expected<T> expected(index i) const {
    using Wide = typename Expected<T>::Wide;
    struct Number {
      Wide re = 0, im = 0;
      Wide size() const { return (re < 0 ? -re : re) + (im < 0 ? -im : im); }
      void add(Number p, Number q) {
        re += p.re * q.re;
        im += p.re * q.im;
        if constexpr (complex_type<T>) {
          re -= p.im * q.im;
          im += p.im * q.re;
        }
      }
    };
    const auto number = [](const T& v) {
      if constexpr (std::is_same_v<T, DoubleDouble>)
        return Number{static_cast<Wide>(v.hi) + v.lo};
      else
        return Number{std::real(v), std::imag(v)};
    };
    Number sum, result;
    Wide size = 0;
    for (index j = 0; j < n && alpha != T(0); ++j) {
      Number a = number(stored(i, j) ? A(i, j) : A(j, i));
      if (hermitian) a.im = i == j ? 0 : stored(i, j) ? a.im : -a.im;
      if (conjugated) a.im = -a.im;
      const Number xj = number(at(x, incx, j));
      sum.add(a, xj);
      size += a.size() * xj.size();
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
    if constexpr (std::is_same_v<T, DoubleDouble>)
      e.bound *= static_cast<Wide>(3 * n + 22) * 0x1p-106;
    else
      e.bound *= static_cast<Wide>(complex_type<T> ? 2 * n + 5 : n + 2) *
                 (static_cast<Wide>(std::numeric_limits<Real<T>>::epsilon()) / 2);
    return e;
  }

  /// Largest distance of `result` in units of the bound.
  double worst_excess(const Matrix<T>& result) const {
    double worst = 0;
    for (index i = 0; i < n; ++i) {
      const double excess = expected(i).excess(at(result, incy, i));
      if (!(excess <= worst)) worst = std::isnan(excess) ? HUGE_VAL : excess;
    }
    return worst;
  }

  std::string describe(const SymvBlocking& b) const {
    const auto text = [](T v) {
      if constexpr (std::is_same_v<T, DoubleDouble>)
        return std::to_string(v.hi);
      else
        return std::to_string(std::real(v)) + "," + std::to_string(std::imag(v));
    };
    return std::string(1, letter(element_of<T>)) + (hermitian ? "hemv " : "symv ") + (conjugated ? "conjugated " : "") +
           static_cast<char>(uplo) + " n=" + std::to_string(n) + " lda=" + std::to_string(A.ld()) +
           " incx=" + std::to_string(incx) + " incy=" + std::to_string(incy) + " alpha=" + text(alpha) +
           " beta=" + text(beta) + " U=" + std::to_string(b.U) + " Tx=" + std::to_string(b.Tx) +
           " Ty=" + std::to_string(b.Ty) + " H=" + std::to_string(b.H);
  }
};

}  // namespace blaslift::reference
