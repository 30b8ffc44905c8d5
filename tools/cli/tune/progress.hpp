// What a measurement shows of itself while it lasts.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace blaslift::cli {

/// On stderr: a bar for who watches a terminal; for who reads it later a line a rate, and now and then how far it is.
class Progress {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// @param interval  between lines that say how far it is
  Progress(bool quiet, std::size_t tasks, Duration interval = std::chrono::seconds(30))
      : shows_(!quiet), bar_(isatty(STDERR_FILENO) != 0), tasks_(tasks), interval_(interval) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// @param seconds_left  about; negative: nobody knows
  void begins(const std::string& what, double seconds_left = -1) {
    constexpr std::size_t width = 30;
    if (!shows_) return;
    if (!bar_) return says_how_far(seconds_left);
    const std::size_t filled = width * std::min(done_, tasks_) / tasks_;
    std::fprintf(stderr, "\r\033[K[%s%s] %zu/%zu %s", std::string(filled, '#').c_str(),
                 std::string(width - filled, '.').c_str(), done_, tasks_, what.c_str());
    if (seconds_left >= 0) std::fprintf(stderr, ", about %.0f s left", seconds_left);
  }
  void ended(const std::string& what, const std::string& how) {
    ++done_;
    if (shows_ && !bar_) std::fprintf(stderr, "%s: %s\n", what.c_str(), how.c_str());
  }

 private:
  void says_how_far(double seconds_left) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said_ < interval_) return;
    said_ = now;
    std::fprintf(stderr, "%zu of %zu measured", done_, tasks_);
    if (seconds_left >= 0) std::fprintf(stderr, ", about %.0f s left", seconds_left);
    std::fputs("\n", stderr);
  }
  void clear() {
    if (shows_ && bar_) std::fprintf(stderr, "\r\033[K");
  }
  const bool shows_, bar_;
  const std::size_t tasks_;
  const Duration interval_;
  std::size_t done_ = 0;
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

}  // namespace blaslift::cli
