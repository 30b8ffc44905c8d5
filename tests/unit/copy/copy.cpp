// copy before any thread: what the gate lets through, the decision, and whether several threads gain.
#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "impl/copy/copy_family.hpp"
#include "impl/copy/gain.hpp"

namespace blaslift::copy_tests {
namespace {

constexpr Profile profile{.in_rate = 1e10, .out_rate = 1e10, .latency_seconds = 1e-9, .startup_seconds = 0};

Problem strided(index n, index incx, index incy) {
  return counted({.routine = Routine::dcopy, .element = Element::d, .m = incx, .n = n, .k = incy});
}

TEST(DecideCopy, TheGateLetsThroughWhatIsLongInSteps) {
  for (const auto& [n, incx, incy, passes] : std::vector<std::tuple<index, index, index, bool>>{{2048, 32, 1, true},
                                                                                                {2048, 1, 32, true},
                                                                                                {2047, 32, 32, false},
                                                                                                {2048, 31, 31, false},
                                                                                                {1 << 20, 1, 1, false},
                                                                                                {2048, -32, 32, false},
                                                                                                {2048, 32, -1, false},
                                                                                                {2048, 32, 0, false},
                                                                                                {-2048, 32, 1, false}})
    EXPECT_EQ(strided(n, incx, incy).volume >= small_product, passes) << n << ' ' << incx << ' ' << incy;
  EXPECT_GE(copy_volume(2048, 64, 1, sizeof(float)), small_product);
  EXPECT_LT(copy_volume(2048, 63, 1, sizeof(float)), small_product);
  EXPECT_GE(copy_volume(2048, 1, 16, sizeof(std::complex<double>)), small_product);
}

TEST(DecideCopy, NothingSendsItToADevice) {
  for (const DeviceState state : {DeviceState::ready, DeviceState::unopened, DeviceState::opening, DeviceState::absent})
    for (const bool forced : {false, true})
      for (const bool device_memory : {false, true}) {
        const Facts facts{.device = state,
                          .profile = &profile,
                          .cpu_rate = 1,
                          .slowdown = 1,
                          .device_memory = device_memory,
                          .spared = 1e12,
                          .result_stays = true};
        const Policy policy{.on = true, .measuring = false, .forced = forced, .fixed = false};
        const auto reason = [&](const Problem& p) {
          const Decision d = decide(p, facts, policy);
          EXPECT_EQ(d.route, Route::cpu);
          EXPECT_FALSE(d.infeasible);
          return d.reason;
        };
        EXPECT_EQ(reason(strided(12000, 12000, 1)), Reason::helped);
        EXPECT_EQ(reason(strided(12, 12000, 1)), Reason::small);
        EXPECT_EQ(reason(strided(12000, -12000, 1)), Reason::small);
        EXPECT_EQ(reason(strided(0, 12000, 1)), Reason::nothing);
        Problem overlapping = strided(12000, 12000, 1);
        overlapping.overlaps = true;
        EXPECT_EQ(reason(overlapping), Reason::overlap);
      }
}

TEST(DecideCopy, OffMeasuringAndForkedComeFirst) {
  const Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1};
  Policy policy{.on = false, .measuring = false, .forced = true, .fixed = false};
  EXPECT_EQ(decide(strided(12000, 12000, 1), facts, policy).reason, Reason::off);
  policy = {.on = true, .measuring = true, .forced = true, .fixed = false};
  EXPECT_EQ(decide(strided(12000, 12000, 1), facts, policy).reason, Reason::measuring);
  policy.measuring = false;
  Facts child = facts;
  child.forked = true;
  EXPECT_EQ(decide(strided(12000, 12000, 1), child, policy).reason, Reason::forked);
}

TEST(DecideCopy, VectorsInOneArrayOverlapWhereTheyShareAnElement) {
  std::vector<double> array(4000 * 40);
  const auto overlaps = [&](index x, index incx, index y, index incy) {
    return problem_of(Routine::dcopy, CopyArgs<double>{4000, &array[static_cast<std::size_t>(x)], incx,
                                                       &array[static_cast<std::size_t>(y)], incy})
        .overlaps;
  };
  EXPECT_TRUE(overlaps(0, 40, 0, 40));
  EXPECT_FALSE(overlaps(0, 40, 1, 40)) << "two columns of one array";
  EXPECT_TRUE(overlaps(0, 40, 40, 40));
  EXPECT_TRUE(overlaps(0, 32, 100, 1));
  EXPECT_FALSE(overlaps(0, 32, 32 * 3999 + 1, 1));
}

/// What calls take, made as Gain says: of each kind so many.
struct Made {
  int alone = 0, helped = 0;
  Made(Gain& gain, int calls, double seconds_alone, double seconds_helped) {
    for (int i = 0; i < calls; ++i) {
      const Gain::Way way = gain.next();
      const bool is_helped = way == Gain::Way::helped || way == Gain::Way::timed_helped;
      gain.took(way, is_helped ? seconds_helped : seconds_alone);
      ++(is_helped ? helped : alone);
    }
  }
};

TEST(Gain, HelpsWhatGains) {
  Gain gain;
  const Made made(gain, 100 * Gain::period, 7, 1);
  EXPECT_EQ(made.alone, 100 * 3);
}

TEST(Gain, LeavesAloneWhatDoesNotForLongerAndLonger) {
  Gain gain;
  const Made made(gain, 1 << 20, 7, 6.5);
  EXPECT_GT(made.helped, 0);
  EXPECT_LT(made.helped, 200);
  // And finds out when it gains later.
  const Made later(gain, 1 << 22, 7, 1);
  EXPECT_GT(later.helped, later.alone);
}

TEST(Gain, FindsOutThatItNoLongerGains) {
  Gain gain;
  (void)Made(gain, 10 * Gain::period, 7, 1);
  const Made made(gain, 1 << 16, 1, 1);
  EXPECT_LT(made.helped, 12 * Gain::period);
}

TEST(Gain, OneCallThatLostItsProcessorSettlesNothing) {
  Gain gain;
  for (int i = 0; i < 100 * Gain::period; ++i) {
    const Gain::Way way = gain.next();
    gain.took(way, way == Gain::Way::timed_helped ? (i % 200 == 0 ? 1e6 : 1) : 7);
    ASSERT_TRUE(i < 3 || i % Gain::period < 3 || way == Gain::Way::helped || way == Gain::Way::timed_helped) << i;
  }
}

}  // namespace
}  // namespace blaslift::copy_tests
