// Executes plans of QR, and of products with its Q, on a backend's lane.
#pragma once
#include <vector>

#include "impl/core/args.hpp"
#include "impl/core/blocks.hpp"
#include "impl/core/outcome.hpp"
#include "impl/plan/placed.hpp"
#include "impl/qr/apply_q_plan.hpp"
#include "impl/qr/qr_plan.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

/// Where a QR's matrices are.
struct QrPlacement {
  void* lease = nullptr;  ///< plan.bytes() of device memory, whatever it holds
  Placed A{};
  void* tau = nullptr;  ///< the program's, in device memory; null: in the lease, and brought back
};

/// Runs the plan on the lane, each step as soon as what it waits for allows; nothing is under way when it returns.  The
/// factorisation overwrites what it would need for another try, so it works on a copy, and what A and tau held is kept
/// beside them until all of the result is there: after a failure it is put back, unless they are in device memory.
/// Throws std::bad_alloc before anything has happened.
/// @param piece_bytes  of a download at most: DeviceFacts::piece_bytes, or less
/// @param keep_going   asked between steps; false stops as a failure would, with Status::lost (the process is exiting)
/// @param seat         of a gang, whose place's plan this is: nothing of it is in device memory of its own, then
template <class T>
Outcome execute(const QrPlan& plan, const GeqrfArgs<T>& args, const QrPlacement& placement, std::size_t piece_bytes,
                Lane& lane, bool (*keep_going)(), Seat* seat = nullptr);

/// Where the matrices of a product with Q are.
struct QPlacement {
  void* lease = nullptr;  ///< plan.bytes() of device memory, whatever it holds
  Placed A{};
  void* tau = nullptr;  ///< the program's, in device memory; null: in the lease
  Placed C{};           ///< in place of the reflectors in the program's device memory: it has a part of the lease, too
};

/// As for a QR: after a failure C is what it was, unless it is in device memory.
template <class T>
Outcome execute(const QPlan& plan, const OrmqrArgs<T>& args, const QPlacement& placement, std::size_t piece_bytes,
                Lane& lane, bool (*keep_going)());

}  // namespace blaslift
