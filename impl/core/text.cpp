#include "impl/core/text.hpp"

#include <cstdio>

namespace blaslift {

std::string quoted(std::string_view text) {
  std::string q = "\"";
  while (!text.empty()) {
    const auto [length, code, fit] = first_character(text);
    const char c = text.front();
    if (length == 0) {
      q += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      q += {'\\', c};
    } else if (!fit) {  // all of these have four digits
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code & 0xffffu);
      q += escape;
    } else {
      q += text.substr(0, length);
    }
    text.remove_prefix(length ? length : 1);
  }
  return q + '"';
}

}  // namespace blaslift
