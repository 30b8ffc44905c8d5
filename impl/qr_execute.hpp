// Executes a QR's plan on a backend's lane.
#pragma once
#include "impl/args.hpp"
#include "impl/qr_plan.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

struct QrOutcome {
  Status status = Status::done;  ///< the first failure, if any
  double bytes_in = 0, bytes_out = 0;
};

/// Runs the plan on the lane, each step as soon as what it waits for allows; nothing is under way when it returns.  The
/// factorisation overwrites what it would need for another try, so it works on a copy, and what comes back waits beside
/// the caller's memory until all of it is there: after a failure A and tau are what they were.  Throws std::bad_alloc
/// before anything has happened.
/// @param lease        plan.bytes() of device memory, whatever it holds
/// @param piece_bytes  of a download at most: DeviceFacts::piece_bytes
/// @param keep_going   asked between steps; false stops as a failure would, with Status::lost (the process is exiting)
template <class T>
QrOutcome execute(const QrPlan& plan, const GeqrfArgs<T>& args, void* lease, std::size_t piece_bytes, Lane& lane,
                  bool (*keep_going)());

}  // namespace blaslift
