// Trace: what became of each large call, with its times, in files that outlive the process (BLASLIFT_TRACE).  Each
// process, and each program that it executes, leaves one in the directory: its counters, then events of one size, room
// for which is made by the thousand.  A process that is killed has left what had happened by then.
//
// An event takes a fetch_add and some stores: no lock, no allocation, no clock of its own.  Where there is no room, on
// the disk or beyond most_trace_events, events are dropped and counted; the counters hold every call all the same.
#pragma once
#include <array>
#include <string>

#include "impl/observe/counters.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

enum class Traced : std::uint8_t {
  on_cpu,     ///< a call by the library underneath
  on_device,  ///< a call on the device, or an attempt at one
  opening     ///< of the device
};

/// Something that took time on one thread.  Those of a thread follow or contain each other.
struct TraceEvent {
  std::atomic<std::uint32_t> complete;  ///< not while it is being written
  std::uint32_t thread;
  std::uint64_t begin_ns, end_ns;  ///< CLOCK_MONOTONIC
  std::uint64_t own_ns;            ///< of these: without counted calls inside
  std::int64_t m, n, k;            ///< as the routine's arguments; 0 where it has none
  std::int64_t count;              ///< of a batch
  double flops;
  std::uint64_t bytes_in, bytes_out, bytes_spared;  ///< as in RoutineCounters
  TransferTimes transfers;
  float cpu_seconds, device_seconds;  ///< predicted when the call was decided; 0: it took no prediction
  Routine routine;
  Traced what;
  Reason reason;         ///< why there; of an attempt: what came of it
  std::uint8_t levels;   ///< by so many
  std::uint8_t reused;   ///< operands with a copy on the device that spared bytes
  bool computed;         ///< the result was there at the end
  bool distrusted;       ///< a guard has sent it back to no level, or parts of it from residues
  bool residues;         ///< by these, or parts of it
  bool beta_zero, left;  ///< of a product: C is not read; Q's side
};
static_assert(sizeof(TraceEvent) == 152);

inline constexpr std::uint64_t trace_chunk_events = 2048;  ///< whole pages of them
inline constexpr std::uint64_t most_trace_chunks = 128, most_trace_events = most_trace_chunks * trace_chunk_events;

/// Begins a file of a trace.
struct Recording {
  static constexpr std::uint64_t this_layout = 0x626c61737472c303;  // layout 3
  Counters counters;
  std::uint64_t layout;
  char host[64];
  char arguments[512];                 ///< the program's, separated by spaces, as many as fit
  char path[1024];                     ///< of this file
  std::atomic<std::uint64_t> claimed;  ///< events begun; those from most_trace_events on were dropped
  std::atomic<std::uint64_t> dropped;
  Note<12288> guessed_profile;  ///< rates of the device that there might be; "key value" lines
  Note<12288> profile;          ///< of the one that was opened

  /// Of the first event in the file.
  static constexpr std::size_t events_at() { return (sizeof(Recording) + 65535) / 65536 * 65536; }
};
static_assert(trace_chunk_events * sizeof(TraceEvent) % 4096 == 0);

/// Whether this process leaves events.
bool tracing();

/// Leaves an event; the thread's number and `complete` are filled in.
void trace(const TraceEvent& event);

/// Makes the directory that `path` names, if need be.  @return its absolute path; empty, with a sentence in `problem`:
/// it cannot be written to.
std::string make_trace_directory(const std::string& path, std::string& problem);

/// Where the next counters get a file with room for events; null: nowhere.  `directory` must stay valid.
void set_trace_up(const char* directory);

/// For counters(): a new file, without events so far; null if there is to be none, or can be none.
Recording* make_recording(MadeFile& file);

/// Whether there is to be a trace.
bool trace_wanted();
/// Takes it back.
void discard_recording(Recording* recording, const MadeFile& file);
/// Events go there from now on.  `counters_directory`, if not null, gets a link to the file.
void open_recording(Recording* recording, const MadeFile& file, const char* counters_directory);

/// In a forked child: forgets the parent's.
void forget_trace();

/// The profile, as the trace keeps it.
/// @param opened  it is an open device's
void trace_profile(const std::string& text, bool opened);

}  // namespace blaslift
