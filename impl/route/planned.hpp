// A call whose steps are a Plan: its operands' copies, its tries, and what a failure leaves of it.
#pragma once
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "impl/plan/execute.hpp"
#include "impl/route/family.hpp"
#include "impl/route/in_place.hpp"

namespace blaslift {

/// A call on an open device, whose operands are located.
template <class T>
class PlannedCall {
 public:
  /// @param operands  in the order of the plan's
  PlannedCall(Runtime& r, const Site& site, Backend& backend, const Problem& problem, Operands& operands,
              const CallScalars<T>& scalars)
      : r_(r), site_(site), backend_(backend), problem_(problem), operands_(operands), scalars_(scalars) {}

  /// How many of the call's operands are the plan's; whatever else the call has is not of its elements.
  std::size_t in_plan = Operands::most;
  /// Behind these, in host memory: what the plan takes and brings home besides.
  std::vector<CallOperand<T>> own{};
  /// Asked when all is home: false, and the result is taken back, for the library underneath to compute the call.
  std::function<bool()> sound{};

  /// On the device.  If that does not come to an end, the result in the host's memory is what it was; or where the plan
  /// has columns or rows of it that are final, and some of them are home, the others are computed by the library
  /// underneath.
  /// @param streamed   operands move more than once: their copies would take the room that there is
  /// @param make_plan  Plan(const std::vector<Placed>&): where the operands are now
  /// @param finish     void(index first, index count): computes so many columns, or rows, on the CPU
  template <class MakePlan, class Finish>
  Ending compute(const Decision& decision, bool streamed, const MakePlan& make_plan, const Finish& finish) {
    if (!r_.device.can(family_of(problem_.routine).needs, precision_of<T>)) return {Reason::no_route};
    if (streamed) {
      operands_.forget();
    } else {
      operands_.look();
      operands_.keep();
    }
    // Another try begins with the result as it was: in the program's device memory a first one may have changed it.
    const auto again = [&] { return !operands_.writes_in_device_memory() && !any_finished(); };
    Ending ending = computed_in_place(r_, backend_, decision, operands_, again,
                                      [&](bool wait) { return attempt(make_plan, wait); });
    if (!ending.computed && any_finished()) {
      operands_.close(false);
      const bool by_columns = by_columns_;
      std::sort(finished_.begin(), finished_.end(),
                [by_columns](const Block& x, const Block& y) { return by_columns ? x.col < y.col : x.row < y.row; });
      index next = 0;
      const auto finish_until = [&](index first) {
        if (next < first) finish(next, first - next);
      };
      for (const Block& x : finished_) {
        finish_until(by_columns ? x.col : x.row);
        next = std::max(next, by_columns ? x.col + x.cols : x.row + x.rows);
      }
      finish_until(lines_);
      ending.reason = Reason::failed;
      ending.computed = true;
    }
    return ending;
  }

 private:
  template <class MakePlan>
  Outcome attempt(const MakePlan& make_plan, bool wait) {
    std::vector<Placed> places;
    for (const Operand& x : operands_.all().first(std::min(in_plan, operands_.all().size())))
      places.push_back(placed(x));
    const Plan plan = make_plan(std::as_const(places));
    by_columns_ = plan.by_columns;
    for (const Plan::Operand& x : plan.operands)
      if (x.result && !x.ours) lines_ = by_columns_ ? x.cols : x.rows;
    std::vector<CallOperand<T>> matrices;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Stored& x = operands_[i].stored;
      matrices.push_back({static_cast<const T*>(x.at), x.ld, std::move(places[i])});
    }
    matrices.insert(matrices.end(), own.begin(), own.end());
    const std::size_t piece = piece_bytes(backend_, operands_.result().stored.bytes());
    const double moved = problem_.bytes_in + problem_.bytes_out - operands_.spared();
    return run_plan(r_, site_, backend_, operands_, plan.bytes(sizeof(T)), wait, moved, [&](Lane& lane, void* lease) {
      PlanOutcome outcome =
          execute<T>(plan, matrices, scalars_, lease, piece, lane, not_exiting, [this] { return !sound || sound(); });
      finished_ = std::move(outcome.finished);
      return static_cast<Outcome>(outcome);
    });
  }

  bool any_finished() const { return !finished_.empty(); }

  Runtime& r_;
  const Site& site_;
  Backend& backend_;
  const Problem& problem_;
  Operands& operands_;
  const CallScalars<T> scalars_;
  bool by_columns_ = false;
  index lines_ = 0;                ///< of the result: columns or rows
  std::vector<Block> finished_{};  ///< of the result, by the last attempt, after a failure
};

}  // namespace blaslift
