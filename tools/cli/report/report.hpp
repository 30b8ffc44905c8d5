// `blaslift report`: what a recorded run says.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace blaslift::cli {

struct Report {
  std::string recording;             ///< the directory; empty: there is a program to run, or there are lines
  std::string html, timeline, json;  ///< files to write; "-": standard output
  bool quiet = false;                ///< nothing for the terminal
};

/// Of a recording, on standard output.
void report(const Report& what);

/// Runs a program, records it, and ends as it did; on standard error.
[[noreturn]] void report_running(const Report& what, const std::vector<std::string>& command,
                                 std::map<std::string, std::string> variables);

}  // namespace blaslift::cli
