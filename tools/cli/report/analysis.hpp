// What a recorded run says: where its time went, why calls stayed on the CPU, and what a bigger share would bring.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/report/trace_reader.hpp"

namespace blaslift::cli {

/// Seconds of a device's call, by prediction.
struct WhatIf {
  double moving;    ///< with its operands sent and its result brought back
  double resident;  ///< with all of it on the device already
};

/// What the device would have taken for a call that stayed; none where a call cannot go there.
std::optional<WhatIf> what_if(const Span& span, const Profile& profile);

/// Bytes that a call reads and writes, each operand once.
double operand_bytes(const Span& span);

struct RoutineAccount {
  std::uint64_t calls = 0, routed = 0;                   ///< all of them
  double cpu_seconds = 0, device_seconds = 0;            ///< of all that were timed, by the counters
  double bytes_in = 0, bytes_out = 0, bytes_spared = 0;  ///< likewise
  std::uint64_t spans_on_cpu = 0, spans_on_device = 0;   ///< calls in the trace
  double span_cpu_seconds = 0, span_device_seconds = 0;  ///< of these
  double bus_seconds = 0;                                ///< of the latter: while something was moving
  double span_bytes_in = 0, span_bytes_out = 0, span_bytes_spared = 0;
  double failed_seconds = 0;  ///< of attempts on the device that came to nothing
  std::uint64_t reused = 0;   ///< operands whose copies spared bytes
  std::uint64_t reusing = 0;  ///< calls with such
  std::array<std::uint64_t, most_levels> levels{};
  std::uint64_t distrusted = 0;

  double device_alone_seconds() const { return std::max(0.0, device_seconds - bus_seconds); }
};

struct SizeAccount {
  std::uint64_t cpu_calls = 0, device_calls = 0;
  double cpu_seconds = 0, device_seconds = 0;
};

/// Calls that stayed for one reason.
struct ReasonAccount {
  std::uint64_t calls = 0;     ///< all, by the counters
  std::uint64_t recorded = 0;  ///< of these: in the trace
  double seconds = 0;          ///< own time of the recorded
  /// Of the recorded, those that are predicted to be faster on the device: their time here, and there.
  struct Gain {
    std::uint64_t calls = 0;
    double seconds = 0, device_seconds = 0;
    double saved() const { return seconds - device_seconds; }
  } moving, resident;
};

struct Analysis {
  ReadRecording run;
  Profile profile{};         ///< that predictions are made by
  std::string profile_name;  ///< whose it is, in words
  double seconds = 0;        ///< from the first call to the end of the last that was timed
  std::map<Routine, RoutineAccount> routines;
  std::array<SizeAccount, size_classes> sizes{};
  std::map<Reason, ReasonAccount> reasons;
  std::uint64_t calls = 0, spans = 0, dropped = 0, unfinished = 0;
  double opening_seconds = 0;
  /// While at least one recorded call, of any thread, was on the CPU: no more than that can be saved.
  double cpu_union_seconds = 0;
  double outermost_seconds = 0;  ///< of calls on the CPU that no other one contains

  /// Predicted length of the run if the calls that gain had gone to the device; calls that overlap shrink alike.
  double seconds_with(ReasonAccount::Gain ReasonAccount::*gain) const;
  /// By Amdahl's law: the run if calls on the CPU took no time at all.
  double least_seconds() const { return seconds - cpu_union_seconds; }
  std::uint64_t calls_not_recorded() const { return calls - spans; }
};

Analysis analyse(ReadRecording run);

}  // namespace blaslift::cli
