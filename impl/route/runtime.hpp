// Runtime: the process's one state.  Made at the first call, never destroyed (other threads may still be calling while
// the process exits).
#pragma once
#include <atomic>
#include <limits>

#include "impl/core/arena.hpp"
#include "impl/core/options.hpp"
#include "impl/observe/counters.hpp"
#include "impl/product/plan_cache.hpp"
#include "impl/residency/residency.hpp"
#include "impl/route/device.hpp"
#include "impl/route/learned.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

struct Runtime {
  Runtime();

  std::string warnings;  ///< about the environment, written by the one thread whose runtime it becomes
  Options options;
  Device device;
  Arena arena;  ///< the device's memory, once it is open; so is residency
  Residency residency;
  Plans plans, plans_without_levels;  ///< apart: those by levels take longer to make, and are fewer
  Verifier verifier;
  Learned gemm{}, syrk{}, symv{.cpu = CpuRates(timed_vector_flops)}, qr{}, q{};
  Recurring recurring;                    ///< matrices of products with vectors, until the device is open
  std::atomic<double> missed_seconds{0};  ///< savings missed because the device was not open
  std::atomic<int> refusals{0};           ///< of levels by the guard, since it last let some pass
  std::atomic<int> in_flight{0};          ///< routes that decide on a call, or have it on the device, now
  std::atomic<int> on_cpu{0};             ///< calls that the CPU computes now, of those that the gate lets through
  std::atomic<bool> forked{false}, exiting{false};
};

/// The runtime, made by the first caller; in a child that has a copy of its parent's, without what only the parent has.
Runtime& runtime();

/// Whether this call finds a runtime, or may make one: a first call from a signal handler may not.  In own time.
bool may_have_runtime();

/// The device's backend, opened if need be, with its arena and residency; null if there is none or the process's exit
/// has begun.  Sees to it that exit finds no route on the device.
Backend* open_device(Runtime& runtime);

}  // namespace blaslift
