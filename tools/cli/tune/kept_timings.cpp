#include "tools/cli/tune/kept_timings.hpp"

#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "impl/core/regular_file.hpp"
#include "impl/core/text.hpp"
#include "tools/cli/tune/profile_file.hpp"

namespace blaslift::cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 26;

/// "key words: 1.5e-3 1.4e-3"; none if the file was cut off while this was written.
std::optional<std::pair<std::string, std::vector<double>>> read_line(const std::string& line) {
  const std::size_t colon = line.find(": ");
  if (colon == line.npos || colon == 0) return std::nullopt;
  std::pair<std::string, std::vector<double>> found{line.substr(0, colon), {}};
  std::istringstream words(line.substr(colon + 2));
  for (std::string word; words >> word;) {
    double& seconds = found.second.emplace_back();
    if (!read_number(word, seconds) || !(seconds > 0) || !std::isfinite(seconds)) return std::nullopt;
  }
  return found.second.empty() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace

KeptTimings::KeptTimings(std::string path, const std::string& what, const DeviceFacts& facts)
    : path_(std::move(path)), head_("# " + what + ": " + facts.name + ", " + facts.driver + "\n") {
  std::istringstream file(RegularFile(path_).text(most_bytes));
  std::string line;
  if (!std::getline(file, line) || line + "\n" != head_) return;
  while (std::getline(file, line))
    if (auto found = read_line(line)) timings_.insert(std::move(*found));
}

const std::vector<double>* KeptTimings::find(const std::string& key) const {
  const auto found = timings_.find(key);
  return found == timings_.end() ? nullptr : &found->second;
}

KeptTimings::Timings KeptTimings::under(const std::string& prefix) const {
  Timings found;
  for (auto at = timings_.lower_bound(prefix); at != timings_.end() && at->first.starts_with(prefix); ++at)
    found.insert(*at);
  return found;
}

void KeptTimings::add(const Timings& timings) {
  for (const auto& [key, rounds] : timings) timings_[key] = rounds;
  write();
}

void KeptTimings::drop(const std::string& prefix) {
  std::erase_if(timings_, [&](const auto& x) { return x.first.starts_with(prefix); });
  write();
}

void KeptTimings::drop_all_but(const std::set<std::string>& keys) {
  std::erase_if(timings_, [&](const auto& x) { return !keys.contains(x.first); });
  write();
}

void KeptTimings::write() const {
  if (timings_.empty()) {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    return;
  }
  std::string text = head_;
  for (const auto& [key, rounds] : timings_) {
    text += key + ":";
    for (const double seconds : rounds) text += " " + number(seconds, 5);
    text += "\n";
  }
  replace_file(path_, text);
}

}  // namespace blaslift::cli
