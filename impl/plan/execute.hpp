// Runs a plan on a backend's lane.
#pragma once
#include <functional>
#include <vector>

#include "impl/core/blocks.hpp"
#include "impl/core/outcome.hpp"
#include "impl/plan/gang.hpp"
#include "impl/plan/placed.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

/// An operand of the call.  Whatever the plan says of whole matrices holds of its part alone, if it has a part of the
/// lease; a copy, which may be of use to other calls, gets all of a block.
template <class T>
struct CallOperand {
  const T* at;  ///< a result is written to
  index ld;
  Placed placed{};
  Scattered<T> apart{};  ///< what it is made of, if not one matrix: it has a part of the lease then
};

template <class T>
struct CallScalars {
  T alpha{1}, beta{1};
};

struct PlanOutcome : Outcome {
  std::vector<Block> finished{};  ///< after a failure: what of the result is home, and stays
};

/// Asks the lane for the plan's steps, and waits until all have ended.  After a failure the operands in the host's
/// memory are what they were, but for what of the result is final.
/// @param lease  plan.bytes() of device memory, whatever it holds
/// @param sound  as PlanRun::run has it, of a plan without groups; empty: whatever is home is the result
/// @param seat   of a gang, whose place's plan this is
template <class T>
PlanOutcome execute(const Plan& plan, const std::vector<CallOperand<T>>& operands, const CallScalars<T>& scalars,
                    void* lease, std::size_t piece_bytes, Lane& lane, bool (*keep_going)(),
                    const std::function<bool()>& sound = {}, Seat* seat = nullptr);

}  // namespace blaslift
