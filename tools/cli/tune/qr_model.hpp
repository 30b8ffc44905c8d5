// How long a blocked QR takes with which widths, from three timings for each width (after Takayanagi, Tile CAQR, 2021,
// chapter 6): there three kernels' times and how often they come give the time of a tile QR, and so the best tile size
// without a search; here the three operations that a plan is made of do, and the plan itself says how often each comes
// and what it waits for.  Pure functions.
#pragma once
#include <map>
#include <span>
#include <vector>

#include "impl/qr/qr_plan.hpp"

namespace blaslift::cli {

/// Seconds of an operation by its size.
struct Cost {
  double least;  ///< whatever the size
  double each;   ///< for each element
  double of(double elements) const { return least + each * elements; }
};

/// The line through two timings; neither part of it is negative.
struct Sample {
  double elements, seconds;
};
Cost cost_through(const Sample& small, const Sample& large);

/// By width; between those that were timed on a line, beyond them in proportion.
struct QrCosts {
  std::map<index, Cost> panel;   ///< by its columns, for each row
  std::map<index, Cost> update;  ///< by the reflectors' columns, for each element that they are applied to
  std::map<index, Cost> join;    ///< of columns with as many, for each row
  double overlap = 1;            ///< 1: the two streams run beside each other, 0: one after the other
  double stretch = 1;            ///< of all steps together to each by itself
};

/// Of one panel, by its rows, among those that k reflectors are made in with these rules or, without any that hold for
/// k, as is built in.
Cost panel_cost(const QrCosts& costs, const std::vector<QrRule>& rules, index k);

/// Seconds of each of the plan's steps; transfers take none, A being on the device.
std::vector<double> step_seconds(const QrPlan& plan, const QrCosts& costs);

/// Of all of them, one after the other.
double in_a_row(const std::vector<double>& seconds);
/// Of all of them, each stream in its order, a step after those that it waits for.
double in_two_streams(const QrPlan& plan, const std::vector<double>& seconds);

/// Of an n x n QR with these widths.
double predicted(index n, const QrWidths& widths, const QrCosts& costs);

/// What only whole QRs say, in the middle of these: how much of what two streams could save they do save or, where that
/// is nothing, how much longer than in a row all steps take.
struct WholeTiming {
  index n;
  QrWidths widths;
  double seconds;
};
void fit_whole(std::span<const WholeTiming> timings, QrCosts& costs);

/// Of an n x n QR, each with the others' seconds: the fastest.
struct WidthsTiming {
  QrWidths widths;
  double seconds;
};
const WidthsTiming& fastest(std::span<const WidthsTiming> timings);

/// Rules by k from the best widths at some sizes, ascending; a change is in the geometric middle of two sizes.
struct BestWidths {
  index n;
  QrWidths widths;
};
std::vector<QrRule> rules_from(std::span<const BestWidths> best);

}  // namespace blaslift::cli
