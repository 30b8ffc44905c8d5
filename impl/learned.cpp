#include "impl/learned.hpp"

#include <algorithm>
#include <cmath>

namespace blaslift {
namespace {

/// At this size, else at the nearest smaller, else larger one; 0: at none.
double nearest(const std::atomic<double> (&rates)[size_classes], int at) {
  for (int i = at; i >= 0; --i)
    if (const double r = rates[i].load(std::memory_order_relaxed); r > 0) return r;
  for (int i = at + 1; i < size_classes; ++i)
    if (const double r = rates[i].load(std::memory_order_relaxed); r > 0) return r;
  return 0;
}

}  // namespace

int size_class(double flops) {
  if (!(flops >= 16)) return 0;
  return std::min(size_classes - 1, std::ilogb(flops) / 2 - 1);
}

double CpuRates::rate(SymvPrecision precision, double flops, double otherwise, int calls) const {
  const auto& rates = rates_[precision];
  const int load = load_class(calls), size = size_class(flops);
  for (int away = 0; away < load_classes; ++away)
    for (const int l : {load - away, load + away})
      if (l >= 0 && l < load_classes)
        if (const double r = nearest(rates[l], size); r > 0) return r;
  return otherwise;
}

void CpuRates::learn(SymvPrecision precision, double flops, double seconds, int calls) {
  if (!(flops >= least_flops_) || !(seconds > 0)) return;
  auto& rate = rates_[precision][load_class(calls)][size_class(flops)];
  const double before = rate.load(std::memory_order_relaxed), now = flops / seconds;
  rate.store(before > 0 ? before + 0.3 * (now - before) : now, std::memory_order_relaxed);
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
