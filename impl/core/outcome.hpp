// What came of running a plan on the device, whatever the plan is of.
#pragma once
#include "kernels/backend.hpp"

namespace blaslift {

struct Outcome {
  Status status = Status::done;  ///< the first failure, if any
  double bytes_in = 0, bytes_out = 0;
  TransferTimes transfers{};

  /// With what an earlier try has moved.
  void add(const Outcome& earlier) {
    bytes_in += earlier.bytes_in;
    transfers.add(earlier.transfers);
  }
};

}  // namespace blaslift
