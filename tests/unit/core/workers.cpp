// The crew: every job once, and all of them ended when run() returns, whoever else wants the crew meanwhile.
#include "impl/core/workers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace blaslift {
namespace {

/// What was done, without any order of its own: a job that has not ended would be a race.
struct Done {
  std::vector<int> times;
  explicit Done(int count) : times(static_cast<std::size_t>(count)) {}
  static void job(void* self, int number) { ++static_cast<Done*>(self)->times[static_cast<std::size_t>(number)]; }
};

TEST(Crew, DoesEachJobOnce) {
  Crew& crew = *new Crew;  // its threads are never told to go
  for (const int count : {0, 1, 2, 3, 64, 1000})
    for (int time = 0; time < 200; ++time) {
      Done done(count);
      crew.run(count, Done::job, &done);
      for (const int times : done.times) ASSERT_EQ(times, 1);
    }
}

TEST(Crew, ServesOneAndTheOthersHelpThemselves) {
  Crew& crew = *new Crew;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&crew, caller] {
      for (int time = 0; time < 300; ++time) {
        Done done(1 + caller * 7);
        crew.run(1 + caller * 7, Done::job, &done);
        for (const int times : done.times) EXPECT_EQ(times, 1);
      }
    });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace blaslift
