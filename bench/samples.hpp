// Random operands, and a check of sampled rows and columns of a product in higher precision, on the device (or, by
// bench/on_device.hpp, on the host).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/on_device.hpp"

namespace bench {

// ---- numbers

BENCH_BOTH inline std::uint64_t mixed(std::uint64_t z) {  // splitmix64
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Makes reals, a function of their place and the seed.
template <class R>
struct FillUniform {
  R* to;
  std::uint64_t seed;
  BENCH_BOTH void operator()(index i) const {
    const std::uint64_t bits = mixed((seed << 40) + (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u);
    to[i] = static_cast<R>(static_cast<double>(bits >> 11) * 0x1p-52 - 1);
  }
};

template <class R>
struct Fill {
  R *to, value;
  BENCH_BOTH void operator()(index i) const { to[i] = value; }
};

/// A matrix's elements by two coordinates.
template <class T>
struct View {
  const T* at;
  index x_step, y_step;
  bool conjugated;
  BENCH_BOTH T operator()(index x, index y) const {
    T value = at[x * x_step + y * y_step];
    if constexpr (is_complex<T>)
      if (conjugated) value.im = -value.im;
    return value;
  }
  View swapped() const { return {at, y_step, x_step, conjugated}; }
};

/// op(X) by row and column, X with `ld`.
template <class T>
View<T> view(const T* X, int ld, char op) {
  if (op == 'N') return {X, 1, ld, false};
  return {X, ld, 1, op == 'C'};
}

// ---- sums in higher precision

template <class R>
struct Sum;

/// Products of singles are exact in double.
template <>
struct Sum<float> {
  double s = 0;
  BENCH_BOTH void add(float a, float b) { s += static_cast<double>(a) * static_cast<double>(b); }
  BENCH_BOTH double minus(float x) const { return s - static_cast<double>(x); }
};

/// Double-double: Dekker's and Knuth's exact products and sums.
template <>
struct Sum<double> {
  double high = 0, low = 0;
  BENCH_BOTH void add(double a, double b) {
    const double product = rounded_product(a, b), product_low = fused(a, b, -product);
    const double sum = high + product, part = sum - high;
    const double sum_low = (high - (sum - part)) + (product - part);
    const double rest = low + (sum_low + product_low);
    high = sum + rest;
    low = rest - (high - sum);
  }
  BENCH_BOTH double minus(double x) const { return (high - x) + low; }
};

template <class T>
struct WideSum {
  Sum<T> s;
  BENCH_BOTH void add(T a, T b) { s.add(a, b); }
  BENCH_BOTH double distance(T x) const { return fabs(s.minus(x)); }
};
template <class R>
struct WideSum<Complex<R>> {
  Sum<R> re, im;
  BENCH_BOTH void add(Complex<R> a, Complex<R> b) {
    re.add(a.re, b.re);
    re.add(-a.im, b.im);
    im.add(a.re, b.im);
    im.add(a.im, b.re);
  }
  BENCH_BOTH double distance(Complex<R> x) const { return hypot(re.minus(x.re), im.minus(x.im)); }
};

// ---- samples

inline constexpr int sampled = 8;
inline constexpr double no_number = 1e99;  // JSON has no infinity

/// The first, the last, and some between: where blocks meet is anywhere.
struct Places {
  index at[sampled];
};
inline Places places(index count, std::uint64_t seed) {
  Places p{{0, count - 1}};
  for (int s = 2; s < sampled; ++s)
    p.at[s] = static_cast<index>(mixed(seed * 64 + static_cast<std::uint64_t>(s)) % static_cast<std::uint64_t>(count));
  return p;
}

/// Copies the sampled rows of `from`, one entry of each after the other.
template <class T>
struct Gather {
  View<T> from;
  Places rows;
  T* to;
  BENCH_BOTH void operator()(index y) const {
    for (int s = 0; s < sampled; ++s) to[s + y * sampled] = from(rows.at[s], y);
  }
};

struct Finding {
  double ours, others, size;  ///< largest errors, largest entry
};

BENCH_BOTH inline void take_larger(double& most, double x) {
  if (!(x < no_number)) x = no_number;
  if (x > most) most = x;
}

/// Entry y of each sampled row of C: sum over l of fixed(row, l) * moving(l, y), plus what there was.  A column of C is
/// a row of its transpose, with A and B in each other's place.
template <class T>
struct Compare {
  View<T> moving;
  index k;
  const T *fixed, *before;
  typename Real<T>::type beta;
  const T *ours, *others;
  Finding* found;
  BENCH_BOTH void operator()(index y) const {
    WideSum<T> sums[sampled];
    for (index l = 0; l < k; ++l) {
      const T b = moving(l, y);
      for (int s = 0; s < sampled; ++s) sums[s].add(fixed[s + l * sampled], b);
    }
    Finding finding{};
    for (int s = 0; s < sampled; ++s) {
      const index i = s + y * sampled;
      if (beta != 0) {
        sums[s].add(T{beta}, before[i]);
      }
      take_larger(finding.ours, sums[s].distance(ours[i]));
      take_larger(finding.others, sums[s].distance(others[i]));
      take_larger(finding.size, sums[s].distance(T{}));
    }
    found[y] = finding;
  }
};

/// The rows or the columns of C that are looked at.
template <class T>
class Samples {
 public:
  /// @param C        k and all places as in Compare; a view of C, transposed for columns
  Samples(const View<T>& fixed, const View<T>& moving, const View<T>& C, index rows, index cols, index k,
          std::uint64_t seed)
      : fixed_from_(fixed),
        moving_(moving),
        c_(C),
        rows_(places(rows, seed)),
        cols_(cols),
        k_(k),
        fixed_(sampled * k),
        before_(sampled * cols),
        ours_(sampled * cols),
        others_(sampled * cols),
        found_(cols) {}

  void take_before() { take(before_); }
  void take_ours() { take(ours_); }
  void take_others() { take(others_); }

  Finding compare(double beta) {
    for_each(k_, Gather<T>{fixed_from_, rows_, fixed_.get()});
    for_each(cols_, Compare<T>{moving_, k_, fixed_.get(), before_.get(), static_cast<typename Real<T>::type>(beta),
                               ours_.get(), others_.get(), found_.get()});
    finish();
    std::vector<Finding> found(static_cast<std::size_t>(cols_));
    bring(found.data(), found_.get(), found_.bytes());
    Finding worst{};
    for (const Finding& f : found)
      take_larger(worst.ours, f.ours), take_larger(worst.others, f.others), take_larger(worst.size, f.size);
    return worst;
  }

 private:
  void take(const Array<T>& to) {
    for_each(cols_, Gather<T>{c_, rows_, to.get()});
    finish();
  }

  View<T> fixed_from_, moving_, c_;
  Places rows_;
  index cols_, k_;
  Array<T> fixed_, before_, ours_, others_;
  Array<Finding> found_;
};

// ---- times

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Linear between the values.  `part` below 1.
inline double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double above = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (place - static_cast<double>(below)) * (above - values[below]);
}

}  // namespace bench
