// Runtime: the process's one state.  Made at the first call, never destroyed (other threads may still be calling while
// the process exits).
#pragma once
#include <array>
#include <atomic>
#include <limits>

#include "impl/core/options.hpp"
#include "impl/observe/counters.hpp"
#include "impl/route/place.hpp"
#include "impl/route/verifier.hpp"

namespace blaslift {

struct Runtime {
  Runtime();

  std::string warnings;  ///< about the environment, written by the one thread whose runtime it becomes
  Options options;
  Place first;  ///< where calls are computed that are not dealt out
  Verifier verifier;
  Recurring recurring;                        ///< matrices of products with vectors, until the device is open
  std::atomic<double> missed_seconds{0};      ///< savings missed because the device was not open
  std::atomic<std::uint64_t> deals{0};        ///< calls that were dealt out
  std::atomic<bool> gang{false};              ///< places compute a call together; for good if that is left by a jump
  std::atomic<double> missed_by_dealing{0};   ///< likewise, because only the first place was
  std::atomic<bool> warming{false};           ///< a thread of ours computes on the device, for which exit waits
  std::atomic<int> in_flight{0};              ///< routes that decide on a call, or have it on the device, now
  std::atomic<int> on_cpu{0};                 ///< calls that the CPU computes now, of those that the gate lets through
  std::atomic<bool> opened_meanwhile{false};  ///< or not, but it has been tried
  std::atomic<bool> forked{false}, exiting{false};
  std::atomic<bool> inherited{false};  ///< from the parent of this forked child, with none of its threads

  static constexpr int most_places = 16;
  /// How many places calls may be dealt out over: 1 until the first one's device is open.
  int places() const;
  /// One of them, made at the first question for it.  Throws std::bad_alloc.
  Place& place(int number);

 private:
  std::array<std::atomic<Place*>, most_places> others_{};  ///< by number
};

/// The runtime, made by the first caller; in a child that has a copy of its parent's, without what only the parent has.
Runtime& runtime();

/// Whether the process's exit lets no route start any more.
bool too_late(const Runtime& r);
inline bool not_exiting() { return !runtime().exiting.load(std::memory_order_relaxed); }

/// Whether this call finds a runtime, or may make one: a first call from a signal handler may not.  In own time.
bool may_have_runtime();

/// The first place's backend, as open_place has it.
inline Backend* open_device(Runtime& runtime) { return open_place(runtime, runtime.first); }

/// Opens it by a thread of ours, while the caller and others go on without it, and makes it ready for calls like this
/// one.  Once in a process, and for its main thread alone, which then does not end before the device is open: exit
/// would run a driver's handlers.
void open_device_meanwhile(Runtime& runtime, Routine routine);

/// If BLASLIFT_START says so, has a thread of ours open the device as soon as the process has loaded a BLAS; the main
/// thread waits likewise.  To be called once the library has been initialised.
void open_device_early_if_wanted();

}  // namespace blaslift
