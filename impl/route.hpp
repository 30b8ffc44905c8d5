// What the routes of all routines have in common: who may start one, where operands are, and what is learned from it.
#pragma once
#include "compat/site.hpp"
#include "compat/uncancelled.hpp"
#include "impl/execute.hpp"
#include "impl/replay.hpp"
#include "impl/runtime.hpp"

namespace blaslift {

/// While this thread decides on a call and runs it on the device: what is called underneath, or by a handler of the
/// program's meanwhile, is not ours to count or route; the process's exit waits; the thread is not cancelled, which
/// BLAS never was; and errno is the caller's again afterwards.
class Inside {
 public:
  explicit Inside(Runtime& runtime) : runtime_(runtime), slot_(thread_state.slot) {
    thread_state.slot = nullptr;
    thread_state.inside = true;
    runtime_.in_flight.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Inside() {
    runtime_.in_flight.fetch_sub(1, std::memory_order_seq_cst);
    thread_state.inside = false;
    thread_state.slot = slot_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Runtime& runtime_;
  ThreadCounters* slot_;
  Uncancelled uncancelled_;
  ErrnoKept errno_kept_;
};

inline bool not_exiting() { return !runtime().exiting.load(std::memory_order_relaxed); }

/// Whether the process's exit lets no route start any more.
bool too_late(const Runtime& r);

Policy policy_for(const Runtime& r, Routine routine);

/// Fixed decisions may not depend on whether the device is open yet: its own profile is known only then.  So it is
/// opened for the first call that it could compute.
/// @param large  large enough for a device
void open_for_fixed(Runtime& r, const Policy& policy, bool large);

/// Without a look at the operands.
/// @param until_measured  flop/s to expect of the CPU
Facts facts_now(Runtime& r, const Learned& learned, Precision precision, double flops, double until_measured);

/// An operand of a call: where the program has it, and what of it is on the device.
struct Operand {
  Stored stored;
  bool transposed, writes, reads;
  Place place = Place::pageable;
  bool cared_for = false;  ///< may have a copy that outlives the call
  Residency::Prospect known{};

  Resident resident() const;
  Placement::Operand placement(bool direct) const;

  void locate(Backend& backend) { place = backend.place(stored.at, stored.range().size(), false); }
  /// After locate: takes hold of its copy, if there is one.
  void look(Residency& residency, Residency::Glance& glance) {
    cared_for = place == Place::pageable && residency.cares(stored);
    if (cared_for) known = residency.look(stored, writes, reads, glance);
  }
  /// After look: makes a copy to be filled by this call, if the operand deserves one.
  void keep(Residency& residency, Residency::Glance& glance) {
    if (cared_for && !known.hold) known.hold = residency.keep(stored, writes, reads, glance);
  }
};

/// Contention makes the device slower than predicted; a call that stays because of it lets the memory of it fade.
void learn_device(Learned& learned, double predicted, double measured);

void learn_cpu(Runtime& r, Learned& learned, Precision precision, double flops, const Decision& decision,
               double seconds);

/// While measuring.
void note_offloadable(const Site& site, double flops, const Decision& decision, double seconds);

}  // namespace blaslift
