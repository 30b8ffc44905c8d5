// What a run came to, in words: every kind of verdict, and advice only where there is something to do.
#include "tools/cli/launch/verdict.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace blaslift::cli::verdict_tests {
namespace {

/// Four calls of dgemm on the GPU that were predicted to save so many seconds.
Summary four_calls(double saved) {
  Summary s;
  s.processes = 1;
  s.threads = 1;
  s.backend = "cuda";
  s.routines[static_cast<int>(Routine::dgemm)].routed = 4;
  s.routines[static_cast<int>(Routine::dgemm)].saved_seconds = saved;
  return s;
}

void stay(Summary& s, Routine routine, Reason reason, std::uint64_t calls, double seconds) {
  s.processes = 1;
  auto& x = s.routines[static_cast<int>(routine)];
  x.stayed[static_cast<int>(reason)] += calls;
  x.stayed_seconds[static_cast<int>(reason)] += seconds;
  x.cpu_seconds += seconds;
}

TEST(Verdict, ComparesWithTheCpuAlone) {
  EXPECT_EQ(verdict(four_calls(3), 2), "about 2.5 times as fast as on the CPU alone, by estimate: 2 s instead of 5 s");
  EXPECT_EQ(verdict(four_calls(28), 2), "about 15 times as fast as on the CPU alone, by estimate: 2 s instead of 30 s");
  EXPECT_EQ(verdict(four_calls(0.01), 2), "about as fast as on the CPU alone, by estimate: 2 s instead of 2.01 s");
  EXPECT_EQ(verdict(four_calls(-1), 2), "slower than on the CPU alone, by estimate: 2 s instead of 1 s");
}

TEST(Verdict, TheCpuAloneWouldNotHaveWaitedForTheGpu) {
  Summary s = four_calls(1);
  s.opening_seconds = 1;
  EXPECT_EQ(verdict(s, 2), "about as fast as on the CPU alone, by estimate: 2 s instead of 2 s");
  s.opening_seconds = 1.5;
  EXPECT_EQ(verdict(s, 2), "slower than on the CPU alone, by estimate: 2 s instead of 1.5 s");
}

TEST(Verdict, SaysWhatCannotBeEstimated) {
  const std::string start = "4 calls ran on the GPU; the gain cannot be estimated, as ";
  Summary s = four_calls(3);
  s.threads = 2;
  EXPECT_EQ(verdict(s, 2), start + "several threads made calls");
  s.processes = 3;
  EXPECT_EQ(verdict(s, 2), start + "3 processes made calls");
  s.uncounted.push_back("calls of 1 process were not counted");
  EXPECT_EQ(verdict(s, 2), start + "calls are missing");
  EXPECT_EQ(verdict(four_calls(-3), 2), start + "the predictions contradict the clock");
  Summary host = four_calls(-3);
  host.backend = "host";
  host.routines[static_cast<int>(Routine::dgemm)].routed = 1;
  EXPECT_EQ(verdict(host, 2),
            "1 call ran on the host backend; the gain cannot be estimated, as the predictions contradict the clock");
}

TEST(Verdict, SaysWhyNothingRanThere) {
  EXPECT_EQ(verdict(Summary{}, 1), "");
  Summary s;
  stay(s, Routine::dgemm, Reason::small, 1000, 0);
  EXPECT_EQ(verdict(s, 1), "nothing ran on the GPU: the calls were too small");
  stay(s, Routine::dgemm, Reason::startup, 2, 0.25);
  EXPECT_EQ(verdict(s, 1), "nothing ran on the GPU: what it would have saved does not pay for its start-up")
      << "time counts";
  stay(s, Routine::dgetrf, Reason::of_library, 1, 0.5);
  EXPECT_EQ(verdict(s, 1), std::string("nothing ran on the GPU: ") + text_of(Reason::of_library));
  stay(s, Routine::dpotrf, Reason::startup, 1, 0.3);
  EXPECT_EQ(verdict(s, 1), "nothing ran on the GPU: what it would have saved does not pay for its start-up")
      << "all routines' time counts";
  Summary queries;
  stay(queries, Routine::dgeqrf, Reason::query, 40, 0.2);
  EXPECT_EQ(verdict(queries, 1), "nothing ran on the GPU: workspace query");
  stay(queries, Routine::dgemm, Reason::small, 1, 0);
  EXPECT_EQ(verdict(queries, 1), "nothing ran on the GPU: the calls were too small") << "queries compute nothing";
  s.uncounted.push_back("calls of 1 process were not counted");
  EXPECT_EQ(verdict(s, 1), "calls are missing; none that was counted ran on the GPU");
}

TEST(Advice, IsGivenForWhatTakesTime) {
  Summary s = four_calls(3);
  EXPECT_EQ(advice(s, 10), "");
  stay(s, Routine::dgemm, Reason::startup, 2, 0.9);
  EXPECT_EQ(advice(s, 10), "") << "less than a tenth";
  stay(s, Routine::dgemm, Reason::startup, 2, 0.6);
  EXPECT_EQ(advice(s, 10),
            "dgemm took 1.5 s on the CPU, since the GPU's start-up was not earned: a higher --level starts "
            "it sooner, --start early with the program");
  s.processes = 2;
  EXPECT_EQ(advice(s, 10), "") << "each would start it";
  s.processes = 1;
  stay(s, Routine::dgetrf, Reason::of_library, 1, 5);
  EXPECT_EQ(advice(s, 10).find("dgemm took 1.5 s"), 0u) << "about the other there is nothing to do";
  stay(s, Routine::dsyevd, Reason::no_route, 1, 3);
  EXPECT_EQ(advice(s, 10),
            "dsyevd took 3 s on the CPU, since the GPU's libraries cannot: install cuSOLVER, or a newer one");
  s.backend = "host";
  EXPECT_EQ(advice(s, 10).find("dgemm took 1.5 s"), 0u) << "which has no cuSOLVER";
  Summary little;
  stay(little, Routine::dgemm, Reason::startup, 1, 0.04);
  EXPECT_EQ(advice(little, 0.1), "");
}

TEST(Advice, EveryReasonThatAUserCanDoSomethingAboutHasItsOwn) {
  std::set<std::string> said;
  for (const Reason reason : {Reason::startup, Reason::modest, Reason::transfers, Reason::small, Reason::no_device,
                              Reason::no_route, Reason::no_room, Reason::forked, Reason::traps}) {
    Summary s;
    s.backend = "cuda";
    stay(s, Routine::dgemm, reason, 1, 1);
    const std::string text = advice(s, 1);
    EXPECT_EQ(text.find("dgemm took 1 s on the CPU, "), 0u) << text_of(reason);
    EXPECT_TRUE(said.insert(text).second) << text;
  }
}

}  // namespace
}  // namespace blaslift::cli::verdict_tests
