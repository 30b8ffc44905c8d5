// From rates to levels and tiles: the fits, the two models of the papers with the numbers that they print, and ours
// against a price list written down here once more and against the best of all tiles.
#include "impl/strassen/estimator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

namespace blaslift::strassen {

void PrintTo(const Choice& c, std::ostream* out) {
  *out << "level " << c.level << ", tile " << c.tile << ", " << c.seconds << " s";
}
void PrintTo(const Shape& s, std::ostream* out) {
  *out << s.m << " x " << s.n << " x " << s.k << (s.beta_zero ? "" : ", beta");
}

namespace estimator_tests {
namespace {

constexpr Precision precisions[] = {Precision::s, Precision::d, Precision::c, Precision::z};

// Fits.

std::vector<Point> sampled(const Polynomial& p, const std::vector<double>& sizes) {
  std::vector<Point> points;
  for (const double x : sizes) points.push_back({x, p(x)});
  return points;
}

const std::vector<double> thesis_sizes{512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 40960};

TEST(EstimatorFit, RecoversPolynomials) {
  const Polynomial original{{4e-4, -4e-8, 3.8e-11, 4.3e-13}};
  for (int degree = 0; degree <= 3; ++degree) {
    Polynomial p = original;
    for (int i = degree + 1; i <= 3; ++i) p.c[static_cast<std::size_t>(i)] = 0;
    std::string problem;
    const std::optional<Fit> found = fit(sampled(p, thesis_sizes), degree, problem);
    ASSERT_TRUE(found) << problem;
    // The values carry 16 digits, of which the lowest powers lose those by which the highest exceeds them: seven.
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found->polynomial.c[i], p.c[i], std::fabs(p.c[i]) * 1e-8) << i;
    EXPECT_NEAR(found->r_square, 1, 1e-12);
  }
}

TEST(EstimatorFit, IsTheLeastSquares) {
  // By hand: a line through (0, 0), (1, 1), (2, 1) is 1/6 + x/2, with residuals -1/6, 1/3, -1/6; the mean is 2/3.
  std::string problem;
  const std::optional<Fit> line = fit({{0, 0}, {1, 1}, {2, 1}}, 1, problem);
  ASSERT_TRUE(line) << problem;
  EXPECT_NEAR(line->polynomial.c[0], 1 / 6., 1e-15);
  EXPECT_NEAR(line->polynomial.c[1], 1 / 2., 1e-15);
  EXPECT_NEAR(line->sse, 1 / 6., 1e-15);
  EXPECT_NEAR(line->r_square, 1 - (1 / 6.) / (2 / 3.), 1e-15);

  // At the minimum no coefficient's change helps.
  std::mt19937 bits(4);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  std::vector<Point> points = sampled({{1e-4, 0, 1e-10, 4e-13}}, thesis_sizes);
  for (Point& p : points) p.value *= noise(bits);
  const std::optional<Fit> cubic = fit(points, 3, problem);
  ASSERT_TRUE(cubic) << problem;
  auto sse = [&](const Polynomial& p) {
    double sum = 0;
    for (const Point& point : points) sum += std::pow(p(point.size) - point.value, 2);
    return sum;
  };
  EXPECT_NEAR(sse(cubic->polynomial), cubic->sse, cubic->sse * 1e-9);
  for (std::size_t i = 0; i < 4; ++i)
    for (const double change : {-1e-3, 1e-3}) {
      Polynomial p = cubic->polynomial;
      p.c[i] *= 1 + change;
      EXPECT_GT(sse(p), cubic->sse) << i;
    }
}

TEST(EstimatorFit, SaysWhyThereIsNone) {
  auto problem_of = [](const std::vector<Point>& points) {
    std::string problem;
    EXPECT_FALSE(fit(points, 3, problem));
    return problem;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(problem_of({}), "4 different sizes are needed, there are 0");
  EXPECT_EQ(problem_of({{1, 1}, {2, 1}, {3, 1}, {3, 2}, {2, 2}}), "4 different sizes are needed, there are 3");
  EXPECT_EQ(problem_of({{1, 1}, {2, 1}, {3, 1}, {4, infinity}}), "a point is not finite");
  EXPECT_EQ(problem_of({{1, 1}, {2, 1}, {3, 1}, {std::nan(""), 1}}), "a point is not finite");
  EXPECT_EQ(problem_of({{9000, 1}, {9000.001, 1}, {9000.002, 1}, {9000.003, 2}}), "the sizes are too close together");
}

// The thesis.

/// Table 4.2, highest power first as printed.  Printed in milliseconds: otherwise cuBLAS would have run at Gflop/s.
Times printed(std::array<double, 4> gemm, std::array<double, 3> geam) {
  Times times;
  for (std::size_t i = 0; i < 4; ++i) times.gemm.c[i] = 1e-3 * gemm[3 - i];
  for (std::size_t i = 0; i < 3; ++i) times.geam.c[i] = 1e-3 * geam[2 - i];
  return times;
}
const Times a100 = printed({1.015e-10, 6.727e-08, 4.789e-04, 0.9884}, {1.386e-08, 5.026e-06, 0.03578});
const Times v100 = printed({2.79e-10, 1.15e-08, -0.0008513, 1.6940}, {1.385e-08, 5.042e-06, 0.03585});
const Times p100 = printed({4.347e-10, 3.821e-08, -3.907e-05, 0.4332}, {4.269e-08, 5.093e-07, 0.01638});
constexpr double largest_measured = 40960;

TEST(EstimatorThesis, TableOfTheP100GivesItsCrossover) {
  const std::optional<double> found = crossover(p100, 512, 16384);
  ASSERT_TRUE(found);
  EXPECT_GT(*found, 5127);
  EXPECT_LT(*found, 5128);  // printed: 5,128
  EXPECT_NEAR(speedup(p100, *found), 1, 1e-12);
  EXPECT_LT(speedup(p100, 5000), 1);
  EXPECT_GT(speedup(p100, 5250), 1);
}

TEST(EstimatorThesis, TablesOfA100AndV100DoNot) {
  // Printed: 6,342 and 5,087.
  const std::optional<double> a = crossover(a100, 512, largest_measured), v = crossover(v100, 512, largest_measured);
  ASSERT_TRUE(a && v);
  EXPECT_NEAR(*a, 16090.9, 0.1);
  EXPECT_NEAR(*v, 4317.05, 0.01);
  EXPECT_NEAR(speedup(a100, 6342), 0.682, 5e-4);
  EXPECT_NEAR(speedup(v100, 5087), 1.094, 5e-4);
  // The V100's sums cannot be the V100's: they move three elements at twice its 900 GB/s, just as the A100's do.
  EXPECT_NEAR(3 * 8 / v100.geam.c[2], 1.733e12, 1e9);
  EXPECT_NEAR(3 * 8 / a100.geam.c[2], 1.732e12, 1e9);
}

TEST(EstimatorThesis, SeveralCrossingsOneOrNone) {
  // saving(x) = (x - 1000) (x - 2000) (x - 4000), in ps, with positive times.
  Times three;
  three.gemm.c = {0, 0, 0, 8e-12};
  three.geam.c = {8e-3 / 15, -2 * 14e-6 / 15, 4 * 7e-9 / 15, 0};
  const std::vector<double> found = crossings(three, 1, 1e5);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0], 1000, 1e-6);
  EXPECT_NEAR(found[1], 2000, 1e-6);
  EXPECT_NEAR(found[2], 4000, 1e-6);
  EXPECT_NEAR(crossover(three, 1, 1e5).value(), 4000, 1e-6);
  EXPECT_NEAR(crossover(three, 1, 1500).value(), 1000, 1e-6) << "as far as is known";
  EXPECT_FALSE(crossover(three, 1, 3000)) << "slower again";
  EXPECT_EQ(crossover(three, 1200, 1800), 1200) << "always faster";
  EXPECT_FALSE(crossover(three, 2500, 3000)) << "never";
  EXPECT_EQ(crossings(three, 1500, 3000).size(), 1u);

  Times never = three;
  never.gemm.c[3] = 0;
  never.gemm.c[0] = 1;  // constant time: seven are slower than one
  EXPECT_FALSE(crossover(never, 1, 1e6));
  EXPECT_TRUE(crossings(never, 1, 1e6).empty());
  EXPECT_FALSE(crossover({}, 1, 1e6)) << "nothing known";
}

TEST(EstimatorThesis, LevelsDouble) {
  const double p = 5128;
  const std::vector<std::pair<double, int>> expected{{0, 0},     {p - 1, 0},     {p, 1},       {2 * p - 1, 1},
                                                     {2 * p, 2}, {4 * p - 1, 2}, {4 * p, 3},   {8 * p - 1, 3},
                                                     {8 * p, 4}, {16 * p, 5},    {1000 * p, 5}};
  for (const auto& [size, level] : expected) EXPECT_EQ(level_by_doubling(size, p, 5), level) << size;
  EXPECT_EQ(level_by_doubling(16 * p, p, 2), 2);
}

TEST(EstimatorThesis, TheSmallestDimensionDecides) {
  const Estimator estimator(Model::thesis, Precision::d, {.times = p100}, {.alignment = 64});
  EXPECT_NEAR(estimator.crossover().value(), 5127.85, 0.01);
  struct Case {
    Shape shape;
    int level;
    index tile;
  };
  for (const Case& c : {Case{{5000, 5000, 5000}, 0, 0}, Case{{5248, 5248, 5248}, 1, 5248},
                        Case{{5300, 9000, 9000}, 1, 5248}, Case{{30000, 11000, 12000}, 2, 10752},
                        Case{{100, 40000, 40000}, 0, 0}, Case{{22000, 22000, 22000}, 3, 21504}}) {
    const Choice found = estimator.estimate(c.shape);
    EXPECT_EQ(found.level, c.level) << testing::PrintToString(c.shape);
    EXPECT_EQ(found.tile, c.tile) << testing::PrintToString(c.shape);
  }
  // Equation 4.1 on a square that is one tile, and on two of them.
  const double one = 15 * p100.geam(3072) + 7 * p100.gemm(3072);
  EXPECT_NEAR(estimator.estimate({6144, 6144, 6144}).seconds, one, one * 1e-12);
  EXPECT_NEAR(estimator.estimate({6144, 12288, 6144}).seconds, 2 * one, one * 1e-12);
  EXPECT_NEAR(estimator.seconds({12288, 12288, 12288}, 2, 12288), 15 * p100.geam(6144) + 7 * one, one * 1e-11);
  // What a tile leaves over takes its share of the classical time.
  EXPECT_NEAR(estimator.seconds({6144, 9216, 6144}, 1, 6144), one + p100.gemm(6144 * std::cbrt(1.5)) / 3, one * 1e-12);
}

TEST(EstimatorThesis, TilesAreWholeHoweverSmallTheCrossover) {
  Times times;
  times.gemm.c[3] = 1e-12;  // sums are free: P = from
  const Estimator estimator(Model::thesis, Precision::d, {.times = times}, {.alignment = 64, .max_level = 4});
  const Choice found = estimator.estimate({300, 300, 300});
  EXPECT_EQ(found.level, 2);
  EXPECT_EQ(found.tile, 256);
  EXPECT_EQ(estimator.estimate({100, 100, 100}).level, 0);
}

// Otsuka.

TEST(EstimatorOtsuka, ByHand) {
  // F = 1 Tflop/s, G = 1 TB/s: 360 - 3.  There, 713 * 357^2 = 7 * 356 * 178.5^2 + 15 * 24 * 178.5^2 = 90,871,137.
  const Peaks peaks{1e12, 1e12};
  EXPECT_NEAR(otsuka_crossover(peaks, Precision::d), 357, 1e-9);
  const Times times = otsuka_times(peaks, Precision::d);
  EXPECT_NEAR(times.gemm(357), 90871137e-12, 1e-18);
  EXPECT_NEAR(strassen_seconds(times, 357, 1), 90871137e-12, 1e-18);
  // Other precisions: half the bytes; complex four times the flops (twice the additions of a real sum less) for twice
  // the bytes.
  EXPECT_NEAR(otsuka_crossover(peaks, Precision::s), 180 - 3, 1e-9);
  EXPECT_NEAR(otsuka_crossover(peaks, Precision::c), 90 - 1.5, 1e-9);
  EXPECT_NEAR(otsuka_crossover(peaks, Precision::z), 180 - 1.5, 1e-9);
}

TEST(EstimatorOtsuka, ClosedFormIsTheCrossover) {
  const Peaks cards[] = {{1.7e12, 208e9}, {5.3e12, 720e9}, {7.8e12, 900e9}};  // table 1: K20, P100, V100
  for (const Peaks& peaks : cards)
    for (const Precision precision : precisions) {
      const double closed = otsuka_crossover(peaks, precision);
      EXPECT_NEAR(crossover(otsuka_times(peaks, precision), 1, 1e5).value(), closed, closed * 1e-12);
      const Estimator estimator(Model::otsuka, precision, {.peaks = peaks});
      EXPECT_NEAR(estimator.crossover().value(), closed, closed * 1e-12);
    }
  // The paper measured 5,200 on the V100.
  EXPECT_NEAR(otsuka_crossover(cards[2], Precision::d), 3117, 0.5);
  const Estimator estimator(Model::otsuka, Precision::d, {.peaks = cards[2]}, {.alignment = 1});
  EXPECT_EQ(estimator.estimate({3116, 3116, 3116}).level, 0);
  EXPECT_EQ(estimator.estimate({3118, 9000, 9000}).level, 1);
  EXPECT_EQ(estimator.estimate({6236, 9000, 9000}).level, 2);
}

// Ours.

/// 1 Tflop/s whatever the size, passes at 100 GB/s, steps for free: for RUM's 45 passes and FP64 a crossover of
/// 45 * 8 * 1e12 / 1e11 = 3,600.
const Rates constant{{{64, 1e12}}, 1e11, 0};
/// Numbers like an H100's in FP64.
const Rates h100{
    {{256, 4e12}, {512, 14e12}, {1024, 32e12}, {2048, 50e12}, {4096, 53e12}, {8192, 54e12}}, 2.6e12, 10e-6};
/// A card on which levels pay early: many tiles are worth looking at.
const Rates early{{{128, 6e12}, {256, 9e12}, {512, 1e13}}, 2e13, 1e-6};

Estimator ours(const Rates& rates, const Tuning& tuning = {}, Precision precision = Precision::d) {
  EXPECT_EQ(check(rates), "");
  return Estimator(Model::ours, precision, {.rates = rates}, tuning);
}

/// The price list, from Tuning's and Estimator's descriptions alone: a walk through every step of every level.
class PriceList {
 public:
  PriceList(const Rates& rates, const Level& level, Precision precision)
      : rates_(rates),
        level_(level),
        bytes_(static_cast<double>(element_size(precision))),
        flops_(is_complex(precision) ? 8 : 2) {}

  double rate(double size) const {
    const std::vector<Point>& p = rates_.product;
    if (size <= p.front().size) return p.front().value * size / p.front().size;
    for (std::size_t i = 1; i < p.size(); ++i)
      if (size <= p[i].size)
        return p[i - 1].value +
               (p[i].value - p[i - 1].value) * std::log(size / p[i - 1].size) / std::log(p[i].size / p[i - 1].size);
    return p.back().value;
  }

  double classical(double m, double n, double k, bool reads_c) const {
    if (m * n * k == 0) return 0;
    const double moved = bytes_ * (m * k + k * n + m * n + (reads_c ? m * n : 0));
    const double cube = std::max(m, 32.) * std::max(n, 32.) * std::max(k, 32.);
    return rates_.step_seconds + std::max(flops_ * cube / rate(std::cbrt(cube)), moved / rates_.pass_bytes_per_second);
  }

  double tile(double edge, int levels, bool e) const {
    if (levels == 0) return rates_.step_seconds + flops_ * edge * edge * edge / rate(edge);
    const bool own_pass = e && !level_.with_e;
    const Level& form = e && level_.with_e ? *level_.with_e : level_;
    double sum = (passes(form) + (own_pass ? 12 : 0)) * edge * edge / 4 * bytes_ / rates_.pass_bytes_per_second;
    if (own_pass) sum += rates_.step_seconds;
    double below[2] = {tile(edge / 2, levels - 1, false), levels > 1 ? tile(edge / 2, levels - 1, true) : 0};
    if (levels == 1) below[1] = below[0];
    for (const Step& s : form.steps) sum += s.is_product() ? below[s.e != none] : rates_.step_seconds;
    return sum;
  }

  double seconds(const Shape& s, int levels, index edge) const {
    const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    if (levels == 0) return classical(m, n, k, !s.beta_zero);
    const auto t = static_cast<double>(edge);
    const double M = std::floor(m / t), N = std::floor(n / t), K = std::floor(k / t);
    const double with_e = tile(t, levels, true), first = s.beta_zero ? tile(t, levels, false) : with_e;
    const double survey_steps = 10 + 2 * std::exp2(levels) * K;
    const double survey = survey_steps * rates_.step_seconds + bytes_ * (m + n) * k / rates_.pass_bytes_per_second;
    return survey + M * N * (first + (K - 1) * with_e) + classical(m, n - N * t, k, !s.beta_zero) +
           classical(m - M * t, N * t, k, !s.beta_zero) + classical(M * t, N * t, k - K * t, true);
  }

 private:
  const Rates& rates_;
  const Level& level_;
  double bytes_, flops_;
};

TEST(EstimatorOurs, OneLevelByHand) {
  // FP64, 8192: seven products of 4096, five passes of in all 26 blocks of 4096 x 4096, twelve steps.
  const Rates rates{{{64, 1e12}}, 1e11, 1e-3};
  const double n = 4096, product = 2 * n * n * n / 1e12, pass = n * n * 8 / 1e11;
  const Tuning unsurveyed{.surveyed = false};
  const Estimator estimator = ours(rates, unsurveyed);
  EXPECT_NEAR(estimator.seconds({8192, 8192, 8192}, 1, 8192), 7 * product + 26 * pass + 12e-3, 1e-9);
  EXPECT_NEAR(estimator.seconds({8192, 8192, 8192, false}, 1, 8192), 7 * product + 31 * pass + 12e-3, 1e-9);
  // A and B are eight such blocks; a survey is worth fourteen steps besides.
  EXPECT_NEAR(ours(rates).seconds({8192, 8192, 8192}, 1, 8192), 7 * product + 34 * pass + 26e-3, 1e-9);
  EXPECT_NEAR(estimator.seconds({8192, 16384, 16384}, 1, 8192), 28 * product + (2 * 26 + 2 * 31) * pass + 48e-3, 1e-9);
  EXPECT_NEAR(estimator.seconds({8192, 8192, 8192}, 0, 0), 8 * product + 1e-3, 1e-9);
  // Two levels: of fused()'s products four come without E, three with.
  EXPECT_NEAR(estimator.seconds({8192, 8192, 8192}, 2, 8192),
              49 / 8. * product + (26 + (4 * 26 + 3 * 31) / 4.) * pass + (5 + 7 * 12) * 1e-3, 1e-9);
  // Complex: four times the flops; single: half the bytes.
  EXPECT_NEAR(ours(rates, unsurveyed, Precision::z).seconds({8192, 8192, 8192}, 1, 8192),
              4 * 7 * product + 2 * 26 * pass + 12e-3, 1e-9);
  EXPECT_NEAR(ours(rates, unsurveyed, Precision::s).seconds({8192, 8192, 8192}, 1, 8192),
              7 * product + 26 / 2. * pass + 12e-3, 1e-9);
}

TEST(EstimatorOurs, RatesBetweenAndBeyondTheMeasuredOnes) {
  const Estimator estimator = ours({{{1000, 1e12}, {4000, 3e12}}, 1e15, 0});
  auto rate = [&](index n) { return 2 * std::pow(static_cast<double>(n), 3) / estimator.seconds({n, n, n}, 0, 0); };
  EXPECT_NEAR(rate(1000), 1e12, 1);
  EXPECT_NEAR(rate(2000), 2e12, 1) << "the middle, in logs";
  EXPECT_NEAR(rate(4000), 3e12, 1);
  EXPECT_NEAR(rate(100000), 3e12, 1);
  EXPECT_NEAR(rate(250), 0.25e12, 1);
}

TEST(EstimatorOurs, TransposedProductsHaveRatesOfTheirOwn) {
  // B transposed: 0.5 of the others' rate at 1,000, and 1 from 4,000 on; nothing is known of TN and TT.
  Rates rates{{{500, 1e12}, {1000, 1e12}, {2000, 2e12}, {4000, 3e12}, {8000, 3e12}}, 1e15, 0};
  rates.transposed[0] = {{1000, 0.5e12}, {4000, 3e12}};
  const Estimator estimator = ours(rates);
  const auto rate = [&](index n, Transposes t) {
    return 2 * std::pow(static_cast<double>(n), 3) / estimator.seconds({n, n, n, true, t}, 0, 0);
  };
  EXPECT_NEAR(rate(1000, Transposes::nt), 0.5e12, 1);
  EXPECT_NEAR(rate(4000, Transposes::nt), 3e12, 1);
  EXPECT_NEAR(rate(2000, Transposes::nt), 1.5e12, 1) << "0.75, in the middle of the logs, of what nn has there";
  EXPECT_NEAR(rate(500, Transposes::nt), 0.5e12, 1) << "beyond what was measured the proportion stays";
  EXPECT_NEAR(rate(8000, Transposes::nt), 3e12, 1);
  for (const Transposes t : {Transposes::nn, Transposes::tn, Transposes::tt}) EXPECT_NEAR(rate(1000, t), 1e12, 1);
  // Leaves, too, and strips: 2,000 by one level is seven products of 1,000.
  const Estimator levels = ours({{{1000, 1e12}, {2000, 1e12}}, 1e18, 0, {{{{1000, 2e12}, {2000, 1e12}}, {}, {}}}},
                                {.alignment = 1, .surveyed = false});
  const double product = 2e9 / 1e12;
  EXPECT_NEAR(levels.seconds({2000, 2000, 2000}, 1, 2000), 7 * product, 1e-6);
  EXPECT_NEAR(levels.seconds({2000, 2000, 2000, true, Transposes::nt}, 1, 2000), 3.5 * product, 1e-6);
  EXPECT_NEAR(levels.seconds({2000, 3000, 2000, true, Transposes::nt}, 1, 2000) -
                  levels.seconds({2000, 2000, 2000, true, Transposes::nt}, 1, 2000),
              levels.seconds({2000, 1000, 2000, true, Transposes::nt}, 0, 0), 1e-9);
  // Remembered apart.
  Rates fast_nt{{{64, 1e12}}, 1e11, 0, {{{{64, 1e10}}, {}, {}}}};
  const Estimator choosing = ours(fast_nt);
  EXPECT_EQ(choosing.estimate({2048, 2048, 2048}).level, 0);
  EXPECT_GT(choosing.estimate({2048, 2048, 2048, true, Transposes::nt}).level, 0);
  EXPECT_EQ(choosing.estimate({2048, 2048, 2048}).level, 0);
}

TEST(EstimatorOurs, PricesAreThePriceList) {
  std::mt19937 bits(7);
  std::uniform_int_distribution<index> size(2048, 20000);
  for (const Rates* rates : {&constant, &h100, &early})
    for (const Level* level : {&fused(), &absorbed(), &rum(), &lai(), &classical()})
      for (const Precision precision : precisions) {
        const Estimator estimator = ours(*rates, {.level = level, .alignment = 16}, precision);
        const PriceList list(*rates, *level, precision);
        for (int i = 0; i < 5; ++i) {
          const Shape s{size(bits), size(bits), size(bits), i % 2 == 0};
          for (int levels = 0; levels <= 4; ++levels) {
            const index unit = levels ? index{16} << levels : 0;
            const index tile = levels ? std::min({s.m, s.n, s.k}) / (i + 1) / unit * unit : 0;
            const double expected = list.seconds(s, levels, tile);
            EXPECT_NEAR(estimator.seconds(s, levels, tile), expected, expected * 1e-10)
                << level->name << ", " << levels << " levels, tile " << tile << ": " << testing::PrintToString(s);
          }
        }
      }
}

TEST(EstimatorOurs, ChoiceIsNearlyTheBestOfAll) {
  // Log-uniform shapes; every multiple of the unit at every level is priced.
  std::mt19937 bits(11);
  std::uniform_real_distribution<double> log_size(std::log(400), std::log(40000));
  auto size = [&] { return static_cast<index>(std::exp(log_size(bits))); };
  int by_levels = 0, cut = 0;
  double worst = 1;
  for (const Rates* rates : {&constant, &h100, &early})
    for (const index alignment : {64, 8}) {
      const Tuning tuning{.alignment = alignment, .margin = 0};
      const Estimator estimator = ours(*rates, tuning);
      for (int i = 0; i < 1000; ++i) {
        const Shape s{size(), size(), size(), i % 3 > 0};
        const index smallest = std::min({s.m, s.n, s.k});
        Choice best{0, 0, estimator.seconds(s, 0, 0)};
        for (int level = 1; level <= tuning.max_level; ++level)
          for (index unit = alignment << level, tile = unit; tile <= smallest; tile += unit)
            if (const double seconds = estimator.seconds(s, level, tile); seconds < best.seconds)
              best = {level, tile, seconds};
        const Choice found = estimator.estimate(s);
        EXPECT_EQ(found.seconds, estimator.seconds(s, found.level, found.tile));
        EXPECT_LE(found.seconds, 1.03 * best.seconds)
            << testing::PrintToString(s) << ": " << testing::PrintToString(found) << ", not "
            << testing::PrintToString(best);
        worst = std::max(worst, found.seconds / best.seconds);
        by_levels += found.level > 0;
        cut += found.level > 0 && 4 * found.tile < 3 * smallest;
      }
    }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_GT(by_levels, 1000) << "of 6,000: the comparison is of something";
  EXPECT_GT(cut, 20) << "where the largest tile is not the best";
}

TEST(EstimatorOurs, NothingForTinyAndThinProducts) {
  for (const Rates* rates : {&constant, &h100, &early}) {
    const Estimator estimator = ours(*rates);
    for (const Shape& s : {Shape{1, 1, 1}, Shape{64, 64, 64}, Shape{127, 127, 127}, Shape{100000, 100000, 1},
                           Shape{127, 100000, 100000}, Shape{100000, 100, 100000, false}}) {
      const Choice found = estimator.estimate(s);
      EXPECT_EQ(found.level, 0) << testing::PrintToString(s);
      EXPECT_EQ(found.tile, 0) << testing::PrintToString(s);
      EXPECT_EQ(found.seconds, estimator.seconds(s, 0, 0));
    }
  }
  // By its price, not by its size.
  EXPECT_EQ(ours(h100).estimate({1024, 100000, 100000}).level, 0);
}

TEST(EstimatorOurs, LevelsDoubleAtConstantRates) {
  // With RUM exactly: its products take no E, so every level costs as much per block as the first.
  const Tuning tuning{.level = &rum(), .alignment = 1, .max_level = 4, .surveyed = false, .margin = 0};
  const Estimator estimator = ours(constant, tuning);
  EXPECT_NEAR(estimator.crossover(8192).value(), 3601, 1);
  // Multiples of 16 around the boundaries: no strips.
  const std::vector<std::pair<index, int>> expected{{3584, 0},  {3616, 1},  {7184, 1},  {7216, 2},
                                                    {14384, 2}, {14416, 3}, {28784, 3}, {28816, 4}};
  for (const auto& [n, level] : expected) EXPECT_EQ(estimator.estimate({n, n, n}).level, level) << n;

  // With fused() roughly: 3/7 of the products pass on an E, which costs 31 / 26 of the passes.
  const Estimator own = ours(constant, {.alignment = 1, .surveyed = false, .margin = 0});
  std::vector<double> bounds;
  for (index n = 512; n <= 32768; n += 16)
    if (own.estimate({n, n, n}).level > static_cast<int>(bounds.size())) bounds.push_back(static_cast<double>(n));
  ASSERT_EQ(bounds.size(), 4u);
  EXPECT_NEAR(bounds[0], 26 * 80, 16);
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    EXPECT_GT(bounds[i] / bounds[i - 1], 1.95);
    EXPECT_LT(bounds[i] / bounds[i - 1], 2 * 31 / 26.);
  }
  // Twice the bytes for four times the flops; half the bytes for the same.
  EXPECT_NEAR(ours(constant, tuning, Precision::z).crossover(8192).value(), 1801, 1);
  EXPECT_NEAR(ours(constant, tuning, Precision::s).crossover(8192).value(), 1801, 1);
}

TEST(EstimatorOurs, TilesCoverRectangles) {
  struct Case {
    Shape shape;
    index tile, alignment;
  };
  for (const Case& c :
       {Case{{8192, 4096, 4096}, 4096, 64}, Case{{4096, 8192, 12288}, 4096, 64}, Case{{3000, 4500, 1500}, 1500, 2},
        Case{{6000, 6000, 4000}, 2000, 8}, Case{{5000, 5000, 5000}, 4992, 64}, Case{{10007, 10007, 10007}, 10000, 4}}) {
    const Estimator estimator = ours(early, {.alignment = c.alignment, .max_level = 1});
    const Choice found = estimator.estimate(c.shape);
    EXPECT_EQ(found.level, 1) << testing::PrintToString(c.shape);
    EXPECT_EQ(found.tile, c.tile) << testing::PrintToString(c.shape);
  }
}

TEST(EstimatorOurs, TilesAreMultiplesOfTheAlignedLeaf) {
  for (const index alignment : {1, 8, 64, 100})
    for (const index n : {3000, 10007, 20011, 33333}) {
      const Choice found = ours(early, {.alignment = alignment}).estimate({n, n + 1, n + 2});
      ASSERT_GT(found.level, 0);
      EXPECT_EQ(found.tile % (alignment << found.level), 0) << found.tile;
      EXPECT_LE(found.tile, n);
    }
}

TEST(EstimatorOurs, AnH100sCrossover) {
  const Estimator estimator = ours(h100);
  const std::optional<double> found = estimator.crossover();
  ASSERT_TRUE(found);
  EXPECT_GT(*found, 3000);
  EXPECT_LT(*found, 9000);
  EXPECT_EQ(estimator.estimate({2048, 2048, 2048}).level, 0);
  EXPECT_EQ(estimator.estimate({9216, 9216, 9216}).level, 1);
  EXPECT_GE(estimator.estimate({24576, 24576, 24576}).level, 2);
  // Four levels with free passes and leaves at full speed would take this.
  const double n = 40960, seconds = estimator.estimate({40960, 40960, 40960}).seconds;
  EXPECT_GT(seconds, std::pow(7 / 8., 4) * 2 * n * n * n / 54e12);
  // A faster memory moves it down, slower steps up.
  Rates other = h100;
  other.pass_bytes_per_second *= 1.5;
  EXPECT_LT(ours(other).crossover().value(), *found);
  other = h100;
  other.step_seconds *= 4;
  EXPECT_GT(ours(other).crossover().value(), *found);
}

TEST(EstimatorOurs, WhereLevelsNeverPayThereIsNoCrossover) {
  EXPECT_FALSE(ours({{{64, 1e12}}, 1e9, 0}).crossover());
  EXPECT_FALSE(ours(h100).crossover(2048));
  EXPECT_FALSE(ours(h100, {.max_level = 0}).crossover());
  EXPECT_FALSE(ours(h100).crossover(100)) << "less than two leaves";
}

TEST(EstimatorOurs, TheMarginHasToBeExceeded) {
  constexpr double margin = 0.05;
  const Estimator any = ours(constant, {.margin = 0}), careful = ours(constant, {.margin = margin});
  const auto from = static_cast<index>(careful.crossover().value());
  EXPECT_GT(from, any.crossover().value());
  auto gain = [&](index n) { return 1 - any.estimate({n, n, n}).seconds / any.seconds({n, n, n}, 0, 0); };
  const index below = from - 2 * Tuning{}.alignment;
  EXPECT_GT(gain(from), margin);
  EXPECT_LE(gain(below), margin);
  EXPECT_EQ(careful.estimate({below, below, below}).seconds, careful.seconds({below, below, below}, 0, 0));
}

TEST(EstimatorOurs, LevelsAreCapped) {
  const Shape large{65536, 65536, 65536};
  for (int level = 0; level <= deepest; ++level)
    EXPECT_EQ(ours(constant, {.level = &rum(), .max_level = level}).estimate(large).level, std::min(level, 5)) << level;
  EXPECT_EQ(ours(constant, {.max_level = 100}).estimate({1 << 20, 1 << 20, 1 << 20}).level, deepest);
}

TEST(EstimatorOurs, FaultyRatesAreFound) {
  EXPECT_EQ(check(h100), "");
  auto fault = [](void (*change)(Rates&)) {
    Rates rates = h100;
    change(rates);
    return check(rates);
  };
  EXPECT_EQ(fault([](Rates& r) { r.product.clear(); }), "no rate of products");
  EXPECT_EQ(fault([](Rates& r) { r.product[1].value = 0; }), "a product's size or rate is not positive");
  EXPECT_EQ(fault([](Rates& r) { r.product[0].size = -1; }), "a product's size or rate is not positive");
  EXPECT_EQ(fault([](Rates& r) { r.product[1].size = r.product[0].size; }), "the products' sizes do not ascend");
  EXPECT_EQ(fault([](Rates& r) { r.pass_bytes_per_second = std::nan(""); }), "the rate of passes is not positive");
  EXPECT_EQ(fault([](Rates& r) { r.step_seconds = -1; }), "the price of a step is negative");
  EXPECT_EQ(fault([](Rates& r) { r.step_seconds = 0; }), "");
}

TEST(EstimatorOurs, IsCheap) {
  // Measured: 4 microseconds.  The bound is for sanitizers on a busy machine; one that looked at every tile would take
  // that long without them.
  const Estimator estimator = ours(h100);
  const Shape shapes[] = {{8192, 8192, 8192}, {10007, 20011, 30011}, {50000, 40000, 30000}, {500, 700, 900}};
  constexpr int rounds = 100;
  double sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i)
    for (const Shape& s : shapes) sum += estimator.estimate(s).seconds;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double each = took.count() / (rounds * std::size(shapes));
  RecordProperty("microseconds", std::to_string(each * 1e6));
  EXPECT_GT(sum, 0);
  EXPECT_LT(each, 500e-6);
}

}  // namespace
}  // namespace estimator_tests
}  // namespace blaslift::strassen
