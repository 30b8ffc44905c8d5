// What judgements of all routines have in common.
#pragma once
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "impl/core/args.hpp"

namespace blaslift::judging {

template <class T>
inline constexpr bool complex_type = !std::is_same_v<T, Real<T>>;

/// |re| + |im|
template <class T>
double size_of(const T& x) {
  return std::fabs(static_cast<double>(std::real(x))) + std::fabs(static_cast<double>(std::imag(x)));
}

template <class Each>
void for_each_of(index rows, index cols, const Each& each) {
  for (index j = 0; j < cols; ++j)
    for (index i = 0; i < rows; ++i) each(i, j);
}

/// A matrix of our own.
template <class T>
struct Packed {
  Packed(index rows, index cols)
      : at(new T[static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)]), ld(rows) {}
  /// A copy.
  Packed(index rows, index cols, const T* from, index ld_from) : Packed(rows, cols) {
    for_each_of(rows, cols, [&](index i, index j) { (*this)(i, j) = from[i + j * ld_from]; });
  }
  T& operator()(index i, index j) { return at[static_cast<std::size_t>(i + j * ld)]; }
  std::unique_ptr<T[]> at;
  index ld;
};

/// The largest 1-norm of the first n columns; NaN if there is one.
template <class T>
long double one_norm(Packed<T>& x, index n) {
  long double largest = 0;
  for (index j = 0; j < n; ++j) {
    long double sum = 0;
    for (index i = 0; i < x.ld; ++i)
      sum += std::hypot(static_cast<long double>(std::real(x(i, j))), static_cast<long double>(std::imag(x(i, j))));
    if (std::isnan(sum)) return sum;
    if (sum > largest) largest = sum;
  }
  return largest;
}

/// Of a symmetric or Hermitian matrix of which a triangle is stored.
template <class T>
T hermitian_element(Uplo uplo, const T* A, index lda, index i, index j) {
  const bool stored = uplo == Uplo::lower ? i >= j : i <= j;
  const T a = A[stored ? i + j * lda : j + i * lda];
  if constexpr (complex_type<T>)
    return i == j ? T(std::real(a)) : stored ? a : std::conj(a);
  else
    return a;
}

/// |re| + |im|, as an element.
template <class T>
T magnitude(const T& x) {
  return T(static_cast<Real<T>>(size_of(x)));
}

template <class T>
void make_magnitudes(Packed<T>& x, index cols) {
  for_each_of(x.ld, cols, [&](index i, index j) { x(i, j) = magnitude(x(i, j)); });
}

/// All of a triangular matrix, with the zeros and ones that are not read.
/// @param finite  becomes false where an element is not
template <class T>
Packed<T> triangular(const TriangularArgs<T>& x, index order, bool& finite) {
  Packed<T> A(order, order);
  for_each_of(order, order, [&](index i, index j) {
    const bool stored = x.uplo == Uplo::upper ? i <= j : i >= j;
    A(i, j) = i == j && x.unit ? T(1) : stored ? x.A[i + j * x.lda] : T(0);
    finite = finite && is_finite(A(i, j));
  });
  return A;
}

/// The largest |rest| / (eps |terms|) of a residual's elements, where that is more than what underflows on the way;
/// with solutions that are not finite, more than any limit.
/// @param X       the solutions, as they are: the sums of magnitudes that `terms` has may overflow
/// @param order   of the matrices that they are multiplied with
/// @param counts  bool(i, j): whether this element is judged
template <class T, class Counts>
double residual_ratio(Packed<T>& rest, Packed<T>& terms, const T* X, index ldx, index cols, index order,
                      const Counts& counts) {
  constexpr double eps = std::numeric_limits<Real<T>>::epsilon(),
                   tiny = static_cast<double>(std::numeric_limits<Real<T>>::min());
  double largest = 0;
  for_each_of(rest.ld, cols, [&](index i, index j) {
    if (!counts(i, j)) return;
    const double off = size_of(rest(i, j)), unit = eps * size_of(terms(i, j));
    double ratio = 0;
    if (!is_finite(X[i + j * ldx]))
      ratio = HUGE_VAL;
    else if (std::isfinite(unit) && off > tiny * static_cast<double>(order + 2))
      ratio = off / unit;
    if (!(ratio <= largest)) largest = std::isnan(ratio) ? HUGE_VAL : ratio;
  });
  return largest;
}

}  // namespace blaslift::judging
