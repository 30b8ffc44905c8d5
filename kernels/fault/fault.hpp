// A decorator for tests: fails a backend's k-th operation, in every way an operation can fail.
#pragma once
#include <atomic>

#include "kernels/backend.hpp"

namespace blaslift {

/// When and how to fail.  Operations that can fail (acquire, lease, upload, gemm, fetch, arrived) are numbered from 1
/// in the order in which they are asked for, over all lanes.
struct FaultPlan {
  long at = 0;                   ///< this operation fails; 0: none
  Status status = Status::lost;  ///< with this
  bool scribble = false;         ///< a failing fetch or arrived leaves garbage in the ring, as a torn copy would
  std::atomic<long> seen{0};     ///< operations so far
};

/// Wraps `backend`; both it and `plan` must outlive the result, which is never destroyed.
Backend* make_fault_backend(Backend& backend, FaultPlan& plan);

}  // namespace blaslift
