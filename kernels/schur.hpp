// Eigenvalues and right eigenvectors of general matrices by their Schur form, in plain loops: for the host backend, and
// for programs without a LAPACK.  Backward stable, without balancing, and not fast.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "kernels/types.hpp"

namespace blaslift {

/// A V = V diag(w) (n x n): Hessenberg form, QR iterations with implicit shifts to Schur form, of real matrices two
/// shifts at once and a form with 2 x 2 blocks, and back substitution (Golub and Van Loan, Matrix Computations, 7.4 to
/// 7.6).
template <class T>
class SchurEigensystem {
 public:
  using R = Real<T>;
  using Number = std::complex<R>;

  /// How many elements of memory it takes, and how many complex numbers.
  static std::size_t elements(index n, bool vectors) {
    const auto order = static_cast<std::size_t>(n);
    return order * order * (vectors ? 2 : 1) + 2 * order;
  }
  static std::size_t numbers(index n) { return 2 * static_cast<std::size_t>(n); }

  SchurEigensystem(index n, bool vectors, T* memory, Number* numbers)
      : n_(n),
        vectors_(vectors),
        form_(memory),
        product_(form_ + n * n),
        column_(product_ + (vectors ? n * n : 0)),
        reflector_(column_ + n),
        values_(numbers),
        x_(numbers + n) {}

  /// False: A is not finite, or the iterations do not come to an end.
  bool run(const T* A, index lda) {
    if (!take(A, lda)) return false;
    for (index k = 0; k + 2 < n_; ++k) {
      std::copy_n(&h(k + 1, k), n_ - k - 1, column_);
      reflect(k + 1, n_ - k - 1, column_);
      for (index i = k + 2; i < n_; ++i) h(i, k) = T{};
    }
    if (!iterate()) return false;
    for (index i = 0; i < n_; ++i)
      // Else what was a pair would seem to be two real numbers, whose vectors lie otherwise.
      if (values_[i].imag() != 0 && value(i).imag() == 0) return false;
    return true;
  }

  Number value(index i) const {
    return {std::scalbn(values_[i].real(), exponent_), std::scalbn(values_[i].imag(), exponent_)};
  }

  /// As LAPACK has them: a real matrix's complex ones as two columns.
  /// @param left  V^H A = diag(w) V^H
  void write_vectors(T* V, index ldv, bool left = false) {
    for (index j = n_ - 1; j >= 0; --j) {
      const bool pair = of_pair(j);
      if (pair) --j;
      if (left)
        find_left_vector(j, pair);
      else
        find_vector(j, pair);
      normalise(pair || !is_real);
      for (index i = 0; i < n_; ++i)
        if constexpr (is_real) {
          V[i + j * ldv] = x_[i].real();
          if (pair) V[i + (j + 1) * ldv] = x_[i].imag();
        } else {
          V[i + j * ldv] = x_[i];
        }
    }
  }

 private:
  static constexpr bool is_real = std::is_same_v<T, R>;
  static constexpr R epsilon = std::numeric_limits<R>::epsilon();

  T& h(index i, index j) const { return form_[i + j * n_]; }
  T& q(index i, index j) const { return product_[i + j * n_]; }
  static T conjugate(T x) {
    if constexpr (is_real)
      return x;
    else
      return std::conj(x);
  }
  static R size_of(T x) { return std::fabs(std::real(x)) + std::fabs(std::imag(x)); }

  /// A times a power of two with which its largest number is near 1.
  bool take(const T* A, index lda) {
    R largest = 0;
    for (index j = 0; j < n_; ++j)
      for (index i = 0; i < n_; ++i) {
        const T x = A[i + j * lda];
        if (!std::isfinite(std::real(x)) || !std::isfinite(std::imag(x))) return false;
        largest = std::max({largest, std::fabs(std::real(x)), std::fabs(std::imag(x))});
      }
    exponent_ = largest > 0 ? std::ilogb(largest) : 0;
    for (index j = 0; j < n_; ++j)
      for (index i = 0; i < n_; ++i) {
        const T x = A[i + j * lda];
        if constexpr (is_real)
          h(i, j) = std::scalbn(x, -exponent_);
        else
          h(i, j) = {std::scalbn(x.real(), -exponent_), std::scalbn(x.imag(), -exponent_)};
        if (vectors_) q(i, j) = T(R(i == j));
      }
    return true;
  }

  /// Takes the form H to P H P and the product Q to Q P, with a P = I - v v^H / half that differs from I in rows
  /// `first` and so on, `count` of them, where it takes x to a multiple of the first unit vector.  Zeros stay zeros.
  void reflect(index first, index count, const T* x) {
    T* const v = reflector_;
    R largest = 0, squares = 0, rest = 0;
    for (index i = 0; i < count; ++i) largest = std::max(largest, size_of(x[i]));
    if (!(largest > 0)) return;
    for (index i = 0; i < count; ++i) {
      v[i] = x[i] / largest;
      const R square = std::norm(v[i]);
      squares += square;
      if (i > 0) rest += square;
    }
    if (rest == 0) return;
    const R length = std::sqrt(squares), beginning = std::abs(v[0]);
    const T phase = beginning > 0 ? v[0] / beginning : T(1);
    v[0] += phase * length;
    const R half = length * (length + beginning);  // of v^H v
    for (index j = 0; j < n_; ++j) {
      T sum{};
      for (index i = 0; i < count; ++i) sum += conjugate(v[i]) * h(first + i, j);
      sum /= half;
      for (index i = 0; i < count; ++i) h(first + i, j) -= v[i] * sum;
    }
    reflect_columns(form_, first, count, half);
    if (vectors_) reflect_columns(product_, first, count, half);
  }
  void reflect_columns(T* matrix, index first, index count, R half) const {
    for (index i = 0; i < n_; ++i) {
      T sum{};
      for (index j = 0; j < count; ++j) sum += matrix[i + (first + j) * n_] * reflector_[j];
      sum /= half;
      for (index j = 0; j < count; ++j) matrix[i + (first + j) * n_] -= sum * conjugate(reflector_[j]);
    }
  }

  /// The first row of the last part of rows up to `last` whose subdiagonal has nothing that can be neglected.
  index first_of_part(index last) const {
    index k = last;
    for (; k > 0; --k) {
      R beside = size_of(h(k - 1, k - 1)) + size_of(h(k, k));
      if (beside == 0) beside = 1;
      if (size_of(h(k, k - 1)) > epsilon * beside) continue;
      h(k, k - 1) = T{};
      break;
    }
    return k;
  }

  bool iterate() {
    index last = n_ - 1;
    const index most = 30 * std::max<index>(10, n_);
    index steps = 0;
    for (index all = 0; last >= 0;) {
      const index first = first_of_part(last);
      if (first == last) {
        values_[last] = h(last, last);
        --last, steps = 0;
        continue;
      }
      if constexpr (is_real)
        if (first == last - 1) {
          split(first);
          last -= 2, steps = 0;
          continue;
        }
      if (++all > most) return false;
      ++steps;
      step(first, last, steps % 10 == 0);
    }
    return true;
  }

  /// Rows k and k + 1: two real eigenvalues on the diagonal, or a pair of complex ones.
  void split(index k) {
    const R a = std::real(h(k, k)), b = std::real(h(k, k + 1)), c = std::real(h(k + 1, k)),
            d = std::real(h(k + 1, k + 1)), p = (a - d) / 2, small = epsilon * epsilon;
    R square = p * p + b * c;
    if (square < 0 && square >= -small * small) square = 0;  // far below roundings, and its root might vanish
    if (square < 0) {
      const R imaginary = std::sqrt(-square);
      values_[k] = {d + p, imaginary};
      values_[k + 1] = {d + p, -imaginary};
      return;
    }
    const T vector[] = {T(p + std::copysign(std::sqrt(square), p)), T(c)};
    reflect(k, 2, vector);
    h(k + 1, k) = T{};
    values_[k] = h(k, k);
    values_[k + 1] = h(k + 1, k + 1);
  }

  /// A QR step of rows `first` to `last`, with the shifts that the last two rows have, or with others where these have
  /// not led to anything for long.
  void step(index first, index last, bool otherwise) {
    constexpr index most = is_real ? 3 : 2;
    T x[3] = {};
    const T a = h(last - 1, last - 1), b = h(last - 1, last), c = h(last, last - 1), d = h(last, last),
            begin = h(first, first), below = h(first + 1, first);
    if constexpr (is_real) {
      T sum = a + d, product = a * d - b * c;
      if (otherwise) {
        const R size = size_of(c) + size_of(h(last - 1, last - 2));
        sum = R(1.5) * size, product = size * size;
      }
      x[0] = begin * begin + h(first, first + 1) * below - sum * begin + product;
      x[1] = below * (begin + h(first + 1, first + 1) - sum);
      x[2] = below * h(first + 2, first + 1);
    } else {
      const T half = (a - d) / R(2), root = std::sqrt(half * half + b * c), plus = half + root, minus = half - root;
      T shift = d + (std::norm(plus) < std::norm(minus) ? plus : minus);
      if (otherwise) shift = d + size_of(c);
      x[0] = begin - shift;
      x[1] = below;
    }
    for (index k = first; k < last; ++k) {
      const index count = std::min(most, last - k + 1);
      for (index i = 0; k > first && i < count; ++i) x[i] = h(k + i, k - 1);
      reflect(k, count, x);
      for (index i = 1; k > first && i < count; ++i) h(k + i, k - 1) = T{};
    }
  }

  // ---- vectors

  /// Whether row j is the second one of a 2 x 2 block.
  bool of_pair(index j) const { return is_real && j > 0 && h(j, j - 1) != T{}; }

  /// x becomes the vector of eigenvalue j, in a block with the next one if `pair`.
  void find_vector(index j, bool pair) {
    const Number value = values_[j];
    index count = j + 1;
    x_[j] = R(1);
    if (pair) {
      ++count;
      // Either row of the block says it; in the larger one nothing cancels.
      const bool upper = size_of(h(j, j + 1)) >= size_of(h(j + 1, j));
      x_[j] = upper ? Number(h(j, j + 1)) : value - Number(h(j + 1, j + 1));
      x_[j + 1] = upper ? value - Number(h(j, j)) : Number(h(j + 1, j));
    }
    for (index i = j - 1; i >= 0; --i) {
      const bool two = of_pair(i);
      const Number right = right_side(i, i + 1, count);
      if (two) {
        --i;
        substitute(i, Number(h(i, i)) - value, h(i, i + 1), h(i + 1, i), Number(h(i + 1, i + 1)) - value,
                   right_side(i, i + 2, count), right);
      } else {
        x_[i] = right / at_least_small(Number(h(i, i)) - value);
      }
      keep_bearable(i, i + two, i, count);
    }
    multiply(0, count);
  }
  /// Likewise of H^H and the conjugate eigenvalue: from the block on downwards.
  void find_left_vector(index j, bool pair) {
    const Number value = std::conj(values_[j]);
    x_[j] = R(1);
    if (pair) {
      const bool lower = size_of(h(j + 1, j)) >= size_of(h(j, j + 1));
      x_[j] = lower ? Number(h(j + 1, j)) : value - Number(h(j + 1, j + 1));
      x_[j + 1] = lower ? value - Number(h(j, j)) : Number(h(j, j + 1));
    }
    const auto side = [&](index i, index end) {
      Number sum{};
      for (index k = j; k < end; ++k) sum -= conjugate(h(k, i)) * x_[k];
      return sum;
    };
    for (index i = j + 1 + pair; i < n_; ++i) {
      const index first = i;
      if (i + 1 < n_ && of_pair(i + 1)) {
        ++i;
        substitute(first, Number(h(first, first)) - value, h(i, first), h(first, i), Number(h(i, i)) - value,
                   side(first, first), side(i, first));
      } else {
        x_[i] = side(i, i) / at_least_small(Number(conjugate(h(i, i))) - value);
      }
      keep_bearable(first, i, j, i + 1);
    }
    multiply(j, n_);
  }
  /// What is to come may be larger than elements `first` to `last` by the reciprocal of a rounding.
  void keep_bearable(index first, index last, index from, index end) {
    const R largest = std::max(std::abs(x_[first]), std::abs(x_[last]));
    if (largest > std::sqrt(std::numeric_limits<R>::max()))
      for (index k = from; k < end; ++k) x_[k] /= largest;
  }
  Number right_side(index i, index from, index end) const {
    Number sum{};
    for (index k = from; k < end; ++k) sum -= h(i, k) * x_[k];
    return sum;
  }
  Number at_least_small(Number x) const {
    const R small = epsilon * R(n_ + 1);
    return std::abs(x) < small ? Number(small) : x;
  }
  /// [a b; c d] times elements i and i + 1 of x are (above, below).
  void substitute(index i, Number a, Number b, Number c, Number d, Number above, Number below) {
    if (std::abs(c) > std::abs(a)) std::swap(a, c), std::swap(b, d), std::swap(above, below);
    a = at_least_small(a);
    const Number factor = c / a;
    x_[i + 1] = (below - factor * above) / at_least_small(d - factor * b);
    x_[i] = (above - b * x_[i + 1]) / a;
  }
  /// x := Q x, of which only elements `from` to `end` count.
  void multiply(index from, index end) {
    R largest = 0;
    for (index k = from; k < end; ++k) largest = std::max({largest, std::fabs(x_[k].real()), std::fabs(x_[k].imag())});
    for (index k = from; k < end; ++k) x_[k] /= largest;
    // In memory that nothing else needs any more.
    for (index i = 0; i < n_; ++i) {
      Number sum{};
      for (index k = from; k < end; ++k) sum += q(i, k) * x_[k];
      if constexpr (is_real)
        column_[i] = sum.real(), reflector_[i] = sum.imag();
      else
        column_[i] = sum;
    }
    for (index i = 0; i < n_; ++i)
      if constexpr (is_real)
        x_[i] = {column_[i], reflector_[i]};
      else
        x_[i] = column_[i];
  }
  /// To length 1, with elements that are near it; and, if it is to be turned, with a largest element that is real.
  void normalise(bool turn) {
    R squares = 0;
    index largest = 0;
    for (index i = 0; i < n_; ++i) {
      squares += std::norm(x_[i]);
      if (std::norm(x_[i]) > std::norm(x_[largest])) largest = i;
    }
    const R length = std::sqrt(squares), size = std::abs(x_[largest]);
    const Number factor = turn ? std::conj(x_[largest]) / size : Number(1);
    for (index i = 0; i < n_; ++i) x_[i] = turn ? x_[i] * factor / length : x_[i] / length;
    if (turn) x_[largest] = size / length;
  }

  const index n_;
  const bool vectors_;
  T *const form_, *const product_, *const column_, *const reflector_;
  Number *const values_, *const x_;
  int exponent_ = 0;
};

}  // namespace blaslift
