// Runtime: the process's one state.  Made at the first call, never destroyed (other threads may still be calling while
// the process exits).
#pragma once
#include <atomic>
#include <limits>

#include "impl/arena.hpp"
#include "impl/counters.hpp"
#include "impl/device.hpp"
#include "impl/options.hpp"
#include "impl/plans.hpp"
#include "impl/replay.hpp"
#include "impl/residency.hpp"
#include "impl/verify.hpp"

namespace blaslift {

/// What the CPU has been measured to do, by precision and size.
class CpuRates {
 public:
  /// @param least_flops  below, overheads drown the rate and nothing is learned
  explicit CpuRates(double least_flops) : least_flops_(least_flops) {}
  CpuRates() = default;

  /// flop/s expected for a product of `flops`: measured at this size, else at the nearest smaller, else larger, else
  /// `otherwise`.
  double rate(SymvPrecision precision, double flops, double otherwise) const;
  void learn(SymvPrecision precision, double flops, double seconds);

 private:
  const double least_flops_ = 1e7;
  std::atomic<double> rates_[symv_precision_count][size_classes] = {};
};

/// What calls of one kind of routine have taught.
struct Learned {
  CpuRates cpu;
  std::atomic<double> slowdown{1};  ///< measured over predicted time of recent device calls
  std::atomic<int> warm_calls{0};   ///< device calls so far; the first ones load code and are not learned from
};

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
  std::atomic<int> in_flight{0};          ///< routes using the device now
  std::atomic<bool> forked{false}, exiting{false};
};

/// The runtime, made by the first caller; in a child that has a copy of its parent's, without what only the parent has.
Runtime& runtime();

/// Whether this call finds a runtime, or may make one: a first call from a signal handler may not.  In own time.
bool may_have_runtime();

/// The device's backend, opened if need be, with its arena and residency; null if there is none or the process's exit
/// has begun.  Sees to it that exit finds no route on the device.
Backend* open_device(Runtime& runtime);

/// Size class of a call: power of four of its flops.
int size_class(double flops);

}  // namespace blaslift
