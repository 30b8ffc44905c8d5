// What the host has to look at itself of a matrix in the program's device memory.
#pragma once
#include <cstddef>
#include <vector>

#include "impl/plan/execute.hpp"
#include "impl/route/in_place.hpp"

namespace blaslift {

/// Brings rows x cols elements from device memory, columns `ld` apart, to `to`, packed.  Nothing is under way
/// afterwards.
template <class T>
Outcome bring_home(const Site& site, Backend& backend, const T* at, index ld, index rows, index cols, T* to) {
  Plan plan;
  plan.operands = {{"there", rows, cols, true, true}};
  const Plan::Origin there{plan.add_own_area(0), 0};
  plan.download(there, {0, 0, rows, cols});
  plan.after = order_of(plan);
  Outcome outcome{Status::done};
  HostBlas blas(site);
  const std::size_t bytes = static_cast<std::size_t>(rows * cols) * sizeof(T);
  Lane* const lane = backend.acquire(blas.operations(), bytes, outcome.status);
  if (!lane) return outcome;
  const Acquired acquired(backend, lane);
  const std::vector<CallOperand<T>> operands{{to, rows, {.device = const_cast<T*>(at), .ld = ld}}};
  return execute<T>(plan, operands, {}, nullptr, piece_bytes(backend, static_cast<double>(bytes)), *lane, not_exiting);
}

}  // namespace blaslift
