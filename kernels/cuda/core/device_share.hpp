// Which GPUs a process may use: of those that are visible, or that the user has named, the processes of a job on one
// node have each a share.  CUDA is not asked here.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace blaslift {

struct DeviceShare {
  std::vector<int> devices;  ///< CUDA's numbers of them, the one that is used first in front; empty: there is none
  int processes = 1;         ///< of the job at each of them
  std::string problem{};     ///< why there is none
};

/// Each process has every so-manieth device, or, where there are more processes than devices, one with others.
/// @param visible  how many devices CUDA shows
/// @param named  these of them, in this order; empty: all
/// @param rank, ranks  this process among the job's on this node; ranks at least 1, or 0 if it is not known
inline DeviceShare device_share(int visible, std::span<const int> named, int rank, int ranks) {
  DeviceShare share;
  for (const int device : named)
    if (device >= visible) {
      share.problem = "BLASLIFT_DEVICES names GPU " + std::to_string(device) + ", of " + std::to_string(visible) +
                      " that are visible, from 0";
      return share;
    }
  const int count = named.empty() ? visible : static_cast<int>(named.size()), apart = std::max(1, ranks);
  if (count <= 0) {
    share.problem = "no GPU is visible";
    return share;
  }
  for (int i = rank % count; i < count; i += std::min(apart, count))
    share.devices.push_back(named.empty() ? i : named[static_cast<std::size_t>(i)]);
  share.processes = (apart + count - 1) / count;
  return share;
}

}  // namespace blaslift
