// JSON that the library writes itself: in other people's processes it brings no library for that.  Whatever texts hold,
// what comes of it is valid, on one line, and fit to be shown.
#pragma once
#include <concepts>
#include <string>
#include <string_view>

namespace blaslift {

/// A string with its quotes.  What is not UTF-8 becomes U+FFFD: a program's name may be any bytes.
std::string quoted(std::string_view text);

/// With so many significant digits.  JSON has no NaN and no infinity: null, and the largest number that there is.
struct JsonNumber {
  double value;
  int digits = 17;
};

inline std::string json_of(std::string_view text) { return quoted(text); }
std::string json_of(JsonNumber number);
template <std::same_as<bool> Bool>
std::string json_of(Bool value) {
  return value ? "true" : "false";
}
template <std::integral Integer>
requires(!std::same_as<Integer, bool>) std::string json_of(Integer value) {
  static_assert(sizeof(Integer) > 1);
  return std::to_string(value);
}

/// Grows at its end; members keep their order.
class JsonObject {
 public:
  template <class Value>
  JsonObject& add(std::string_view name, const Value& value) {
    members_ += (members_.empty() ? "" : ", ") + quoted(name) + ": " + json_of(value);
    return *this;
  }
  friend std::string json_of(const JsonObject& object) { return '{' + object.members_ + '}'; }

 private:
  std::string members_;
};

class JsonArray {
 public:
  JsonArray() = default;
  template <class Values>
  explicit JsonArray(const Values& values) {
    for (const auto& value : values) add(value);
  }
  template <class Value>
  JsonArray& add(const Value& value) {
    elements_ += (elements_.empty() ? "" : ", ") + json_of(value);
    return *this;
  }
  friend std::string json_of(const JsonArray& array) { return '[' + array.elements_ + ']'; }

 private:
  std::string elements_;
};

}  // namespace blaslift
