// Householder's reflectors in plain loops.
#pragma once
#include <cmath>
#include <limits>

#include "kernels/host/scalars.hpp"

namespace blaslift::host {

template <class T>
Real<T> length_of(index count, const T* x) {
  Real<T> length = 0;
  for (index i = 0; i < count; ++i) length = std::hypot(length, std::abs(x[i]));
  return length;
}

template <class T>
void scale(index count, T* x, int exponent) {
  for (index i = 0; i < count; ++i)
    if constexpr (is_complex_type<T>)
      x[i] = {std::scalbn(x[i].real(), exponent), std::scalbn(x[i].imag(), exponent)};
    else
      x[i] = std::scalbn(x[i], exponent);
}

/// I - tau v v^H, whose adjoint makes x a real multiple of its first unit vector: that takes the place of x[0], and v,
/// which begins with 1, that of the others.
template <class T>
T reflector(index count, T* x) {
  using R = Real<T>;
  constexpr R precise = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
  if (length_of(count - 1, x + 1) == 0 && std::imag(x[0]) == 0) return T(0);
  // The quotients of numbers that have lost digits to being small are off.
  const R length = length_of(count, x);
  const int exponent = length < precise ? std::ilogb(length) : 0;
  if (exponent != 0) scale(count, x, -exponent);
  const T alpha = x[0];
  const R beta = -std::copysign(exponent != 0 ? length_of(count, x) : length, std::real(alpha));
  for (index i = 1; i < count; ++i) x[i] /= alpha - T(beta);
  x[0] = std::scalbn(beta, exponent);
  return (T(beta) - alpha) / beta;
}

}  // namespace blaslift::host
