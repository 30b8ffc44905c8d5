// What judgements of all routines have in common.
#pragma once
#include <cmath>
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

/// A matrix of our own.
template <class T>
struct Packed {
  Packed(index rows, index cols)
      : at(new T[static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)]), ld(rows) {}
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

template <class Each>
void for_each_of(index rows, index cols, const Each& each) {
  for (index j = 0; j < cols; ++j)
    for (index i = 0; i < rows; ++i) each(i, j);
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

}  // namespace blaslift::judging
