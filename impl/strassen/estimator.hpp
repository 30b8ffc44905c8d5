// Estimator: from rates to the number of Strassen-like levels, and the square tiles they work on, of a product
// C := alpha * op(A) * op(B) + beta * C.  Three models:
//
// ours     Prices every step of a level list by measured rates: leaf products, passes over memory, launches, and the
//          classical strips around the tiles.  Knows rectangles.
// thesis   Li, 2023, chapter 4: polynomials fitted to measured times of cuBLAS's gemm and geam; one crossover P from
//          them, one more level with every doubling.
// otsuka   Otsuka, 2020, section 8: the same crossover from peak flop/s and memory bandwidth alone.
//
// Pure functions of numbers: nothing here measures, and nothing needs a device.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "impl/strassen/strassen.hpp"
#include "kernels/types.hpp"

namespace blaslift::strassen {

/// Something measured with square matrices of `size` rows and columns: seconds, or flop/s.
struct Point {
  double size, value;
};

/// c[0] + c[1] x + c[2] x^2 + c[3] x^3.
struct Polynomial {
  std::array<double, 4> c{};

  double operator()(double x) const { return c[0] + x * (c[1] + x * (c[2] + x * c[3])); }
};

/// A least-squares polynomial with the measures of fit that the thesis gives, as MATLAB does.
struct Fit {
  Polynomial polynomial;
  double sse;       ///< sum of squared residuals, values' unit squared
  double r_square;  ///< 1 - sse / variation of the values; 1 if they do not vary
};

/// Fits a polynomial of `degree` (0 to 3) through the points, every point weighing the same.
/// @return none if there is no unique one; `problem` then says why.
std::optional<Fit> fit(const std::vector<Point>& points, int degree, std::string& problem);

/// Seconds of cuBLAS's operations on x by x matrices: the thesis's Gemm (a cubic) and Geam (a quadratic; one sum).
struct Times {
  Polynomial gemm, geam;
};

/// A data sheet's numbers.
struct Peaks {
  double flops_per_second;  ///< real ones, at the product's precision
  double bytes_per_second;  ///< device memory
};

/// Otsuka's equations (3) and (4), generalised: products do their flops at the peak (2 N - 1 for each real entry,
/// 8 N - 2 for each complex one), sums move three elements for each entry at full bandwidth.
Times otsuka_times(const Peaks& peaks, Precision precision);

/// Where Otsuka's model has its crossover: FP64, 360 F / G - 3.  Not above zero: Strassen is faster everywhere.
double otsuka_crossover(const Peaks& peaks, Precision precision);

/// Seconds of an x by x product by `level` levels, each fifteen sums and seven products of half the size: equation 4.1
/// for one level; the thesis has no equation for more, this is 4.1 put into itself.
double strassen_seconds(const Times& times, double x, int level);

/// Equation 4.2, Gemm(x) / strassen(x), one level.
double speedup(const Times& times, double x);

/// Sizes in [from, to] where speedup() passes through 1, in either direction, ascending: none to three.
std::vector<double> crossings(const Times& times, double from, double to);

/// The thesis's P: the size in [from, to] from which on one level is faster than none; `from` if it always is, none if
/// it is not at `to`.  Of several crossings it is the last.
std::optional<double> crossover(const Times& times, double from, double to);

/// Equation 4.4 with the condition that its text adds: none below P, one on [P, 2P), two on [2P, 4P), ...
int level_by_doubling(double size, double crossover, int max_level);

/// What our model works from, for one precision.
struct Rates {
  std::vector<Point> product;    ///< flop/s of a leaf product by its size, ascending; complex: 8 flops a multiply-add
  double pass_bytes_per_second;  ///< of a pass, bytes read and written
  double step_seconds;           ///< what any step costs besides: launch, wait for the one before
  /// The same as `product` of nt, tn and tt, at some sizes or none: for how they compare with nn.
  std::array<std::vector<Point>, transposes_count - 1> transposed = {};
};

/// The first fault, or empty.
std::string check(const Rates& rates);

enum class Model : std::uint8_t { ours, thesis, otsuka };

/// For one precision; a model reads its own only.
struct Inputs {
  Rates rates{};  ///< ours; has to pass its check
  Times times{};  ///< thesis
  Peaks peaks{};  ///< otsuka
};

struct Tuning {
  /// Used at every level: ours counts its steps, while the estimator is constructed.  One without E.
  const Level* level = &fused();
  /// Leaves have a multiple of this many rows and columns.  Finer, and the strips get thinner; coarser, and the leaves
  /// fill the blocks that cuBLAS's kernels compute, 64 to 256 wide.  At least 1.  Of 4, 8, 16 and 64 nothing is better
  /// than 16 by more than 3 % where it was measured, and 64 up to 8 % worse (docs/measurements/lab-notes.md).
  index alignment = 16;
  int max_level = 4;      ///< 0 to deepest
  bool surveyed = true;   ///< ours: A and B are, once, before or beside the levels (impl/product/guard.hpp)
  double margin = 0.022;  ///< ours: levels have to be predicted faster by more than this fraction
};
inline constexpr int deepest = 6;

/// op(A) m x k, op(B) k x n, C m x n; all above zero.
struct Shape {
  index m, n, k;
  bool beta_zero = true;  ///< C is not read
  Transposes transposes = Transposes::nn;

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// How to compute a product: cut from its top left corner into floor(m / tile) x floor(n / tile) x floor(k / tile) tile
/// products of `level` levels each.  What remains is up to three classical products: the rightmost columns of C, the
/// rest of its bottom rows, and the last of k for the rest.
struct Choice {
  int level;       ///< 0: one classical product
  index tile;      ///< rows and columns, a multiple of 2^level * alignment; 0 at level 0
  double seconds;  ///< predicted
};

class Estimator {
 public:
  Estimator(Model model, Precision precision, const Inputs& inputs, const Tuning& tuning = {});

  /// The level and tile, of at most `most_tile`, to compute a product with (alpha not zero).  Takes microseconds, or a
  /// tenth of one for a shape seen before; allocates nothing.
  ///
  /// ours: the least predicted time, of all levels with all tiles that divide one of m, n, k into few equal parts.
  ///
  /// thesis, otsuka: know squares only.  The level is that of the smallest of m, n, k, since no larger square tile
  /// fits, and the tile the largest that does.  (A cube root would find levels for a cube that is not there: in
  /// 64 x 64 x 10^7, one of 3,447.)
  Choice estimate(const Shape& shape, index most_tile = any_tile) const noexcept;
  static constexpr index any_tile = index{1} << 62;

  /// Predicted seconds of the product computed like this.  The tile fits, and is a multiple of 2^level * alignment.
  ///
  /// ours: strips, and everything at level 0, by roofline: the flops at the rate of the cube with as many, or all
  /// operands once at the rate of passes, whatever takes longer.  Being thinner than 32 makes no flops cheaper.
  ///
  /// thesis, otsuka: what is left of the tiles, and everything at level 0, at the rate of the cube with as many flops.
  double seconds(const Shape& shape, int level, index tile) const noexcept;

  /// The size of squares from which on, up to `limit`, the model computes with levels; none if it does not at `limit`.
  /// Ours: among the multiples of 2 * alignment, which one level computes without strips.  Tries them one by one.
  std::optional<double> crossover(double limit = 131072) const;

 private:
  /// What the passes of all levels of one tile product take: with t its edge, bytes = area * t^2 * element size.
  struct Work {
    double area, steps;  ///< steps: of products and passes
  };

  double classical_seconds(const Shape& of, double m, double n, double k, bool reads_c) const noexcept;
  double tile_seconds(const Shape& of, int level, double tile, bool adds) const noexcept;
  Choice choose(const Shape& shape, index most_tile) const noexcept;
  Choice best_tiling(const Shape& shape, index most_tile) const noexcept;
  Choice by_smallest(const Shape& shape, index most_tile) const noexcept;

  class Memory;

  Model model_;
  Tuning tuning_;
  std::shared_ptr<Memory> memory_;  ///< of earlier choices; copies choose the same
  double element_, flops_;          ///< bytes of an element, flops of a multiply-add
  // ours
  std::array<std::vector<Point>, transposes_count> by_log_;  ///< flop/s by log of the size
  double pass_rate_, step_seconds_;
  std::array<double, deepest + 1> leaves_{};    ///< products, by level
  std::array<Work, deepest + 1> work_[2] = {};  ///< by level; without and with E
  // thesis, otsuka
  Times times_;
  std::optional<double> crossover_;
};

}  // namespace blaslift::strassen
