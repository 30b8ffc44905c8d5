// Crew: threads that help one caller at a time through a list of short jobs.
#pragma once
#include <atomic>
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

}  // namespace blaslift
