// Systolic products for tests: operands, and what has to come of them, by the plainest loop.
#pragma once
#include <cmath>
#include <string>

#include "kernels/systolic.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::systolic {

/// `count` products, side by side in each of three matrices whose unused storage holds canaries.
template <class T>
struct Products {
  int m, n, k;
  index count;
  bool same_a;  ///< one A for all
  reference::Matrix<T> A, B, C;

  Products(int m_, int n_, int k_, index count_, unsigned seed, bool same = false, index gap = 3)
      : m(m_),
        n(n_),
        k(k_),
        count(count_),
        same_a(same),
        A(m, k * (same ? 1 : count), gap),
        B(k, n * count, gap + 1),
        C(m, n * count, gap + 2) {
    A.random(3 * seed);
    B.random(3 * seed + 1);
    C.random(3 * seed + 2);
  }

  Operands<T> operands() {
    return {A.data(), A.ld(), same_a ? 0 : k * A.ld(), B.data(), B.ld(), n * B.ld(), C.data(), C.ld(), n * C.ld()};
  }

  /// C as it is now, with A B added in the order of k: alpha and beta count where `from_c` does not.
  reference::Matrix<T> expected(const Operands<T>& x) const {
    reference::Matrix<T> due = C;
    for (index j = 0; j < n * count; ++j)
      for (int i = 0; i < m; ++i) {
        const index product = j / n;
        T sum = x.from_c ? C(i, j) : T(0);
        for (int v = 0; v < k; ++v) sum = std::fma(A(i, (same_a ? 0 : product * k) + v), B(v, j), sum);
        if (!x.from_c) {
          const T scaled = x.alpha * sum;
          sum = x.beta == 0 ? scaled : x.beta == 1 ? C(i, j) + scaled : std::fma(x.beta, C(i, j), scaled);
        }
        due(i, j) = sum;
      }
    return due;
  }

  std::string text() const {
    return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", " + std::to_string(count);
  }
};

inline constexpr Variant all_variants[] = {Variant::g1, Variant::gt, Variant::s1, Variant::st,
                                           Variant::l1, Variant::lr, Variant::ls, Variant::shuffled};
/// Whether it can begin with 0 and count alpha and beta.
inline constexpr bool scales(Variant x) { return x != Variant::g1 && x != Variant::gt && x != Variant::l1; }

}  // namespace blaslift::systolic
