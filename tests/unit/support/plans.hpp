// Plans on lanes: what tests of families that write them share.
#pragma once
#include <gtest/gtest.h>

#include "impl/plan/execute.hpp"
#include "kernels/host/host.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift {

/// Runs a plan in a lease of its own, full of ones, in pieces of 160 bytes.
/// @param sound  whether what has come home is the result
template <class T>
PlanOutcome run_leased(const Plan& plan, const std::vector<CallOperand<T>>& operands, const CallScalars<T>& scalars,
                       Lane& lane, const std::function<bool()>& sound = {}) {
  std::vector<unsigned char> lease(plan.bytes(sizeof(T)) + 256, 0xff);
  void* const aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(lease.data()) + 255) / 256 * 256);
  return execute<T>(
      plan, operands, scalars, aligned, 160, lane, [] { return true; }, sound);
}

/// Lets each operation of something fail in turn on the host backend, with and without garbage in what it writes.
/// @param reset    void(): puts back what there was in the beginning
/// @param run      PlanOutcome(Lane&)
/// @param succeeded, failed  void(): look at what is there after either; a fatal failure ends it
/// @return how many times it failed
template <class Reset, class Run, class Succeeded, class Failed>
int with_each_operation_failing(const Reset& reset, const Run& run, const Succeeded& succeeded, const Failed& failed) {
  // Backends live as long as the process, and so do their fault plans.
  static auto& faults = *new FaultPlan;
  static Backend& backend = *make_host_backend({.memory_limit = 1 << 20}, &faults);
  const UnderlyingBlas blas{[](const void*, const Operation& o) { reference::naive(*o.get<Gemm>()); }, nullptr};
  const auto attempt = [&](long at) {
    faults.at = at;
    faults.seen = 0;
    reset();
    Status status = Status::done;
    Lane* lane = backend.acquire(blas, 1 << 20, status);
    if (!lane) return status;
    const PlanOutcome outcome = run(*lane);
    backend.release(lane);
    return outcome.status;
  };
  EXPECT_EQ(attempt(0), Status::done);
  const long operations = faults.seen;
  int struck = 0;
  for (const bool scribble : {false, true}) {
    faults.scribble = scribble;
    for (long at = 1; at <= operations && !testing::Test::HasFatalFailure(); ++at) {
      if (attempt(at) == Status::done)
        succeeded();
      else
        ++struck, failed();
    }
  }
  faults.at = 0;
  return struck;
}

}  // namespace blaslift
