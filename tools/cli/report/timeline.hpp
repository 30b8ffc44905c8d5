// A recorded run for other programs: a timeline in the Trace Event format, which Perfetto and Chrome's tracing view
// open, and the analysis as JSON.
#pragma once
#include <iosfwd>
#include <string>

#include "tools/cli/report/analysis.hpp"

namespace blaslift::cli {

/// {"traceEvents": [...]}: complete events ("X", microseconds), in order of time, a track for each thread and, where
/// bytes moved, two beside it, to and from the device; processes and threads are named by metadata events ("M").
/// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
void write_timeline(const ReadRecording& run, std::ostream& out);

/// One object: {"seconds", "processes", "calls", "recorded", "dropped", "unfinished", "opening_seconds", "profile",
/// "routines": {name: {"calls", "routed", "recorded": {"cpu", "device"}, "cpu_seconds", "device_seconds",
/// "bus_seconds", "recorded_cpu_seconds", "recorded_device_seconds", "failed_seconds", "bytes_in", "bytes_out",
/// "bytes_spared", "recorded_bytes_in", "recorded_bytes_out", "recorded_bytes_spared", "reused", "levels": {level:
/// calls}}}, "sizes": [{"from_flops", "cpu_calls", "device_calls", "cpu_seconds", "device_seconds"}], "stayed":
/// {reason: {"calls", "recorded", "seconds", "moving": {"calls", "seconds", "device_seconds"}, "resident": {...}}},
/// "share": {"cpu_seconds", "least_seconds", "moving_seconds", "resident_seconds"}}
std::string to_json(const Analysis& analysis);

}  // namespace blaslift::cli
