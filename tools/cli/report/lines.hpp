// What many runs did, by program: of the lines of BLASLIFT_REPORT's files.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace blaslift::cli {

/// Processes of one program and user together.
struct ProgramAccount {
  std::uint64_t processes = 0, cut_short = 0, routed = 0, stayed = 0;
  double seconds = 0;         ///< of the processes
  double device_seconds = 0;  ///< of calls there
  double saved_seconds = 0;   ///< by estimate, less what the device's start took
  double cpu_seconds = 0;     ///< of calls that stayed
  struct Stayed {
    double seconds = 0;
    std::uint64_t calls = 0;
  };
  std::map<std::string, Stayed> reasons;

  /// That took most of the CPU's time, or else has most calls; empty: none stayed.  Queries compute nothing, and are
  /// one only where there is no other.
  std::string first_reason() const;
};

struct ReportLines {
  std::map<std::pair<std::string, std::string>, ProgramAccount> programs;  ///< by command and user
  std::vector<std::string> problems;                                       ///< lines that are none, a sentence a file
};

/// @param files  of lines as BLASLIFT_REPORT and `run --json` write them; lines that do not say whose they are, are the
///               file's owner's
/// Throws std::runtime_error if one cannot be read, or none of them has such a line.
ReportLines read_lines(const std::vector<std::string>& files);

/// The table, for people: who saved most comes first.
std::string lines_text(const ReportLines& lines);

/// The same for programs.
std::string to_json(const ReportLines& lines);

}  // namespace blaslift::cli
