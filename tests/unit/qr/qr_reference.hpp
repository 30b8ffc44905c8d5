// What QR is compared with: dense matrices in a wider precision, Q multiplied out from its reflectors as they are
// defined, sharing no code with the library; and matrices that are hard on a QR.
#pragma once
#include <cmath>
#include <complex>
#include <functional>
#include <vector>

#include "tests/unit/support/reference.hpp"

namespace blaslift::reference {

/// A dense matrix in the next wider precision, complex whatever it is made of.
template <class T>
class Wide {
 public:
  using Number = typename Expected<T>::Wide;
  using Scalar = std::complex<Number>;

  Wide(index rows, index cols) : rows_(rows), cols_(cols), held_(static_cast<std::size_t>(rows * cols)) {}
  static Wide identity(index n) {
    Wide x(n, n);
    for (index i = 0; i < n; ++i) x(i, i) = 1;
    return x;
  }
  template <class M>
  static Wide of(const M& x) {
    return of(x.rows(), x.cols(), x.data(), x.ld());
  }
  static Wide of(index rows, index cols, const T* at, index ld) {
    Wide x(rows, cols);
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i) x(i, j) = {std::real(at[i + j * ld]), std::imag(at[i + j * ld])};
    return x;
  }

  Scalar& operator()(index i, index j) { return held_[static_cast<std::size_t>(i + j * rows_)]; }
  const Scalar& operator()(index i, index j) const { return held_[static_cast<std::size_t>(i + j * rows_)]; }
  index rows() const { return rows_; }
  index cols() const { return cols_; }

  Wide adjoint() const {
    Wide x(cols_, rows_);
    for (index j = 0; j < cols_; ++j)
      for (index i = 0; i < rows_; ++i) x(j, i) = std::conj((*this)(i, j));
    return x;
  }
  Wide columns(index first, index count) const {
    Wide x(rows_, count);
    for (index j = 0; j < count; ++j)
      for (index i = 0; i < rows_; ++i) x(i, j) = (*this)(i, first + j);
    return x;
  }
  friend Wide operator*(const Wide& x, const Wide& y) {
    Wide z(x.rows_, y.cols_);
    for (index j = 0; j < y.cols_; ++j)
      for (index p = 0; p < x.cols_; ++p) {
        const Scalar f = y(p, j);
        if (f == Scalar(0)) continue;
        for (index i = 0; i < x.rows_; ++i) {
          const Scalar e = x(i, p);
          z(i, j) += Scalar(e.real() * f.real() - e.imag() * f.imag(), e.real() * f.imag() + e.imag() * f.real());
        }
      }
    return z;
  }
  friend Wide operator-(Wide x, const Wide& y) {
    for (std::size_t i = 0; i < x.held_.size(); ++i) x.held_[i] -= y.held_[i];
    return x;
  }
  /// Frobenius.
  double norm() const {
    Number sum = 0;
    for (const Scalar& x : held_) sum += std::norm(x);
    return static_cast<double>(std::sqrt(sum));
  }

 private:
  index rows_, cols_;
  std::vector<Scalar> held_;
};

/// C := (I - V T V^H) C, or with T^H, where T is upper triangular and `v(i, p)` the p-th of w reflectors.
template <class T>
void apply_reflectors(bool adjoint, index w, const std::function<typename Wide<T>::Scalar(index, index)>& v,
                      const std::function<typename Wide<T>::Scalar(index, index)>& t, Wide<T>& C) {
  Wide<T> V(C.rows(), w), F(w, w);
  for (index p = 0; p < w; ++p) {
    for (index i = 0; i < C.rows(); ++i) V(i, p) = v(i, p);
    for (index q = 0; q <= p; ++q) F(q, p) = t(q, p);
  }
  C = C - V * ((adjoint ? F.adjoint() : F) * (V.adjoint() * C));
}

/// Q (m x m) of LAPACK's k reflectors below the diagonal of A, one by one, with tau.
template <class T>
Wide<T> lapack_q(index m, index k, const T* A, index lda, const T* tau) {
  using Scalar = typename Wide<T>::Scalar;
  auto number = [](T x) { return Scalar(std::real(x), std::imag(x)); };
  Wide<T> Q = Wide<T>::identity(m);
  for (index p = k - 1; p >= 0; --p)
    apply_reflectors<T>(
        false, 1, [&](index i, index) { return i < p    ? Scalar(0)
                                               : i == p ? Scalar(1)
                                                        : number(A[i + p * lda]); },
        [&](index, index) { return number(tau[p]); }, Q);
  return Q;
}

/// C := Q C or Q^H C, with the same reflectors.
/// @param reversed  as geqlf leaves them of a square matrix: above the diagonal, and Q is of the last one first
template <class T>
void apply_lapack_q(bool adjoint, index m, index k, const T* A, index lda, const T* tau, Wide<T>& C,
                    bool reversed = false) {
  using Scalar = typename Wide<T>::Scalar;
  auto number = [](T x) { return Scalar(std::real(x), std::imag(x)); };
  const auto product = [](const Scalar& x, const Scalar& y) {  // of finite numbers: nothing to look for in it
    return Scalar(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  };
  std::vector<Scalar> v(static_cast<std::size_t>(m));
  for (index i = 0; i < k; ++i) {
    const index p = adjoint != reversed ? i : k - 1 - i, first = reversed ? 0 : p + 1, end = reversed ? p : m;
    for (index r = first; r < end; ++r) v[static_cast<std::size_t>(r)] = number(A[r + p * lda]);
    const Scalar factor = adjoint ? std::conj(number(tau[p])) : number(tau[p]);
    for (index j = 0; j < C.cols(); ++j) {
      Scalar* const c = &C(0, j);
      Scalar sum = c[p];
      for (index r = first; r < end; ++r) sum += product(std::conj(v[static_cast<std::size_t>(r)]), c[r]);
      sum = product(sum, factor);
      c[p] -= sum;
      for (index r = first; r < end; ++r) c[r] -= product(v[static_cast<std::size_t>(r)], sum);
    }
  }
}

/// R of LAPACK's: A's triangle or trapezoid with zeros below.
template <class T>
Wide<T> upper_part(index m, index n, const T* A, index lda) {
  Wide<T> R(m, n);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i <= std::min(j, m - 1); ++i) R(i, j) = {std::real(A[i + j * lda]), std::imag(A[i + j * lda])};
  return R;
}

/// ||Q^H Q - I||
template <class T>
double orthogonality(const Wide<T>& Q) {
  return (Q.adjoint() * Q - Wide<T>::identity(Q.cols())).norm();
}

/// Matrices that are hard on a QR, or that LAPACK treats in a way of its own.
enum class Kind {
  random,
  graded_columns,  ///< from 1 down to the smallest normal number's root
  graded_rows,
  rank_one,
  repeated_columns,
  vandermonde,
  kahan,        ///< tall: Kahan's triangle with columns that hardly shrink in norm, above noise of its last row's size
  tiny,         ///< squares underflow
  huge,         ///< squares overflow
  zero_column,  ///< from here on LAPACK's reflectors are identities, some or all
  zero,
  triangular
};
inline constexpr Kind kinds[] = {
    Kind::random,      Kind::graded_columns, Kind::graded_rows, Kind::rank_one, Kind::repeated_columns,
    Kind::vandermonde, Kind::kahan,          Kind::tiny,        Kind::huge,     Kind::zero_column,
    Kind::zero,        Kind::triangular};

template <class T>
Matrix<T> matrix_of(Kind kind, index m, index n, unsigned seed = 1) {
  using R = Real<T>;
  Matrix<T> A(m, n, 3);
  A.random(seed);
  const R root = std::sqrt(std::numeric_limits<R>::min());
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      T& x = A(i, j);
      const double row = static_cast<double>(i) / static_cast<double>(m);
      switch (kind) {
        case Kind::random: break;
        case Kind::graded_columns: x *= std::pow(root, static_cast<R>(j) / static_cast<R>(n)); break;
        case Kind::graded_rows: x *= std::pow(root, static_cast<R>(row)); break;
        case Kind::rank_one: x = A(i, 0) * static_cast<R>(j + 1); break;
        case Kind::repeated_columns: x = A(i, j % 3); break;
        case Kind::vandermonde: x = T(static_cast<R>(std::pow(row, static_cast<double>(j)))); break;
        case Kind::kahan: {
          const double s = 0.6, c = 0.8;
          if (i <= j)
            x = T(static_cast<R>(std::pow(s, static_cast<double>(i)) * (i == j ? 1 : -c)));
          else
            x *= static_cast<R>(std::pow(s, static_cast<double>(n)));
          break;
        }
        case Kind::tiny: x *= root / 64; break;
        case Kind::huge: x *= std::sqrt(std::numeric_limits<R>::max()) * 64; break;
        case Kind::zero_column:
          if (j == n / 2) x = T(0);
          break;
        case Kind::zero: x = T(0); break;
        case Kind::triangular:
          if (i > j) x = T(0);
          break;
      }
    }
  return A;
}

template <class T>
constexpr double eps() {
  return static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
}

}  // namespace blaslift::reference
