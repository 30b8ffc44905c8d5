#include "impl/product/glance.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <span>
#include <vector>

#include "impl/core/quiet_floats.hpp"

namespace blaslift {
namespace {

/// Rows of op(A), or columns of op(B): as many as there are, each with an element for every k.
template <class T>
struct Lines {
  const T* at;
  index count, k;
  index to_next, along;  ///< elements from a line to the next, and from one of its elements to the next

  const T& element(index line, index p) const { return at[line * to_next + p * along]; }
};

/// A largest magnitude, as surveys note it: of complex numbers that of their parts.  NaN counts as infinity.
struct Largest {
  double value = 0;
  void note(double part) {
    const double x = std::isnan(part) ? std::numeric_limits<double>::infinity() : std::abs(part);
    if (x > value) value = x;
  }
  void note(float part) { note(static_cast<double>(part)); }
  template <class R>
  void note(const std::complex<R>& x) {
    note(x.real());
    note(x.imag());
  }
};

constexpr index most_groups = 32;   ///< of which each names a line
constexpr index neighbours = 8;     ///< of each line, which waits for memory once
constexpr index samples = 16;       ///< of each line, to find the smallest
constexpr index slice_samples = 8;  ///< of a slice of a named line

/// One operand.
template <class T>
class Glimpsed {
 public:
  Glimpsed(const Lines<T>& lines, index slice, index slices) : lines_(lines), slice_(slice), slices_(slices) {
    name(by_samples());
    for (std::size_t named = 0; named < named_.size(); ++named) note_some(named);
  }

  std::size_t named() const { return named_.size(); }
  double largest() const { return largest_; }
  /// The largest that has been seen of a named line, by slices.
  std::span<const double> by_slices(std::size_t named) const {
    return {found_.data() + named * static_cast<std::size_t>(slices_), static_cast<std::size_t>(slices_)};
  }
  /// All of a named line.
  void look(std::size_t named) {
    for (index p = 0; p < slices_; ++p) {
      Largest all;
      for (index at = begin(p); at < begin(p + 1); ++at) all.note(lines_.element(named_[named], at));
      found(named, p) = all.value;
      largest_ = std::max(largest_, all.value);
    }
  }

 private:
  index begin(index p) const { return p == slices_ ? lines_.k : p * slice_; }

  /// The largest of some elements of each line.
  std::vector<double> by_samples() {
    std::vector<double> seen(static_cast<std::size_t>(lines_.count));
    const index count = std::min(lines_.along == 1 ? neighbours : samples, lines_.k);
    const auto note_one = [&](index line, index p) {
      double& x = seen[static_cast<std::size_t>(line)];
      Largest largest{x};
      largest.note(lines_.element(line, p));
      x = largest.value;
    };
    if (lines_.along == 1) {  // a few neighbours of each, somewhere else in each
      constexpr index stride = 40503;
      for (index line = 0; line < lines_.count; ++line) {
        const index from = line % lines_.k * stride % (lines_.k - count + 1);
        for (index s = 0; s < count; ++s) note_one(line, from + s);
      }
    } else {  // lines that lie side by side
      for (index s = 0; s < count; ++s)
        for (index line = 0; line < lines_.count; ++line) note_one(line, (2 * s + 1) * lines_.k / (2 * count));
    }
    for (const double x : seen) largest_ = std::max(largest_, x);
    return seen;
  }

  /// The smallest of each group.
  void name(const std::vector<double>& seen) {
    const index group = std::max(std::min(slice_, lines_.count), (lines_.count + most_groups - 1) / most_groups);
    for (index from = 0; from < lines_.count; from += group) {
      const auto first = seen.begin() + from, last = seen.begin() + std::min(from + group, lines_.count);
      named_.push_back(static_cast<index>(std::min_element(first, last) - seen.begin()));
    }
    found_.resize(named_.size() * static_cast<std::size_t>(slices_));
  }

  /// Of a named line, some elements of each slice.
  void note_some(std::size_t named) {
    for (index p = 0; p < slices_; ++p) {
      const index size = begin(p + 1) - begin(p), count = std::min(slice_samples, size);
      Largest x;
      for (index s = 0; s < count; ++s)
        x.note(lines_.element(named_[named], begin(p) + (2 * s + 1) * size / (2 * count)));
      found(named, p) = x.value;
      largest_ = std::max(largest_, x.value);
    }
  }

  double& found(std::size_t named, index p) {
    return found_[named * static_cast<std::size_t>(slices_) + static_cast<std::size_t>(p)];
  }

  const Lines<T> lines_;
  const index slice_, slices_;
  double largest_ = 0;
  std::vector<index> named_;
  std::vector<double> found_;  ///< named lines, slice by slice
};

/// A row of op(A) and a column of op(B).
struct Pair {
  std::size_t row, col;
  double scale;
};

template <class T>
struct Both {
  Glimpsed<T> a, b;

  /// The larger magnitudes of a pair in one slice, multiplied; relative to the largest of all that is seen.
  double scale(std::size_t row, std::size_t col) const {
    const auto relative = [](double x, double largest) { return largest > 0 ? x / largest : 0; };
    const auto by_row = a.by_slices(row), by_col = b.by_slices(col);
    double largest = 0;
    for (std::size_t p = 0; p < by_row.size(); ++p)
      largest = std::max(largest, relative(by_row[p], a.largest()) * relative(by_col[p], b.largest()));
    return largest;
  }
  bool finite() const { return std::isfinite(a.largest()) && std::isfinite(b.largest()); }
  Seen seen(double scale) const { return {a.largest(), b.largest(), finite(), scale}; }

  /// Those that seem to be the smallest.
  std::vector<Pair> smallest() const {
    constexpr std::size_t most = 4;
    std::vector<Pair> pairs;
    for (std::size_t row = 0; row < a.named(); ++row)
      for (std::size_t col = 0; col < b.named(); ++col) pairs.push_back({row, col, scale(row, col)});
    const std::size_t count = std::min(most, pairs.size());
    std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(count), pairs.end(),
                      [](const Pair& x, const Pair& y) { return x.scale < y.scale; });
    pairs.resize(count);
    return pairs;
  }
};

}  // namespace

template <class T>
Seen glance(const GemmArgs<T>& args, index slice, index slices) {
  const QuietFloats quiet;
  const auto lines = [&](const T* at, index ld, index count, bool side_by_side) {
    return Lines<T>{at, count, args.k, side_by_side ? 1 : ld, side_by_side ? ld : 1};
  };
  Both<T> both{{lines(args.A, args.lda, args.m, args.transa == Op::none), slice, slices},
               {lines(args.B, args.ldb, args.n, args.transb != Op::none), slice, slices}};
  if (!both.finite()) return both.seen(1);
  // What some elements make small may be so or not: all of the row and the column says.
  const std::vector<Pair> pairs = both.smallest();
  const Pair* least = nullptr;
  for (const Pair& pair : pairs) {
    if (pair.scale >= 1 / scale_range || (least && both.scale(least->row, least->col) < 0.5 / scale_range)) break;
    both.a.look(pair.row);
    both.b.look(pair.col);
    if (!both.finite()) return both.seen(1);
    if (!least || both.scale(pair.row, pair.col) < both.scale(least->row, least->col)) least = &pair;
  }
  return least ? both.seen(both.scale(least->row, least->col)) : both.seen(std::numeric_limits<double>::infinity());
}

#define GEMM(name, type) template Seen glance(const GemmArgs<type>&, index, index);
#include "api/routines.def"

}  // namespace blaslift
