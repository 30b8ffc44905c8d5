#include "kernels/host/gehrd.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/host/reflector.hpp"

namespace blaslift {
namespace {

using namespace host;

template <class T>
bool is_number(const T& x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}

/// Householder's, a column at a time (Golub and Van Loan, Matrix Computations, 7.4.3).
template <class T>
void reduce(const Gehrd& p) {
  const auto at = [&](index i, index j) { return static_cast<T*>(p.A) + i + j * p.lda; };
  std::vector<T> product(static_cast<std::size_t>(p.rows));
  T* const Av = product.data();
  bool finite = true;
  for (index j = 0; j < p.reflectors(); ++j) {
    const index row = p.above + j + 1, count = p.rows - row;
    T* const v = at(row, j);
    const T tau = reflector(count, v), beta = v[0];
    static_cast<T*>(p.tau)[j] = tau;
    finite = finite && is_number(tau);
    if (tau == T(0)) continue;
    v[0] = T(1);
    std::fill_n(Av, p.rows, T(0));
    for (index k = 0; k < count; ++k) subtract(p.rows, -v[k], at(0, j + 1 + k), Av);
    for (index k = 0; k < count; ++k) subtract(p.rows, times(tau, conjugate(v[k])), Av, at(0, j + 1 + k));
    for (index k = j + 1; k < p.cols; ++k)
      subtract(count, times(conjugate(tau), dot(count, v, at(row, k))), v, at(row, k));
    v[0] = beta;
  }
  for (index j = 0; j < p.cols; ++j)
    for (index i = p.first_of(j); i < p.rows; ++i) finite = finite && is_number(*at(i, j));
  *static_cast<T*>(p.failed) = T(finite ? 0 : 1);
}

}  // namespace

void reduce_to_hessenberg(const Gehrd& p) {
  switch (p.precision) {
    case Precision::s: return reduce<float>(p);
    case Precision::d: return reduce<double>(p);
    case Precision::c: return reduce<std::complex<float>>(p);
    case Precision::z: return reduce<std::complex<double>>(p);
  }
}

}  // namespace blaslift
