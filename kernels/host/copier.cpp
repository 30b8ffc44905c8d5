#include "kernels/host/copier.hpp"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "kernels/copy.hpp"

namespace blaslift {
namespace {

constexpr std::size_t worth_a_team = std::size_t{4} << 20;  // bytes; below, waking the team costs more than it saves

struct Job {
  void* to;
  index ldt;
  const void* from;
  index lds, rows, cols;
  std::size_t element;
};

/// The thread that owns the team.  Never destroyed: it may be waiting when the process exits.
class Copier {
 public:
  /// False if another caller has it, or if it cannot be had.
  bool run(const Job& job) {
    std::unique_lock own(callers_, std::try_to_lock);
    if (!own) return false;
    if (!started_ && !start()) return false;
    std::unique_lock lock(mutex_);
    job_ = &job;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !job_; });
    return true;
  }

 private:
  /// The thread and its team must never run the program's signal handlers: they inherit a mask with everything blocked.
  bool start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread(&Copier::loop, this).detach();
      started_ = true;
    } catch (const std::exception&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started_;
  }

  void loop() {
    pthread_setname_np(pthread_self(), "blaslift-copy");
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return job_ != nullptr; });
      copy(*job_);
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  static void copy(const Job& job) {
    const std::size_t column = static_cast<std::size_t>(job.rows) * job.element;
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (index j = 0; j < job.cols; ++j)
      std::memcpy(static_cast<char*>(job.to) + static_cast<std::size_t>(j * job.ldt) * job.element,
                  static_cast<const char*>(job.from) + static_cast<std::size_t>(j * job.lds) * job.element, column);
  }

  std::mutex callers_, mutex_;
  std::condition_variable changed_;
  const Job* job_ = nullptr;
  bool started_ = false;
};

}  // namespace

void parallel_copy(void* to, index ldt, const void* from, index lds, index rows, index cols, std::size_t element) {
  static Copier& copier = *new Copier;
  const bool large = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * element >= worth_a_team;
  if (!large || cols < 2 || !copier.run({to, ldt, from, lds, rows, cols, element}))
    copy_block(to, ldt, from, lds, rows, cols, element);
}

}  // namespace blaslift
