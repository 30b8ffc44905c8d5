// What a process has learned from its calls: how fast the CPU is, how much slower the device is than predicted, and
// what trying the device again may cost.  All of it by how many calls each side has at once, since a decision is about
// the program's throughput: sixteen threads that call at once share the processors, the bus and the device.
#pragma once
#include <atomic>
#include <bit>

#include "impl/observe/counters.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Load class of a side with so many calls at once, at least one: 1, 2, up to 4, 8, 16, more.
inline constexpr int load_classes = 6;
constexpr int load_class(int calls) {
  const int above = static_cast<int>(std::bit_width(static_cast<unsigned>(calls > 1 ? calls - 1 : 0)));
  return above < load_classes ? above : load_classes - 1;
}

/// What the CPU has been measured to do, by precision, size and load.
class CpuRates {
 public:
  /// @param least_flops  below, overheads drown the rate and nothing is learned
  constexpr explicit CpuRates(double least_flops) : least_flops_(least_flops) {}
  constexpr CpuRates() = default;

  /// flop/s expected for a product of `flops` beside which the CPU has others, `calls` with it: measured at this load,
  /// else at the nearest other; of these at this size, else at the nearest smaller, else larger; else `otherwise`.
  double rate(Element precision, double flops, double otherwise, int calls = 1) const;
  void learn(Element precision, double flops, double seconds, int calls = 1);

 private:
  const double least_flops_ = 1e7;
  std::atomic<double> rates_[element_count][load_classes][size_classes] = {};
  std::atomic<std::uint32_t> measured_[element_count][load_classes] = {};  ///< a bit for each size
  static_assert(size_classes <= 32);
  std::atomic<bool> any_[element_count] = {};
};

/// Measured over predicted time of recent calls on the device, by load.
class Slowdowns {
 public:
  /// What is expected of a call that is one of `calls` there: as measured at this load, else at the next smaller one
  /// that was, else 1.
  double at(int calls) const;
  /// The first few of each load are not learned from: they load code, and make what so many at once take.
  /// @param predicted  seconds, by the profile alone
  void learn(int calls, double predicted, double measured);

 private:
  std::atomic<double> slowdowns_[load_classes] = {};  ///< 0: none measured
  std::atomic<int> calls_[load_classes] = {};
};

/// Calls stay where the device has become slower than the CPU, and would never find out that it no longer is.  So they
/// earn trials: of the time that they take on the CPU, a hundredth may be lost by trying the device again.
class Trials {
 public:
  static constexpr double part_of_time = 0.01;

  void earn(double cpu_seconds) { add(part_of_time * cpu_seconds); }
  double allowed() const { return seconds_.load(std::memory_order_relaxed); }
  /// For one call that expects to lose so much; false if another has taken it.
  bool take(double loss);
  /// What it was expected to take, and took.
  void settle(double expected, double measured) { add(expected - measured); }

 private:
  void add(double seconds);
  std::atomic<double> seconds_{0};
};

/// What calls of one kind of routine have taught.
struct Learned {
  CpuRates cpu;
  Slowdowns device;
  Slowdowns dealt;  ///< of calls that several places compute
  Trials trials;
};

}  // namespace blaslift
