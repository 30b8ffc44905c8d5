// The search for SYMV's blockings on surfaces whose optimum is known.
#include "tools/cli/tune/sieve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

namespace blaslift::cli::sieve_tests {
namespace {

constexpr Element precisions[] = {Element::s, Element::d, Element::c, Element::z, Element::w};

/// Seconds of a way that takes so long to start and then reads so many bytes a second of doubles.
struct Way {
  double start, rate;
  double operator()(double n) const { return start + 4 * n * n / rate; }
};
/// From which n on b, which starts more slowly, is the faster one.
double meeting(const Way& a, const Way& b) { return std::sqrt((b.start - a.start) / (4 / a.rate - 4 / b.rate)); }

using Surface = std::function<double(int candidate, index n)>;

/// Rounds of each at each size, off by `error` (normally distributed), all alike by chance but not from run to run.
std::vector<Timing> timed(const Surface& seconds, int candidates, const std::vector<index>& sizes, double error = 0,
                          int rounds = 7) {
  std::mt19937 generator(7);
  std::normal_distribution<double> off(1, error);
  std::vector<Timing> timings;
  for (const index n : sizes)
    for (int c = 0; c < candidates; ++c) {
      Timing t{c, n, {}};
      for (int r = 0; r < rounds; ++r) t.rounds.push_back(seconds(c, n) * (error > 0 ? off(generator) : 1));
      timings.push_back(t);
    }
  return timings;
}

const std::vector<index> coarse{256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
const std::vector<index> fine{256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

const std::vector<SymvCandidate> three{
    {{}, SymvWay::parts}, {{32, 32, 4, 64}, SymvWay::tickets}, {{128, 32, 8, 512}, SymvWay::parts}};

TEST(SymvSpace, HoldsAllThatFitsAndWhatIsBuiltIn) {
  for (const Element precision : precisions) {
    const auto whole = symv_space(precision, false), some = symv_space(precision, true);
    EXPECT_GT(some.size(), 10u);
    EXPECT_GT(whole.size(), 2 * some.size()) << letter(precision);
    std::set<std::string> kernels;
    for (const auto& space : {whole, some})
      for (std::size_t i = 0; i < space.size(); ++i) {
        EXPECT_TRUE(symv_fits(space[i].blocking, precision));
        EXPECT_EQ(std::count(space.begin(), space.end(), space[i]), 1);
        const SymvBlocking& b = space[i].blocking;
        kernels.insert(std::to_string(b.U) + "x" + std::to_string(b.Tx) + "x" + std::to_string(b.Ty));
      }
    EXPECT_EQ(kernels.size(), element_size(precision) == 16 ? 4u : 7u) << "all kernels, and strips";
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
      for (const SymvRule& rule : symv_rules(precision, uplo)) {
        const SymvCandidate built_in{rule.blocking, rule.way};
        for (const auto& space : {whole, some})
          EXPECT_EQ(std::count(space.begin(), space.end(), built_in), 1) << letter(precision) << rule.below;
      }
    // At each size something is left.
    for (index n = 1; n < 100000; n += 1 + n / 7)
      EXPECT_TRUE(std::any_of(some.begin(), some.end(), [&](const SymvCandidate& c) {
        return is_worth_timing(c, precision, n);
      })) << n;
  }
}

TEST(SymvSieve, KeepsTheFastestAtEachSizeAndTheBestInTotal) {
  // 40 ways, the worse the higher; but two are the best at one size each and bad elsewhere.
  const Surface seconds = [](int c, index n) {
    if (c == 38 && n == 256) return 0.5e-6;
    if (c == 39 && n == 32768) return 0.5e-6 * 32768;
    return static_cast<double>(n) * 1e-6 * (1 + c * 0.01);
  };
  std::vector<Timing> timings = timed(seconds, 40, coarse);
  const std::vector<int> kept = champions(timings);
  ASSERT_EQ(kept.size(), 20u);
  for (int c = 0; c < 18; ++c) EXPECT_EQ(kept[static_cast<std::size_t>(c)], c);
  EXPECT_EQ(kept[18], 38);
  EXPECT_EQ(kept[19], 39);
  // What was not timed where it cannot be fast loses no more than a factor of two there.
  std::erase_if(timings, [](const Timing& t) { return t.candidate == 0 && t.n == 32768; });
  EXPECT_EQ(champions(timings).front(), 0);
  EXPECT_EQ(champions(timings, 3).size(), 3u);
  EXPECT_EQ(champions(timed(seconds, 5, {512})).size(), 5u);
  EXPECT_TRUE(champions({}).empty());
}

TEST(SymvSieve, SplinesFollowSmoothCurvesAndSmoothRepeatedNoise) {
  const Way way{6e-6, 2.9e12};
  std::vector<DSpline::Point> points;
  for (const index n : fine) points.push_back({std::log2(n), std::log2(way(static_cast<double>(n)))});
  const DSpline spline(points, 1.0 / 32);
  for (double x = 8; x <= 15; x += 0.01)
    EXPECT_NEAR(spline(x), std::log2(way(std::exp2(x))), std::log2(1.01)) << std::exp2(x);  // noise, at most
  EXPECT_EQ(spline(0), spline(8));
  EXPECT_EQ(spline(20), spline(15));
  // A line stays one, whatever the grid; repeated points are averaged.
  const DSpline line({{0, 1}, {1, 3}, {1, 3}, {2.7, 6.4}}, 0.1);
  for (double x = 0; x <= 2.7; x += 0.05) EXPECT_NEAR(line(x), 1 + 2 * x, 1e-6) << x;
  const DSpline one({{3, 5}}, 0.1), twice({{3, 4}, {3, 6}}, 0.1);
  EXPECT_NEAR(one(3), 5, 1e-6);
  EXPECT_NEAR(twice(2), 5, 1e-6);
}

TEST(SymvSieve, PlacesCrossingsBetweenTheSizes) {
  // Strips, a quick start, a high rate; crossings where no size is.
  for (const double shift : {0.8, 1.0, 1.3}) {
    const Way ways[] = {{3e-6, 0.7e12 * shift}, {5e-6, 1.9e12}, {10e-6 * shift, 2.9e12}};
    const Surface seconds = [&](int c, index n) { return ways[c](static_cast<double>(n)); };
    const double x = meeting(ways[0], ways[1]), y = meeting(ways[1], ways[2]);
    ASSERT_LT(x, y);
    for (const auto& [sizes, tolerance] : {std::pair(coarse, 0.10), std::pair(fine, 0.03)}) {
      const RulesFound found = find_rules(three, timed(seconds, 3, sizes));
      ASSERT_EQ(found.rules.size(), 3u) << shift;
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(found.rules[static_cast<std::size_t>(i)].blocking, three[static_cast<std::size_t>(i)].blocking);
        EXPECT_EQ(found.rules[static_cast<std::size_t>(i)].way, three[static_cast<std::size_t>(i)].way);
      }
      EXPECT_NEAR(found.crossings[0].n / x, 1, tolerance) << sizes.size();
      EXPECT_NEAR(found.crossings[1].n / y, 1, tolerance) << sizes.size();
      EXPECT_EQ(found.rules[0].below, static_cast<index>(std::ceil(found.crossings[0].n)));
      EXPECT_EQ(found.crossings[1].below, 1);
      EXPECT_EQ(found.crossings[1].above, 2);
    }
  }
}

TEST(SymvSieve, NoiseMakesNoRules) {
  // Equal ways, and one that is better by half a hundredth: one rule, whichever, at any noise that is let through.
  for (const double error : {0.001, 0.01, 0.03}) {
    const Way way{5e-6, 2.5e12};
    const Surface equal = [&](int c, index n) { return way(static_cast<double>(n)) * (c == 2 ? 0.995 : 1); };
    EXPECT_LE(find_rules(three, timed(equal, 3, fine, error, 25)).rules.size(), 2u) << error;
  }
  EXPECT_EQ(find_rules(three, timed([](int, index n) { return 1e-6 * static_cast<double>(n); }, 3, fine)).rules.size(),
            1u);
  // Where it matters the right one is found all the same: what is lost to the best is less than 3 %.
  const Way ways[] = {{3e-6, 0.7e12}, {5e-6, 1.9e12}, {10e-6, 2.9e12}};
  const Surface seconds = [&](int c, index n) { return ways[c](static_cast<double>(n)); };
  const RulesFound found = find_rules(three, timed(seconds, 3, fine, 0.03));
  for (index n = 256; n <= 32768; n += n / 16) {
    const SymvRule& rule = symv_rule(found.rules, n);
    double best = 1;
    for (const Way& way : ways) best = std::min(best, way(static_cast<double>(n)));
    for (int c = 0; c < 3; ++c)
      if (three[static_cast<std::size_t>(c)].blocking == rule.blocking) {
        EXPECT_LT(seconds(c, n) / best, 1.03) << n;
      }
  }
  // A timing that spreads too much says nothing.
  std::vector<Timing> timings = timed(seconds, 3, fine);
  for (index n : fine) timings.push_back({0, n, {1e-9, 1e-9, 1e-9, 1, 1, 1, 1}});
  EXPECT_EQ(find_rules(three, timings).rules.size(), 3u);
}

TEST(SymvSieve, RulesCoverAllSizesWhateverWasTimed) {
  std::mt19937 generator(3);
  for (const Element precision : precisions) {
    const std::vector<SymvCandidate> space = symv_space(precision, true);
    for (int round = 0; round < 20; ++round) {
      // Anything: some of the candidates, at some of the sizes, at random.
      std::vector<Timing> timings;
      for (const index n : fine)
        for (std::size_t c = 0; c < space.size(); ++c)
          if (generator() % 3 == 0) {
            const double seconds = static_cast<double>(n) * (1 + static_cast<double>(generator() % 1000) / 500);
            timings.push_back({static_cast<int>(c), n, {seconds, seconds, seconds}});
          }
      const RulesFound found = find_rules(space, timings);
      ASSERT_FALSE(found.rules.empty());
      EXPECT_EQ(found.rules.back().below, any_n);
      EXPECT_EQ(found.crossings.size() + 1, found.rules.size());
      for (std::size_t i = 0; i < found.rules.size(); ++i) {
        EXPECT_TRUE(symv_fits(found.rules[i].blocking, precision));
        EXPECT_GT(found.rules[i].below, i == 0 ? 1 : found.rules[i - 1].below);
      }
    }
  }
  EXPECT_TRUE(find_rules(three, {}).rules.empty());
  const RulesFound one = find_rules(three, std::vector<Timing>{{2, 4096, {1e-6}}});
  ASSERT_EQ(one.rules.size(), 1u);
  EXPECT_EQ(one.rules[0], (SymvRule{any_n, three[2].blocking}));
}

TEST(SymvSieve, AWayIsTakenOnlyWhereItWasTimed) {
  // Strips are the fastest as far as they go: they are not taken beyond.
  const Surface seconds = [](int c, index n) { return static_cast<double>(n) * (c == 0 ? 1e-6 : 2e-6); };
  std::vector<Timing> timings = timed(seconds, 2, coarse);
  std::erase_if(timings, [](const Timing& t) { return t.candidate == 0 && t.n > 4096; });
  const RulesFound found = find_rules(three, timings);
  ASSERT_EQ(found.rules.size(), 2u);
  EXPECT_EQ(found.rules[0].blocking.U, 0);
  EXPECT_NEAR(static_cast<double>(found.rules[0].below) / 4096, 1, 0.03);
}

TEST(SymvSieve, RulesAreTakenOnlyIfTheyAreFasterByMoreThanChance) {
  const std::vector<double> equal{0.998, 1.002, 1.001, 0.999, 1.0, 1.003, 0.997};
  const std::vector<double> faster{1.03, 1.02, 1.05, 1.02, 0.99, 1.04, 1.03};
  const std::vector<double> slower{0.97, 0.98, 0.95, 0.98, 1.01, 0.96, 0.97};
  const std::vector<double> lucky{1.3, 1.3, 0.99, 1.0, 1.0, 1.0, 1.3};
  EXPECT_FALSE(is_faster({}));
  EXPECT_FALSE(is_faster({equal, equal}));
  EXPECT_FALSE(is_faster({lucky}));
  EXPECT_TRUE(is_faster({equal, faster}));
  EXPECT_FALSE(is_faster({faster, slower}));
}

}  // namespace
}  // namespace blaslift::cli::sieve_tests
