#include "impl/route/choice.hpp"

#include <cstdio>

namespace blaslift {

std::optional<Decision> settled(bool empty, bool nothing, bool overlaps, const Facts& facts, const Policy& policy) {
  if (!policy.on) return Decision{Route::cpu, Reason::off};
  if (facts.forked) return Decision{Route::cpu, Reason::forked};
  if (facts.exiting) return Decision{Route::cpu, Reason::exiting};
  if (empty) return Decision{Route::cpu, Reason::nothing};
  if (!nothing && !overlaps) return std::nullopt;
  // The CPU would do as well, but cannot.
  if (facts.device_memory && facts.device == DeviceState::ready && !policy.measuring)
    return Decision{Route::device, Reason::device_memory};
  Decision d{Route::cpu, nothing ? Reason::nothing : Reason::overlap};
  d.for_the_cpu = !policy.measuring;
  return d;
}

bool tries_again(const Decision& d, const Facts& facts, const Policy& policy) {
  return facts.device == DeviceState::ready && !policy.fixed && facts.slowdown > 1 &&
         d.device_seconds < facts.slowdown * d.cpu_seconds && -d.saving() <= facts.trial;
}

bool starts_later(const Decision& d, double gain, const Facts& facts, const Policy& policy) {
  if (policy.fixed) return false;
  // Another thread opens it.  Who computes meanwhile holds that up: worth it only where the CPU gets something done.
  constexpr double much_faster = 4;
  if (facts.device == DeviceState::opening)
    return d.cpu_seconds < facts.profile->startup_seconds && d.cpu_seconds - gain > d.cpu_seconds / much_faster;
  return facts.device == DeviceState::unopened && facts.missed_seconds + gain < facts.profile->startup_seconds;
}

bool asks_for_the_cpu(Decision& d, const Facts& facts, bool alpha_finite) {
  if (!facts.rounds_otherwise && alpha_finite) return false;
  d.reason = facts.rounds_otherwise ? Reason::rounding : Reason::alpha;
  d.for_the_cpu = true;
  return true;
}

std::string ending_of_line(const Decision& d) {
  char text[160];
  std::snprintf(text, sizeof text, " -> %s: %s", d.route == Route::cpu ? "cpu" : "device", text_of(d.reason));
  std::string line = text;
  if (d.cpu_seconds > 0) {
    std::snprintf(text, sizeof text, " (cpu %.3g ms, device %.3g ms)", d.cpu_seconds * 1e3, d.device_seconds * 1e3);
    line += text;
  }
  return line;
}

}  // namespace blaslift
