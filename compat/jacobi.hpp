// Singular value decompositions by Jacobi's rotations, in plain loops: for programs without a LAPACK.  Accurate,
// whatever the matrix's rank, and not fast.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "kernels/types.hpp"

namespace blaslift {

/// A = U diag(s) V^H (m x n) by one-sided rotations: the columns of a tall matrix, or of a wide one's adjoint, are made
/// orthogonal to each other, and their lengths are s (Hestenes, 1958; Golub and Van Loan, Matrix Computations, 8.6.3).
template <class T>
class JacobiSvd {
 public:
  using R = Real<T>;

  /// How many elements of memory it takes.
  /// @param whole  of A's longer side all singular vectors are made
  static std::size_t elements(index m, index n, bool whole) {
    const auto rows = static_cast<std::size_t>(std::max(m, n)), cols = static_cast<std::size_t>(std::min(m, n));
    return rows * (whole ? rows : cols) + cols * cols + cols;
  }

  JacobiSvd(index m, index n, bool whole, T* memory)
      : wide_(m < n),
        rows_(std::max(m, n)),
        cols_(std::min(m, n)),
        made_(whole ? rows_ : cols_),
        left_(memory),
        right_(left_ + rows_ * made_),
        lengths_(right_ + cols_ * cols_) {}

  /// False: A is not finite, or the rotations do not come to an end.
  bool run(const T* A, index lda) {
    if (!take(A, lda)) return false;
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < most_sweeps; ++sweep) rotated = rotate_all();
    if (rotated) return false;
    sort();
    for (index j = 0; j < cols_; ++j)
      if (const R length = std::real(lengths_[j]); length > negligible())
        divide(left(j), length);
      else
        complete(j);
    for (index j = cols_; j < made_; ++j) complete(j);
    return true;
  }

  R s(index i) const { return std::scalbn(std::real(lengths_[i]), exponent_); }
  T u(index i, index j) const { return wide_ ? right_[i + j * cols_] : left_[i + j * rows_]; }
  T vt(index i, index j) const { return conjugate(wide_ ? left_[j + i * rows_] : right_[j + i * cols_]); }

 private:
  static constexpr int most_sweeps = 60;  // ten are many
  static constexpr R epsilon = std::numeric_limits<R>::epsilon();

  /// Of a column's length, where the largest element is near 1: shorter ones lose digits when they are squared, and are
  /// far below what roundings are.
  static R negligible() { return std::sqrt(std::numeric_limits<R>::min()) / epsilon; }

  static T conjugate(T x) {
    if constexpr (std::is_same_v<T, R>)
      return x;
    else
      return std::conj(x);
  }
  static T dot(index count, const T* x, const T* y) {
    T sum{};
    for (index i = 0; i < count; ++i) sum += conjugate(x[i]) * y[i];
    return sum;
  }
  T* left(index j) { return left_ + j * rows_; }
  T* right(index j) { return right_ + j * cols_; }
  R length_of(const T* x) const { return std::sqrt(std::real(dot(rows_, x, x))); }
  void divide(T* x, R by) const {
    for (index i = 0; i < rows_; ++i) x[i] /= by;
  }

  /// The tall matrix, times a power of two with which the largest element is near 1.
  bool take(const T* A, index lda) {
    R largest = 0;
    for (index j = 0; j < cols_; ++j)
      for (index i = 0; i < rows_; ++i) {
        const T x = left(j)[i] = wide_ ? conjugate(A[j + i * lda]) : A[i + j * lda];
        if (!std::isfinite(std::real(x)) || !std::isfinite(std::imag(x))) return false;
        largest = std::max({largest, std::fabs(std::real(x)), std::fabs(std::imag(x))});
      }
    exponent_ = largest > 0 ? std::ilogb(largest) : 0;
    for (index j = 0; j < cols_; ++j) {
      for (index i = 0; i < rows_; ++i) {
        T& x = left(j)[i];
        if constexpr (std::is_same_v<T, R>)
          x = std::scalbn(x, -exponent_);
        else
          x = {std::scalbn(x.real(), -exponent_), std::scalbn(x.imag(), -exponent_)};
      }
      for (index i = 0; i < cols_; ++i) right(j)[i] = T(R(i == j));
    }
    return true;
  }

  static void rotate(index count, T* x, T* y, R cosine, T sine) {
    for (index i = 0; i < count; ++i) {
      const T old = x[i];
      x[i] = cosine * old - conjugate(sine) * y[i];
      y[i] = sine * old + cosine * y[i];
    }
  }

  /// Every two columns; false: they were orthogonal.
  bool rotate_all() {
    const R enough = epsilon * std::sqrt(static_cast<R>(rows_));  // what a sum of products is off by
    bool rotated = false;
    for (index q = 1; q < cols_; ++q)
      for (index p = 0; p < q; ++p) {
        const R a = length_of(left(p)), b = length_of(left(q));
        if (a <= negligible() || b <= negligible()) continue;
        const T product = dot(rows_, left(p), left(q));
        const R off = std::abs(product);
        if (off <= enough * a * b) continue;
        rotated = true;
        const R slope = (b - a) * (b + a) / (2 * off),
                tangent = 1 / (slope + std::copysign(std::hypot(slope, R(1)), slope)),
                cosine = 1 / std::hypot(tangent, R(1));
        const T sine = tangent * cosine * (product / off);
        rotate(rows_, left(p), left(q), cosine, sine);
        rotate(cols_, right(p), right(q), cosine, sine);
      }
    return rotated;
  }

  void sort() {
    for (index j = 0; j < cols_; ++j) lengths_[j] = T(length_of(left(j)));
    for (index j = 0; j < cols_; ++j) {
      index longest = j;
      for (index k = j + 1; k < cols_; ++k)
        if (std::real(lengths_[k]) > std::real(lengths_[longest])) longest = k;
      if (longest == j) continue;
      std::swap(lengths_[j], lengths_[longest]);
      std::swap_ranges(left(j), left(j) + rows_, left(longest));
      std::swap_ranges(right(j), right(j) + cols_, right(longest));
    }
  }

  /// Column j becomes one that is orthogonal to those before it: of some unit vector what these leave, and of that
  /// again.  There is a unit vector of which at least 1 / sqrt(rows) is left.
  void complete(index j) {
    T* const x = left(j);
    const R enough = 1 / (2 * std::sqrt(static_cast<R>(rows_)));
    for (index tried = 0; tried < rows_; ++tried, next_unit_ = (next_unit_ + 1) % rows_) {
      std::fill_n(x, rows_, T{});
      x[next_unit_] = T(1);
      for (int round = 0; round < 2; ++round) {
        for (index k = 0; k < j; ++k) {
          const T along = dot(rows_, left(k), x);
          for (index i = 0; i < rows_; ++i) x[i] -= along * left(k)[i];
        }
        const R length = length_of(x);
        if (length < enough) break;
        divide(x, length);
        if (round == 1) return;
      }
    }
  }

  const bool wide_;
  const index rows_, cols_, made_;  ///< of the tall matrix, and how many singular vectors of its left side
  T *const left_, *const right_, *const lengths_;
  index next_unit_ = 0;
  int exponent_ = 0;
};

}  // namespace blaslift
