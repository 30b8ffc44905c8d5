// Guard: whether Strassen-like levels may be trusted with two operands, from the largest magnitudes in their rows and
// columns, block by block.
//
// A classical product's error in an element is bounded by that element's own sum, k u (|A| |B|)_ij.  A level's is not:
// it mixes blocks, and is bounded by the largest elements, f u max|A| max|B| (Higham, Accuracy and Stability, 23.2).
// The guard lets pass what loses little by that, and what cannot overflow on the way.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace blaslift {

enum class Verdict : std::uint8_t {
  sound,
  not_finite,    ///< Inf or NaN in A or B: the classical product decides where it goes
  may_overflow,  ///< sums on the way might, though the result does not
  badly_scaled   ///< some blocks of the result are so small beside others, or an operand so near to what is
                 ///< subnormal, that they would lose their digits
};

/// Largest magnitudes in op(A), m x k, and op(B), k x n; NaN where there is one.  k is cut into slices, about as wide
/// as the blocks that levels end with.
template <class R>
struct Findings {
  std::span<const R> a_rows;  ///< of each row within a slice, m of them, slice by slice
  std::span<const R> a_cols;  ///< of each column, k
  std::span<const R> b_rows;  ///< of each row, k
  std::span<const R> b_cols;  ///< of each column within a slice, n of them, slice by slice
  std::size_t slices = 1;
  std::size_t group = SIZE_MAX;  ///< rows of A, and columns of B, that a block has
};

/// How many times smaller than max|A| max|B| the scale of an element of the product may be.  Elements lose as much of
/// their accuracy: at four levels, of a single-precision number's seven digits three stay.  The scale is that of
/// blocks: the largest product of a row of A's and a column of B's largest magnitude in one slice, of the smallest row
/// and column of their groups.  What is smaller inside of a block goes unseen (docs/developer/levels.md).
inline constexpr double scale_range = 256;

/// @param levels  on top of each other
/// @param alpha   its magnitude, not zero
/// @param adds    something is added to the product, of which nothing is known but that the result is meant to be
/// finite
template <class R>
Verdict judge(const Findings<R>& findings, int levels, double alpha, bool adds);

/// What is known of A and B before all of either has been seen.
struct Seen {
  double largest_a = 0, largest_b = 0;  ///< magnitudes
  bool finite = true;
  /// Not more than this are the largest products, relative to largest_a * largest_b, of a row of A's and a column of
  /// B's largest magnitude in a slice, for some row and some column: with more seen, it becomes less.  Infinite: not
  /// known.
  double scale = std::numeric_limits<double>::infinity();
};

/// What judge() will say once it knows all, if that is certain already; otherwise sound.
/// @param k  the product's
template <class R>
Verdict judge_early(const Seen& seen, double k, int levels, double alpha, bool adds);

/// The largest of some magnitudes, into `largest`; false if one of them is not finite.
template <class R>
bool note_largest(std::span<const R> magnitudes, double& largest);

}  // namespace blaslift
