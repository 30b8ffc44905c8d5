// When others' work on the device is looked at, and what is made of it; and what NVML says of that, by a stand-in.
#include "impl/route/yielding.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/cuda/core/utilization.hpp"

namespace blaslift::yielding_tests {
namespace {

constexpr std::uint64_t start = 1'000'000'000'000, ms = 1'000'000;

TEST(Yielding, AsksNowAndThenAndYieldsToWhoeverIsBusy) {
  Yielding yielding;
  int asked = 0, percent = 49;
  const auto at = [&](std::uint64_t after, bool alone = true) {
    return yielding.yields(start + after * ms, alone, [&] { return ++asked, percent; });
  };
  EXPECT_FALSE(at(0)) << "not busy enough";
  percent = 50;
  EXPECT_FALSE(at(249));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(at(250));
  EXPECT_EQ(asked, 2);
  percent = -1;
  EXPECT_TRUE(at(499));
  EXPECT_FALSE(at(500)) << "nobody knows";
  EXPECT_EQ(asked, 3);
}

TEST(Yielding, DoesNotTakeItsOwnCallsForOthers) {
  Yielding yielding;
  int asked = 0;
  const auto at = [&](std::uint64_t after, bool alone = true) {
    return yielding.yields(start + after * ms, alone, [&] { return ++asked, 100; });
  };
  yielding.used(start);
  EXPECT_FALSE(at(999));
  EXPECT_FALSE(at(2000, false)) << "another call of ours is there";
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(at(2000));
  yielding.used(start + 2100 * ms);
  EXPECT_TRUE(at(3000)) << "as was seen last";
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(at(3100));
  EXPECT_EQ(asked, 2);
  // Calls that go whoever is there, one after the other, leave no moment to look.
  for (std::uint64_t after = 3200; after < 9000; after += 500) {
    yielding.used(start + after * ms);
    EXPECT_EQ(at(after + 400), after + 400 < 5100) << after;
  }
  EXPECT_EQ(asked, 2);
}

struct Told {
  explicit Told(const char* value) { setenv("NVML_STUB", value, 1); }
  ~Told() { unsetenv("NVML_STUB"); }
};

TEST(Utilization, IsWhatNvmlSays) {
  const Told told("37");
  const Utilization device("0000:3b:00.0", BLASLIFT_NVML_STUB);
  EXPECT_EQ(device.percent(), 37);
  setenv("NVML_STUB", "100", 1);
  EXPECT_EQ(device.percent(), 100);
  setenv("NVML_STUB", "101", 1);
  EXPECT_EQ(device.percent(), -1) << "no percentage";
  setenv("NVML_STUB", "mig", 1);
  EXPECT_EQ(device.percent(), -1) << "not supported";
}

TEST(Utilization, IsUnknownWhereNvmlIsNotOrDoesNotKnowTheDevice) {
  const Told told("37");
  EXPECT_EQ(Utilization("0000:3b:00.0", "libnvidia-ml-of-nobody.so.1").percent(), -1);
  EXPECT_EQ(Utilization("0000:3c:00.0", BLASLIFT_NVML_STUB).percent(), -1) << "another device";
  EXPECT_EQ(Utilization("0000:3b:00.0", "libm.so.6").percent(), -1) << "no NVML";
  setenv("NVML_STUB", "init", 1);
  EXPECT_EQ(Utilization("0000:3b:00.0", BLASLIFT_NVML_STUB).percent(), -1);
}

}  // namespace
}  // namespace blaslift::yielding_tests
