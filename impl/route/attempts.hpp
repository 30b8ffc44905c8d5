// Tries on the device: the ladder that every family climbs down, and what they hold meanwhile.
#pragma once
#include "impl/route/operands.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// Gives a lease back at the end.
class Leased {
 public:
  Leased(Arena& arena, void* lease, std::size_t bytes) : arena_(arena), lease_(lease), bytes_(bytes) {}
  ~Leased() {
    if (bytes_ > 0) arena_.give_back(lease_, bytes_);
  }
  Leased(const Leased&) = delete;
  Leased& operator=(const Leased&) = delete;

 private:
  Arena& arena_;
  void* lease_;
  std::size_t bytes_;
};

/// And a lane.
class Acquired {
 public:
  Acquired(Backend& backend, Lane* lane) : backend_(backend), lane_(lane) {}
  /// For these operands' call.
  Acquired(Backend& backend, Lane* lane, const Operands& operands) : Acquired(backend, lane) {
    if (operands.deal) lane->join(operands.deal);
  }
  ~Acquired() { backend_.release(lane_); }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

 private:
  Backend& backend_;
  Lane* lane_;
};

/// Tries with the copies that the operands have, and once more without where there is no room beside them.  Only the
/// second waits for room: whoever holds copies may not, since others may hold copies and wait, too.
/// @param attempt  Outcome(bool wait): `wait` for room, or no_memory if there is none now
/// @param again    bool(): whether a second one would find the program's memory as the first one did
template <class Attempt, class Again>
Outcome in_attempts(Operands& operands, const Attempt& attempt, const Again& again) {
  const Outcome first = attempt(!operands.any_hold());
  if (first.status != Status::no_memory || !operands.any_hold() || !again()) return first;
  operands.forget();
  Outcome second = attempt(true);
  second.add(first);
  return second;
}

}  // namespace blaslift
