// Crew: threads that help one caller at a time through a list of short jobs.  PartCrew: the same for what is done again
// and again, of which each has a part of its own.  Worker: one thread that does what it is given.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace blaslift {

/// Never destroyed: its threads wait for ever.
class Crew {
 public:
  /// A job: its number, and what the caller handed over.
  using Job = void (*)(void* context, int number);

  /// Calls job(context, 0) to job(context, count - 1), each once, here and by the crew, and returns when all have
  /// ended. Whoever comes while the crew is busy does all of it alone.  Jobs do not throw.
  void run(int count, Job job, void* context);

 private:
  static constexpr int most_helpers = 15;
  static constexpr int closed = 1 << 30;

  void start();
  void help();
  void work();

  std::mutex mutex_;
  int helpers_ = -1;  ///< -1: not started
  Job job_ = nullptr;
  void* context_ = nullptr;
  int count_ = 0;
  std::atomic<int> next_{0};
  std::atomic<int> inside_{closed};  ///< helpers at work, and whether there is nothing for more of them
  std::atomic<int> calls_{0};        ///< what helpers wait for
};

/// What a part's thread touches stays in its processor's cache from one time to the next.  A part that its thread has
/// not begun when the caller comes to it is the caller's: a thread that has no processor delays nothing.  Threads wait
/// for the next time awake for a moment, then asleep, and end after a second: a process whose other threads have ended
/// ends, too.  For constinit variables; never destroyed.
class PartCrew {
 public:
  using Job = Crew::Job;

  /// Whether the crew is the caller's now, until it gives it back.
  /// @param who    the calling thread, by an address of its own
  /// @param frame  of the caller: a thread that has the crew already, and calls from no deeper than before, has left
  ///               its call by a jump.  What was begun for it is waited for.
  bool take(const void* who, const void* frame);
  void give_back() { taken_.store(nullptr, std::memory_order_release); }

  // By who has taken it.

  /// How many parts there are, the caller's among them; 1: nobody helps.  Starts threads that are not there.
  int parts();
  /// @param context  still there when the caller has left this by a jump
  /// @return whether a thread of the crew has done any of them
  bool run(Job job, void* context);

 private:
  static constexpr int most_helpers = 7;
  enum State : int { gone, idle, asleep, posted, begun, awaited };
  /// Each in a cache line of its own, so that nobody waits for lines that others write.
  struct alignas(64) Helper {
    std::atomic<int> state{gone};
  };

  void help(int number);
  void await(std::atomic<int>& state);

  std::atomic<const void*> taken_{nullptr};
  const void* frame_ = nullptr;  ///< of who has taken it
  int parts_ = 0;                ///< 0: never started
  int patience_ = 0;             ///< so many times without another try to start a thread
  Job job_ = nullptr;
  void* context_ = nullptr;
  Helper helpers_[most_helpers];  ///< the first has part 1
};

/// Does what it is given, in order.  Never destroyed: its thread, which starts with the first of that, waits for ever.
class Worker {
 public:
  /// @param name  the thread's, as for OwnThreads::start
  /// @return whether there is a thread; otherwise `work` is not done.  Throws std::bad_alloc.
  bool give(const char* name, std::function<void()> work);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> given_{};
  bool started_ = false;
};

}  // namespace blaslift
