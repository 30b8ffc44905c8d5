// What a QR with pivoting is held to, beside its definition in higher precision.
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/qr/qr_reference.hpp"

namespace blaslift::reference {

/// What is wrong with A P = Q R of A0 in LAPACK's format, or nothing: a residual above (m + n) eps |A| (Higham,
/// Accuracy and Stability, 19.3), twice that for complex numbers, a Q that is as far from unitary, an order that is
/// none, or does not begin with the fixed columns; or a column of R that begins with less than what a later one has
/// from there on, by more than what norms are off that are brought down: their squares lose half of the digits (LAPACK
/// Working Note 176).
/// @param fixed  columns whose number is not zero
/// @param order  the columns' numbers from 1 on
template <class T>
std::string wrong_in_pivoted(const Matrix<T>& A0, const Matrix<T>& A, const std::vector<T>& fixed,
                             const std::vector<T>& order, const std::vector<T>& tau) {
  const index m = A.rows(), n = A.cols(), k = std::min(m, n);
  std::vector<index> columns, first;
  std::size_t count = 0;
  for (index j = 0; j < n; ++j) {
    columns.push_back(static_cast<index>(std::real(order[static_cast<std::size_t>(j)])));
    first.push_back(j + 1);
    if (fixed[static_cast<std::size_t>(j)] != T(0)) std::swap(first.back(), first[count++]);
  }
  std::vector<index> sorted = columns;
  std::sort(sorted.begin(), sorted.end());
  for (index j = 0; j < n; ++j)
    if (sorted[static_cast<std::size_t>(j)] != j + 1) return "no order";
  if (!std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(count), columns.begin()))
    return "fixed columns are not the first ones";

  Wide<T> AP(m, n), R = upper_part(m, n, A.data(), A.ld());
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      const T& x = A0(i, columns[static_cast<std::size_t>(j)] - 1);
      AP(i, j) = {std::real(x), std::imag(x)};
    }
  const double allowed = static_cast<double>(m + n) * eps<T>() * (std::is_same_v<T, Real<T>> ? 1 : 2), norm = AP.norm();
  apply_lapack_q(true, m, k, A.data(), A.ld(), tau.data(), AP);
  if (!((AP - R).norm() <= allowed * norm)) return "|Q^H A P - R| is " + std::to_string((AP - R).norm() / norm);
  Wide<T> Q(m, k);
  for (index j = 0; j < k; ++j) Q(j, j) = 1;
  apply_lapack_q(false, m, k, A.data(), A.ld(), tau.data(), Q);
  if (!(orthogonality(Q) <= allowed * std::sqrt(static_cast<double>(k)))) return "Q is not unitary";
  const double off = 4 * std::sqrt(static_cast<double>(m) * eps<T>());
  for (index j = static_cast<index>(count); j < n; ++j) {
    double length = 0;
    for (index i = std::min(j, m - 1); i >= static_cast<index>(count); --i) {
      length = std::hypot(length, static_cast<double>(std::abs(R(i, j))));
      if (length > static_cast<double>(std::abs(R(i, i))) * (1 + off) + 10 * allowed * norm)
        return "column " + std::to_string(j) + " was to come before column " + std::to_string(i);
    }
  }
  return {};
}

}  // namespace blaslift::reference
