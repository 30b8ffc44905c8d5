#include "impl/route.hpp"

#include <algorithm>

#include "compat/loading.hpp"

namespace blaslift {

bool too_late(const Runtime& r) { return exit_has_begun() || r.exiting.load(std::memory_order_relaxed); }

Policy policy_for(const Runtime& r, Routine routine) {
  return {.on = r.options.on,
          .measuring = r.options.measure,
          .forced = (r.options.forced >> static_cast<int>(routine) & 1) != 0,
          .fixed = r.options.fixed,
          .levels = r.options.levels};
}

void open_for_fixed(Runtime& r, const Policy& policy, bool large) {
  if (policy.fixed && policy.on && !policy.measuring && (large || policy.forced) &&
      !r.forked.load(std::memory_order_relaxed) && !too_late(r) && r.device.state() == DeviceState::unopened)
    open_device(r);
}

Facts facts_now(Runtime& r, const Learned& learned, Precision precision, double flops, double until_measured) {
  return {.device = r.device.state(),
          .profile = &r.device.profile(),
          .cpu_rate = learned.cpu.rate(precision, flops, until_measured),
          .slowdown = learned.slowdown.load(std::memory_order_relaxed),
          .missed_seconds = r.missed_seconds.load(std::memory_order_relaxed),
          .forked = r.forked.load(std::memory_order_relaxed),
          .exiting = too_late(r)};
}

Resident Operand::resident() const {
  if (place == Place::on_a_device) return {.whole = true, .in_place = true};
  Resident x{known.hold.device != nullptr, known.hold.missing};
  if (transposed)
    for (Block& b : x.missing) b = {b.col, b.row, b.cols, b.rows};
  return x;
}

Placement::Operand Operand::placement(bool direct) const {
  if (place == Place::on_a_device) return {const_cast<void*>(stored.at), stored.ld, false};
  return {known.hold.device, known.hold.ld, direct};
}

void learn_device(Learned& learned, double predicted, double measured) {
  constexpr int calls_that_load_code = 4;
  if (learned.warm_calls.fetch_add(1, std::memory_order_relaxed) < calls_that_load_code || !(predicted > 0)) return;
  const double before = learned.slowdown.load(std::memory_order_relaxed);
  const double now = std::clamp(before * measured / predicted, 0.2, 50.0);
  learned.slowdown.store(before + 0.25 * (now - before), std::memory_order_relaxed);
}

void learn_cpu(Runtime& r, Learned& learned, Precision precision, double flops, const Decision& decision,
               double seconds) {
  if (seconds <= 0) return;
  learned.cpu.learn(precision, flops, seconds);
  if (decision.reason == Reason::startup) {
    double missed = r.missed_seconds.load(std::memory_order_relaxed);
    const double on_device =
        decision.reuse_seconds > 0 ? decision.cpu_seconds - decision.reuse_seconds : decision.device_seconds;
    const double more = std::max(0.0, seconds - on_device);
    while (!r.missed_seconds.compare_exchange_weak(missed, missed + more, std::memory_order_relaxed)) {
    }
  }
  if (decision.reason == Reason::transfers) {
    const double slowdown = learned.slowdown.load(std::memory_order_relaxed);
    if (slowdown > 1) learned.slowdown.store(1 + 0.98 * (slowdown - 1), std::memory_order_relaxed);
  }
}

void note_offloadable(const Site& site, double flops, const Decision& decision, double seconds) {
  if (decision.device_seconds <= 0 || seconds <= decision.device_seconds) return;
  SizeCounters& size = counters().sizes[site.counter][size_class(flops)];
  size.offloadable_ns.fetch_add(static_cast<std::uint64_t>(seconds * 1e9), std::memory_order_relaxed);
  size.device_ns.fetch_add(static_cast<std::uint64_t>(decision.device_seconds * 1e9), std::memory_order_relaxed);
}

}  // namespace blaslift
