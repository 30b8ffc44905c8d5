// Yielding: whether calls leave the device to other processes, which keep it busy (BLASLIFT_YIELD).
#pragma once
#include <atomic>
#include <cstdint>

namespace blaslift {

/// All that can be asked is how busy the device was in the last moments, by whomever.  So it is asked when the device
/// is opened, and then only where no call of ours has been there for longer than those moments: what was seen then were
/// others, or the program itself.  What was seen holds for a while.  A process that calls without a pause is not held
/// up; what others cost it, it learns as a slowdown.
class Yielding {
 public:
  static constexpr std::uint64_t moments_ns = 1'000'000'000;  ///< at most, by NVML's description
  static constexpr std::uint64_t often_ns = 250'000'000;      ///< between two questions
  static constexpr std::uint64_t stale_ns = 2 * moments_ns;   ///< old enough to say nothing
  static constexpr int busy_percent = 50;

  /// A call of ours has ended there.
  void used(std::uint64_t now) { used_.store(now, std::memory_order_relaxed); }

  /// @param alone  no other call of ours is there
  /// @param ask    int(): percent of the last moments; -1: nobody knows, and nobody is yielded to
  template <class Ask>
  bool yields(std::uint64_t now, bool alone, const Ask& ask) {
    std::uint64_t asked = asked_.load(std::memory_order_relaxed);
    const bool due = now - asked >= often_ns && now - used_.load(std::memory_order_relaxed) >= moments_ns;
    if (alone && due && asked_.compare_exchange_strong(asked, now, std::memory_order_relaxed))
      yields_.store(ask() >= busy_percent, std::memory_order_relaxed);
    return yields_.load(std::memory_order_relaxed) && now - asked_.load(std::memory_order_relaxed) < stale_ns;
  }

 private:
  std::atomic<std::uint64_t> used_{0}, asked_{0};  ///< CLOCK_MONOTONIC
  std::atomic<bool> yields_{false};
};

}  // namespace blaslift
