#include "kernels/cuda/core/device_share.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace blaslift::device_share_tests {
namespace {

using Devices = std::vector<int>;

TEST(DeviceShare, AProcessAloneHasAllThatAreVisibleOrThoseThatAreNamed) {
  EXPECT_EQ(device_share(3, {}, 0, 0).devices, (Devices{0, 1, 2}));
  EXPECT_EQ(device_share(3, {}, 0, 1).devices, (Devices{0, 1, 2}));
  EXPECT_EQ(device_share(4, Devices{3, 1}, 0, 1).devices, (Devices{3, 1}));
  EXPECT_EQ(device_share(4, Devices{2}, 0, 1).devices, (Devices{2}));
}

TEST(DeviceShare, OfWhatIsNotThereSaysSo) {
  EXPECT_EQ(device_share(0, {}, 0, 1).problem, "no GPU is visible");
  const DeviceShare share = device_share(2, Devices{0, 2}, 0, 1);
  EXPECT_EQ(share.problem, "BLASLIFT_DEVICES names GPU 2, of 2 that are visible, from 0");
  EXPECT_TRUE(share.devices.empty());
}

TEST(DeviceShare, ProcessesOfANodeShareTheDevicesOut) {
  EXPECT_EQ(device_share(4, {}, 1, 2).devices, (Devices{1, 3}));
  EXPECT_EQ(device_share(4, Devices{3, 2, 0}, 1, 2).devices, (Devices{2}));
  EXPECT_EQ(device_share(4, Devices{3, 2, 0}, 0, 2).devices, (Devices{3, 0}));
  EXPECT_EQ(device_share(2, {}, 5, 6).devices, (Devices{1}));
}

TEST(DeviceShare, EveryDeviceIsSomebodysAndNoneHasMoreProcessesThanAreSaid) {
  for (int visible = 1; visible <= 9; ++visible)
    for (int ranks = 1; ranks <= 20; ++ranks) {
      std::map<int, int> processes;
      int said = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const DeviceShare share = device_share(visible, {}, rank, ranks);
        ASSERT_FALSE(share.devices.empty());
        EXPECT_EQ(std::set<int>(share.devices.begin(), share.devices.end()).size(), share.devices.size());
        for (const int device : share.devices) ++processes[device];
        said = share.processes;
      }
      EXPECT_EQ(processes.size(), static_cast<std::size_t>(visible));
      for (const auto& [device, count] : processes) {
        EXPECT_LT(device, visible);
        EXPECT_LE(count, said) << visible << " devices, " << ranks << " ranks";
      }
    }
}

}  // namespace
}  // namespace blaslift::device_share_tests
