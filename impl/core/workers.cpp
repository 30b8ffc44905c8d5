#include "impl/core/workers.hpp"

#include <emmintrin.h>

#include <algorithm>

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

}  // namespace blaslift
