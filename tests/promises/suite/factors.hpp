// What LU and Cholesky, and the systems solved with them, have in common: pivots, and what may be off.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/promises/suite/suite.hpp"

namespace suite {

/// LAPACK's ipiv: rows that change places one after the other, from 1 on, in the interface's integers.
struct Pivots : Integers {
  Pivots(Draw& draw, Role as, index n) : Integers(draw, "ipiv", as, n) {}
  /// Each from its own row on, and of `rows` rows.
  bool valid(index rows_of_matrix) const {
    for (index i = 0; i < rows(); ++i)
      if ((*this)[i] <= i || (*this)[i] > rows_of_matrix) return false;
    return true;
  }
  /// Where the rows have come from, from 0 on.
  std::vector<index> order(index rows_of_matrix) const {
    std::vector<index> from(static_cast<std::size_t>(rows_of_matrix));
    std::iota(from.begin(), from.end(), index{0});
    for (index i = 0; i < rows(); ++i)
      std::swap(from[static_cast<std::size_t>(i)], from[static_cast<std::size_t>((*this)[i] - 1)]);
    return from;
  }
};

/// The least sizes, and bytes, at which no matrix is as small as pivots are: these lie in the host's memory, when
/// all matrices lie in a device's.
inline constexpr index least_beside_pivots = 12, bytes_beside_pivots = 400;

template <class T>
Wide<T> in_lower(const Matrix<T>& A, index i, index j, bool unit_diagonal) {
  if (i == j && unit_diagonal) return Wide<T>(1);
  return i >= j ? widen(A(i, j)) : Wide<T>{};
}
template <class T>
Wide<T> in_upper(const Matrix<T>& A, index i, index j) {
  return i <= j ? widen(A(i, j)) : Wide<T>{};
}

/// |P A - L U| <= gamma(k) |L| |U|, element by element (Higham, Accuracy and Stability, theorem 9.3).  P is LAPACK's:
/// each pivot is the largest of its column by |re| + |im|, but for rounding, so no |l| is over 1, or the root of 2.
template <class T>
void judge_lu(Judge& judge, const Matrix<T>& was, const Matrix<T>& A, const Pivots& ipiv) {
  const index m = A.rows(), n = A.cols(), count = std::min(m, n);
  if (!ipiv.valid(m)) return judge.check("ipiv is none", false);
  const std::vector<index> from = ipiv.order(m);
  constexpr long double largest = is_complex<T> ? 1.41421357L : 1;
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      Sum<T> sum;
      for (index k = 0; k < count && k <= std::min(i, j); ++k) sum.add(in_lower(A, i, k, true), in_upper(A, k, j));
      sum.add(Wide<T>(-1), widen(was(from[static_cast<std::size_t>(i)], j)));
      judge.check("L U is not P A", promises::size_of(sum.value) <= unit<T>(count) * sum.size);
      if (i > j && j < count)
        judge.check("a pivot is not the largest of its column",
                    promises::size_of(widen(A(i, j))) <= largest * (1 + unit<T>(count)));
    }
}

/// |B - F G X| <= 2 gamma(n) |F| |G| |X|, element by element, of F Y = B and then G X = Y (ibid., 8.5): all functions
/// of row and column.
template <class T, class First, class Second, class Right, class Solution>
void judge_solutions(Judge& judge, index n, index nrhs, const First& F, const Second& G, const Right& B,
                     const Solution& X) {
  struct Element {
    index row, col;
    Wide<T> value;
    WideReal<T> size;
  };
  const auto list = [&](const auto& triangle) {
    std::vector<Element> found;
    for (index i = 0; i < n; ++i)
      for (index k = 0; k < n; ++k)
        if (const Wide<T> x = triangle(i, k); x != Wide<T>{}) found.push_back({i, k, x, promises::size_of(x)});
    return found;
  };
  const std::vector<Element> first = list(F), second = list(G);
  for (index j = 0; j < nrhs; ++j) {
    std::vector<Sum<T>> between(static_cast<std::size_t>(n)), sums(static_cast<std::size_t>(n));
    for (const Element& x : second) between[static_cast<std::size_t>(x.row)].add(x.value, X(x.col, j));
    for (const Element& x : first) {
      Sum<T>&to = sums[static_cast<std::size_t>(x.row)], &y = between[static_cast<std::size_t>(x.col)];
      Sum<T> term;
      term.add(x.value, y.value);
      to.value += term.value, to.size += x.size * y.size;
    }
    for (index i = 0; i < n; ++i) {
      Sum<T>& sum = sums[static_cast<std::size_t>(i)];
      sum.add(Wide<T>(-1), B(i, j));
      judge.check("A X is not B", promises::size_of(sum.value) <= unit<T>(2 * n) * sum.size);
    }
  }
}

/// Of op(A) X = B with P A = L U.
template <class T>
void judge_by_lu(Judge& judge, char trans, const Matrix<T>& A, const Pivots& ipiv, const Matrix<T>& B,
                 const Matrix<T>& X) {
  if (!ipiv.valid(A.rows())) return judge.check("ipiv is none", false);
  const std::vector<index> from = ipiv.order(A.rows());
  const auto row = [&](index i) { return from[static_cast<std::size_t>(i)]; };
  const auto op = [&](Wide<T> a) { return trans == 'C' ? promises::conjugate<T>(a) : a; };
  if (trans == 'N')
    judge_solutions<T>(
        judge, A.rows(), B.cols(), [&](index i, index j) { return in_lower(A, i, j, true); },
        [&](index i, index j) { return in_upper(A, i, j); }, [&](index i, index j) { return widen(B(row(i), j)); },
        [&](index i, index j) { return widen(X(i, j)); });
  else
    judge_solutions<T>(
        judge, A.rows(), B.cols(), [&](index i, index j) { return op(in_upper(A, j, i)); },
        [&](index i, index j) { return op(in_lower(A, j, i, true)); }, [&](index i, index j) { return widen(B(i, j)); },
        [&](index i, index j) { return widen(X(row(i), j)); });
}

/// Cholesky's L, wherever it is stored.
template <class T>
Wide<T> cholesky_l(char uplo, const Matrix<T>& A, index i, index j) {
  if (i < j) return {};
  return uplo == 'L' ? widen(A(i, j)) : promises::conjugate<T>(widen(A(j, i)));
}

/// Of A X = B with A = L L^H.
template <class T>
void judge_by_cholesky(Judge& judge, char uplo, const Matrix<T>& A, const Matrix<T>& B, const Matrix<T>& X) {
  judge_solutions<T>(
      judge, A.rows(), B.cols(), [&](index i, index j) { return cholesky_l(uplo, A, i, j); },
      [&](index i, index j) { return promises::conjugate<T>(cholesky_l(uplo, A, j, i)); },
      [&](index i, index j) { return widen(B(i, j)); }, [&](index i, index j) { return widen(X(i, j)); });
}

/// |A - L L^H| <= gamma(n + 1) |L| |L^H|, element by element (ibid., theorem 10.3); `was` as it was stored.
template <class T>
void judge_cholesky(Judge& judge, char uplo, const Matrix<T>& was, const Matrix<T>& A) {
  const index n = A.rows();
  for (index j = 0; j < n; ++j)
    for (index i = j; i < n; ++i) {
      Sum<T> sum;
      for (index k = 0; k <= j; ++k)
        sum.add(cholesky_l(uplo, A, i, k), promises::conjugate<T>(cholesky_l(uplo, A, j, k)));
      sum.add(Wide<T>(-1), i == j ? Wide<T>(std::real(was(i, i))) : cholesky_l(uplo, was, i, j));
      judge.check("L L^H is not A", promises::size_of(sum.value) <= unit<T>(n + 1) * sum.size);
      if (i == j) judge.check("the diagonal is not real", std::imag(A(i, i)) == 0);
    }
}

inline bool in_triangle(char uplo, index i, index j) { return uplo == 'U' ? i <= j : i >= j; }

/// Definite since each diagonal element is more than its row's others together; a diagonal's imaginary part is
/// anything.
template <class T>
void make_definite(Draw& draw, char uplo, Matrix<T>& A) {
  const auto share = static_cast<Real<T>>(1) / static_cast<Real<T>>(2 * std::max<index>(1, A.rows()));
  for (index j = 0; j < A.cols(); ++j)
    for (index i = 0; i < A.rows(); ++i)
      if (in_triangle(uplo, i, j))
        A(i, j) = promises::make<T>(draw.number(), draw.number()) * share + (i == j ? T(3) : T(0));
}

/// Right-hand sides: where many calls are made, now and then none.
inline index right_hand_sides(Draw& draw, index largest) {
  const bool none = draw.below(8) == 0 && draw.most() == largest;
  const index drawn = draw.size();
  return none ? 0 : drawn;
}

}  // namespace suite
