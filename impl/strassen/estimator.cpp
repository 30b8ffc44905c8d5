#include "impl/strassen/estimator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>

namespace blaslift::strassen {
namespace {

/// No product is cheaper for being thinner than this: cuBLAS's kernels compute blocks of C at least about so wide.  An
/// assumption, not measured.
constexpr double thinnest = 32;

/// Tilings of a dimension into the fewest tiles that fit and up to this many more are looked at.  With two more, single
/// shapes came out 8 % slower than by the best of all tiles, with six 2 %.
constexpr index further_cuts = 6;

/// Passes of C := C + E where a level has none with E: twelve quarter blocks, one step.
constexpr int sum_passes = 12;

double volume(const Shape& s) { return static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k); }

/// Seconds that one level saves, Gemm(x) - strassen(x), as a polynomial in x.
Polynomial saving(const Times& times) {
  Polynomial p;
  double scale = 1;
  for (std::size_t i = 0; i < p.c.size(); ++i, scale /= 2)
    p.c[i] = times.gemm.c[i] - scale * (7 * times.gemm.c[i] + 15 * times.geam.c[i]);
  return p;
}

/// Interpolated in the log of the size; below the smallest measured it falls with the size, above the largest it stays.
double rate(const std::vector<Point>& by_log, double log_size) {
  const Point &first = by_log.front(), &last = by_log.back();
  if (log_size <= first.size) return first.value * std::exp(log_size - first.size);
  if (log_size >= last.size) return last.value;
  const auto above = std::upper_bound(by_log.begin(), by_log.end(), log_size,
                                      [](double x, const Point& point) { return x < point.size; });
  const Point& below = above[-1];
  return below.value + (above->value - below.value) * (log_size - below.size) / (above->size - below.size);
}

/// What products with these transposes make by the log of their size: as those without do, whose sizes are many and
/// whose kernels fill the device as badly at the same ones, times what the few sizes say that both have.
std::vector<Point> rates_by_log(const Rates& rates, std::size_t transposes) {
  std::vector<Point> all;
  for (const Point& p : rates.product) all.push_back({std::log(p.size), p.value});
  if (transposes == 0 || rates.transposed[transposes - 1].empty()) return all;
  std::vector<Point> proportions;
  for (const Point& p : rates.transposed[transposes - 1]) {
    const double log_size = std::log(p.size);
    proportions.push_back({log_size, p.value / rate(all, log_size)});
  }
  for (Point& p : all) {
    const double inside = std::clamp(p.size, proportions.front().size, proportions.back().size);
    p.value *= rate(proportions, inside);
  }
  return all;
}

/// What a level does at one depth.
struct Form {
  int passes = 0, pass_steps = 0;
  int products[2] = {0, 0};  ///< without and with E
};

Form form_of(const Level& level) {
  Form form{.passes = passes(level)};
  for (const Step& s : level.steps)
    if (s.is_product())
      ++form.products[s.e != none];
    else
      ++form.pass_steps;
  return form;
}

}  // namespace

std::optional<Fit> fit(const std::vector<Point>& points, int degree, std::string& problem) {
  const auto columns = static_cast<std::size_t>(degree) + 1;
  double largest = 0;
  std::vector<double> sizes;
  for (const Point& p : points) {
    if (!std::isfinite(p.size) || !std::isfinite(p.value)) return problem = "a point is not finite", std::nullopt;
    largest = std::max(largest, std::fabs(p.size));
    sizes.push_back(p.size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() < columns)
    return problem = std::to_string(columns) + " different sizes are needed, there are " + std::to_string(sizes.size()),
           std::nullopt;

  // Modified Gram-Schmidt on the powers and, as one more column, the values: as stable as Householder's reflections
  // where the values go along.  Sizes are scaled to at most 1, or the powers would differ by twelve digits.
  const long double scale = largest > 0 ? largest : 1;
  std::vector<std::vector<long double>> q(columns + 1, std::vector<long double>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    long double power = 1;
    for (std::size_t j = 0; j < columns; ++j, power *= points[i].size / scale) q[j][i] = power;
    q[columns][i] = points[i].value;
  }
  auto dot = [](const std::vector<long double>& x, const std::vector<long double>& y) {
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  };
  std::array<std::array<long double, 5>, 4> r{};
  for (std::size_t j = 0; j < columns; ++j) {
    long double before = 0;
    for (std::size_t i = 0; i < j; ++i) before += r[i][j] * r[i][j];
    r[j][j] = std::sqrt(dot(q[j], q[j]));
    // Half of the digits: what is left of a power that the smaller ones nearly are says nothing of it.
    if (r[j][j] <= 1e-9L * std::sqrt(before)) return problem = "the sizes are too close together", std::nullopt;
    for (long double& x : q[j]) x /= r[j][j];
    for (std::size_t l = j + 1; l <= columns; ++l) {
      r[j][l] = dot(q[j], q[l]);
      for (std::size_t i = 0; i < points.size(); ++i) q[l][i] -= r[j][l] * q[j][i];
    }
  }
  std::array<long double, 4> c{};
  for (std::size_t j = columns; j-- > 0;) {
    c[j] = r[j][columns];
    for (std::size_t l = j + 1; l < columns; ++l) c[j] -= r[j][l] * c[l];
    c[j] /= r[j][j];
  }

  Fit result{.polynomial = {}, .sse = static_cast<double>(dot(q[columns], q[columns])), .r_square = 1};
  long double unit = 1, mean = 0, variation = 0;
  for (std::size_t j = 0; j < columns; ++j, unit *= scale) result.polynomial.c[j] = static_cast<double>(c[j] / unit);
  for (const Point& p : points) mean += p.value / static_cast<long double>(points.size());
  for (const Point& p : points) variation += (p.value - mean) * (p.value - mean);
  if (variation > 0) result.r_square = static_cast<double>(1 - result.sse / variation);
  return result;
}

Times otsuka_times(const Peaks& peaks, Precision precision) {
  const bool complex = is_complex(precision);
  Times times;
  times.gemm.c[3] = (complex ? 8 : 2) / peaks.flops_per_second;
  times.gemm.c[2] = -(complex ? 2 : 1) / peaks.flops_per_second;
  times.geam.c[2] = 3 * static_cast<double>(element_size(precision)) / peaks.bytes_per_second;
  return times;
}

double otsuka_crossover(const Peaks& peaks, Precision precision) {
  // saving() has no terms but a x^3 - b x^2.
  const Polynomial p = saving(otsuka_times(peaks, precision));
  return -p.c[2] / p.c[3];
}

double strassen_seconds(const Times& times, double x, int level) {
  if (level == 0) return times.gemm(x);
  return 15 * times.geam(x / 2) + 7 * strassen_seconds(times, x / 2, level - 1);
}

double speedup(const Times& times, double x) { return times.gemm(x) / strassen_seconds(times, x, 1); }

std::vector<double> crossings(const Times& times, double from, double to) {
  const Polynomial p = saving(times);
  // Between its extrema a cubic passes zero at most once.
  std::vector<double> ends{from, to};
  const double a = 3 * p.c[3], half_b = p.c[2], c = p.c[1], discriminant = half_b * half_b - a * c;
  if (discriminant > 0) {
    const double s = -(half_b + std::copysign(std::sqrt(discriminant), half_b));  // no cancellation
    if (a != 0) ends.push_back(s / a);
    if (s != 0) ends.push_back(c / s);
  }
  std::erase_if(ends, [&](double x) { return !(x >= from && x <= to); });
  std::sort(ends.begin(), ends.end());

  std::vector<double> found;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    double low = ends[i], high = ends[i + 1];
    const bool before = p(low) > 0;
    if (before == (p(high) > 0)) continue;
    for (double middle; middle = low + (high - low) / 2, middle > low && middle < high;)
      ((p(middle) > 0) == before ? low : high) = middle;
    found.push_back(high);
  }
  return found;
}

std::optional<double> crossover(const Times& times, double from, double to) {
  if (!(saving(times)(to) > 0)) return std::nullopt;
  const std::vector<double> all = crossings(times, from, to);
  return all.empty() ? from : all.back();
}

int level_by_doubling(double size, double crossover, int max_level) {
  int level = 0;
  for (double bound = crossover; level < max_level && size >= bound; bound *= 2) ++level;
  return level;
}

std::string check(const Rates& rates) {
  auto positive = [](double x) { return std::isfinite(x) && x > 0; };
  if (rates.product.empty()) return "no rate of products";
  for (const std::vector<Point>* product :
       {&rates.product, &rates.transposed[0], &rates.transposed[1], &rates.transposed[2]})
    for (std::size_t i = 0; i < product->size(); ++i) {
      const Point& p = (*product)[i];
      if (!positive(p.size) || !positive(p.value)) return "a product's size or rate is not positive";
      if (i > 0 && p.size <= (*product)[i - 1].size) return "the products' sizes do not ascend";
    }
  if (!positive(rates.pass_bytes_per_second)) return "the rate of passes is not positive";
  if (!(std::isfinite(rates.step_seconds) && rates.step_seconds >= 0)) return "the price of a step is negative";
  return {};
}

/// Programs ask for few shapes, and again and again.  Nobody waits: a child forked meanwhile would for ever.
class Estimator::Memory {
 public:
  bool find(const Shape& shape, index most_tile, Choice& choice) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    const Entry& entry = place(shape, most_tile);
    if (entry.most_tile != most_tile || entry.shape != shape) return false;
    return choice = entry.choice, true;
  }
  void keep(const Shape& shape, index most_tile, const Choice& choice) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) place(shape, most_tile) = {shape, most_tile, choice};
  }

 private:
  struct Entry {
    Shape shape{};
    index most_tile = 0;
    Choice choice{};
  };

  Entry& place(const Shape& s, index most_tile) noexcept {
    std::uint64_t hash = 2 * static_cast<std::uint64_t>(s.transposes) + s.beta_zero;
    for (const index x : {s.m, s.n, s.k, most_tile})
      hash = (hash ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
    return entries_[hash >> 57];
  }

  std::mutex mutex_;
  std::array<Entry, 128> entries_{};
};

Estimator::Estimator(Model model, Precision precision, const Inputs& inputs, const Tuning& tuning)
    : model_(model),
      tuning_(tuning),
      memory_(std::make_shared<Memory>()),
      element_(static_cast<double>(element_size(precision))),
      flops_(is_complex(precision) ? 8 : 2),
      pass_rate_(inputs.rates.pass_bytes_per_second),
      step_seconds_(inputs.rates.step_seconds),
      times_(model == Model::otsuka ? otsuka_times(inputs.peaks, precision) : inputs.times) {
  tuning_.max_level = std::clamp(tuning.max_level, 0, deepest);
  if (model != Model::ours) {
    crossover_ = crossover();
    return;
  }
  for (std::size_t t = 0; t < transposes_count; ++t) by_log_[t] = rates_by_log(inputs.rates, t);

  const Level& level = *tuning.level;
  const Form plain = form_of(level);
  Form with_e = plain;
  if (level.with_e)
    with_e = form_of(*level.with_e);
  else
    with_e.passes += sum_passes, ++with_e.pass_steps;
  leaves_[0] = 1;
  work_[0][0] = work_[1][0] = {.area = 0, .steps = 1};  // a leaf's E comes with the product
  for (std::size_t l = 1; l < leaves_.size(); ++l) {
    leaves_[l] = leaves_[l - 1] * (plain.products[0] + plain.products[1]);
    for (const bool e : {false, true}) {
      const Form& form = e ? with_e : plain;
      const Work &below = work_[0][l - 1], &below_with_e = work_[1][l - 1];
      work_[e][l] = {.area = (form.passes + form.products[0] * below.area + form.products[1] * below_with_e.area) / 4,
                     .steps = form.pass_steps + form.products[0] * below.steps + form.products[1] * below_with_e.steps};
    }
  }
}

double Estimator::classical_seconds(const Shape& of, double m, double n, double k, bool reads_c) const noexcept {
  const std::vector<Point>& rates = by_log_[static_cast<std::size_t>(of.transposes)];
  const double multiply_adds = std::max(m, thinnest) * std::max(n, thinnest) * std::max(k, thinnest);
  const double bytes = element_ * (m * k + k * n + (reads_c ? 2 : 1) * m * n);
  return step_seconds_ +
         std::max(flops_ * multiply_adds / rate(rates, std::log(multiply_adds) / 3), bytes / pass_rate_);
}

double Estimator::tile_seconds(const Shape& of, int level, double tile, bool adds) const noexcept {
  const auto l = static_cast<std::size_t>(level);
  const double leaf = std::ldexp(tile, -level);
  const Work& work = work_[adds][l];
  return leaves_[l] * flops_ * leaf * leaf * leaf /
             rate(by_log_[static_cast<std::size_t>(of.transposes)], std::log(leaf)) +
         work.area * tile * tile * element_ / pass_rate_ + work.steps * step_seconds_;
}

double Estimator::seconds(const Shape& s, int level, index tile) const noexcept {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  if (model_ != Model::ours) {
    const double everything = times_.gemm(std::cbrt(volume(s)));
    if (level == 0) return everything;
    const auto t = static_cast<double>(tile);
    const double tiles = volume({s.m / tile, s.n / tile, s.k / tile});
    return tiles * strassen_seconds(times_, t, level) + everything * (1 - tiles * t * t * t / volume(s));
  }

  if (level == 0) return classical_seconds(s, m, n, k, !s.beta_zero);
  const auto t = static_cast<double>(tile);
  // Along k, all tile products but the first add to what is there, and the first where C does.
  const double columns_of_tiles = volume({s.m / tile, s.n / tile, 1}), along_k = static_cast<double>(s.k / tile),
               plain = s.beta_zero ? 1 : 0;
  // A and B are surveyed once (impl/product/guard.hpp), slice by slice, which takes a few more steps there and back.
  const double survey_steps = 10 + 2 * std::exp2(level) * along_k;
  double sum = tuning_.surveyed ? survey_steps * step_seconds_ + element_ * (m * k + k * n) / pass_rate_ : 0;
  if (plain > 0) sum += columns_of_tiles * tile_seconds(s, level, t, false);
  if (along_k > plain) sum += columns_of_tiles * (along_k - plain) * tile_seconds(s, level, t, true);
  const auto rest_m = static_cast<double>(s.m % tile), rest_n = static_cast<double>(s.n % tile),
             rest_k = static_cast<double>(s.k % tile);
  if (rest_n > 0) sum += classical_seconds(s, m, rest_n, k, !s.beta_zero);
  if (rest_m > 0) sum += classical_seconds(s, rest_m, n - rest_n, k, !s.beta_zero);
  if (rest_k > 0) sum += classical_seconds(s, m - rest_m, n - rest_n, rest_k, true);
  return sum;
}

Choice Estimator::best_tiling(const Shape& s, index most_tile) const noexcept {
  const index dimensions[] = {s.m, s.n, s.k};
  const index smallest = std::min({s.m, s.n, s.k, most_tile});
  const Choice classical{0, 0, seconds(s, 0, 0)};
  Choice best = classical;
  double to_beat = classical.seconds * (1 - tuning_.margin);
  for (int level = 1; level <= tuning_.max_level; ++level) {
    const index unit = tuning_.alignment << level, largest = smallest / unit * unit;
    if (largest == 0) break;
    // Of all tiles with the same grid the largest is the best: it leaves the least and has the fewest passes a flop.
    // It is as large as it is for one of the dimensions' sake.
    for (const index* d = dimensions; d != std::end(dimensions); ++d) {
      if (std::find(dimensions, d, *d) != d) continue;
      index before = 0;
      for (index parts = *d / largest; parts <= *d / largest + further_cuts; ++parts) {
        const index tile = std::min(largest, *d / parts / unit * unit);
        if (tile == 0) break;
        if (tile == before) continue;
        before = tile;
        const double predicted = seconds(s, level, tile);
        if (predicted < to_beat) best = {level, tile, to_beat = predicted};
      }
    }
  }
  return best;
}

Choice Estimator::by_smallest(const Shape& s, index most_tile) const noexcept {
  const index smallest = std::min({s.m, s.n, s.k, most_tile});
  int level = crossover_ ? level_by_doubling(static_cast<double>(smallest), *crossover_, tuning_.max_level) : 0;
  while (level > 0 && smallest < tuning_.alignment << level) --level;
  const index unit = tuning_.alignment << level, tile = level > 0 ? smallest / unit * unit : 0;
  return {level, tile, seconds(s, level, tile)};
}

Choice Estimator::choose(const Shape& shape, index most_tile) const noexcept {
  return model_ == Model::ours ? best_tiling(shape, most_tile) : by_smallest(shape, most_tile);
}

Choice Estimator::estimate(const Shape& shape, index most_tile) const noexcept {
  Choice choice;
  if (memory_->find(shape, most_tile, choice)) return choice;
  choice = choose(shape, most_tile);
  memory_->keep(shape, most_tile, choice);
  return choice;
}

std::optional<double> Estimator::crossover(double limit) const {
  if (model_ != Model::ours) return strassen::crossover(times_, 1, limit);
  const index unit = 2 * tuning_.alignment;
  index size = static_cast<index>(limit) / unit * unit;
  auto by_levels = [&](index n) { return estimate({n, n, n}).level > 0; };
  if (size == 0 || !by_levels(size)) return std::nullopt;
  while (size > unit && by_levels(size - unit)) size -= unit;
  return static_cast<double>(size);
}

}  // namespace blaslift::strassen
