#include "impl/text.hpp"

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

}  // namespace

std::string quoted(std::string_view text) {
  std::string q = "\"";
  while (!text.empty()) {
    const std::size_t length = sequence(text);
    const char c = text.front();
    if (length == 0) {
      q += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      q += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      q += escape;
    } else {
      q += text.substr(0, length);
    }
    text.remove_prefix(length ? length : 1);
  }
  return q + '"';
}

}  // namespace blaslift
