#include "kernels/host/sytrd.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/host/reflector.hpp"

namespace blaslift {
namespace {

using namespace host;

/// Householder's, a column and the row beside it at once (Golub and Van Loan, Matrix Computations, 8.3.1), in memory of
/// our own that holds all of the matrix.  Of an upper triangle, LAPACK begins at the other end: what is reduced has its
/// rows and columns in reverse.
template <class T>
class Tridiagonal {
 public:
  using R = Real<T>;

  explicit Tridiagonal(const Sytrd& p) : p_(p), n_(p.n), M_(elements(n_) * elements(n_)), product_(elements(n_)) {}

  void run() {
    for (index j = 0; j < n_; ++j)
      for (index i = j; i < n_; ++i) {
        at(i, j) = i == j ? T(std::real(stored(i, j))) : stored(i, j);
        at(j, i) = conjugate(at(i, j));
      }
    bool finite = true;
    for (index j = 0; j < n_; ++j) {
      T tau(0);
      if (j + 1 < n_) {
        tau = reduce(j);
        const R e = std::real(at(j + 1, j));
        static_cast<R*>(p_.e)[beside(j)] = e;
        finite = finite && std::isfinite(e);
        static_cast<T*>(p_.tau)[beside(j)] = tau;
      }
      const R d = std::real(at(j, j));
      static_cast<R*>(p_.d)[turned(j)] = d;
      finite = finite && std::isfinite(d);
    }
    for (index j = 0; j < n_; ++j)
      for (index i = j; i < n_; ++i) stored(i, j) = i == j ? T(std::real(at(i, j))) : at(i, j);
    *static_cast<T*>(p_.failed) = T(finite ? 0 : 1);
  }

 private:
  static std::size_t elements(index count) { return static_cast<std::size_t>(count); }
  bool lower() const { return p_.uplo == Uplo::lower; }
  index turned(index i) const { return lower() ? i : n_ - 1 - i; }
  index beside(index i) const { return lower() ? i : n_ - 2 - i; }
  /// Of the lower triangle of what is reduced.
  T& stored(index i, index j) const { return static_cast<T*>(p_.A)[turned(i) + turned(j) * p_.lda]; }
  T& at(index i, index j) { return M_[elements(i + j * n_)]; }

  /// What is right of and below column j becomes H^H M H = M - v w^H - w v^H.
  T reduce(index j) {
    const index count = n_ - j - 1, first = j + 1;
    T* const v = &at(first, j);
    const T tau = reflector(count, v);
    if (tau == T(0)) return tau;
    const T beta = v[0];
    v[0] = T(1);
    T* const w = product_.data();
    std::fill_n(w, count, T(0));
    for (index k = 0; k < count; ++k) host::subtract(count, -times(tau, v[k]), &at(first, first + k), w);
    const T half = times(tau, dot(count, w, v)) / R(2);
    host::subtract(count, half, v, w);
    for (index k = 0; k < count; ++k) {
      host::subtract(count, conjugate(w[k]), v, &at(first, first + k));
      host::subtract(count, conjugate(v[k]), w, &at(first, first + k));
    }
    v[0] = beta;
    return tau;
  }

  const Sytrd& p_;
  const index n_;
  std::vector<T> M_, product_;
};

}  // namespace

void reduce_to_tridiagonal(const Sytrd& p) {
  switch (p.precision) {
    case Precision::s: return Tridiagonal<float>(p).run();
    case Precision::d: return Tridiagonal<double>(p).run();
    case Precision::c: return Tridiagonal<std::complex<float>>(p).run();
    case Precision::z: return Tridiagonal<std::complex<double>>(p).run();
  }
}

}  // namespace blaslift
