// Eigenvalues and singular values in higher precision, by another way than LAPACK's drivers and the host backend:
// Householder's reflections to a tridiagonal matrix, and of that the eigenvalues by QL steps.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/promises/suite/suite.hpp"

namespace suite {

/// Of a symmetric tridiagonal matrix, in ascending order; off by a few roundings of its norm.
/// @param d, e  diagonal (n) and what is beside it (n - 1)
inline std::vector<long double> eigenvalues_of_tridiagonal(std::vector<long double> d, std::vector<long double> e) {
  const std::size_t n = d.size();
  e.resize(n);
  long double norm = 0;
  for (std::size_t i = 0; i < n; ++i) norm = std::max({norm, std::fabs(d[i]), std::fabs(e[i])});
  const long double nothing = norm * std::numeric_limits<long double>::epsilon();
  for (std::size_t first = 0; first + 1 < n;) {
    std::size_t last = first;  // of the block that begins here and is in one piece
    while (last + 1 < n && std::fabs(e[last]) > nothing) ++last;
    if (last == first) {
      ++first;
      continue;
    }
    // Wilkinson's shift: the eigenvalue of the upper 2 x 2 block that is nearer to d[first].
    const long double half = (d[first + 1] - d[first]) / 2,
                      shift = d[first] - e[first] * e[first] / (half + std::copysign(std::hypot(half, e[first]), half));
    // A rotation of the last two rows and columns makes an element outside of the band; the others move it up and out.
    long double along = d[last] - shift, outside = e[last - 1];
    for (std::size_t i = last; i-- > first;) {
      const long double length = std::hypot(along, outside), c = length > 0 ? along / length : 1,
                        s = length > 0 ? outside / length : 0;
      if (i + 1 < last) e[i + 1] = length;
      const long double upper = d[i], lower = d[i + 1], beside = e[i];
      d[i + 1] = c * c * lower + 2 * c * s * beside + s * s * upper;
      d[i] = s * s * lower - 2 * c * s * beside + c * c * upper;
      along = e[i] = (c * c - s * s) * beside - c * s * (lower - upper);
      if (i > first) {
        outside = s * e[i - 1];
        e[i - 1] *= c;
      }
    }
  }
  std::sort(d.begin(), d.end());
  return d;
}

/// H = I - 2 v v^H / (v^H v), which makes a given x its length along the first unit vector, but for a phase.
template <class T>
struct Reflection {
  std::vector<Wide<T>> v;
  WideReal<T> length = 0, twice = 0;  ///< |x|; 2 / (v^H v), or 0 for the identity

  explicit Reflection(std::vector<Wide<T>> x) : v(std::move(x)) {
    WideReal<T> squares = 0;
    for (const Wide<T>& element : v) squares += std::norm(element);
    length = std::sqrt(squares);
    if (length == 0) return;
    const WideReal<T> first = std::abs(v[0]);
    v[0] += first == 0 ? Wide<T>(length) : v[0] * (length / first);
    twice = 1 / (squares + length * first);
  }
  /// To a vector, whose elements element(i) gives for changing.
  template <class Element>
  void apply(const Element& element, bool conjugated = false) const {
    const auto of = [&](std::size_t i) { return conjugated ? promises::conjugate<T>(v[i]) : v[i]; };
    Wide<T> product{};
    for (std::size_t i = 0; i < v.size(); ++i) product += product_of<T>(promises::conjugate<T>(of(i)), element(i));
    product *= twice;
    for (std::size_t i = 0; i < v.size(); ++i) element(i) -= product_of<T>(of(i), product);
  }
};

/// A matrix in higher precision, to be changed.
template <class T>
struct Wider {
  index rows, cols;
  std::vector<Wide<T>> elements;
  Wide<T>& operator()(index i, index j) { return elements[static_cast<std::size_t>(i + j * rows)]; }

  std::vector<Wide<T>> column(index from, index j) {
    std::vector<Wide<T>> x;
    for (index i = from; i < rows; ++i) x.push_back((*this)(i, j));
    return x;
  }
  std::vector<Wide<T>> row_conjugated(index i, index from) {
    std::vector<Wide<T>> x;
    for (index j = from; j < cols; ++j) x.push_back(promises::conjugate<T>((*this)(i, j)));
    return x;
  }
  /// The last rows from the left, in columns from there on.
  void apply_left(const Reflection<T>& H, index from) {
    const index top = rows - static_cast<index>(H.v.size());
    for (index j = from; j < cols; ++j)
      H.apply([&](std::size_t i) -> Wide<T>& { return (*this)(top + static_cast<index>(i), j); });
  }
  /// The last columns from the right, in rows from there on.
  void apply_right(const Reflection<T>& H, index from) {
    const index left = cols - static_cast<index>(H.v.size());
    for (index i = from; i < rows; ++i)
      H.apply([&](std::size_t j) -> Wide<T>& { return (*this)(i, left + static_cast<index>(j)); }, true);
  }
};

/// Of a Hermitian matrix (n x n), all of which is given; in ascending order.
template <class T>
std::vector<long double> eigenvalues(const std::vector<Wide<T>>& matrix, index n) {
  Wider<T> A{n, n, matrix};
  std::vector<long double> d, e;
  for (index k = 0; k < n; ++k) {
    d.push_back(std::real(A(k, k)));
    if (k + 1 == n) break;
    const Reflection<T> H(A.column(k + 1, k));
    e.push_back(H.length);  // phases change no eigenvalue
    A.apply_left(H, k + 1);
    A.apply_right(H, k + 1);
  }
  return eigenvalues_of_tridiagonal(d, e);
}

/// Of a matrix (m x n), min(m, n) of them, in descending order: what is bidiagonal after reflections from both sides,
/// B, gives a tridiagonal matrix of [0 B^T; B 0] in another order, whose eigenvalues are these and their opposites
/// (Golub, Van Loan, Matrix Computations, 8.6).
template <class T>
std::vector<long double> singular_values(const std::vector<Wide<T>>& matrix, index m, index n) {
  Wider<T> A{m, n, matrix};
  if (m < n) {
    A = {n, m, {}};
    for (index j = 0; j < m; ++j)
      for (index i = 0; i < n; ++i)
        A.elements.push_back(promises::conjugate<T>(matrix[static_cast<std::size_t>(j + i * m)]));
  }
  const index k = std::min(m, n);
  std::vector<long double> beside;
  for (index j = 0; j < k; ++j) {
    const Reflection<T> H(A.column(j, j));
    beside.push_back(H.length);
    if (j + 1 == k) break;
    A.apply_left(H, j + 1);
    const Reflection<T> G(A.row_conjugated(j, j + 1));
    beside.push_back(G.length);
    A.apply_right(G, j + 1);
  }
  std::vector<long double> values =
      eigenvalues_of_tridiagonal(std::vector<long double>(static_cast<std::size_t>(2 * k)), beside);
  std::reverse(values.begin(), values.end());
  values.resize(static_cast<std::size_t>(k));
  for (long double& value : values) value = std::max(value, 0.0L);
  return values;
}

}  // namespace suite
