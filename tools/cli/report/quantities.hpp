// Quantities in words for people.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace blaslift::cli {

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

/// With three digits, and the largest of these units that is not larger; the last unit is for all that is large.
template <std::size_t count>
std::string in_units(double value, const char* const (&units)[count], double step) {
  std::size_t unit = 0;
  while (unit + 1 < count && std::fabs(value) >= 0.9995 * step) value /= step, ++unit;
  const double size = std::fabs(value);
  return format(size < 9.995 ? "%.2f %s" : size < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

inline std::string in_seconds(double seconds) {
  constexpr const char* units[] = {"us", "ms", "s"};
  return seconds == 0 ? "0 s" : in_units(seconds * 1e6, units, 1000);
}
inline std::string in_bytes(double bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  return bytes < 1000 ? format("%.0f B", bytes) : in_units(bytes, units, 1000);
}
inline std::string in_flops(double flops) {
  constexpr const char* units[] = {"flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop"};
  return in_units(flops, units, 1000);
}
inline std::string in_percent(double part, double whole) {
  return whole > 0 ? format("%.1f %%", 100 * part / whole) : "-";
}

/// 1234567 as "1,234,567".
inline std::string in_digits(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}
inline std::string in_calls(std::uint64_t calls) { return in_digits(calls) + (calls == 1 ? " call" : " calls"); }

}  // namespace blaslift::cli
