#include "impl/route/lapack_section.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace blaslift {
namespace {

constexpr const char* names[] = {"potrf", "getrf", "syevd_values", "syevd", "geev_values",
                                 "geev",  "gesdd", "gebrd",        "gehrd"};
static_assert(std::size(names) == lapack_works);
constexpr std::string_view version = "1", suffix = "_seconds", precisions = "sdcz";
constexpr double least_seconds = 1e-9, most_seconds = 1e9;

bool read_time(std::string_view word, LapackTime& time) {
  const std::size_t colon = word.find(':');
  return colon != word.npos && read_number(word.substr(0, colon), time.order) && time.order >= 1 &&
         read_number(word.substr(colon + 1), time.seconds) && time.seconds >= least_seconds &&
         time.seconds <= most_seconds;
}

bool read(std::string_view line, SectionLine& into) {
  std::string_view key = next_word(line);
  const std::size_t precision = key.empty() ? key.npos : precisions.find(key.front());
  if (precision == precisions.npos || !key.ends_with(suffix)) return false;
  key = key.substr(1, key.size() - 1 - suffix.size());
  const auto name = std::find(std::begin(names), std::end(names), key);
  if (name == std::end(names) || next_word(line) != version) return false;
  LapackTimes x{static_cast<LapackWork>(name - names), static_cast<Precision>(precision), {}};
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    LapackTime time;
    if (!read_time(word, time) || x.times.size() == most_lapack_times) return false;
    if (!x.times.empty() && time.order <= x.times.back().order) return false;
    x.times.push_back(time);
  }
  if (x.times.empty()) return false;
  into = section_line(std::move(x));
  return true;
}

std::string to_line(const std::any& data) {
  const auto& x = *std::any_cast<LapackTimes>(&data);
  std::string text =
      std::string(1, letter(x.precision)) + name_of(x.work) + std::string(suffix) + " " + std::string(version);
  for (const LapackTime& time : x.times) text += " " + std::to_string(time.order) + ":" + number(time.seconds, 5);
  return text;
}

/// By which power of the order the time grows from one to the other.
double growth(const LapackTime& from, const LapackTime& to) {
  return std::log(to.seconds / from.seconds) /
         std::log(static_cast<double>(to.order) / static_cast<double>(from.order));
}
double grown(const LapackTime& from, double order, double power) {
  return from.seconds * std::pow(order / static_cast<double>(from.order), power);
}

}  // namespace

constinit const ProfileSection lapack_section{read, to_line, /*decides=*/true};

const char* name_of(LapackWork work) { return names[static_cast<int>(work)]; }

SectionLine section_line(LapackTimes times) {
  const int subject = lapack_works * static_cast<int>(times.precision) + static_cast<int>(times.work);
  return {&lapack_section, subject, std::move(times)};
}

std::optional<double> measured_seconds(const Profile& profile, LapackWork work, Precision precision, double order) {
  for (const SectionLine& line : profile.sections) {
    const auto* x = std::any_cast<LapackTimes>(&line.data);
    if (!x || x->work != work || x->precision != precision) continue;
    const std::vector<LapackTime>& t = x->times;
    const auto above = std::find_if(t.begin(), t.end(),
                                    [&](const LapackTime& time) { return static_cast<double>(time.order) >= order; });
    if (above == t.begin()) return grown(t.front(), order, 1);
    if (above != t.end()) return grown(*(above - 1), order, growth(*(above - 1), *above));
    return grown(t.back(), order, t.size() > 1 ? std::clamp(growth(t[t.size() - 2], t.back()), 2.0, 3.0) : 3);
  }
  return std::nullopt;
}

}  // namespace blaslift
