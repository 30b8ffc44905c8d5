// Guard: whether Strassen-like levels may be trusted with two operands, from the largest magnitude in each of their
// rows and columns.
//
// A classical product's error in an element is bounded by that element's own sum, k u (|A| |B|)_ij.  A level's is not:
// it mixes rows and columns, and is bounded by the largest elements, f u max|A| max|B| (Higham, Accuracy and Stability,
// 23.2).  The guard lets pass what loses little by that, and what cannot overflow on the way.
#pragma once
#include <cstdint>
#include <span>

namespace blaslift {

enum class Verdict : std::uint8_t {
  sound,
  not_finite,    ///< Inf or NaN in A or B: the classical product decides where it goes
  may_overflow,  ///< sums on the way might, though the result does not
  badly_scaled   ///< some rows, columns or terms are so small beside the others that they would lose their digits
};

/// Largest magnitudes, of each row and each column of op(A), m x k, and op(B), k x n; NaN where there is one.
template <class R>
struct Findings {
  std::span<const R> a_rows, a_cols, b_rows, b_cols;
};

/// How many times smaller than max|A| max|B| the scale of a row times that of a column may be.  Elements there lose as
/// much of their accuracy: at four levels, of a single-precision number's seven digits three stay.  That holds where a
/// row's elements are about as large as its largest: small blocks inside of large rows and columns go unseen, and their
/// products are accurate beside max|A| max|B| only (docs/levels.md).
inline constexpr double scale_range = 256;

/// @param levels  on top of each other
/// @param alpha   its magnitude, not zero
/// @param adds    something is added to the product, of which nothing is known but that the result is meant to be
/// finite
template <class R>
Verdict judge(const Findings<R>& findings, int levels, double alpha, bool adds);

}  // namespace blaslift
