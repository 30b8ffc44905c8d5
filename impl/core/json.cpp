#include "impl/core/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "compat/shown.hpp"
#include "impl/core/text.hpp"

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

std::string json_of(JsonNumber x) {
  constexpr double most = std::numeric_limits<double>::max();
  return std::isnan(x.value) ? "null" : number(std::clamp(x.value, -most, most), x.digits);
}

}  // namespace blaslift
