// What inverses have in common: what they may be off by.
#pragma once
#include <vector>

#include "tests/promises/suite/factors.hpp"

namespace suite {

/// |I - X A| <= 30 n eps |A| |X|, or the same of |I - A X|, 1-norms: LAPACK's own test ratio with its threshold
/// (dget03, dpot03, dtrt01 and dtest.in), for methods of which either makes one of them small (Higham, Accuracy and
/// Stability, 14.1).  Both are functions of row and column.
template <class T, class Of, class Inverse>
void judge_inverse(Judge& judge, index n, const Of& of, const Inverse& inverse) {
  std::vector<Wide<T>> A, X;
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) A.push_back(of(i, j)), X.push_back(inverse(i, j));
  const auto at = [n](const std::vector<Wide<T>>& x, index i, index j) {
    return x[static_cast<std::size_t>(i + j * n)];
  };
  const auto norm = [&](const auto& element) {
    long double largest = 0;
    for (index j = 0; j < n; ++j) {
      long double sum = 0;
      for (index i = 0; i < n; ++i) sum += std::abs(element(i, j));
      if (!(sum <= largest)) largest = sum;
    }
    return largest;
  };
  const auto residual = [&](const std::vector<Wide<T>>& x, const std::vector<Wide<T>>& y) {
    return norm([&](index i, index j) {
      Sum<T> sum;
      sum.add(Wide<T>(i == j ? -1 : 0), Wide<T>(1));
      for (index k = 0; k < n; ++k)
        if (at(y, k, j) != Wide<T>{}) sum.add(at(x, i, k), at(y, k, j));
      return sum.value;
    });
  };
  const long double size =
      norm([&](index i, index j) { return at(A, i, j); }) * norm([&](index i, index j) { return at(X, i, j); });
  const long double left = residual(X, A), right = residual(A, X);
  judge.at_most("X is not A^-1", static_cast<double>(left < right ? left : right),
                static_cast<double>(30 * static_cast<long double>(n) * size) *
                    static_cast<double>(std::numeric_limits<Real<T>>::epsilon()));
}

}  // namespace suite
