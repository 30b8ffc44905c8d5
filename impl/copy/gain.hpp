// Whether copies gain by several threads, by what calls have taken.
#pragma once
#include <algorithm>
#include <atomic>

namespace blaslift {

/// Of every few hundred calls some are made alone, and what both kinds take is compared.  Where several threads do not
/// gain a tenth, calls are made alone for a long while, which is twice as long the next time.  Numbers are lost where
/// threads meet here, and no more than that.
class Gain {
 public:
  enum class Way { alone, timed_alone, helped, timed_helped };

  static constexpr int period = 509, judged_at = 16;  // a prime: whatever comes in turns takes its turn here
  static constexpr int shortest_rest = 1024, longest_rest = 1 << 22;
  static constexpr double worth = 0.9;

  /// Whether this call and others to come are to be made alone.  By any thread.
  bool rests() {
    const int rest = rest_.load(std::memory_order_relaxed);
    if (rest > 0) rest_.store(rest - 1, std::memory_order_relaxed);
    return rest > 0;
  }

  /// How the next call is to be made.  The first ones of a kind are not timed: cache lines are where the others before
  /// have left them, and threads have to wake up.
  Way next() {
    if (rests()) return Way::alone;
    const int call = call_.load(std::memory_order_relaxed) % period;
    if (call == judged_at && !gains()) {
      rest_.store(next_rest_, std::memory_order_relaxed);
      next_rest_ = std::min(2 * next_rest_, longest_rest);
      for (std::atomic<double>* x : {&alone_, &helped_}) x->store(0, std::memory_order_relaxed);
      call_.store(0, std::memory_order_relaxed);
      return Way::alone;
    }
    call_.store(call + 1, std::memory_order_relaxed);
    constexpr int alone = 3, waking = 4;
    if (call < alone) return call == 0 ? Way::alone : Way::timed_alone;
    return call < alone + waking ? Way::helped : Way::timed_helped;
  }

  /// @param way      what next() has said
  /// @param seconds  of an element
  void took(Way way, double seconds) {
    if (way == Way::timed_alone) learn(alone_, 0.5, seconds);
    if (way == Way::timed_helped) learn(helped_, 0.125, seconds);
  }

 private:
  bool gains() const {
    const double alone = alone_.load(std::memory_order_relaxed), helped = helped_.load(std::memory_order_relaxed);
    return alone <= 0 || helped <= 0 || helped <= worth * alone;
  }

  /// A call that lost its processor may have taken anything.
  static void learn(std::atomic<double>& mean, double weight, double seconds) {
    const double before = mean.load(std::memory_order_relaxed),
                 now = before > 0 ? std::min(seconds, 2 * before) : seconds;
    mean.store(before > 0 ? before + weight * (now - before) : now, std::memory_order_relaxed);
  }

  std::atomic<int> call_{0}, rest_{0};
  std::atomic<double> alone_{0}, helped_{0};  ///< running means; 0: none yet
  int next_rest_ = shortest_rest;
};

}  // namespace blaslift
