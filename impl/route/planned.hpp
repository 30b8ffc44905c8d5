// A call whose steps are a Plan: its operands' copies, its tries, and what a failure leaves of it.
#pragma once
#include <array>
#include <functional>
#include <vector>

#include "impl/plan/execute.hpp"
#include "impl/route/family.hpp"
#include "impl/route/in_place.hpp"

namespace blaslift {

/// A call on an open device, whose operands are located.
template <class T>
class PlannedCall {
 public:
  using MakePlan = std::function<Plan(const std::vector<Placed>&)>;
  using Finish = std::function<void(index first, index count)>;

  /// @param operands  in the order of the plan's
  PlannedCall(Place& place, const Site& site, Backend& backend, const Problem& problem, Operands& operands,
              const CallScalars<T>& scalars)
      : place_(place), site_(site), backend_(backend), problem_(problem), operands_(operands), scalars_(scalars) {}

  /// How many of the call's operands are the plan's; whatever else the call has is not of its elements.
  std::size_t in_plan = Operands::most;
  /// By operand: what those are made of that lie apart.  These have no copies.
  std::array<Scattered<T>, Operands::most> apart{};
  /// Behind these, in host memory: what the plan takes and brings home besides.
  std::vector<CallOperand<T>> own{};
  /// Asked when all is home: false, and the result is taken back, for the library underneath to compute the call.
  std::function<bool()> sound{};

  /// On the device.  If that does not come to an end, the result in the host's memory is what it was; or where the plan
  /// has columns or rows of it that are final, and some of them are home, the others are computed by the library
  /// underneath.
  /// @param streamed   operands move more than once: their copies would take the room that there is
  /// @param make_plan  where the operands are now
  /// @param finish     computes so many columns, or rows, from the first on, on the CPU
  Ending compute(const Decision& decision, bool streamed, const MakePlan& make_plan, const Finish& finish);

 private:
  Outcome attempt(const MakePlan& make_plan, bool wait);
  bool any_finished() const { return !finished_.empty(); }

  Place& place_;
  const Site& site_;
  Backend& backend_;
  const Problem& problem_;
  Operands& operands_;
  const CallScalars<T> scalars_;
  bool started_ = false;  ///< whether an attempt has had a lane
  bool by_columns_ = false;
  index lines_ = 0;                ///< of the result: columns or rows
  std::vector<Block> finished_{};  ///< of the result, by the last attempt, after a failure
};

}  // namespace blaslift
