#include "impl/decision.hpp"

#include <algorithm>
#include <cstdio>

namespace blaslift {

const char* text_of(Reason reason) {
  constexpr const char* texts[] = {
#define X(name, text) text,
      BLASLIFT_REASONS(X)
#undef X
  };
  return texts[static_cast<int>(reason)];
}

Decision decide(const Product& p, const Facts& facts, const Policy& policy) {
  auto stay = [](Reason reason) { return Decision{Route::cpu, reason}; };
  if (!policy.on) return stay(Reason::off);
  if (facts.forked) return stay(Reason::forked);
  if (facts.exiting) return stay(Reason::exiting);
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.alpha_zero) return stay(Reason::nothing);
  if (p.overlaps) return stay(Reason::overlap);

  const int precision = static_cast<int>(p.precision);
  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = p.flops() / (policy.fixed ? facts.profile->cpu_rate[precision] : facts.cpu_rate);
  // Transfers and products overlap, but for the first panels in and the last pieces out.
  const double moving = p.bytes_in() / facts.profile->in_rate + p.bytes_out() / facts.profile->out_rate,
               computing = p.flops() / facts.profile->gemm_rate[precision];
  d.device_seconds = (facts.profile->latency_seconds + std::max(moving, computing) + std::min(moving, computing) / 8) *
                     (policy.fixed ? 1.0 : facts.slowdown);
  if (policy.measuring) return d.reason = Reason::measuring, d;
  // Before the device is asked for: a call too small for any device stays for the same reason with and without one.
  const double volume = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  if (!policy.forced && volume < small_product) return d.reason = Reason::small, d;
  if (facts.device == DeviceState::absent) return d.reason = Reason::no_device, d;
  if (policy.forced) return d.route = Route::device, d.reason = Reason::forced, d;
  if (d.saving() <= 0) return d;
  // Ski rental: buy the start-up once the savings missed for want of it have reached its price.  Never more than twice
  // the best that knowing the future could do.
  if (facts.device == DeviceState::unopened && !policy.fixed &&
      facts.missed_seconds + d.saving() < facts.profile->startup_seconds)
    return d.reason = Reason::startup, d;
  d.route = Route::device;
  d.reason = Reason::faster;
  return d;
}

std::string to_string(const Product& product, const Decision& d) {
  char text[160];
  std::snprintf(text, sizeof text, " -> %s: %s", d.route == Route::cpu ? "cpu" : "device", text_of(d.reason));
  std::string line = to_string(product) + text;
  if (d.cpu_seconds > 0) {
    std::snprintf(text, sizeof text, " (cpu %.3g ms, device %.3g ms)", d.cpu_seconds * 1e3, d.device_seconds * 1e3);
    line += text;
  }
  return line;
}

}  // namespace blaslift
