// Writing files in a process that may have a limit on their size.
#pragma once
#include <signal.h>

#include <ctime>

namespace blaslift {

/// A file beyond the process's limit is an error like any other, and no SIGXFSZ.
class LimitSignalBlocked {
 public:
  LimitSignalBlocked() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~LimitSignalBlocked() {
    const timespec now{0, 0};
    while (!was_pending_ && sigtimedwait(&signal_, nullptr, &now) == SIGXFSZ) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  LimitSignalBlocked(const LimitSignalBlocked&) = delete;
  LimitSignalBlocked& operator=(const LimitSignalBlocked&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_;
};

}  // namespace blaslift
