// The host backend: the device is the CPU, its memory the heap, its product the library underneath.
#pragma once
#include <atomic>
#include <cstddef>

#include "kernels/backend.hpp"

namespace blaslift {

/// For tests: which device operation fails, and how.  Acquiring, allocating, waiting, marking, multiplying, sending,
/// receiving, settling and idling are numbered from 1 in the order in which they happen, over all lanes and threads.
struct FaultPlan {
  long at = 0;                   ///< this operation fails; 0: none
  Status status = Status::lost;  ///< with this
  bool scribble = false;         ///< a failing copy from the device leaves garbage in its slot, as a torn one would
  std::atomic<long> seen{0};     ///< operations so far
};

/// @param request  its memory_limit 0 means a quarter of the machine's memory
/// @param faults   null, or kept by the caller as long as the backend, which is for ever
Backend* make_host_backend(const OpenRequest& request, FaultPlan* faults = nullptr);

}  // namespace blaslift
