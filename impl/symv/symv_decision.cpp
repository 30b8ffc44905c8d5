#include "impl/symv/symv_decision.hpp"

#include <algorithm>
#include <cstdint>

namespace blaslift {

double cpu_rate_until_measured(const SymmetricProduct& p) {
  constexpr double flops_a_pair = 4;  // as p.flops() counts: each element of the triangle is used twice
  if (p.precision == Element::w) return flops_a_pair * cpu_pair_rate;
  const double flops_a_byte = (is_complex(p.precision) ? 16.0 : 4.0) / static_cast<double>(element_size(p.precision));
  return flops_a_byte * cpu_reading_rate;
}

Decision decide(const SymmetricProduct& p, const Facts& facts, const Policy& policy) {
  const auto known = settled(p.n == 0, p.alpha_zero, p.overlaps, facts, policy);
  if (known && known->route == Route::cpu) return *known;
  if (p.n > INT32_MAX) {
    Decision d{Route::cpu, Reason::no_room};
    d.nowhere = facts.device_memory;
    return d;
  }
  if (known) return *known;

  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = p.flops() / (policy.fixed ? cpu_rate_until_measured(p) : facts.cpu_rate);
  const auto on_device = [&](double spared) {
    const double in = std::max(0.0, p.bytes_in() - spared) / facts.profile->in_rate,
                 out = facts.result_stays ? 0 : p.bytes_out() / facts.profile->out_rate;
    // Vectors are moved by the calling thread, a matrix by the engine's, as gemm's are.
    const bool matrix_moves = spared < p.bytes_of_triangle();
    const double latency = matrix_moves ? facts.profile->latency_seconds : facts.profile->symv_latency_seconds;
    return (latency + in + p.bytes_of_triangle() / facts.profile->pass_rate + out) *
           (policy.fixed ? 1.0 : facts.slowdown);
  };
  d.device_seconds = on_device(facts.spared);
  d.slowdown = policy.fixed ? 1 : facts.slowdown;
  d.calls = facts.calls;
  if (policy.measuring) return d.reason = Reason::measuring, d;
  if (facts.device_memory && facts.device == DeviceState::ready)
    return d.route = Route::device, d.reason = Reason::device_memory, d;
  if (asks_for_the_cpu(d, facts, p.alpha_finite)) return d;
  if (!policy.forced && symmetric_volume(static_cast<double>(p.n)) < small_product) return d.reason = Reason::small, d;
  if (facts.device == DeviceState::absent) return d.reason = Reason::no_device, d;
  if (policy.forced) return d.route = Route::device, d.reason = Reason::forced, d;
  if (facts.traps) return d.reason = Reason::traps, d;
  const bool unopened = facts.device != DeviceState::ready;
  double gain = d.saving();
  if (gain <= 0) {
    if (tries_again(d, facts, policy)) return d.route = Route::device, d.reason = Reason::trial, d;
    if (policy.fixed || facts.reusable <= 0) return d;
    gain = d.reuse_seconds = std::max(0.0, d.cpu_seconds - on_device(facts.spared + facts.reusable));
    if (gain <= 0 || (!unopened && facts.missed_reuse + gain < -d.saving())) return d;
  }
  if (starts_later(d, gain, facts, policy)) return d.reason = Reason::startup, d;
  d.route = Route::device;
  d.reason = d.reuse_seconds > 0 ? Reason::reuse : Reason::faster;
  return d;
}

std::string to_string(const SymmetricProduct& product, const Decision& d) { return line_of(product, d); }

}  // namespace blaslift
