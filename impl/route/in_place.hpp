// What routines have in common that compute in place: plans in a lease, and what they overwrite is kept.
#pragma once
#include <utility>

#include "impl/plan/placed.hpp"
#include "impl/route/attempts.hpp"
#include "impl/route/host_blas.hpp"

namespace blaslift {

/// Where an operand is on the device, if not in a lease.
Placed placed(const Operand& x);

/// Of a download at most: pieces of small results are small, so that several threads share them.
std::size_t piece_bytes(const Backend& backend, double result_bytes);

/// Runs a plan in a lease of so many bytes; copies that the operands hold are not in it.
/// @param wait     for room; otherwise the outcome is no_memory if there is none now
/// @param moved    bytes, there and back
/// @param execute  Outcome(Lane&, void* lease)
template <class Execute>
Outcome run_plan(Place& place, const Site& site, Backend& backend, const Operands& operands, std::size_t bytes,
                 bool wait, double moved, const Execute& execute) {
  if (bytes > place.arena.limit() - std::min(place.arena.limit(), operands.held_bytes())) return {Status::no_memory};
  void* lease = nullptr;
  Outcome outcome{place.arena.take(bytes, wait, lease)};
  if (outcome.status != Status::done) return outcome;
  const Leased leased(place.arena, lease, bytes);
  HostBlas blas(site);
  if (Lane* lane = backend.acquire(blas.operations(), static_cast<std::size_t>(moved), outcome.status)) {
    const Acquired acquired(backend, lane, operands);
    outcome = execute(*lane, lease);
  }
  return outcome;
}

/// In attempts, for a routine that puts back what it has overwritten in the host's memory if it does not come to an
/// end.
/// @param again    bool(): whether a second attempt would find the result's memory as the first one did
/// @param attempt  as in_attempts has it
template <class Again, class Attempt>
Ending computed_in_place(Place& place, const Backend& backend, const Decision& decision, Operands& operands,
                         const Again& again, const Attempt& attempt) {
  // For a gang's places that has been asked once, of what all of them overwrite.
  if (!operands.seat && !can_keep(std::as_const(operands).all())) return {Reason::no_room};
  for (const Operand& x : operands.all())
    if (x.writes && x.touched()) place.residency.before_writing(x.stored);
  return ended(place, backend, decision, operands, in_attempts(operands, attempt, again));
}

}  // namespace blaslift
