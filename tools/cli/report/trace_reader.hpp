// Traces that processes have left (impl/observe/trace.hpp), read and put on one clock.
#pragma once
#include <string>
#include <vector>

#include "impl/observe/report.hpp"
#include "impl/observe/trace.hpp"
#include "impl/route/profile.hpp"

namespace blaslift::cli {

/// A call, or an attempt at one on the device, or the device's opening.  Times are nanoseconds since the recording
/// began.
struct Span {
  std::int64_t begin, end;
  std::int64_t in_begin, in_end, out_begin, out_end;  ///< bytes moved then; begin == end: none did
  std::uint64_t own_ns;
  std::uint32_t thread;
  std::int64_t m, n, k;
  std::int64_t count = 1;  ///< of a batch
  double flops;
  std::uint64_t bytes_in, bytes_out, bytes_spared;
  double cpu_seconds, device_seconds;  ///< predicted
  Routine routine;
  Traced what;
  Reason reason;
  int levels, reused;
  bool computed, distrusted, residues, beta_zero, left;

  std::int64_t elapsed() const { return end - begin; }
  double seconds() const { return 1e-9 * static_cast<double>(elapsed()); }
  /// While something was on its way to or from the device.
  std::int64_t moving() const;
};

/// One program that ran in one process.
struct RecordedProcess {
  std::int32_t pid, parent;
  std::string command, arguments, host;
  std::int64_t begin, end;  ///< first call; end of the last that was timed
  std::vector<Span> spans;  ///< by thread, then by time: what contains another comes first
  std::uint64_t dropped, unfinished;
  std::string profile;          ///< of the device that it opened; or empty
  std::string guessed_profile;  ///< of the device that there might be
};

struct ReadRecording {
  std::vector<RecordedProcess> processes;  ///< in order of their first call
  std::uint64_t began_ns = 0;              ///< CLOCK_REALTIME of the first of them
  Summary summary;
  std::vector<std::string> problems;  ///< files that could not be read

  std::int64_t length() const;  ///< nanoseconds to the end of the last call that was timed
};

/// Throws std::runtime_error if the directory cannot be read or holds no recording.
ReadRecording read_recording(const std::string& directory);

/// "m=2 n=3 k=4", of those sizes that the routine has.
std::string sizes_of(const Span& span);

}  // namespace blaslift::cli
