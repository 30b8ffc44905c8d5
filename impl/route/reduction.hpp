// Calls whose plan is one reduction of A in its place (impl/plan/reduction.hpp).
#pragma once
#include <functional>
#include <initializer_list>
#include <vector>

#include "impl/route/planned.hpp"

namespace blaslift {

/// On the device.  If that does not come to an end, or to no result, what the host's memory holds is what it was.
/// @param operands   A, and vectors that are read or written; those that the caller sets stay in the host's memory
/// @param fits       A, and what the operation works in, into the memory that there is
/// @param columns    by their lengths in the plan: what it brings home besides, and what is given to it
/// @param make_plan  whether A has device memory of its own
template <class T>
Ending compute_reduction(Place& place, const Site& site, Backend& backend, const Problem& problem, Operands& operands,
                         const Decision& decision, bool fits, std::initializer_list<std::vector<T>*> columns,
                         const std::function<Plan(bool)>& make_plan) {
  constexpr std::size_t operand_a = 0;
  operands.locate(backend);
  for (const Operand& vector : operands.all().subspan(1))
    if (vector.out_of_reach()) return {Reason::no_route};
  const bool a_there = operands[operand_a].out_of_reach();
  if (!a_there && !fits) return {Reason::no_room};
  T failed{};
  bool none = false;
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 1;
  for (std::vector<T>* column : columns) planned.own.push_back({column->data(), static_cast<index>(column->size())});
  planned.own.push_back({&failed, 1});
  planned.sound = [&] {
    none = failed != T(0);
    return !none || a_there;
  };
  Ending ending = planned.compute(
      decision, false, [&](const std::vector<Placed>& at) { return make_plan(at[operand_a].device != nullptr); },
      [](index, index) {});
  if (none && !ending.computed) ending.reason = Reason::not_converged;
  ending.info = none;
  return ending;
}

}  // namespace blaslift
