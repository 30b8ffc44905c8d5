#include "kernels/host/geqp3.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/host/reflector.hpp"

namespace blaslift {
namespace {

using namespace host;

template <class T>
bool is_number(const T& x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}

/// Businger and Golub's, a column at a time; what is left of a column's norm is brought down from what it was, unless
/// too little of that is left (Drmac and Bujanovic, On the failure of rank-revealing QR factorization software, ACM
/// TOMS 35, 2008).
template <class T>
void factor(const Geqp3& p) {
  using R = Real<T>;
  const R least = std::sqrt(std::numeric_limits<R>::epsilon() / 2);
  const auto at = [&](index i, index j) { return static_cast<T*>(p.A) + i + j * p.lda; };
  T *const order = static_cast<T*>(p.order), *const tau = static_cast<T*>(p.tau);
  std::vector<R> norms(static_cast<std::size_t>(p.n)), exact;
  const auto exchange = [&](index i, index j) {
    if (i == j) return;
    std::swap_ranges(at(0, i), at(p.m, i), at(0, j));
    std::swap(order[i], order[j]);
  };
  index fixed = 0;
  for (index j = 0; j < p.n; ++j) {
    order[j] = T(static_cast<R>(j + 1));
    if (static_cast<const T*>(p.fixed)[j] != T(0)) exchange(fixed++, j);
  }
  for (index j = 0; j < p.n; ++j) norms[static_cast<std::size_t>(j)] = length_of(p.m, at(0, j));
  exact = norms;
  bool finite = true;
  for (index j = 0; j < p.factored(); ++j) {
    const auto first = norms.begin() + j;
    const auto longest = j < fixed ? first : std::max_element(first, norms.end());
    const index chosen = longest - norms.begin();
    exchange(j, chosen);
    *longest = *first;
    exact[static_cast<std::size_t>(chosen)] = exact[static_cast<std::size_t>(j)];
    T* const v = at(j, j);
    tau[j] = reflector(p.m - j, v);
    finite = finite && is_number(tau[j]);
    const T beta = v[0];
    v[0] = T(1);
    for (index k = j + 1; k < p.n; ++k) {
      T* const x = at(j, k);
      subtract(p.m - j, times(conjugate(tau[j]), dot(p.m - j, v, x)), v, x);
      R &norm = norms[static_cast<std::size_t>(k)], &was = exact[static_cast<std::size_t>(k)];
      if (norm == 0) continue;
      const R part = std::abs(x[0]) / norm, left = std::max(R(0), (1 + part) * (1 - part)), ratio = norm / was;
      if (left * ratio * ratio > least)
        norm *= std::sqrt(left);
      else
        norm = was = length_of(p.m - j - 1, x + 1);
    }
    v[0] = beta;
  }
  for (index j = 0; j < p.n; ++j)
    for (index i = 0; i < p.m; ++i) finite = finite && is_number(*at(i, j));
  *static_cast<T*>(p.failed) = T(finite ? 0 : 1);
}

}  // namespace

void factor_with_pivots(const Geqp3& p) {
  switch (p.precision) {
    case Precision::s: return factor<float>(p);
    case Precision::d: return factor<double>(p);
    case Precision::c: return factor<std::complex<float>>(p);
    case Precision::z: return factor<std::complex<double>>(p);
  }
}

}  // namespace blaslift
