#include "impl/core/workers.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <chrono>

#include "kernels/own_thread.hpp"

namespace blaslift {

void Crew::start() {
  const OwnThreads threads;
  const int wanted = std::min(most_helpers, threads.count() - 1);
  for (helpers_ = 0; helpers_ < wanted; ++helpers_)
    if (!threads.start("blaslift-look", [this] { help(); })) return;
}

void Crew::help() {
  for (int seen = 0;;) {
    calls_.wait(seen, std::memory_order_acquire);
    seen = calls_.load(std::memory_order_acquire);
    // What the caller has left is still valid once we are counted and it is not closed.
    if (!(inside_.fetch_add(1, std::memory_order_acq_rel) & closed)) work();
    if (inside_.fetch_sub(1, std::memory_order_release) == closed + 1) inside_.notify_one();
  }
}

void Crew::work() {
  for (int i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) job_(context_, i);
}

void Crew::run(int count, Job job, void* context) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && helpers_ < 0 && count > 1) start();
  if (!lock || helpers_ <= 0 || count <= 1) {
    for (int i = 0; i < count; ++i) job(context, i);
    return;
  }
  job_ = job;
  context_ = context;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  inside_.fetch_and(~closed, std::memory_order_release);  // latecomers of the call before may be counted
  calls_.fetch_add(1, std::memory_order_release);
  if (const int wanted = count - 1; wanted < helpers_ / 2)
    for (int i = 0; i < wanted; ++i) calls_.notify_one();
  else
    calls_.notify_all();
  work();
  inside_.fetch_or(closed, std::memory_order_relaxed);
  // A helper's last job is short, unless it has lost its processor.
  constexpr int most_pauses = 4096;
  int inside;
  for (int i = 0; (inside = inside_.load(std::memory_order_acquire)) != closed; ++i)
    i < most_pauses ? _mm_pause() : inside_.wait(inside, std::memory_order_acquire);
}

int PartCrew::parts() {
  if (parts_) return parts_;
  const OwnThreads threads;
  const int wanted = std::min(most_helpers, threads.count() - 1);
  for (parts_ = 1; parts_ <= wanted; ++parts_)
    if (!threads.start("blaslift-part", [this, number = parts_] { help(number); })) break;
  return parts_;
}

void PartCrew::help(int number) {
  std::atomic<int>& state = helpers_[number - 1].state;
  for (;;) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds awake(50);
    constexpr int pauses = 32;  // between looks at the clock
    const Clock::time_point start = Clock::now();
    for (int i = 1; state.load(std::memory_order_relaxed) != posted; ++i) {
      _mm_pause();
      if (i % pauses != 0 || Clock::now() - start < awake) continue;
      int nothing = idle;
      if (state.compare_exchange_strong(nothing, asleep, std::memory_order_relaxed))
        state.wait(asleep, std::memory_order_relaxed);
      break;
    }
    int mine = posted;
    if (!state.compare_exchange_strong(mine, begun, std::memory_order_acquire)) continue;
    job_(context_, number);
    state.store(idle, std::memory_order_release);
    state.notify_one();
  }
}

bool PartCrew::run(Job job, void* context) {
  job_ = job;
  context_ = context;
  for (int i = 1; i < parts_; ++i)
    if (std::atomic<int>& state = helpers_[i - 1].state; state.exchange(posted, std::memory_order_release) == asleep)
      state.notify_one();
  job(context, 0);
  bool helped = false;
  for (int i = 1; i < parts_; ++i)
    if (int left = posted; helpers_[i - 1].state.compare_exchange_strong(left, idle, std::memory_order_relaxed))
      job(context, i);
    else
      helped = true;
  constexpr int most_pauses = 4096;  // a part is short, unless its thread has lost its processor
  for (int i = 1; i < parts_; ++i) {
    std::atomic<int>& state = helpers_[i - 1].state;
    for (int paused = 0; state.load(std::memory_order_acquire) == begun; ++paused)
      paused < most_pauses ? _mm_pause() : state.wait(begun, std::memory_order_acquire);
  }
  return helped;
}

}  // namespace blaslift
