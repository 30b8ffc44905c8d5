// Golden files: the text that fixed calls print, kept in tests/golden and compared character for character.
//
// A change that is meant to change nothing leaves them alone.  One that is meant to change plans or decisions writes
// them anew, and their diff says what it has changed: BLASLIFT_TEST_GOLDEN=write blaslift_unit
// --gtest_filter='Golden.*'
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impl/core/hash.hpp"

namespace blaslift::golden {

using Lines = std::vector<std::string>;
inline Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The first lines in which two texts differ, a few of each: "" where they do not.
inline std::string first_difference(const std::string& text, const std::string& other) {
  if (text == other) return {};
  const Lines a = lines_of(text), b = lines_of(other);
  constexpr std::size_t most = 4;
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  std::string shown;
  const auto show = [&](const char* mark, const Lines& lines) {
    if (at >= lines.size()) shown += std::string(mark) + "(ends)\n";
    for (std::size_t i = at; i < lines.size() && i < at + most; ++i) shown += mark + lines[i] + '\n';
  };
  if (at > 0) shown += "  " + a[at - 1] + '\n';
  show("- ", a);
  show("+ ", b);
  return shown;
}

/// What calls print, by their names, in their order.  A call begins with a line "== NAME".
class File {
 public:
  /// @param about  what the file holds, in words
  File(std::string name, std::string about) : name_(std::move(name)) {
    parts_.emplace_back("", "");
    for (const std::string& line : lines_of(
             about + "\nWritten by tests/unit: BLASLIFT_TEST_GOLDEN=write blaslift_unit --gtest_filter='Golden.*'"))
      parts_.back().second += "# " + line + '\n';
  }

  /// @param text  whole lines
  void add(const std::string& call, const std::string& text) { add(call, text, text); }
  /// The same where it is long: so many lines by their first word, and the hash of it all.
  void add_hash(const std::string& call, const std::string& text) {
    std::vector<std::pair<std::string, int>> counts;
    for (const std::string& line : lines_of(text)) {
      std::istringstream words(line);
      std::string word;
      while (words >> word && (std::isdigit(static_cast<unsigned char>(word.front())) != 0)) {
      }
      auto found = counts.begin();
      while (found != counts.end() && found->first != word) ++found;
      if (found == counts.end()) found = counts.insert(found, {word, 0});
      ++found->second;
    }
    std::ostringstream out;
    out << "only counts of lines by their first word, and a hash:";
    for (const auto& [word, count] : counts) out << ' ' << count << ' ' << word << ',';
    out << " FNV-1a " << std::hex << hash_of(text) << '\n';
    add(call, out.str(), text);
  }

  std::string text() const {
    std::string all;
    for (const auto& [call, text] : parts_) all += (call.empty() ? "" : "== " + call + '\n') + text;
    return all;
  }

  /// Fails the test where the file says something else; or writes the file.
  void expect() const {
    const std::string path = std::string(BLASLIFT_GOLDEN) + "/" + name_;
    const char* wish = std::getenv("BLASLIFT_TEST_GOLDEN");
    if (wish && std::strcmp(wish, "write") == 0) {
      std::ofstream out(path, std::ios::binary);
      out << text();
      ASSERT_TRUE(out.flush()) << path << " cannot be written";
      return;
    }
    if (wish && *wish == '/') std::ofstream(std::string(wish) + "/" + name_, std::ios::binary) << in_full_;
    std::ifstream in(path, std::ios::binary);
    ASSERT_TRUE(in) << path << " cannot be read";
    const std::string there{std::istreambuf_iterator<char>(in), {}};
    if (there == text()) return;
    std::vector<std::pair<std::string, std::string>> expected{{"", ""}};
    for (const std::string& line : lines_of(there))
      if (line.starts_with("== "))
        expected.emplace_back(line.substr(3), "");
      else
        expected.back().second += line + '\n';
    int differ = 0;
    constexpr int most = 3;
    for (std::size_t i = 0; i < parts_.size() || i < expected.size(); ++i) {
      if (i >= parts_.size() || i >= expected.size() || parts_[i].first != expected[i].first) {
        const auto named = [i](const auto& parts) { return i < parts.size() ? parts[i].first : "(the end)"; };
        ADD_FAILURE() << name_ << ": other calls: there \"" << named(expected) << "\" comes next, now it is \""
                      << named(parts_) << '"';
        return;
      }
      if (parts_[i].second != expected[i].second && differ++ < most)
        ADD_FAILURE() << name_ << ", " << parts_[i].first << " (- there, + now):\n"
                      << first_difference(expected[i].second, parts_[i].second);
    }
    ADD_FAILURE() << path << ": " << differ << " of " << parts_.size() << " calls print something else";
  }

 private:
  void add(const std::string& call, const std::string& text, const std::string& in_full) {
    parts_.emplace_back(call, text);
    in_full_ += "== " + call + '\n' + in_full;
  }

  std::string name_;
  std::vector<std::pair<std::string, std::string>> parts_{};
  std::string in_full_{};
};

}  // namespace blaslift::golden
