#include "impl/replay.hpp"

#include <algorithm>
#include <cstdlib>

#include "impl/runtime.hpp"

namespace blaslift {

bool enter(const Site& site) {
  const ErrnoKept errno_kept;
  // The entries have synchronised already, but they are compiled without sanitizers, which see only this.
  (void)site.caller.load(std::memory_order_acquire);
  runtime();  // made before anything is counted: it says where
  if (thread_state.inside) return false;
  if (!thread_state.slot) {
    thread_state.slot = claim_slot();
    Counters& c = counters();
    if (site.library && c.library.claim()) {
      char* real = realpath(site.library, nullptr);
      c.library_wide.store(site.wide, std::memory_order_relaxed);
      c.library_found_by.set(site.found_by);
      c.library.publish(real ? real : site.library);
      std::free(real);
    }
  }
  return !site.twin;
}

void refuse(const Site& site, Replay replay) {
  counters().routines[site.counter].stayed[static_cast<int>(Reason::invalid)].fetch_add(1, std::memory_order_relaxed);
  replay();
}

Replayed stay(const Site& site, Reason reason, double flops, Replay replay, double timed) {
  RoutineCounters& c = counters().routines[site.counter];
  c.stayed[static_cast<int>(reason)].fetch_add(1, std::memory_order_relaxed);
  const bool measuring = runtime().options.measure;
  if (flops < timed && !measuring) return replay(), Replayed{};

  const std::uint64_t nested_before = thread_state.nested_ns, start = now_ns();
  thread_state.nested_ns = 0;
  replay();
  const std::uint64_t elapsed = now_ns() - start, own = elapsed - std::min(elapsed, thread_state.nested_ns);
  thread_state.nested_ns = nested_before + elapsed;
  // Own time: the gemms inside a LAPACK routine count as gemm's.
  c.cpu_ns.fetch_add(own, std::memory_order_relaxed);
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
  stay(site, runtime().options.on ? reason : Reason::off, flops, replay);
}

void answer_query(const Site& site, Replay replay) { stay_here(site, Reason::query, 0, replay); }

}  // namespace blaslift
