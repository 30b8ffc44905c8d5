#include "kernels/host/gebrd.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/host/reflector.hpp"

namespace blaslift {
namespace {

using namespace host;

/// Householder's, a column and a row in turn (Golub and Van Loan, Matrix Computations, 5.4.8), in memory of our own. Of
/// a wide matrix the adjoint is reduced, which is a tall one, whose Q is the wide one's P.
template <class T>
class Bidiagonal {
 public:
  using R = Real<T>;

  explicit Bidiagonal(const Gebrd& p)
      : p_(p),
        wide_(p.m < p.n),
        rows_(std::max(p.m, p.n)),
        cols_(p.factored()),
        M_(elements(rows_) * elements(cols_)),
        vector_(elements(cols_)),
        product_(elements(rows_)) {}

  void run() {
    for (index j = 0; j < cols_; ++j)
      for (index i = 0; i < rows_; ++i) at(i, j) = wide_ ? conjugate(A()[j + i * p_.lda]) : A()[i + j * p_.lda];
    T *const tau = static_cast<T*>(wide_ ? p_.taup : p_.tauq), *const tau_of_row =
                                                                   static_cast<T*>(wide_ ? p_.tauq : p_.taup);
    bool finite = true;
    for (index j = 0; j < cols_; ++j) {
      tau[j] = reduce_column(j);
      tau_of_row[j] = j + 1 < cols_ ? reduce_row(j) : T(0);
      const R d = static_cast<R*>(p_.d)[j] = std::real(at(j, j));
      finite = finite && std::isfinite(d);
      if (j + 1 == cols_) break;
      const R e = static_cast<R*>(p_.e)[j] = std::real(at(j, j + 1));
      finite = finite && std::isfinite(e);
    }
    for (index j = 0; j < cols_; ++j)
      for (index i = 0; i < rows_; ++i)
        (wide_ ? A()[j + i * p_.lda] : A()[i + j * p_.lda]) = wide_ ? conjugate(at(i, j)) : at(i, j);
    *static_cast<T*>(p_.failed) = T(finite ? 0 : 1);
  }

 private:
  static std::size_t elements(index count) { return static_cast<std::size_t>(count); }
  T* A() const { return static_cast<T*>(p_.A); }
  T& at(index i, index j) { return M_[elements(i + j * rows_)]; }

  T reduce_column(index j) {
    T* const v = &at(j, j);
    const index count = rows_ - j;
    const T tau = reflector(count, v), beta = v[0];
    v[0] = T(1);
    for (index k = j + 1; tau != T(0) && k < cols_; ++k)
      host::subtract(count, times(conjugate(tau), dot(count, v, &at(j, k))), v, &at(j, k));
    v[0] = beta;
    return tau;
  }

  T reduce_row(index j) {
    const index count = cols_ - j - 1, below = rows_ - j - 1;
    T* const u = vector_.data();
    for (index k = 0; k < count; ++k) u[k] = conjugate(at(j, j + 1 + k));
    const T tau = reflector(count, u);
    for (index k = 0; k < count; ++k) at(j, j + 1 + k) = conjugate(u[k]);
    if (tau == T(0)) return tau;
    u[0] = T(1);
    T* const Mu = product_.data();
    std::fill_n(Mu, below, T(0));
    for (index k = 0; k < count; ++k) host::subtract(below, -u[k], &at(j + 1, j + 1 + k), Mu);
    for (index k = 0; k < count; ++k) host::subtract(below, times(tau, conjugate(u[k])), Mu, &at(j + 1, j + 1 + k));
    return tau;
  }

  const Gebrd& p_;
  const bool wide_;
  const index rows_, cols_;
  std::vector<T> M_, vector_, product_;
};

}  // namespace

void reduce_to_bidiagonal(const Gebrd& p) {
  switch (p.precision) {
    case Precision::s: return Bidiagonal<float>(p).run();
    case Precision::d: return Bidiagonal<double>(p).run();
    case Precision::c: return Bidiagonal<std::complex<float>>(p).run();
    case Precision::z: return Bidiagonal<std::complex<double>>(p).run();
  }
}

}  // namespace blaslift
