#include "kernels/host/run_tasks.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

namespace blaslift {
namespace {

/// OpenMP's tasks would do as well, but that its runtime ends the process where it gets no thread.
class Team {
 public:
  Team(const std::vector<std::vector<QrEdge>>& after, const std::function<void(std::size_t)>& act)
      : act_(act), waits_for_(after.size()), followers_(after.size()), left_(after.size()) {
    ready_.reserve(after.size());  // nothing throws once tasks run
    for (std::size_t i = 0; i < after.size(); ++i) {
      waits_for_[i] = after[i].size();
      for (const QrEdge& edge : after[i]) followers_[static_cast<std::size_t>(edge.task)].push_back(i);
      if (after[i].empty()) ready_.push_back(i);
    }
    std::make_heap(ready_.begin(), ready_.end(), std::greater<>());
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !ready_.empty() || left_ == 0; });
      if (left_ == 0) return;
      // The earliest of the list: those behind it wait for it.
      std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
      const std::size_t task = ready_.back();
      ready_.pop_back();
      lock.unlock();
      act_(task);
      lock.lock();
      std::size_t made_ready = 0;
      for (const std::size_t follower : followers_[task]) {
        if (--waits_for_[follower] > 0) continue;
        ready_.push_back(follower);
        std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
        ++made_ready;
      }
      if (--left_ == 0 || made_ready > 1) changed_.notify_all();
    }
  }

 private:
  const std::function<void(std::size_t)>& act_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> waits_for_;
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::size_t> ready_;
  std::size_t left_;
};

}  // namespace

void run_tasks(const std::vector<std::vector<QrEdge>>& after, int threads,
               const std::function<void(std::size_t)>& act) {
  if (threads <= 1 || after.size() <= 1) {
    for (std::size_t i = 0; i < after.size(); ++i) act(i);
    return;
  }
  Team team(after, act);
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(threads) - 1);
  // The program's signals are for its own threads, but for those that a thread's own instruction raises.
  sigset_t all, kept;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &kept);
  try {
    while (others.size() + 1 < std::min(static_cast<std::size_t>(threads), after.size()))
      others.emplace_back([&team] { team.work(); });
  } catch (const std::exception&) {  // fewer, then
  }
  pthread_sigmask(SIG_SETMASK, &kept, nullptr);
  team.work();
  for (std::thread& other : others) other.join();
}

}  // namespace blaslift
