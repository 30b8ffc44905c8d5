// What is believed of timings, and how long is left, of numbers that are known.
#include "tools/cli/tune/rounds.hpp"

#include <gtest/gtest.h>

namespace blaslift::cli::rounds_tests {
namespace {

TEST(Rounds, ScatterByTheirQuartiles) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(scatter({5, 1, 2, 3, 4}), (4.0 - 2.0) / 3);
  EXPECT_DOUBLE_EQ(scatter({1, 1, 1, 1, 100}), 0) << "one of five that was disturbed";
  EXPECT_DOUBLE_EQ(scatter({1, 1, 1, 2, 2}), 1);
  EXPECT_DOUBLE_EQ(scatter({7}), 0);
}

TEST(Rounds, AreSoManyInTheTimeAndMoreOnASecondTry) {
  const auto rounds_of = [](const Effort& effort, double& longest) {
    int operations = 0;
    const Rounds rounds = timed_rounds([&](int times) { operations += times; }, effort);
    longest = quantile(rounds, 4);
    EXPECT_GT(operations, 2 * static_cast<int>(rounds.size()));
    return rounds.size();
  };
  double longest = 0;
  EXPECT_EQ(rounds_of({10}, longest), 15u);  // of nothing
  EXPECT_LT(longest, 1);
  EXPECT_EQ(rounds_of(Effort{10}.patient(), longest), 47u);
  EXPECT_EQ(rounds_of({0}, longest), 3u);
  EXPECT_EQ(rounds_of(Effort{0}.patient(), longest), 9u);
}

TEST(Contest, IsWonInThreeTurnsOfFour) {
  const Contest contest{{10, 10, 10, 10, 10}, {{1}, {8, 8, 8, 8, 20}, {5, 11, 11, 5, 5}, {12, 12, 12, 12, 12}}};
  const Judgement verdict = judged(contest);
  EXPECT_EQ(verdict.winner, std::optional<std::size_t>(1)) << "a first look wins nothing, nor what is faster by chance";
  EXPECT_EQ(verdict.best, 1u);
  EXPECT_DOUBLE_EQ(verdict.gain, 1.25);
  EXPECT_DOUBLE_EQ(verdict.scatter, 0);
}

TEST(Contest, IsLeftToTheLibraryWithoutAWinner) {
  const Judgement slower = judged({{10, 10, 10}, {{12, 12, 12}, {10, 10, 10.5}}});
  EXPECT_EQ(slower.winner, std::nullopt);
  EXPECT_EQ(slower.best, 1u);
  EXPECT_DOUBLE_EQ(slower.gain, 1);
  const Judgement noisy = judged({{10, 10, 10, 10, 10}, {{5, 5, 8, 20, 20}}});
  EXPECT_EQ(noisy.winner, std::nullopt);
  EXPECT_DOUBLE_EQ(noisy.scatter, (2 - 0.5) / 1.25);
  const Judgement alone = judged({{10}, {}});
  EXPECT_EQ(alone.winner, std::nullopt);
  EXPECT_DOUBLE_EQ(alone.gain, 1);
  EXPECT_DOUBLE_EQ(alone.scatter, 0);
}

TEST(Pace, FollowsWhatTheRestTook) {
  Pace pace(100);
  EXPECT_DOUBLE_EQ(pace.left(), 100);
  pace.skip(40);  // known before
  EXPECT_DOUBLE_EQ(pace.left(), 60);
  pace.done(10, 30);
  EXPECT_DOUBLE_EQ(pace.left(), 150);
  pace.done(10, 10);
  EXPECT_DOUBLE_EQ(pace.left(), 40 * 2.0);
  pace.done(40, 40);
  EXPECT_DOUBLE_EQ(pace.left(), 0);
  Pace first(100);
  first.done(1, 1000);
  EXPECT_DOUBLE_EQ(first.left(), 990) << "one part says little of the rest";
}

}  // namespace
}  // namespace blaslift::cli::rounds_tests
