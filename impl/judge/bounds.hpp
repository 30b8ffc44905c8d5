// What judgements of all routines have in common.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/core/text.hpp"

namespace blaslift::judging {

template <class T>
inline constexpr bool complex_type = !std::is_same_v<T, Real<T>>;

/// |re| + |im|
template <class T>
double size_of(const T& x) {
  return std::fabs(static_cast<double>(std::real(x))) + std::fabs(static_cast<double>(std::imag(x)));
}

inline std::string word(const char* name, index value) { return std::string(name) + '=' + std::to_string(value) + ' '; }
inline std::string word(const char* name, char value) { return std::string(name) + '=' + value + ' '; }
template <class T>
std::string word(const char* name, const T& value) requires(!std::is_integral_v<T>) {
  std::string text = std::string(name) + '=' + number(static_cast<double>(std::real(value)));
  if constexpr (complex_type<T>) text += ',' + number(static_cast<double>(std::imag(value)));
  return text + ' ';
}

inline std::string without_last_space(std::string text) {
  text.pop_back();
  return text;
}

inline bool fits(const Site& library, std::initializer_list<index> sizes) {
  return library.wide ||
         std::all_of(sizes.begin(), sizes.end(), [](index size) { return size >= -INT32_MAX && size <= INT32_MAX; });
}

}  // namespace blaslift::judging
