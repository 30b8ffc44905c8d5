#include "impl/guard.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace blaslift {
namespace {

constexpr std::size_t lanes = 8;  ///< so many numbers side by side, for the compiler to make vectors of

/// Of magnitudes.
template <class R>
struct Range {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  bool finite = true;

  explicit Range(std::span<const R> values) {
    constexpr R most = std::numeric_limits<R>::max();
    std::array<R, lanes> high{}, low, not_finite{};
    low.fill(std::numeric_limits<R>::infinity());
    const auto note = [&](std::size_t lane, R x) {
      high[lane] = x > high[lane] ? x : high[lane];
      low[lane] = x < low[lane] ? x : low[lane];
      not_finite[lane] = x <= most ? not_finite[lane] : R{1};
    };
    std::size_t i = 0;
    for (; i + lanes <= values.size(); i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) note(lane, values[i + lane]);
    for (; i < values.size(); ++i) note(0, values[i]);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      largest = std::max(largest, static_cast<double>(high[lane]));
      smallest = std::min(smallest, static_cast<double>(low[lane]));
      finite = finite && not_finite[lane] == 0;
    }
  }
};

/// A power of two that brings x near one; above zero.
double unit(double x) { return std::ldexp(1.0, std::clamp(-std::ilogb(x), -1022, 1023)); }

}  // namespace

template <class R>
Verdict judge(const Findings<R>& f, int levels, double alpha, bool adds) {
  const Range<R> a(f.a_rows), b(f.b_cols);
  if (!a.finite || !b.finite || !std::isfinite(alpha)) return Verdict::not_finite;
  // At each level, blocks of A and of B are sums of at most four; blocks of C, of at most seven products.  Logarithms:
  // double is not wider than R.
  const double k = static_cast<double>(f.a_cols.size());
  const double sums = 2.0 * levels, margin = 8;
  const double log_a = std::log2(a.largest) + sums, log_b = std::log2(b.largest) + sums;
  const double log_products = log_a + log_b + std::log2(k) + 3.0 * levels + std::max(0.0, std::log2(alpha));
  // What is so much smaller than the largest number that it is rounded away beside it makes no sum with it overflow.
  const double room = adds ? std::numeric_limits<R>::digits + 1 : 0;
  if (std::max({log_a, log_b, log_products + room}) + margin >= std::numeric_limits<R>::max_exponent)
    return Verdict::may_overflow;
  if (a.largest == 0 || b.largest == 0) return Verdict::sound;  // whatever is added up is zero
  // The smallest row meets the smallest column.  One of zeros counts: it has to stay one.
  if (a.smallest / a.largest * (b.smallest / b.largest) * scale_range < 1) return Verdict::badly_scaled;
  // Large columns of A that meet small rows of B: the largest terms are small beside max|A| max|B|.
  const double to_a = unit(a.largest), to_b = unit(b.largest);
  double largest_term = 0;
  for (std::size_t p = 0; p < f.a_cols.size(); ++p) {
    const double term = static_cast<double>(f.a_cols[p]) * to_a * (static_cast<double>(f.b_rows[p]) * to_b);
    largest_term = term > largest_term ? term : largest_term;
  }
  const bool sound = largest_term * scale_range >= a.largest * to_a * (b.largest * to_b);
  return sound ? Verdict::sound : Verdict::badly_scaled;
}

template Verdict judge(const Findings<float>&, int, double, bool);
template Verdict judge(const Findings<double>&, int, double, bool);

}  // namespace blaslift
