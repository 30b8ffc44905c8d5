// Loading and the process's exit: each test exits a child.
#include "compat/loading.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/unit/support/temporary.hpp"

namespace blaslift::loading_tests {
namespace {

using temporary::in_child;
using Clock = std::chrono::steady_clock;

std::atomic<int> state{0};
Clock::time_point exited;

/// Exits the process; its status is what `then` returns when loading has ended.
int exit_and(void (*then)()) {
  std::atexit(then);  // the later they are registered, the earlier they run
  end_loading_at_exit();
  exited = Clock::now();
  std::exit(100);
}

double seconds_of_exit() { return std::chrono::duration<double>(Clock::now() - exited).count(); }

/// Waits until another thread is loading, for this long.
void load_elsewhere(std::chrono::milliseconds time) {
  std::thread([time] {
    const Loading loading;
    state = loading.allowed();
    std::this_thread::sleep_for(time);
    state = 2;
  }).detach();
  while (state == 0) std::this_thread::yield();
}

TEST(Loading, IsAllowedUntilExitBegins) {
  EXPECT_EQ(in_child([] {
              if (exit_has_begun() || !Loading().allowed()) return 1;
              return exit_and([] { _exit(exit_has_begun() && !Loading().allowed() ? 0 : 2); });
            }),
            0);
}

TEST(Loading, IsWaitedForByExit) {
  EXPECT_EQ(in_child([] {
              load_elsewhere(std::chrono::milliseconds(300));
              return exit_and([] { _exit(state == 2 ? 0 : 1); });
            }),
            0);
}

TEST(Loading, IsNotWaitedForByItsOwnThread) {
  EXPECT_EQ(in_child([] {
              const Loading loading;
              return exit_and([] { _exit(seconds_of_exit() < 1 ? 0 : 1); });
            }),
            0);
}

TEST(Loading, IsNotWaitedForForEver) {
  EXPECT_EQ(in_child([] {
              load_elsewhere(std::chrono::hours(1));
              return exit_and([] { _exit(state == 1 && seconds_of_exit() >= 2 ? 0 : 1); });
            }),
            0);
}

TEST(Loading, OfItsParentsThreadsDoesNotConcernAChild) {
  EXPECT_EQ(in_child([] {
              load_elsewhere(std::chrono::hours(1));
              const Loading loading;
              return in_child([] {
                forget_loading();
                return exit_and([] { _exit(seconds_of_exit() < 1 ? 0 : 1); });
              });
            }),
            0);
}

}  // namespace
}  // namespace blaslift::loading_tests
