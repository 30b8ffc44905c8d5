#include "tools/cli/tune/qr_model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace blaslift::cli {
namespace {

Cost at_width(const std::map<index, Cost>& costs, double width) {
  if (costs.empty()) return {0, 0};
  const auto above = costs.lower_bound(static_cast<index>(std::ceil(width)));
  const auto in_proportion = [width](index of, const Cost& c) {
    return Cost{c.least, c.each * width / static_cast<double>(of)};
  };
  if (above == costs.begin()) return in_proportion(above->first, above->second);
  const auto below = std::prev(above);
  if (above == costs.end()) return in_proportion(below->first, below->second);
  const auto low = static_cast<double>(below->first), high = static_cast<double>(above->first),
             part = (width - low) / (high - low);
  const auto between = [part](double x, double y) { return x + part * (y - x); };
  return {between(below->second.least, above->second.least), between(below->second.each, above->second.each)};
}

}  // namespace

Cost cost_through(const Sample& small, const Sample& large) {
  const double each = std::max(0.0, (large.seconds - small.seconds) / (large.elements - small.elements)),
               least = large.seconds - each * large.elements;
  return least >= 0 ? Cost{least, each} : Cost{0, large.seconds / large.elements};
}

Cost panel_cost(const QrCosts& costs, const std::vector<QrRule>& rules, index k) {
  return at_width(costs.panel, static_cast<double>(qr_widths(rules, k).panel));
}

std::vector<double> step_seconds(const QrPlan& plan, const QrCosts& costs) {
  std::vector<double> seconds;
  for (const QrStep& s : plan.steps) {
    const auto cols = static_cast<double>(s.cols), to_cols = static_cast<double>(s.to_cols),
               rows = static_cast<double>(plan.m - s.col);
    switch (s.kind) {
      case QrStepKind::panel:
      case QrStepKind::remake: seconds.push_back(at_width(costs.panel, cols).of(rows)); break;
      case QrStepKind::update: seconds.push_back(at_width(costs.update, cols).of(rows * to_cols)); break;
      case QrStepKind::join: seconds.push_back(at_width(costs.join, std::sqrt(cols * to_cols)).of(rows)); break;
      case QrStepKind::upload:
      case QrStepKind::download:
      case QrStepKind::reflectors:
      case QrStepKind::share:
      case QrStepKind::fetch: seconds.push_back(0); break;
    }
  }
  return seconds;
}

double in_a_row(const std::vector<double>& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

double in_two_streams(const QrPlan& plan, const std::vector<double>& seconds) {
  double streams[2] = {};
  std::vector<double> ends;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    double& end = streams[plan.steps[i].stream];
    for (const std::int32_t before : plan.after[i]) end = std::max(end, ends[static_cast<std::size_t>(before)]);
    end += seconds[i];
    ends.push_back(end);
  }
  return std::max(streams[0], streams[1]);
}

double predicted(index n, const QrWidths& widths, const QrCosts& costs) {
  const QrPlan plan = plan_qr(n, n, widths.block, widths.panel);
  const std::vector<double> seconds = step_seconds(plan, costs);
  const double row = in_a_row(seconds);
  return costs.stretch * (row - costs.overlap * (row - in_two_streams(plan, seconds)));
}

void fit_whole(std::span<const WholeTiming> timings, QrCosts& costs) {
  std::vector<double> overlaps, stretches;
  for (const auto& [n, widths, seconds] : timings) {
    const QrPlan plan = plan_qr(n, n, widths.block, widths.panel);
    const std::vector<double> each = step_seconds(plan, costs);
    const double row = in_a_row(each), saved = row - in_two_streams(plan, each);
    if (saved > 0) overlaps.push_back(std::clamp((row - seconds) / saved, 0.0, 1.0));
    if (row > 0) stretches.push_back(std::max(1.0, seconds / row));
  }
  const auto middle_of = [](std::vector<double>& x) {
    if (x.empty()) return 1.0;
    const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
    std::nth_element(x.begin(), middle, x.end());
    return *middle;
  };
  costs.overlap = middle_of(overlaps);
  costs.stretch = middle_of(stretches);
}

const WidthsTiming& fastest(std::span<const WidthsTiming> timings) {
  return *std::min_element(timings.begin(), timings.end(),
                           [](const WidthsTiming& x, const WidthsTiming& y) { return x.seconds < y.seconds; });
}

std::vector<QrRule> rules_from(std::span<const BestWidths> best) {
  std::vector<QrRule> rules;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const bool last = i + 1 == best.size();
    if (!last && best[i].widths == best[i + 1].widths) continue;
    const auto middle = [&] {
      return std::llround(std::sqrt(static_cast<double>(best[i].n) * static_cast<double>(best[i + 1].n)));
    };
    rules.push_back({last ? any_k : std::max<index>(2, middle()), best[i].widths});
  }
  return rules;
}

}  // namespace blaslift::cli
