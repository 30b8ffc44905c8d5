#include "tools/cli/tune/sieve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "tools/cli/tune/rounds.hpp"

namespace blaslift::cli {
namespace {

constexpr int cells_an_octave = 32;

}  // namespace

// ---- the space

std::vector<SymvCandidate> symv_space(Element precision, bool coarse) {
  std::vector<SymvCandidate> space{{{}, SymvWay::parts}};
  const auto add = [&](const SymvCandidate& x) {
    if (symv_fits(x.blocking, precision) && std::find(space.begin(), space.end(), x) == space.end()) space.push_back(x);
  };
  const auto heights = [&](SymvBlocking b) {
    constexpr int least = 32, most = 4096;
    const int first = std::max({least, b.U, symv_rows_a_step(b, element_size(precision))});
    for (int H = coarse ? first : least; H <= most; H *= coarse ? 4 : 2)
      for (const int height : {H, H + H / 2})
        for (const SymvWay way : {SymvWay::parts, SymvWay::tickets}) {
          b.H = height;
          if (!coarse || height == H) add({b, way});
        }
  };
  if (element_size(precision) == 16)
    for (const SymvBlocking& b : symv_blockings_16) heights(b);
  else
    for (const SymvBlocking& b : symv_blockings) heights(b);
  for (const Uplo uplo : {Uplo::lower, Uplo::upper})
    for (const SymvRule& rule : symv_rules(precision, uplo)) add({rule.blocking, rule.way});
  return space;
}

bool is_worth_timing(const SymvCandidate& candidate, Element precision, index n) {
  constexpr index most_strips = 4096;
  const SymvBlocking& b = candidate.blocking;
  if (b.U == 0) return n <= most_strips;
  // Higher than the matrix, they are all alike; by the hundred, what they write is as much as what they read.
  constexpr index most_chunks = 256;
  const index lowest = std::max(b.U, symv_rows_a_step(b, element_size(precision)));
  return b.H <= std::max<index>(n, lowest) && b.H * most_chunks >= n;
}

// ---- timings

Typical typical_of(std::vector<double> rounds) {
  const double seconds = quantile(rounds, 1);
  return {seconds, quantile(rounds, 2) / seconds - 1};
}

std::vector<int> champions(std::span<const Timing> timings, std::size_t most) {
  std::map<index, std::map<int, double>> seconds;  // of what could be measured
  std::map<int, double> total;
  for (const Timing& t : timings) {
    seconds[t.n][t.candidate] = typical_of(t.rounds).seconds;
    total[t.candidate] = 0;
  }
  constexpr double most_loss = 1;  // octaves
  std::vector<int> chosen;
  const auto choose = [&](int candidate) {
    if (std::find(chosen.begin(), chosen.end(), candidate) == chosen.end() && chosen.size() < most)
      chosen.push_back(candidate);
  };
  for (const auto& [n, by_candidate] : seconds) {
    const auto best = std::min_element(by_candidate.begin(), by_candidate.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    choose(best->first);
    for (auto& [candidate, loss] : total) {
      const auto there = by_candidate.find(candidate);
      loss += there == by_candidate.end() ? most_loss : std::min(most_loss, std::log2(there->second / best->second));
    }
  }
  std::vector<std::pair<double, int>> order;
  for (const auto& [candidate, loss] : total) order.emplace_back(loss, candidate);
  std::sort(order.begin(), order.end());
  for (const auto& [loss, candidate] : order) choose(candidate);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// ---- d-splines

// Minimises the sum of (E f - y)^2 + stiffness (D f)^2, E being the interpolation between grid values, D their second
// differences: a symmetric system of five diagonals, solved by Cholesky's method.
DSpline::DSpline(const std::vector<Point>& points, double step)
    : first_(points.front().x), last_(points.back().x), step_(step) {
  constexpr double stiffness = 1;  // smooths over about a cell: less than points are apart, more than repeated ones
  const auto cells = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil((last_ - first_) / step_ - 1e-9)));
  const std::size_t size = cells + 1;
  constexpr double least = 1e-9;  // of one point, or two at one x, the slope is anything: none
  std::vector<double> d0(size, 0), d1(size, 0), d2(size, 0);
  values_.assign(size, 0);
  for (const Point& p : points) {
    const double at = std::clamp((p.x - first_) / step_, 0.0, static_cast<double>(cells));
    const std::size_t i = std::min(static_cast<std::size_t>(at), cells - 1);
    const double right = at - static_cast<double>(i), left = 1 - right;
    d0[i] += left * left;
    d0[i + 1] += right * right;
    d1[i] += left * right;
    values_[i] += left * p.y;
    values_[i + 1] += right * p.y;
  }
  for (std::size_t i = 0; i + 2 < size; ++i) {
    d0[i] += stiffness;
    d0[i + 1] += 4 * stiffness;
    d0[i + 2] += stiffness;
    d1[i] -= 2 * stiffness;
    d1[i + 1] -= 2 * stiffness;
    d2[i] += stiffness;
  }
  for (std::size_t i = 0; i + 1 < size; ++i) {
    d0[i] += least;
    d0[i + 1] += least;
    d1[i] -= least;
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (i >= 1) d0[i] -= d1[i - 1] * d1[i - 1];
    if (i >= 2) d0[i] -= d2[i - 2] * d2[i - 2];
    d0[i] = std::sqrt(std::max(d0[i], 1e-300));
    if (i >= 1) d1[i] -= d2[i - 1] * d1[i - 1];
    d1[i] /= d0[i];
    d2[i] /= d0[i];
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (i >= 1) values_[i] -= d1[i - 1] * values_[i - 1];
    if (i >= 2) values_[i] -= d2[i - 2] * values_[i - 2];
    values_[i] /= d0[i];
  }
  for (std::size_t i = size; i-- > 0;) {
    if (i + 1 < size) values_[i] -= d1[i] * values_[i + 1];
    if (i + 2 < size) values_[i] -= d2[i] * values_[i + 2];
    values_[i] /= d0[i];
  }
}

double DSpline::operator()(double x) const {
  const double at = (std::clamp(x, first_, last_) - first_) / step_;
  const std::size_t i = std::min(static_cast<std::size_t>(at), values_.size() - 2);
  const double right = at - static_cast<double>(i);
  return values_[i] * (1 - right) + values_[i + 1] * right;
}

// ---- rules

namespace {

/// Seconds by n of one candidate, as logarithms to the base 2 of both.
struct Curve {
  int candidate;
  DSpline spline;

  /// Where it was not timed, nothing is promised.
  double at(double x) const {
    constexpr double slack = 1e-9;
    return x < spline.first() - slack || x > spline.last() + slack ? std::numeric_limits<double>::infinity()
                                                                   : spline(x);
  }
};

std::vector<Curve> curves_of(std::span<const Timing> timings) {
  std::map<int, std::map<double, std::vector<double>>> points;
  for (const Timing& t : timings) {
    const Typical typical = typical_of(t.rounds);
    if (typical.spread <= most_spread)
      points[t.candidate][std::log2(static_cast<double>(t.n))].push_back(std::log2(typical.seconds));
  }
  std::vector<Curve> curves;
  for (const auto& [candidate, by_x] : points) {
    std::vector<DSpline::Point> all;
    for (const auto& [x, ys] : by_x)
      for (const double y : ys) all.push_back({x, y});
    curves.push_back({candidate, DSpline(all, 1.0 / cells_an_octave)});
  }
  return curves;
}

/// Where b becomes faster than a in the cell [x, x + width], or its middle.
double crossing_of(const Curve& a, const Curve& b, double x, double width) {
  const double before = b.at(x) - a.at(x), after = b.at(x + width) - a.at(x + width);
  const bool crosses = std::isfinite(before) && std::isfinite(after) && before >= 0 && after <= 0 && before > after;
  return x + width * (crosses ? before / (before - after) : 0.5);
}

}  // namespace

RulesFound find_rules(std::span<const SymvCandidate> candidates, std::span<const Timing> timings) {
  const std::vector<Curve> curves = curves_of(timings);
  if (curves.empty()) return {};
  double first = std::numeric_limits<double>::infinity(), last = 0;
  for (const Curve& c : curves) {
    first = std::min(first, c.spline.first());
    last = std::max(last, c.spline.last());
  }
  const int cells = std::max(1, static_cast<int>(std::lround((last - first) * cells_an_octave)));
  const double width = (last - first) / cells;

  // The cheapest sequence of curves over the grid: what each loses to the best, of which chance is for nothing, but
  // between equals a little counts; and what a change costs.
  const double free = std::log2(1 + noise), change = free * cells_an_octave / 4;
  constexpr double infinite = 1e6;
  constexpr double little = 0.1;
  const std::size_t count = curves.size();
  std::vector<double> cost(count, 0);
  std::vector<std::vector<std::size_t>> came_from;
  for (int g = 0; g <= cells; ++g) {
    const double x = first + g * width;
    double best = std::numeric_limits<double>::infinity();
    for (const Curve& c : curves) best = std::min(best, c.at(x));
    const auto cheapest = static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
    const double by_change = cost[cheapest] + change;
    std::vector<std::size_t>& from = came_from.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) {
      from[i] = g > 0 && by_change < cost[i] ? cheapest : i;
      cost[i] = g > 0 ? std::min(by_change, cost[i]) : 0;
      const double loss = curves[i].at(x) - best;
      cost[i] += std::isfinite(loss) ? std::max(0.0, loss - free) + little * loss : infinite;
    }
  }
  std::vector<std::size_t> chosen(static_cast<std::size_t>(cells) + 1);
  chosen.back() = static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
  for (std::size_t g = chosen.size() - 1; g > 0; --g) chosen[g - 1] = came_from[g][chosen[g]];

  RulesFound found;
  const auto rule = [&](index below, const Curve& c) {
    const SymvCandidate& x = candidates[static_cast<std::size_t>(c.candidate)];
    found.rules.push_back({below, x.blocking, x.way});
  };
  for (std::size_t g = 0; g + 1 < chosen.size(); ++g) {
    if (chosen[g] == chosen[g + 1]) continue;
    const Curve &a = curves[chosen[g]], &b = curves[chosen[g + 1]];
    const double n = std::exp2(crossing_of(a, b, first + static_cast<double>(g) * width, width));
    const auto below = static_cast<index>(std::ceil(n));
    if (below <= (found.rules.empty() ? 1 : found.rules.back().below)) continue;
    found.crossings.push_back({n, a.candidate, b.candidate});
    rule(below, a);
  }
  rule(any_n, curves[chosen.back()]);
  return found;
}

bool is_faster(const std::vector<std::vector<double>>& gains) {
  bool somewhere = false, nowhere_slower = true;
  for (const std::vector<double>& rounds : gains) {
    somewhere = somewhere || quantile(rounds, 1) > 1 + noise;
    nowhere_slower = nowhere_slower && quantile(rounds, 3) > 1 - noise;
  }
  return somewhere && nowhere_slower;
}

}  // namespace blaslift::cli
