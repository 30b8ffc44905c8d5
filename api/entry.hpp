// What every exported function does first: find its call site, and either forward at once or go the long way.
//
// Either is a tail call with registers and stack as they came.  On x86-64 the first six integer and all floating-point
// arguments are in registers, so an entry declares only those, and the rest stays where it is: forwarding costs the
// same few dozen instructions whatever the number of arguments, hidden string lengths pass through unread, and no frame
// of ours is there when the library's xerbla does not return.  The compiler has to make these tail calls: api/ is
// always compiled with -O2 and without sanitizers.
#pragma once
#include <atomic>

#include "compat/process.hpp"
#include "compat/scalar.hpp"
#include "compat/site.hpp"
#include "impl/observe/counters.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/runtime.hpp"

#define BLASLIFT_EXPORT extern "C" __attribute__((visibility("default")))

#if !defined(__x86_64__) || !defined(__OPTIMIZE__)
#error "entries are written for the x86-64 calling convention and optimised builds"
#endif

namespace blaslift {

/// An integer argument passed by address, in the width that the site's library has.
template <Symbol symbol>
[[gnu::always_inline]] inline std::int64_t integer(const Site* site, const void* argument) {
  if (info(symbol).width == Width::wide || site->wide) return *static_cast<const std::int64_t*>(argument);
  return *static_cast<const std::int32_t*>(argument);
}

/// An integer argument passed by value: in 32-bit interfaces the upper half of its register is undefined.
template <Symbol symbol>
[[gnu::always_inline]] inline std::int64_t integer(const Site* site, std::int64_t argument) {
  if (info(symbol).width == Width::wide || site->wide) return argument;
  return static_cast<std::int32_t>(argument);
}

/// Whether the call is settled by forwarding it: its site and thread are known and it is below the gate.  Counts it.
/// `size` is asked only where the site is known, since integers have no width before.
template <class Size>
[[gnu::always_inline]] inline bool forwards(const Site* site, Size size) {
  ThreadCounters* slot = thread_state.slot;
  if (!site || !slot || !(size() < this_process.gate.load(std::memory_order_relaxed))) return false;
  std::uint64_t& count = slot->forwarded[site->counter];
  __atomic_store_n(&count, __atomic_load_n(&count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
  return true;
}

/// The site of a call on the long way, resolved if it is new; `ephemeral` is for one that is not to be remembered.
inline const Site& site_of(Symbol symbol, const void* caller, Site& ephemeral) {
  const Site* known = known_site(symbol, caller);
  return known ? *known : new_site(symbol, caller, ephemeral);
}

/// The entry's last step: forwards the call, or hands it to `long_way`, which declares all arguments and finds the ones
/// that are not in `registers` where the caller put them.
template <class LongWay, class Size, class... Registers>
[[gnu::always_inline]] inline void next_function(const Site* site, LongWay* long_way, Size size,
                                                 Registers... registers) {
  void* function = forwards(site, size) ? site->function : reinterpret_cast<void*>(long_way);
  return reinterpret_cast<void (*)(Registers...)>(function)(registers...);
}

/// A Replay of `call`, which must outlive it.
template <class Call>
Replay replay_of(const Call& call) {
  return {[](const void* context) { (*static_cast<const Call*>(context))(); }, &call};
}

/// One whose operands may be elsewhere, too: `elsewhere` takes the addresses in Args's order.
template <class Call, class Elsewhere>
Replay replay_of(const Call& call, const Elsewhere& elsewhere) {
  Replay replay = replay_of(call);
  replay.call_elsewhere = [](const void* context, void* const* operands) {
    (*static_cast<const Elsewhere*>(context))(operands);
  };
  replay.context_elsewhere = &elsewhere;
  return replay;
}

}  // namespace blaslift
