// What the decisions of all families have in common: what is settled without a prediction, and the choice between two
// predictions.
#pragma once
#include <algorithm>
#include <optional>
#include <string>

#include "impl/route/decision.hpp"

namespace blaslift {

/// What settles a call before anything is predicted.
/// @param empty    there is no result
/// @param nothing  little is done to it
std::optional<Decision> settled(bool empty, bool nothing, bool overlaps, const Facts& facts, const Policy& policy);

/// Whether a call for which the device has become too slow is to try it again.
bool tries_again(const Decision& d, const Facts& facts, const Policy& policy);

/// Whether a call that would gain so much is to stay because the device is not open yet.
bool starts_later(const Decision& d, double gain, const Facts& facts, const Policy& policy);

/// Whether the caller asks for what only the library underneath does, where it can.
bool asks_for_the_cpu(Decision& d, const Facts& facts, bool alpha_finite);

/// Where a call goes that is settled by predictions or by what else is known.
/// @param on_device  double(double spared): seconds there, where so many bytes need not move in
template <class OnDevice>
void choose(Decision& d, bool small, const Facts& facts, const Policy& policy, const OnDevice& on_device,
            bool alpha_finite = true) {
  d.device_seconds = on_device(facts.spared);
  d.slowdown = policy.fixed ? 1 : facts.slowdown;
  d.calls = facts.calls;
  if (policy.measuring) return void(d.reason = Reason::measuring);
  if (facts.device_memory && facts.device == DeviceState::ready)
    return void((d.route = Route::device, d.reason = Reason::device_memory));
  if (asks_for_the_cpu(d, facts, alpha_finite)) return;
  if (!policy.forced && small) return void(d.reason = Reason::small);
  if (facts.device == DeviceState::absent) return void(d.reason = Reason::no_device);
  if (policy.forced) return void((d.route = Route::device, d.reason = Reason::forced));
  if (facts.traps) return void(d.reason = Reason::traps);
  if (d.saving() <= 0) {
    if (facts.device != DeviceState::ready || policy.fixed) return;
    if (tries_again(d, facts, policy)) return void((d.route = Route::device, d.reason = Reason::trial));
    // Ski rental again: buy copies once what they would have saved has reached what this call loses by making them.
    if (facts.reusable <= 0) return;
    d.reuse_seconds = std::max(0.0, d.cpu_seconds - on_device(facts.spared + facts.reusable));
    if (d.reuse_seconds > 0 && facts.missed_reuse + d.reuse_seconds >= -d.saving())
      d.route = Route::device, d.reason = Reason::reuse;
    return;
  }
  // Ski rental: buy the start-up once the savings missed for want of it have reached its price.  Never more than twice
  // the best that knowing the future could do.
  if (starts_later(d, d.saving(), facts, policy)) return void(d.reason = Reason::startup);
  d.route = Route::device;
  d.reason = Reason::faster;
}

/// Whether copies on the device could change what becomes of a call that was decided without a look at them.
template <class P>
bool copies_matter(const P& product, Facts facts, const Policy& policy, const Decision& decision) {
  if (policy.fixed || decision.route == Route::device) return !policy.fixed;
  if (decision.reason != Reason::transfers) return false;
  facts.spared = product.bytes_in();
  return decide(product, facts, policy).route == Route::device;
}

/// " -> cpu: too small (cpu 0.1 ms, device 0.2 ms)"
std::string ending_of_line(const Decision& d);

/// "dgemm m=.. n=.. k=.. -> cpu: too small (cpu 0.1 ms, device 0.2 ms)"
template <class P>
std::string line_of(const P& product, const Decision& d) {
  return to_string(product) + ending_of_line(d);
}

}  // namespace blaslift
