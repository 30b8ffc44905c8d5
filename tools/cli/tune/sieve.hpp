// Which of SYMV's blockings is the fastest for which n (Imamura et al., CUDA-xSYMV, 2014, section 3.2): all at a few
// sizes, of which twenty stay; these at more sizes, with d-splines between; rules by n.  Pure functions of timings.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "kernels/symv.hpp"

namespace blaslift::cli {

/// One way to compute a SYMV.
struct SymvCandidate {
  SymvBlocking blocking;
  SymvWay way;

  friend bool operator==(const SymvCandidate&, const SymvCandidate&) = default;
};

/// Strips and every kernel of the precision, both ways, with every height of chunks that is a power of two or one and a
/// half times one (coarse: a power of four times the least), and what is built in.
std::vector<SymvCandidate> symv_space(Element precision, bool coarse);

/// Whether it can be worth its time: strips read the whole matrix; and chunks can be too high or too low for n.
bool is_worth_timing(const SymvCandidate& candidate, Element precision, index n);

/// Seconds of one call, once for each round in which all candidates had their turn.
struct Timing {
  int candidate;
  index n;
  std::vector<double> rounds;
};

/// The lower quartile, since what disturbs only ever takes time, and how far above it the median is, relative to it.
struct Typical {
  double seconds, spread;
};
Typical typical_of(std::vector<double> rounds);

/// Timings of which the spread is above this say nothing.
inline constexpr double most_spread = 0.15;

/// What is gained by less than this may be chance.
inline constexpr double noise = 0.01;

/// A curve through points (x ascending, y), smooth as far as the points are: Tanaka's d-spline, the values on an even
/// grid that lie close to the points and have small second differences.
class DSpline {
 public:
  struct Point {
    double x, y;
  };
  /// @param points  at least one; those with the same x count together
  /// @param step    of the grid
  DSpline(const std::vector<Point>& points, double step);
  /// Between the first and the last point; beyond, the nearest of them.
  double operator()(double x) const;
  double first() const { return first_; }
  double last() const { return last_; }

 private:
  double first_, last_, step_;
  std::vector<double> values_;
};

/// Those that are to be looked at closely: the fastest at each size, and then those that lose the least to the fastest
/// in total, over all sizes; what they lose at one size counts up to a factor of two.  Ascending.
std::vector<int> champions(std::span<const Timing> timings, std::size_t most = 20);

/// Where the best way changes, by the curves.
struct Crossing {
  double n;
  int below, above;  ///< candidates
};

struct RulesFound {
  std::vector<SymvRule> rules;  ///< ascending, the last for any n; none where nothing has been timed
  std::vector<Crossing> crossings;
};

/// From curves through the timings.  A change that gains less than `noise` over a quarter of an octave is none.  Below
/// the smallest n and above the largest, what is best there holds.
RulesFound find_rules(std::span<const SymvCandidate> candidates, std::span<const Timing> timings);

/// Whether timings in turns say that one set of rules is faster than another: at some size by more than noise in three
/// rounds of four, and nowhere slower by as much.
/// @param gains  at each size, for each round: seconds of the others over seconds of the first
bool is_faster(const std::vector<std::vector<double>>& gains);

}  // namespace blaslift::cli
