#include "impl/route/planned.hpp"

#include <algorithm>
#include <complex>
#include <utility>

namespace blaslift {

template <class T>
Ending PlannedCall<T>::compute(const Decision& decision, bool streamed, const MakePlan& make_plan,
                               const Finish& finish) {
  if (!place_.device.can(family_of(problem_.routine).needs, precision_of<T>)) return {Reason::no_route};
  if (streamed || operands_.seat) {
    operands_.forget();
  } else {
    operands_.look();
    operands_.keep();
  }
  // Another try begins with the result as it was: in the program's device memory a first one may have changed it, if it
  // has found room.
  const auto again = [&] { return !started_ || (!operands_.writes_in_device_memory() && !any_finished()); };
  Ending ending = computed_in_place(place_, backend_, decision, operands_, again,
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

template <class T>
Outcome PlannedCall<T>::attempt(const MakePlan& make_plan, bool wait) {
  std::vector<Placed> places;
  for (const Operand& x : operands_.all().first(std::min(in_plan, operands_.all().size()))) places.push_back(placed(x));
  Plan plan = make_plan(std::as_const(places));
  if (operands_.deal) plan.staying = staying(plan);
  by_columns_ = plan.by_columns;
  for (const Plan::Operand& x : plan.operands)
    if (x.result && !x.ours) lines_ = by_columns_ ? x.cols : x.rows;
  std::vector<CallOperand<T>> matrices;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Stored& x = operands_[i].stored;
    matrices.push_back({static_cast<const T*>(x.at), x.ld, std::move(places[i]), apart[i]});
    if (apart[i]) matrices.back().placed.direct = false;  // of the others nothing is known
  }
  matrices.insert(matrices.end(), own.begin(), own.end());
  double largest = operands_.result().stored.bytes();  // of what comes home
  for (const Plan::Operand& x : plan.operands)
    if (x.result) largest = std::max(largest, static_cast<double>(x.rows) * static_cast<double>(x.cols) * sizeof(T));
  const std::size_t piece = piece_bytes(backend_, largest);
  const double moved = problem_.bytes_in + problem_.bytes_out - operands_.spared();
  return run_plan(place_, site_, backend_, operands_, plan.bytes(sizeof(T)), wait, moved, [&](Lane& lane, void* lease) {
    started_ = true;
    PlanOutcome outcome = execute<T>(plan, matrices, scalars_, lease, piece, lane, not_exiting, sound, operands_.seat);
    finished_ = std::move(outcome.finished);
    return static_cast<Outcome>(outcome);
  });
}

template class PlannedCall<float>;
template class PlannedCall<double>;
template class PlannedCall<std::complex<float>>;
template class PlannedCall<std::complex<double>>;

}  // namespace blaslift
