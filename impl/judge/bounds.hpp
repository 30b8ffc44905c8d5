// What judgements of all routines have in common.
#pragma once
#include <cmath>
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

}  // namespace blaslift::judging
