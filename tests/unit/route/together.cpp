// What calls are predicted to take that places compute together, beside what two H200 took (driver 580.159.04,
// 2026-11-30, 1b99b40), and which are.
#include <gtest/gtest.h>

#include "impl/route/dealing.hpp"

namespace blaslift::together_tests {
namespace {

constexpr std::size_t memory = std::size_t{80} << 30;

Problem square_or(Routine routine, index m, index n) {
  return counted({.routine = routine, .element = Precision::d, .m = m, .n = n, .part = Part::lower});
}

TEST(Together, TakesWhatTwoDevicesTook) {
  const Profile profile = built_in_profile("sm_90");
  const struct {
    Routine routine;
    index m, n;
    double milliseconds;
  } measured[] = {{Routine::dpotrf, 16384, 16384, 41.7}, {Routine::dpotrf, 32768, 32768, 159},
                  {Routine::dgetrf, 16384, 16384, 115},  {Routine::dgetrf, 32768, 32768, 482},
                  {Routine::dgeqrf, 16384, 16384, 120},  {Routine::dgeqrf, 32768, 32768, 596},
                  {Routine::dgeqrf, 65536, 8192, 160}};
  for (const auto& x : measured) {
    const Problem problem = square_or(x.routine, x.m, x.n);
    const auto seconds = family_of(x.routine).together(problem, profile, 2, memory);
    ASSERT_TRUE(seconds) << to_string(problem);
    EXPECT_LT(1e3 * *seconds, 1.5 * x.milliseconds) << to_string(problem);
    EXPECT_GT(1e3 * *seconds, x.milliseconds / 1.5) << to_string(problem);
  }
}

/// With their rows dealt out; with their columns in turns these took 70.1 and 22 ms there, on one device 86.7 and 24.2.
TEST(Together, TakesHalfOfWhatMovesForTallOnes) {
  const Profile profile = built_in_profile("sm_90");
  const struct {
    index m, n;
    double milliseconds;
  } by_columns[] = {{131072, 2048, 70.1}, {1048576, 64, 22}};
  for (const auto& x : by_columns) {
    const Problem problem = square_or(Routine::dgeqrf, x.m, x.n);
    const auto seconds = family_of(Routine::dgeqrf).together(problem, profile, 2, memory);
    ASSERT_TRUE(seconds);
    EXPECT_LT(1e3 * *seconds, x.milliseconds) << to_string(problem);
    EXPECT_GT(*seconds, problem.bytes_in / 2 / profile.in_rate) << to_string(problem);
  }
}

TEST(Together, IsForLargeMatricesOnly) {
  const Profile profile = built_in_profile("sm_90");
  const auto places = [&](Routine routine, index n) {
    const Problem problem = square_or(routine, n, n);
    const Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false};
    const double alone = family_of(routine).cost(problem, facts_of_rates(profile, nullptr), policy, 0).seconds;
    return choose_places(alone, 2,
                         [&](int count) {
                           const auto seconds = family_of(routine).together(problem, profile, count, memory);
                           return seconds ? std::vector<double>(static_cast<std::size_t>(count), *seconds)
                                          : std::vector<double>();
                         })
        .places;
  };
  for (const Routine routine : {Routine::dpotrf, Routine::dgetrf, Routine::dgeqrf}) {
    EXPECT_EQ(places(routine, 1000), 1);
    EXPECT_EQ(places(routine, 4096), 1);
    EXPECT_EQ(places(routine, 32768), 2);
  }
}

TEST(Together, NeedsRoomAndAPanelForEach) {
  const Profile profile = built_in_profile("sm_90");
  for (const Routine routine : {Routine::dpotrf, Routine::dgetrf, Routine::dgeqrf}) {
    const auto seconds = [&](index n, int places, std::size_t room) {
      return family_of(routine).together(square_or(routine, n, n), profile, places, room).has_value();
    };
    EXPECT_TRUE(seconds(8192, 3, memory));
    EXPECT_FALSE(seconds(8192, 3, 1 << 20));
    EXPECT_FALSE(seconds(2, 3, memory));
    EXPECT_FALSE(seconds(0, 2, memory));
  }
}

}  // namespace
}  // namespace blaslift::together_tests
