#include "impl/core/workers.hpp"

#include <emmintrin.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <ctime>

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

namespace {

/// Until the state is another one, for so long at most, or for nothing.
void sleep_while(std::atomic<int>& state, int value, std::chrono::nanoseconds time) {
  const timespec most{time.count() / 1000000000, time.count() % 1000000000};
  syscall(SYS_futex, reinterpret_cast<int*>(&state), FUTEX_WAIT_PRIVATE, value, &most, nullptr, 0);
}
void wake(std::atomic<int>& state) {
  syscall(SYS_futex, reinterpret_cast<int*>(&state), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// Processors' worth of time that the process's control group has, at least one; many where nothing is said.
int quota() {
  char text[64] = {};
  const int file = open("/sys/fs/cgroup/cpu.max", O_RDONLY | O_CLOEXEC);
  if (file < 0) return INT_MAX;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  char* rest = text;
  const long time = std::strtol(text, &rest, 10), period = std::strtol(rest, nullptr, 10);
  return size <= 0 || time <= 0 || period <= 0 ? INT_MAX : static_cast<int>(std::clamp(time / period, 1L, 1L << 16));
}

/// A handler that runs on a stack of its own may have any address.
bool on_stack_of_handlers() {
  stack_t handlers{};
  return sigaltstack(nullptr, &handlers) != 0 || (handlers.ss_flags & SS_ONSTACK);
}

}  // namespace

bool PartCrew::take(const void* who, const void* frame) {
  const void* nobody = nullptr;
  if (taken_.compare_exchange_strong(nobody, who, std::memory_order_acquire)) return frame_ = frame, true;
  if (nobody != who || frame < frame_ || on_stack_of_handlers()) return false;
  for (Helper& helper : helpers_)
    if (int left = posted; !helper.state.compare_exchange_strong(left, idle, std::memory_order_relaxed))
      await(helper.state);
  return frame_ = frame, true;
}

int PartCrew::parts() {
  bool complete = parts_ > 0;
  for (int i = 1; i < parts_; ++i) complete = complete && helpers_[i - 1].state.load(std::memory_order_relaxed) != gone;
  if (complete || (patience_ > 0 && patience_--)) return parts_;
  const OwnThreads threads;
  parts_ = 1 + std::min(most_helpers, std::min(threads.count(), quota()) - 1);
  for (int i = 1; i < parts_; ++i) {
    std::atomic<int>& state = helpers_[i - 1].state;
    if (state.load(std::memory_order_relaxed) != gone) continue;
    state.store(idle, std::memory_order_relaxed);
    if (threads.start("blaslift-part", [this, i] { help(i); })) continue;
    state.store(gone, std::memory_order_relaxed);
    constexpr int a_while = 4096;
    patience_ = a_while;
    break;
  }
  return parts_;
}

void PartCrew::help(int number) {
  using Clock = std::chrono::steady_clock;
  using namespace std::chrono_literals;
  std::atomic<int>& state = helpers_[number - 1].state;
  for (;;) {
    constexpr auto awake = 20us;
    constexpr int pauses = 32;  // between looks at the clock
    const Clock::time_point start = Clock::now();
    for (int i = 1; state.load(std::memory_order_relaxed) != posted; ++i) {
      _mm_pause();
      if (i % pauses != 0 || Clock::now() - start < awake) continue;
      int nothing = idle;
      if (state.compare_exchange_strong(nothing, asleep, std::memory_order_relaxed)) sleep_while(state, asleep, 1s);
      int still = asleep;
      if (state.compare_exchange_strong(still, gone, std::memory_order_relaxed)) return;
    }
    int mine = posted;
    if (!state.compare_exchange_strong(mine, begun, std::memory_order_acquire)) continue;
    job_(context_, number);
    if (state.exchange(idle, std::memory_order_acq_rel) == awaited) wake(state);
  }
}

/// Until its thread has ended what it has begun.
void PartCrew::await(std::atomic<int>& state) {
  constexpr int most_pauses = 4096;  // a part is short, unless its thread has lost its processor
  for (int paused = 0, seen; (seen = state.load(std::memory_order_acquire)) == begun || seen == awaited; ++paused)
    if (paused < most_pauses)
      _mm_pause();
    else if (seen == awaited || state.compare_exchange_strong(seen, awaited, std::memory_order_relaxed))
      sleep_while(state, awaited, std::chrono::milliseconds(10));
}

bool PartCrew::run(Job job, void* context) {
  job_ = job;
  context_ = context;
  unsigned others = 0;  // parts that were posted, a bit each
  for (int i = 1; i < parts_; ++i) {
    std::atomic<int>& state = helpers_[i - 1].state;
    int seen = state.load(std::memory_order_relaxed);
    while (seen == idle || seen == asleep)
      if (state.compare_exchange_weak(seen, posted, std::memory_order_release)) {
        others |= 1u << i;
        if (seen == asleep) wake(state);
        break;
      }
  }
  job(context, 0);
  for (int i = 1; i < parts_; ++i) {
    int left = posted;
    if ((others >> i & 1) && !helpers_[i - 1].state.compare_exchange_strong(left, idle, std::memory_order_relaxed))
      continue;
    others &= ~(1u << i);
    job(context, i);
  }
  for (int i = 1; i < parts_; ++i)
    if (others >> i & 1) await(helpers_[i - 1].state);
  return others != 0;
}

bool Worker::give(const char* name, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  given_.push_back(std::move(work));
  if (!started_) {
    const OwnThreads threads;
    started_ = threads.start(name, [this] { serve(); });
  }
  if (!started_) given_.pop_back();
  changed_.notify_one();
  return started_;
}

void Worker::serve() {
  constexpr unsigned as_usual = 0x1f80;  // whatever the caller has whose call began this thread
  _mm_setcsr(as_usual);
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [this] { return !given_.empty(); });
    const std::function<void()> work = std::move(given_.front());
    given_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace blaslift
