#include "impl/route/replay.hpp"

#include <signal.h>
#include "impl/core/errno_kept.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>

#include "compat/process.hpp"
#include "compat/undisturbed.hpp"
#include "impl/route/runtime.hpp"

namespace blaslift {

namespace {

/// Whether the route that this thread is said to be in is not there any more: a handler of a signal that an instruction
/// raised, which own time does not hold off, has jumped away.  Then this call's frame is above it.  A handler may also
/// call from a stack of its own, and so do we where a site's library is tried (compat/site).
bool left_by_a_jump(const void* route, const void* frame) {
  if (route == &thread_state || reinterpret_cast<std::uintptr_t>(frame) < reinterpret_cast<std::uintptr_t>(route))
    return false;
  if (is_in_room(frame)) return false;
  stack_t handlers{};
  return sigaltstack(nullptr, &handlers) != 0 || !(handlers.ss_flags & SS_ONSTACK);
}

void give_up_what_was_left() {
  if (!is_lifted(thread_state.inside)) runtime().in_flight.fetch_sub(1, std::memory_order_seq_cst);
  thread_state.inside = nullptr;
  abandon_own_time();
}

void begin_to_count(const Site& site) {
  runtime();  // made before anything is counted: it says where
  thread_state.slot = claim_slot();
  Counters& c = counters();
  if (!site.library || !c.library.claim()) return;
  static char path[PATH_MAX];  // the one who claims it
  const char* real = realpath(site.library, path);
  c.library_wide.store(site.wide, std::memory_order_relaxed);
  c.library_found_by.set(site.found_by);
  c.library.publish(real ? real : site.library);
}

}  // namespace

const Site& new_site(Symbol symbol, const void* caller, Site& ephemeral) {
  const int errno_before = errno;
  const Site* site = nullptr;
  undisturbed([&] {
    const char* fallback = may_have_runtime() ? runtime().options.fallback.c_str() : secure_getenv("BLASLIFT_FALLBACK");
    site = resolve_site(symbol, caller, fallback, ephemeral);
  });
  errno = errno_before;
  return *site;
}

bool enter(const Site& site) {
  const int errno_before = errno;
  // The entries have synchronised already, but they are compiled without sanitizers, which see only this.
  (void)site.caller.load(std::memory_order_acquire);
  bool known = true;
  if (thread_state.inside && left_by_a_jump(thread_state.inside, __builtin_frame_address(0))) give_up_what_was_left();
  if (!thread_state.slot || !is_remembered())
    undisturbed([&] {
      constexpr unsigned long room = 64 << 10;
      known = may_have_runtime();
      if (known && !thread_state.inside && !thread_state.slot) with_room(room, [&] { begin_to_count(site); });
    });
  errno = errno_before;
  return known && (!thread_state.inside || is_lifted(thread_state.inside)) && !site.twin;
}

namespace {
/// Whether others have agreed on the call, so that it is not made if it does not go: as stay() in route.cpp.
bool is_left_unmade(const Site& site, Reason reason) {
  if (thread_state.agreed == ThreadState::nothing || thread_state.inside) return false;
  thread_state.agreed = ThreadState::unmade;
  counters().routines[site.counter].stayed[static_cast<int>(reason)].fetch_add(1, std::memory_order_relaxed);
  return true;
}
}  // namespace

void refuse(const Site& site, Replay replay) {
  if (is_left_unmade(site, Reason::invalid)) return;
  counters().routines[site.counter].stayed[static_cast<int>(Reason::invalid)].fetch_add(1, std::memory_order_relaxed);
  replay();
}

Replayed stay(const Site& site, Reason reason, double flops, Replay replay, double timed) {
  RoutineCounters& c = counters().routines[site.counter];
  c.stayed[static_cast<int>(reason)].fetch_add(1, std::memory_order_relaxed);
  const bool measuring = runtime().options.measure;
  if (flops < timed && !measuring) return replay(), Replayed{};

  const std::uint64_t nested_before = thread_state.nested_ns;
  const std::uint64_t start = now_ns();
  thread_state.nested_ns = 0;
  replay();
  const std::uint64_t elapsed = now_ns() - start, own = elapsed - std::min(elapsed, thread_state.nested_ns);
  thread_state.nested_ns = nested_before + elapsed;
  // Own time: the gemms inside a LAPACK routine count as gemm's.
  c.stayed_ns[static_cast<int>(reason)].fetch_add(own, std::memory_order_relaxed);
  counters().last_ns.store(start + elapsed, std::memory_order_relaxed);
  if (measuring) {
    SizeCounters& size = counters().sizes[site.counter][size_class(flops)];
    size.calls.fetch_add(1, std::memory_order_relaxed);
    size.flops.fetch_add(static_cast<std::uint64_t>(flops), std::memory_order_relaxed);
    size.ns.fetch_add(own, std::memory_order_relaxed);
  }
  return {start, elapsed, own};
}

void stay_here(const Site& site, Reason reason, double flops, Replay replay) {
  if (!enter(site)) return replay();
  if (is_left_unmade(site, reason)) return;
  stay(site, runtime().options.on ? reason : Reason::off, flops, replay);
}

void answer_query(const Site& site, Replay replay) { stay_here(site, Reason::query, 0, replay); }

}  // namespace blaslift
