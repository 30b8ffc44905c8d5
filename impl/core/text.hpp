// Numbers and strings for files that programs read, whatever locale the process has set.
#pragma once
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "compat/shown.hpp"

namespace blaslift {

/// A number as C writes it, with up to `digits` significant digits.
inline std::string number(double value, int digits = 17) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr;
  return {text, end};
}

/// Of an unsigned number, with leading zeros up to so many digits.
template <class Number>
std::string hexadecimal(Number number, std::size_t digits = 1) {
  char text[2 * sizeof number];
  const auto end = std::to_chars(text, text + sizeof text, number, 16).ptr;
  const std::string shortest(text, end);
  return std::string(digits - std::min(digits, shortest.size()), '0') + shortest;
}

/// Reads a whole word as a number; false if it is none or out of range.
template <class T>
bool read_number(std::string_view word, T& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Takes the first word off `text`; empty at its end.
inline std::string_view next_word(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  std::size_t length = 0;
  while (length < text.size() && !is_space(text[length])) ++length;
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

}  // namespace blaslift
