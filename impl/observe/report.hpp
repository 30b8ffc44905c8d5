// Summaries: counters of one or many processes, as text for people and JSON for programs.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "impl/observe/counters.hpp"

namespace blaslift {

/// Counters of one or more processes, added up.
struct Summary {
  struct PerRoutine {
    std::uint64_t routed = 0;
    std::array<std::uint64_t, reason_count> stayed{};
    std::array<double, reason_count> stayed_seconds{};  ///< of calls that were timed; their sum is cpu_seconds
    double saved_seconds = 0;                           ///< by routed calls, beside what was predicted of the CPU
    double cpu_seconds = 0, device_seconds = 0, bytes_in = 0, bytes_out = 0, bytes_spared = 0, bytes_exchanged = 0;
    std::array<std::uint64_t, most_levels> levels{};
    std::uint64_t dealt = 0, residues = 0, systolic = 0, distrusted = 0;
    std::uint64_t checked = 0, repeated = 0, wrong = 0;
    std::array<std::uint64_t, finding_count> found{};
    std::array<std::uint64_t, unchecked_count> unchecked{};

    std::uint64_t stayed_calls() const;
    std::uint64_t calls() const { return routed + stayed_calls(); }
    bool verified() const;  ///< verification has looked at a call, or says why it could not
    /// "3 over its bound, 1 not the same bits twice", of those that are wrong; "2 no memory for copies", of those that
    /// could not be checked.  Empty: none.
    std::string found_text() const;
    std::string unchecked_text() const;
  };
  int processes = 0;
  std::uint32_t threads = 0;                   ///< the most that made calls in a process
  std::uint64_t gathered = 0, ungathered = 0;  ///< as Counters has them
  double opening_seconds = 0;                  ///< that calls, and exit, have waited for the device to open
  std::array<PerRoutine, routine_count> routines{};
  std::string backend, device, driver;  ///< of the first process that had one
  std::vector<std::string> details;     ///< why there was none, each reason once
  std::vector<std::string> warnings;
  /// A call that verification names.
  struct Noted {
    std::string routine, arguments, caller, dump, way;
    unsigned findings = 0;
    double ratio = 0, limit = 0, rank = 0;
    std::uint64_t calls = 1;  ///< like it

    std::vector<std::string> finding_texts() const;  ///< empty: nothing is wrong with it
  };
  std::vector<Noted> worst;            ///< calls, the worst first
  std::vector<std::string> problems;   ///< of verification, each once
  std::string residency;               ///< of the first process that opened a device
  std::string blind;                   ///< why copies were left alone for a while; of the first process in which
  std::vector<std::string> uncounted;  ///< what is missing here, and why: sentences without a stop

  void add(const Counters& counters);
  std::uint64_t calls() const;
  std::uint64_t checked() const;
  std::uint64_t wrong() const;  ///< calls that verification has found wrong
};

/// A few lines, each beginning with "blaslift: ".
std::string to_text(const Summary& summary);

/// One object on one line: {"pid", "host", "uid" (numeric), "first_call" (UTC), "job" and "rank" (if a launcher has set
/// them), "cut_short" (true: the process did not come to its exit), "command", "backend", "device", "driver", "detail",
/// "residency", "blind" (why copies were left alone for a while), "warning", "library", "processes", "opening_seconds",
/// "scalapack": {"computed", "left"} (if there were such calls), "routines": {name: {"calls", "routed", "cpu_seconds",
/// "device_seconds", "saved_seconds", "bytes_in", "bytes_out", "bytes_spared", "bytes_exchanged", "stayed": {reason:
/// calls}, "stayed_seconds": {reason: seconds}, "verified":
/// {"checked", "repeated", "wrong", "found": {finding: calls}, "unchecked": {reason: calls}}}}, "worst": [{"routine",
/// "arguments", "caller", "calls", "ratio", "limit", "found": [finding], "dump", "way"}], "problems": [text]}; what
/// verification says only where it was on.
std::string to_json(const Summary& summary, const Counters* one_process = nullptr);

/// Writes one process's summary: "stderr", or appended to a file, in one write so that processes do not mix.  What
/// cannot be written as a whole is taken back, and said on stderr; no signal is raised.
void write_report(const Counters& counters, const std::string& target);

}  // namespace blaslift
