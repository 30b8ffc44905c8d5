// Arithmetic on elements of all four precisions, for loops on the host: complex products as they are written, without
// the standard library's repair of infinities, which takes longer than the product.
#pragma once
#include <complex>
#include <type_traits>

#include "kernels/types.hpp"

namespace blaslift::host {

template <class T>
inline constexpr bool is_complex_type = !std::is_same_v<T, Real<T>>;

template <class T>
T conjugate(T x) {
  if constexpr (is_complex_type<T>)
    return std::conj(x);
  else
    return x;
}

template <class T>
T times(T x, T y) {
  if constexpr (is_complex_type<T>)
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  else
    return x * y;
}

/// x^H y, in an order of additions that depends on n alone.
template <class T>
T dot(index n, const T* x, const T* y) {
  constexpr int lanes = 8;
  T sums[lanes] = {};
  index i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int l = 0; l < lanes; ++l) sums[l] += times(conjugate(x[i + l]), y[i + l]);
  for (int l = 0; i < n; ++i, ++l) sums[l] += times(conjugate(x[i]), y[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/// y -= a x
template <class T>
void subtract(index n, T a, const T* x, T* y) {
  for (index i = 0; i < n; ++i) y[i] -= times(a, x[i]);
}

}  // namespace blaslift::host
