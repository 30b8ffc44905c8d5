#include "impl/product/guard.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "impl/core/quiet_floats.hpp"

namespace blaslift {
namespace {

constexpr std::size_t lanes = 8;  ///< so many numbers side by side, for the compiler to make vectors of

/// Of magnitudes.
template <class R>
struct Range {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  bool finite = true;

  void note(std::span<const R> values) {
    constexpr R most = std::numeric_limits<R>::max();
    std::array<R, lanes> high{}, low, not_finite{};
    low.fill(std::numeric_limits<R>::infinity());
    const auto one = [&](std::size_t lane, R x) {
      high[lane] = x > high[lane] ? x : high[lane];
      low[lane] = x < low[lane] ? x : low[lane];
      not_finite[lane] = x <= most ? not_finite[lane] : R{1};
    };
    std::size_t i = 0;
    for (; i + lanes <= values.size(); i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) one(lane, values[i + lane]);
    for (; i < values.size(); ++i) one(0, values[i]);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      largest = std::max(largest, static_cast<double>(high[lane]));
      smallest = std::min(smallest, static_cast<double>(low[lane]));
      finite = finite && not_finite[lane] == 0;
    }
  }
};

/// A power of two that brings x near one; above zero.
double unit(double x) { return std::ldexp(1.0, std::clamp(-std::ilogb(x), -1022, 1023)); }

/// Of rows of A, or columns of B, within each slice.
template <class R>
struct Slices {
  Range<R> all;
  std::size_t groups;
  std::vector<double> floor;  ///< the smallest of each group, slice by slice

  Slices(std::span<const R> values, std::size_t slices, std::size_t group) {
    const std::size_t size = values.size() / slices;
    group = std::min(group, size);
    groups = (size + group - 1) / group;
    for (std::size_t p = 0; p < slices; ++p)
      for (std::size_t at = 0; at < size; at += group) {
        Range<R> one;
        one.note(values.subspan(p * size + at, std::min(group, size - at)));
        floor.push_back(one.smallest);
        all.largest = std::max(all.largest, one.largest);
        all.finite = all.finite && one.finite;
      }
  }
};

/// Whether sums on the way might: grows with each of the magnitudes.
template <class R>
bool may_overflow(double largest_a, double largest_b, double k, int levels, double alpha, bool adds) {
  // At each level, blocks of A and of B are sums of at most four; blocks of C, of at most seven products.  Logarithms:
  // double is not wider than R.
  const double sums = 2.0 * levels, margin = 8;
  const double log_a = std::log2(largest_a) + sums, log_b = std::log2(largest_b) + sums;
  const double log_products = log_a + log_b + std::log2(k) + 3.0 * levels + std::max(0.0, std::log2(alpha));
  // What is so much smaller than the largest number that it is rounded away beside it makes no sum with it overflow.
  const double room = adds ? std::numeric_limits<R>::digits + 1 : 0;
  return std::max({log_a, log_b, log_products + room}) + margin >= std::numeric_limits<R>::max_exponent;
}

}  // namespace

template <class R>
Verdict judge(const Findings<R>& f, int levels, double alpha, bool adds) {
  const QuietFloats quiet;
  const Slices<R> by_rows(f.a_rows, f.slices, f.group), by_cols(f.b_cols, f.slices, f.group);
  const Range<R>&a = by_rows.all, &b = by_cols.all;
  if (!a.finite || !b.finite || !std::isfinite(alpha)) return Verdict::not_finite;
  if (may_overflow<R>(a.largest, b.largest, static_cast<double>(f.a_cols.size()), levels, alpha, adds))
    return Verdict::may_overflow;
  if (a.largest == 0 || b.largest == 0) return Verdict::sound;  // whatever is added up is zero
  // Where the caller has what is subnormal flushed to zero, sums of blocks are, too: that has to be rounded away beside
  // the largest elements.
  if (std::min(a.largest, b.largest) < std::ldexp(std::numeric_limits<R>::min(), std::numeric_limits<R>::digits))
    return Verdict::badly_scaled;
  const double to_a = unit(a.largest), to_b = unit(b.largest);
  const double least = a.largest * to_a * (b.largest * to_b) / scale_range;
  // Where blocks of A's rows meet blocks of B's columns.  One of zeros counts: it has to stay one.
  for (std::size_t i = 0; i < by_rows.groups; ++i)
    for (std::size_t j = 0; j < by_cols.groups; ++j) {
      double scale = 0;
      for (std::size_t p = 0; p < f.slices; ++p)
        scale = std::max(scale,
                         by_rows.floor[p * by_rows.groups + i] * to_a * (by_cols.floor[p * by_cols.groups + j] * to_b));
      if (scale < least) return Verdict::badly_scaled;
    }
  // Large columns of A that meet small rows of B: the largest terms are small beside max|A| max|B|.
  double largest_term = 0;
  for (std::size_t p = 0; p < f.a_cols.size(); ++p) {
    const double term = static_cast<double>(f.a_cols[p]) * to_a * (static_cast<double>(f.b_rows[p]) * to_b);
    largest_term = term > largest_term ? term : largest_term;
  }
  return largest_term >= least ? Verdict::sound : Verdict::badly_scaled;
}

template <class R>
Verdict judge_early(const Seen& seen, double k, int levels, double alpha, bool adds) {
  const QuietFloats quiet;
  if (!seen.finite || !std::isfinite(alpha)) return Verdict::not_finite;
  if (may_overflow<R>(seen.largest_a, seen.largest_b, k, levels, alpha, adds)) return Verdict::may_overflow;
  if (seen.largest_a == 0 || seen.largest_b == 0) return Verdict::sound;
  constexpr double rounding = 1e-9;  // what judge() rounds otherwise may not be certain
  return seen.scale < (1 - rounding) / scale_range ? Verdict::badly_scaled : Verdict::sound;
}

template <class R>
bool note_largest(std::span<const R> magnitudes, double& largest) {
  const QuietFloats quiet;
  Range<R> range;
  range.note(magnitudes);
  largest = std::max(largest, range.largest);
  return range.finite;
}

template Verdict judge_early<float>(const Seen&, double, int, double, bool);
template Verdict judge_early<double>(const Seen&, double, int, double, bool);
template bool note_largest(std::span<const float>, double&);
template bool note_largest(std::span<const double>, double&);
template Verdict judge(const Findings<float>&, int, double, bool);
template Verdict judge(const Findings<double>&, int, double, bool);

}  // namespace blaslift
