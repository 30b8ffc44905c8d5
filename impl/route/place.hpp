// A place: a device of this process, with its memory and what is kept there between calls.  Where a call's results are
// computed.
#pragma once
#include <atomic>
#include <mutex>

#include "impl/core/arena.hpp"
#include "impl/core/options.hpp"
#include "impl/core/workers.hpp"
#include "impl/residency/residency.hpp"
#include "impl/route/device.hpp"

namespace blaslift {

struct Runtime;

struct Place {
  /// @param which  of those that the process may use: from 0
  Place(const Options& process_options, int which);
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const Options& options;
  Device device;
  Arena arena;  ///< the device's memory, once it is open; so is residency
  Residency residency;
  Worker worker;                           ///< computes parts of calls here; not at the first place, where callers do
  std::atomic<bool> computes_part{false};  ///< the worker, now
  std::atomic<bool> in_gang{false};        ///< the worker, now, with others: it may wait for them
  std::atomic<int> refused{0};             ///< parts in a row for which the device had no room
  const int number;

 private:
  friend Backend* open_place(Runtime& runtime, Place& place);
  Backend* open_now(Runtime& runtime);

  std::mutex opening_;
  bool opened_ = false;             ///< under that
  std::atomic<bool> ready_{false};  ///< all of it is
};

/// The place's backend, opened if need be, with its arena and residency; null if there is none or the process's exit
/// has begun.  Sees to it that exit finds no route on the device.
Backend* open_place(Runtime& runtime, Place& place);

}  // namespace blaslift
