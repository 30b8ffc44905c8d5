#include "impl/route/learned.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace blaslift {
namespace {

/// Of the sizes that are measured: this one, else the nearest smaller, else larger one.
int nearest(std::uint32_t measured, int size) {
  const std::uint32_t smaller = measured & ((std::uint32_t{2} << size) - 1);
  return smaller ? std::bit_width(smaller) - 1 : std::countr_zero(measured);
}

}  // namespace

double CpuRates::rate(Element precision, double flops, double otherwise, int calls) const {
  if (!any_[precision].load(std::memory_order_acquire)) return otherwise;
  const int load = load_class(calls);
  for (int away = 0; away < load_classes; ++away)
    for (const int l : {load - away, load + away}) {
      const bool there = l >= 0 && l < load_classes;
      if (const std::uint32_t measured = there ? measured_[precision][l].load(std::memory_order_acquire) : 0)
        return rates_[precision][l][nearest(measured, size_class(flops))].load(std::memory_order_relaxed);
    }
  return otherwise;
}

void CpuRates::learn(Element precision, double flops, double seconds, int calls) {
  if (!(flops >= least_flops_) || !(seconds > 0)) return;
  const int load = load_class(calls), size = size_class(flops);
  auto& rate = rates_[precision][load][size];
  const double before = rate.load(std::memory_order_relaxed), now = flops / seconds;
  rate.store(before > 0 ? before + 0.3 * (now - before) : now, std::memory_order_relaxed);
  measured_[precision][load].fetch_or(std::uint32_t{1} << size, std::memory_order_release);
  any_[precision].store(true, std::memory_order_release);
}

double Slowdowns::at(int calls) const {
  for (int load = load_class(calls); load >= 0; --load)
    if (const double s = slowdowns_[load].load(std::memory_order_relaxed); s > 0) return s;
  return 1;
}

void Slowdowns::learn(int calls, double predicted, double measured) {
  constexpr int first_of_each = 4;
  const int load = load_class(calls);
  if (!(predicted > 0) || calls_[load].fetch_add(1, std::memory_order_relaxed) < first_of_each << load) return;
  // Slowly up, since single calls may take anything; faster down, since there may be few that tell.
  const double before = at(calls), now = std::clamp(measured / predicted, 0.2, 50.0);
  const double after = now > before ? before + 0.25 * (std::min(now, 2 * std::max(1.0, before)) - before)
                                    : before + 0.5 * (now - before);
  slowdowns_[load].store(after, std::memory_order_relaxed);
}

bool Trials::take(double loss) {
  double seconds = seconds_.load(std::memory_order_relaxed);
  do {
    if (seconds < loss) return false;
  } while (!seconds_.compare_exchange_weak(seconds, seconds - loss, std::memory_order_relaxed));
  return true;
}

void Trials::add(double more) {
  double seconds = seconds_.load(std::memory_order_relaxed);
  while (!seconds_.compare_exchange_weak(seconds, seconds + more, std::memory_order_relaxed)) {
  }
}

}  // namespace blaslift
