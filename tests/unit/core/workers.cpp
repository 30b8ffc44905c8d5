// The crews: every job once, and all of them ended when run() returns, whoever else wants the crew meanwhile.
#include "impl/core/workers.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace blaslift::workers_tests {
namespace {

/// What was done, without any order of its own: a job that has not ended would be a race.
struct Done {
  std::vector<int> times;
  explicit Done(int count) : times(static_cast<std::size_t>(count)) {}
  static void job(void* self, int number) { ++static_cast<Done*>(self)->times[static_cast<std::size_t>(number)]; }
};

/// A crew whose threads may outlive the test: nobody tells them to go.  The list keeps it from being a leak.
template <typename T>
T& crew_that_stays() {
  static auto* const all = new std::vector<T*>;
  return *all->emplace_back(new T);
}

TEST(Crew, DoesEachJobOnce) {
  Crew& crew = crew_that_stays<Crew>();
  for (const int count : {0, 1, 2, 3, 64, 1000})
    for (int time = 0; time < 200; ++time) {
      Done done(count);
      crew.run(count, Done::job, &done);
      for (const int times : done.times) ASSERT_EQ(times, 1);
    }
}

TEST(Crew, ServesOneAndTheOthersHelpThemselves) {
  Crew& crew = crew_that_stays<Crew>();
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

/// A strided copy in as many parts as there are.
struct Cut {
  std::vector<double> x, y;
  int n, incx, incy, parts;
  Cut(int size, int step_x, int step_y, int count)
      : x(static_cast<std::size_t>(size * step_x)),
        y(static_cast<std::size_t>(size * step_y), -1),
        n(size),
        incx(step_x),
        incy(step_y),
        parts(count) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  }
  static void job(void* self, int part) {
    Cut& cut = *static_cast<Cut*>(self);
    for (int i = part * cut.n / cut.parts; i < (part + 1) * cut.n / cut.parts; ++i)
      cut.y[static_cast<std::size_t>(i * cut.incy)] = cut.x[static_cast<std::size_t>(i * cut.incx)];
  }
  bool right() const {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto step = static_cast<std::size_t>(incy);
      if (y[i] != (i % step ? -1 : x[i / step * static_cast<std::size_t>(incx)])) return false;
    }
    return true;
  }
};

bool several_processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1;
}

TEST(PartCrew, DoesEachPartOnce) {
  PartCrew& crew = crew_that_stays<PartCrew>();
  ASSERT_TRUE(crew.take(&crew, __builtin_frame_address(0)));
  const int parts = crew.parts();
  EXPECT_EQ(parts > 1, several_processors());
  std::mt19937 random(3);
  const auto below = [&random](int most) { return std::uniform_int_distribution(1, most)(random); };
  int helped = 0;
  for (int time = 0; time < 2000; ++time) {
    Done done(parts);
    helped += crew.run(Done::job, &done);
    for (const int times : done.times) ASSERT_EQ(times, 1);
    Cut cut(below(time < 1900 ? 100 : 20000), below(9), below(9), parts);
    helped += crew.run(Cut::job, &cut);
    ASSERT_TRUE(cut.right()) << cut.n << ' ' << cut.incx << ' ' << cut.incy;
  }
  EXPECT_EQ(helped > 0, several_processors());
  crew.give_back();
}

/// Helpers that are asleep, or have not come yet, are not waited for.
TEST(PartCrew, DoesAloneWhatNobodyHasBegun) {
  for (int time = 0; time < 20; ++time) {
    PartCrew& crew = crew_that_stays<PartCrew>();
    ASSERT_TRUE(crew.take(&crew, __builtin_frame_address(0)));
    Done first(crew.parts());
    (void)crew.run(Done::job, &first);  // the threads are just being started
    for (const int times : first.times) ASSERT_EQ(times, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Done later(crew.parts());
    (void)crew.run(Done::job, &later);
    for (const int times : later.times) ASSERT_EQ(times, 1);
    crew.give_back();
  }
}

TEST(PartCrew, IsOneCallersAtATime) {
  PartCrew& crew = crew_that_stays<PartCrew>();
  std::atomic<int> inside{0}, served{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 2; ++caller)
    callers.emplace_back([&] {
      for (int time = 0; time < 3000; ++time) {
        const char me = 0;
        if (!crew.take(&me, &me)) continue;
        EXPECT_EQ(inside.fetch_add(1), 0);
        Cut cut(64, 3, 2, crew.parts());
        (void)crew.run(Cut::job, &cut);
        EXPECT_TRUE(cut.right());
        inside.fetch_sub(1);
        served.fetch_add(1);
        crew.give_back();
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(served.load(), 0);
  const char one = 0, another = 0;
  EXPECT_TRUE(crew.take(&one, &one));
  EXPECT_FALSE(crew.take(&another, &another));
}

/// Who comes back to it has left it by a jump, unless a handler calls in the middle.
TEST(PartCrew, IsNotLostWithACallThatWasLeft) {
  PartCrew& crew = crew_that_stays<PartCrew>();
  const char frames[2] = {};
  ASSERT_TRUE(crew.take(&crew, &frames[1]));
  (void)crew.parts();
  EXPECT_FALSE(crew.take(&crew, &frames[0])) << "from deeper";
  EXPECT_FALSE(crew.take(&frames, &frames[1])) << "another thread";
  EXPECT_TRUE(crew.take(&crew, &frames[1]));
  Done done(crew.parts());
  (void)crew.run(Done::job, &done);
  for (const int times : done.times) EXPECT_EQ(times, 1);
  crew.give_back();
}

/// A process whose other threads have ended has to end.
TEST(PartCrew, ItsThreadsEndWhereNothingIsToBeDoneAndComeBack) {
  PartCrew& crew = crew_that_stays<PartCrew>();
  const auto helpers = [] {
    int count = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream name(task.path() / "comm");
      std::string text;
      count += std::getline(name, text) && text == "blaslift-part";
    }
    return count;
  };
  const auto wait_until_none = [&] {
    for (int i = 0; i < 400 && helpers() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return helpers() == 0;
  };
  ASSERT_TRUE(wait_until_none()) << "of other tests";
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(crew.take(&crew, &crew));
    Done done(crew.parts());
    (void)crew.run(Done::job, &done);
    for (const int times : done.times) EXPECT_EQ(times, 1);
    crew.give_back();
    // A thread has its name once it runs.
    bool seen = false;
    for (int i = 0; i < 400 && !seen && several_processors(); ++i) {
      seen = helpers() > 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(seen, several_processors());
    EXPECT_TRUE(wait_until_none());
  }
}

TEST(Worker, DoesWhatItIsGivenInOrderOnOneThreadOfItsOwn) {
  static Worker& worker = *new Worker;  // never destroyed
  struct Seen {
    std::mutex mutex;
    std::vector<int> numbers;
    std::set<std::thread::id> threads;
    std::atomic<int> done{0};
  };
  const auto seen = std::make_shared<Seen>();
  constexpr int givers = 4, of_each = 250;
  std::vector<std::thread> threads;
  for (int giver = 0; giver < givers; ++giver)
    threads.emplace_back([&, giver] {
      for (int i = 0; i < of_each; ++i)
        ASSERT_TRUE(worker.give("blaslift-test", [seen, number = giver * of_each + i] {
          const std::lock_guard lock(seen->mutex);
          seen->numbers.push_back(number);
          seen->threads.insert(std::this_thread::get_id());
          ++seen->done;
          seen->done.notify_all();
        }));
    });
  for (std::thread& thread : threads) thread.join();
  for (int done = 0; done < givers * of_each; done = seen->done.load()) seen->done.wait(done);
  const std::lock_guard lock(seen->mutex);
  EXPECT_EQ(seen->threads.size(), 1u);
  EXPECT_EQ(seen->threads.count(std::this_thread::get_id()), 0u);
  std::vector<int> last(givers, -1);
  for (const int number : seen->numbers) {
    EXPECT_GT(number % of_each, last[static_cast<std::size_t>(number / of_each)]);
    last[static_cast<std::size_t>(number / of_each)] = number % of_each;
  }
}

}  // namespace
}  // namespace blaslift::workers_tests
