// Threads of our own in somebody else's process.
#pragma once
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

namespace blaslift {

/// The processors that any thread of this process may use: the caller's own mask may be one core of an OpenMP team, and
/// what the batch system left out must stay out.
inline cpu_set_t processors() {
  cpu_set_t all;
  CPU_ZERO(&all);
  if (DIR* tasks = opendir("/proc/self/task")) {
    while (const dirent* task = readdir(tasks)) {
      cpu_set_t one;
      const int id = std::atoi(task->d_name);
      if (id > 0 && sched_getaffinity(id, sizeof one, &one) == 0) CPU_OR(&all, &all, &one);
    }
    closedir(tasks);
  }
  return all;
}

/// Starts threads while it lives.  Signals are blocked meanwhile, which new threads inherit: the program's handlers run
/// on the program's threads.  Not those that a thread's own instruction raises: a program may have a page repaired when
/// it is touched, and ours touch its operands.
class OwnThreads {
 public:
  OwnThreads() : allowed_(processors()) {
    sigset_t others;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) sigdelset(&others, own);
    pthread_sigmask(SIG_SETMASK, &others, &before_);
  }
  ~OwnThreads() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;

  /// How many processors they may use.
  int count() const { return CPU_COUNT(&allowed_); }

  /// A detached one, on any of the processors; false if there can be none.
  /// @param name  of 15 characters at most, as tools show it
  template <class F>
  bool start(const char* name, F work) const {
    try {
      std::thread([name, work = std::move(work), allowed = allowed_] {
        pthread_setname_np(pthread_self(), name);
        (void)sched_setaffinity(0, sizeof allowed, &allowed);
        work();
      }).detach();
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }

 private:
  cpu_set_t allowed_;
  sigset_t before_;
};

}  // namespace blaslift
