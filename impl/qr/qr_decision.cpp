#include "impl/qr/qr_decision.hpp"
#include "impl/qr/qr_section.hpp"

#include <algorithm>
#include <cmath>

#include "impl/qr/qr_plan.hpp"

namespace blaslift {
namespace {

/// Whether the open device lacks what a QR takes and the CPU, which reaches the operands, is to compute it.
bool cannot(const Facts& facts) { return facts.device == DeviceState::ready && !facts.able && !facts.device_memory; }

/// Seconds of a QR on the device, but for what moves.
struct Factoring {
  double panels;    ///< one after the other
  double products;  ///< on what is beside them
  index blocks;

  /// A block's panels run beside the products of the one before: what has nothing beside it is the first one's.
  double together() const {
    return std::max(panels, products) + std::min(panels, products) / static_cast<double>(blocks);
  }
};

/// Products with `width` reflectors, as part of the rate that large products have: half of it with 64 (H100: 23, 38,
/// 49, 52, 56 Tflop/s with 64, 128, 256, 512, 1,024).
double efficiency(index width) {
  constexpr double half = 64;
  return static_cast<double>(width) / (static_cast<double>(width) + half);
}

/// @param rows, k  of the panels altogether
/// @param flops    of all of it; what is done to a panel's own columns is in its time
Factoring factoring(double rows, index k, double flops, double own_flops, Precision precision, const Profile& profile) {
  const auto [block, panel] = qr_widths(profile, precision, k);
  const double width = static_cast<double>(panel), columns = static_cast<double>(k), count = std::ceil(columns / width),
               entries = columns * (rows - (columns - width) / 2);
  constexpr double steps = 6;  // beside each panel
  return {count * (profile.panel_seconds + steps * profile.step_seconds) +
              entries * static_cast<double>(element_size(precision)) / profile.panel_rate,
          std::max(0.0, flops - own_flops * entries * width * (is_complex(precision) ? 4 : 1)) /
              (efficiency(block) * profile.gemm_rate[static_cast<int>(precision)]),
          (k + block - 1) / block};
}

}  // namespace

Decision decide(const Factorisation& f, const Facts& facts, const Policy& policy) {
  if (const auto known = settled(f.factored() == 0, false, f.overlaps, facts, policy)) return *known;
  if (cannot(facts)) return {Route::cpu, Reason::no_route};

  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = f.flops() / (policy.fixed ? facts.profile->cpu_rate[static_cast<int>(f.precision)] : facts.cpu_rate);
  const auto on_device = [&](double spared) {
    const double in = std::max(0.0, f.bytes_in() - spared) / facts.profile->in_rate,
                 out = facts.result_stays ? 0 : f.bytes_out() / facts.profile->out_rate;
    const Factoring work = factoring(static_cast<double>(f.m), f.factored(), f.flops(), 2, f.precision, *facts.profile);
    // Everything is needed by the first update; a block goes home while the next ones are factored.
    const double last = 1 / static_cast<double>(work.blocks);
    const double again = facts.sent_again / facts.profile->in_rate;
    return (facts.profile->latency_seconds + in + std::max({work.together(), (1 - last) * out, again}) + last * out) *
           (policy.fixed ? 1.0 : facts.slowdown);
  };
  const double m = static_cast<double>(f.m), n = static_cast<double>(f.n);
  choose(d, reflectors_volume(m, n, std::min(m, n)) < small_product, facts, policy, on_device);
  return d;
}

Decision decide(const Application& a, const Facts& facts, const Policy& policy) {
  const auto [left, adjoint, m, n, k, of_identity] = a.product;
  // Of no reflectors an identity is left.
  const bool nothing = k == 0, empty = m == 0 || n == 0 || (nothing && !of_identity);
  if (const auto known = settled(empty, nothing, a.overlaps, facts, policy)) return *known;
  if (cannot(facts)) return {Route::cpu, Reason::no_route};

  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = a.flops() / (policy.fixed ? facts.profile->cpu_rate[static_cast<int>(a.precision)] : facts.cpu_rate);
  const auto on_device = [&](double spared) {
    const double in = std::max(0.0, a.bytes_in() - spared) / facts.profile->in_rate,
                 out = facts.result_stays ? 0 : a.bytes_out() / facts.profile->out_rate;
    const double work =
        factoring(static_cast<double>(a.product.order()), k, a.flops(), 0, a.precision, *facts.profile).together();
    const double again = facts.sent_again / facts.profile->in_rate;
    return (facts.profile->latency_seconds + in + std::max(work, again) + out) * (policy.fixed ? 1.0 : facts.slowdown);
  };
  choose(d, reflectors_volume(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)) < small_product,
         facts, policy, on_device);
  return d;
}

std::string to_string(const Factorisation& f, const Decision& d) { return line_of(f, d); }
std::string to_string(const Application& a, const Decision& d) { return line_of(a, d); }

}  // namespace blaslift
