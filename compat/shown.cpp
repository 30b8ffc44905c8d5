#include "compat/shown.hpp"

#include <cstdio>

namespace blaslift {
namespace {

/// Bytes of the UTF-8 sequence that `text` begins with, or 0.
std::size_t sequence(std::string_view text) {
  const auto at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = at(0), second = at(1);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, beyond U+10FFFF.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second >= 0x90))
    return 0;
  return length;
}

/// Terminals obey C0, delete and C1.  Unicode's marks, embeddings, overrides and isolates of direction, and its
/// separators of lines and paragraphs, show others in another order than they are in.
bool is_fit(unsigned code) {
  const bool obeyed = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool orders = code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
                      (code >= 0x2066 && code <= 0x2069);
  return !obeyed && !orders;
}

}  // namespace

Character first_character(std::string_view text) {
  const std::size_t length = sequence(text);
  if (length == 0 || text.empty()) return {0, 0, false};
  unsigned code = static_cast<unsigned char>(text.front());
  if (length > 1) code &= 0x7fu >> length;
  for (const char c : text.substr(1, length - 1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return {length, code, is_fit(code)};
}

std::string shown(std::string_view text) {
  std::string fit;
  fit.reserve(text.size());
  while (!text.empty()) {
    const Character first = first_character(text);
    const std::string_view bytes = text.substr(0, first.length ? first.length : 1);
    if (first.fit) {
      fit += bytes;
    } else {
      for (const char c : bytes) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        fit += escape;
      }
    }
    text.remove_prefix(bytes.size());
  }
  return fit;
}

std::string shown_lines(std::string_view text) {
  std::string lines;
  for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
    lines += shown(text.substr(0, end)) + '\n';
  return lines + shown(text);
}

}  // namespace blaslift
