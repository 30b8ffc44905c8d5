// Plans on lanes: what tests of families that write them share.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "impl/plan/execute.hpp"
#include "impl/plan/gang.hpp"
#include "kernels/host/host.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift {

/// Runs a plan in a lease of its own, full of ones, in pieces of 160 bytes.
/// @param sound  whether what has come home is the result
template <class T>
PlanOutcome run_leased(const Plan& plan, const std::vector<CallOperand<T>>& operands, const CallScalars<T>& scalars,
                       Lane& lane, const std::function<bool()>& sound = {}, Seat* seat = nullptr) {
  std::vector<unsigned char> lease(plan.bytes(sizeof(T)) + 256, 0xff);
  void* const aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(lease.data()) + 255) / 256 * 256);
  return execute<T>(
      plan, operands, scalars, aligned, 160, lane, [] { return true; }, sound, seat);
}

/// Runs the places' parts of a call that they compute together, each by a thread of its own.
/// @param run  Outcome(Seat&)
template <class Run>
std::vector<Outcome> run_together(int places, const Run& run) {
  Gang gang(places);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(places));
  std::vector<std::thread> threads;
  for (int place = 0; place < places; ++place)
    threads.emplace_back([&, place] {
      Seat seat(gang, place);
      outcomes[static_cast<std::size_t>(place)] = run(seat);
    });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}
/// Whether there is a result; all places must say the same.
inline bool all_well(const std::vector<Outcome>& outcomes) {
  const auto well = [](const Outcome& x) { return x.status == Status::done && !x.taken_back; };
  const auto count = std::count_if(outcomes.begin(), outcomes.end(), well);
  EXPECT_TRUE(count == 0 || count == std::ssize(outcomes)) << count << " of " << outcomes.size();
  return count > 0;
}

/// Lets each operation of something fail in turn on the host backend, with and without garbage in what it writes.
/// @param reset    void(): puts back what there was in the beginning
/// @param run      bool(Backend&, const UnderlyingBlas&): whether it came to its end
/// @param succeeded, failed  void(): look at what is there after either; a fatal failure ends it
/// @return how many times it failed
template <class Reset, class Run, class Succeeded, class Failed>
int with_each_failing(const Reset& reset, const Run& run, const Succeeded& succeeded, const Failed& failed) {
  // Backends live as long as the process, and so do their fault plans.
  static auto& faults = *new FaultPlan;
  static Backend& backend = *make_host_backend({.memory_limit = 1 << 20}, &faults);
  const UnderlyingBlas blas{[](const void*, const Operation& o) { reference::naive(*o.get<Gemm>()); }, nullptr};
  const auto attempt = [&](long at) {
    faults.at = at;
    faults.seen = 0;
    reset();
    return run(backend, blas);
  };
  EXPECT_TRUE(attempt(0));
  const long operations = faults.seen;
  int struck = 0;
  for (const bool scribble : {false, true}) {
    faults.scribble = scribble;
    for (long at = 1; at <= operations && !testing::Test::HasFatalFailure(); ++at) {
      if (attempt(at))
        succeeded();
      else
        ++struck, failed();
    }
  }
  faults.at = 0;
  return struck;
}

/// On a lane of the backend's.
/// @param run  an Outcome(Lane&)
template <class Run>
auto on_lane(Backend& backend, const UnderlyingBlas& blas, const Run& run) -> decltype(run(std::declval<Lane&>())) {
  Status status = Status::done;
  Lane* lane = backend.acquire(blas, 1 << 20, status);
  if (!lane) return {{status}};
  const auto outcome = run(*lane);
  backend.release(lane);
  return outcome;
}

/// @param run  PlanOutcome(Lane&)
template <class Reset, class Run, class Succeeded, class Failed>
int with_each_operation_failing(const Reset& reset, const Run& run, const Succeeded& succeeded, const Failed& failed) {
  return with_each_failing(
      reset,
      [&](Backend& backend, const UnderlyingBlas& blas) { return on_lane(backend, blas, run).status == Status::done; },
      succeeded, failed);
}
/// The same of any place's.
/// @param run  PlanOutcome(Lane&, Seat&)
template <class Reset, class Run, class Succeeded, class Failed>
int with_each_operation_failing_together(int places, const Reset& reset, const Run& run, const Succeeded& succeeded,
                                         const Failed& failed) {
  return with_each_failing(
      reset,
      [&](Backend& backend, const UnderlyingBlas& blas) {
        const std::vector<Outcome> outcomes = run_together(places, [&](Seat& seat) -> Outcome {
          return on_lane(backend, blas, [&](Lane& lane) { return run(lane, seat); });
        });
        // The other places are well, and none of their devices is taken for lost.
        EXPECT_LE(
            std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& x) { return x.status != Status::done; }),
            1);
        return all_well(outcomes);
      },
      succeeded, failed);
}

}  // namespace blaslift
