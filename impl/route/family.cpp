#include "impl/route/family.hpp"

#include <algorithm>
#include <cstdio>

namespace blaslift {
namespace {

/// Why a call stays that no device computes.
Reason reason_of_host(const Problem& p, const Policy& policy) {
  if (p.overlaps) return Reason::overlap;
  if (policy.measuring) return Reason::measuring;
  return p.volume < small_product ? Reason::small : Reason::helped;
}

/// What settles a call before anything is predicted.
std::optional<Decision> settled(const Problem& p, const Facts& facts, const Policy& policy) {
  if (!policy.on) return Decision{Route::cpu, Reason::off};
  if (facts.forked) return Decision{Route::cpu, Reason::forked};
  if (facts.exiting) return Decision{Route::cpu, Reason::exiting};
  if (p.empty) return Decision{Route::cpu, Reason::nothing};
  if (family_of(p.routine).of_host) return Decision{Route::cpu, reason_of_host(p, policy)};
  const bool by_the_cpu = p.trivial || p.overlaps,
             out_of_reach = facts.device_memory && facts.device == DeviceState::ready && !policy.measuring;
  if (by_the_cpu && !out_of_reach) {
    Decision d{Route::cpu, p.trivial ? Reason::nothing : Reason::overlap};
    d.cpu_suffices = !policy.measuring;
    return d;
  }
  if (p.too_large) {
    Decision d{Route::cpu, Reason::no_room};
    d.infeasible = facts.device_memory;
    return d;
  }
  // The CPU would do as well, but cannot.
  if (by_the_cpu) return Decision{Route::device, Reason::device_memory};
  if (facts.device == DeviceState::ready && !facts.able && !facts.device_memory)
    return Decision{Route::cpu, Reason::no_route};
  return std::nullopt;
}

/// Whether a call for which the device has become too slow is to try it again.
bool tries_again(const Decision& d, const Facts& facts, const Policy& policy) {
  return facts.device == DeviceState::ready && !policy.fixed && facts.slowdown > 1 &&
         d.worth * d.device_seconds < facts.slowdown * d.cpu_seconds && -d.gain() <= facts.trial;
}

/// Whether a call that would gain so much is to stay because the device is not open yet.
bool starts_later(double gain, const Facts& facts, const Policy& policy) {
  if (policy.fixed) return false;
  const double part = policy.eagerness.start_up;
  if (facts.device == DeviceState::opening) return gain < part * facts.until_open;
  return facts.device == DeviceState::unopened && facts.missed_seconds + gain < part * facts.profile->startup_seconds;
}

/// Whether the device is to be opened beside a call that stays for want of it.  That costs a processor for a moment,
/// and a program that ends meanwhile has to wait for it: a quarter of what waiting for it costs every program.
bool opens_beside(double gain, const Facts& facts, const Policy& policy) {
  const double part = 0.25 * policy.eagerness.start_up;
  return facts.device == DeviceState::unopened && facts.missed_seconds + gain >= part * facts.profile->startup_seconds;
}

/// Where a call goes that is settled by predictions or by what else is known.
/// @param on_device  double(double spared): seconds there, where so many bytes need not move in
template <class OnDevice>
void choose(Decision& d, const Problem& p, const Facts& facts, const Policy& policy, const OnDevice& on_device) {
  d.device_seconds = on_device(facts.spared);
  d.slowdown = policy.fixed ? 1 : facts.slowdown;
  d.calls = facts.calls;
  d.worth = policy.eagerness.worth;
  if (policy.measuring) return void(d.reason = Reason::measuring);
  const bool open = facts.device == DeviceState::ready;
  if (facts.device_memory && open) return void((d.route = Route::device, d.reason = Reason::device_memory));
  // The caller asks for what only the host BLAS does, where it can.
  if (facts.rounds_otherwise || !p.alpha_finite) {
    d.reason = facts.rounds_otherwise ? Reason::rounding : Reason::alpha;
    d.cpu_suffices = true;
    return;
  }
  // Before the device is asked for: a call too small for any device stays for the same reason with and without one.
  if (!policy.forced && p.volume < small_product) return void(d.reason = Reason::small);
  if (facts.device == DeviceState::absent) return void(d.reason = Reason::no_device);
  if (policy.forced) return void((d.route = Route::device, d.reason = Reason::forced));
  if (facts.traps) return void(d.reason = Reason::traps);
  const bool yields = facts.busy && !policy.fixed;
  double gain = d.gain();
  if (gain <= 0) {
    if (!yields && tries_again(d, facts, policy)) return void((d.route = Route::device, d.reason = Reason::trial));
    if (d.saving() > 0) d.reason = Reason::modest;
    // For want of copies no level opens the device at which a higher one, where the call goes without, still waits.
    const bool may_open = family_of(p.routine).lives_on_copies && d.saving() <= 0;
    if (policy.fixed || facts.reusable <= 0 || (!open && !may_open)) return;
    // Ski rental again: buy copies once what they would have saved has reached what this call loses by making them.
    gain = d.reuse_seconds = std::max(0.0, d.cpu_seconds - d.worth * on_device(facts.spared + facts.reusable));
    if (gain <= 0 || (open && facts.missed_reuse + gain < -d.gain())) return;
  }
  // Ski rental: wait for the start-up once the savings missed for want of it have reached its price.  Never more than
  // twice the best that knowing the future could do.  Before that it is begun where nobody waits for it but exit.
  if (starts_later(gain, facts, policy)) {
    d.opens_meanwhile = opens_beside(gain, facts, policy);
    return void(d.reason = Reason::startup);
  }
  if (yields) return void(d.reason = Reason::busy);
  d.route = Route::device;
  d.reason = d.reuse_seconds > 0 ? Reason::reuse : d.saving() > 0 ? Reason::faster : Reason::eager;
}

}  // namespace

Decision decide(const Problem& p, const Facts& facts, const Policy& policy) {
  if (const auto known = settled(p, facts, policy)) return *known;
  const Family& family = family_of(p.routine);
  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = p.flops / (policy.fixed ? family.cpu_rate(p, *facts.profile) : facts.cpu_rate);
  choose(d, p, facts, policy, [&](double spared) {
    const Cost cost = family.cost(p, facts, policy, spared);
    d.levels = cost.levels;
    d.tile = cost.tile;
    d.head = cost.head;
    d.residues = cost.residues;
    return cost.seconds * (policy.fixed ? 1.0 : facts.slowdown);
  });
  return d;
}

bool copies_matter(const Problem& p, Facts facts, const Policy& policy, const Decision& decision) {
  if (policy.fixed || decision.route == Route::device) return !policy.fixed;
  if (decision.reason != Reason::transfers && decision.reason != Reason::modest) return false;
  facts.spared = p.bytes_in;
  return decide(p, facts, policy).route == Route::device;
}

std::string to_string(const Problem& problem, const Decision& d) {
  char text[160];
  std::snprintf(text, sizeof text, " -> %s: %s", d.route == Route::cpu ? "cpu" : "device", text_of(d.reason));
  std::string line = to_string(problem) + text;
  if (d.cpu_seconds > 0) {
    std::snprintf(text, sizeof text, " (cpu %.3g ms, device %.3g ms)", d.cpu_seconds * 1e3, d.device_seconds * 1e3);
    line += text;
  }
  if (d.route == Route::device && d.residues)
    line += ", by residues";
  else if (d.route == Route::device && d.levels > 0)
    line += ", levels " + std::to_string(d.levels) + " in tiles of " + std::to_string(d.tile);
  else if (d.route == Route::device && d.head > 0)
    line += ", first " + std::to_string(d.head) + " of k";
  return line;
}

}  // namespace blaslift
