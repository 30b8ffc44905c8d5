#include "compat/process.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace blaslift {

constinit ThisProcess this_process = {};

namespace {

constinit std::atomic<bool> wiped{false};  ///< in a child

constexpr std::int32_t being_reset = -1;

}  // namespace

void remember_process() {
  const int errno_before = errno;
  // Sanitizers' and emulators' memory may be of another kind, and kernels before 4.14 do not know it.
  if (madvise(&this_process, sizeof this_process, MADV_WIPEONFORK) == 0) wiped.store(true, std::memory_order_relaxed);
  errno = errno_before;
  this_process.known.store(getpid(), std::memory_order_release);
}

bool is_remembered() {
  const std::int32_t known = this_process.known.load(std::memory_order_acquire);
  return known > 0 && (wiped.load(std::memory_order_relaxed) || known == getpid());
}

void take_over(void (*reset)()) {
  std::int32_t known = this_process.known.load(std::memory_order_acquire);
  while (!is_remembered()) {
    if (known != being_reset && this_process.known.compare_exchange_strong(known, being_reset)) {
      reset();
      this_process.known.store(getpid(), std::memory_order_release);
      return;
    }
    sched_yield();
    known = this_process.known.load(std::memory_order_acquire);
  }
}

}  // namespace blaslift
