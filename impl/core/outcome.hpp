// What came of running a plan on the device, whatever the plan is of.
#pragma once
#include "kernels/backend.hpp"

namespace blaslift {

struct Outcome {
  Status status = Status::done;  ///< the first failure, if any
  bool taken_back = false;       ///< done, but not a result: the caller's memory is what it was
  double bytes_in = 0, bytes_out = 0;
  TransferTimes transfers{};
  double bytes_exchanged = 0;  ///< of bytes_in, and pieces of a gang's: from other devices

  /// With what an earlier try has moved.
  void add(const Outcome& earlier) {
    bytes_in += earlier.bytes_in;
    bytes_exchanged += earlier.bytes_exchanged;
    transfers.add(earlier.transfers);
  }
};

/// Waits until nothing that a lane was asked for is under way.
/// @param outcome  with what came of asking; after a failure, what waits in line is not worth waiting for
inline void settle(Lane& lane, Outcome& outcome) {
  if (outcome.status != Status::done) lane.abandon();
  const Status drained = lane.drain();
  if (outcome.status == Status::done) outcome.status = drained;
  outcome.transfers = lane.transfer_times();
  outcome.bytes_exchanged = static_cast<double>(lane.exchanged_bytes());
}

}  // namespace blaslift
