#include "kernels/host/syevd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/host/reflector.hpp"
#include "kernels/host/scalars.hpp"

namespace blaslift {
namespace {

using namespace host;

/// Householder's reduction to a real tridiagonal matrix, from the first column on, and QL steps with implicit shifts
/// (Golub and Van Loan, Matrix Computations, 8.3), in memory of our own.
template <class T>
class Eigensystem {
 public:
  using R = Real<T>;

  explicit Eigensystem(const Syevd& p)
      : p_(p),
        M_(elements(p.n) * elements(p.n)),
        Z_(p.vectors ? elements(p.n) * elements(p.n) : 0),
        tau_(elements(p.n)),
        product_(elements(p.n)),
        d_(elements(p.n)),
        e_(elements(p.n)) {}

  void run() {
    T& failed = *static_cast<T*>(p_.failed);
    failed = T(1);
    if (!take()) return;
    for (index k = 0; k < p_.n; ++k) reduce(k);
    if (p_.vectors) form_q();
    if (!iterate()) return;
    sort();
    R* const w = static_cast<R*>(p_.w);
    bool finite = true;
    for (index i = 0; i < p_.count; ++i) {
      w[i] = std::scalbn(d_[elements(p_.first + i)], exponent_);
      finite = finite && std::isfinite(w[i]);
    }
    for (index j = 0; p_.vectors && j < p_.count; ++j)
      std::copy_n(column(p_.first + j), p_.n, static_cast<T*>(p_.V) + j * p_.ldv);
    if (finite) failed = T(0);
  }

 private:
  static std::size_t elements(index count) { return static_cast<std::size_t>(count); }
  T& at(index i, index j) { return M_[elements(i + j * p_.n)]; }
  T* column(index j) { return &Z_[elements(j * p_.n)]; }

  /// All of the matrix, times a power of two with which no square over- or underflows; false: not finite.
  bool take() {
    const T* const A = static_cast<const T*>(p_.A);
    R largest = 0;
    for (index j = 0; j < p_.n; ++j)
      for (index i = j; i < p_.n; ++i) {
        const T x = p_.uplo == Uplo::lower ? A[i + j * p_.lda] : conjugate(A[j + i * p_.lda]);
        at(i, j) = i == j ? T(std::real(x)) : x;
        for (const R part : {std::fabs(std::real(at(i, j))), std::fabs(std::imag(at(i, j)))})
          if (part > largest || std::isnan(part)) largest = part;  // nothing is larger than NaN
        if (!std::isfinite(largest)) return false;
      }
    exponent_ = largest > 0 ? std::ilogb(largest) : 0;
    for (index j = 0; j < p_.n; ++j)
      for (index i = j; i < p_.n; ++i) {
        T& x = at(i, j);
        if constexpr (is_complex_type<T>)
          x = {std::scalbn(x.real(), -exponent_), std::scalbn(x.imag(), -exponent_)};
        else
          x = std::scalbn(x, -exponent_);
        at(j, i) = conjugate(x);
      }
    return true;
  }

  /// Column k: its reflector's vector takes the place below the diagonal, without the 1 that it begins with.
  void reduce(index k) {
    d_[elements(k)] = std::real(at(k, k));
    const index count = p_.n - k - 1;
    if (count == 0) return;
    T* const x = &at(k + 1, k);
    T& tau = tau_[elements(k)];
    tau = host::reflector(count, x);
    e_[elements(k)] = std::real(x[0]);
    if (tau == T(0)) return;
    x[0] = T(1);
    // H^H A H of the rest: A - v w^H - w v^H with w = p - tau (p^H v) v / 2, p = tau A v.
    T* const w = product_.data();
    std::fill_n(w, count, T(0));
    for (index j = 0; j < count; ++j) host::subtract(count, times(-tau, x[j]), &at(k + 1, k + 1 + j), w);
    host::subtract(count, times(tau, dot(count, w, x)) / R(2), x, w);
    for (index j = 0; j < count; ++j)
      for (index i = 0; i < count; ++i)
        at(k + 1 + i, k + 1 + j) -= times(x[i], conjugate(w[j])) + times(w[i], conjugate(x[j]));
  }

  /// The product of the reflectors, backward: each changes only what lies to its right and below.
  void form_q() {
    for (index j = 0; j < p_.n; ++j) column(j)[j] = T(1);
    for (index k = p_.n - 1; k-- > 0;) {
      const index first = k + 1, count = p_.n - first;
      const T* const v = &at(first, k);
      const T tau = tau_[elements(k)];
      if (tau == T(0)) continue;
      for (index j = first; j < p_.n; ++j)
        host::subtract(count, times(tau, dot(count, v, column(j) + first)), v, column(j) + first);
    }
  }

  /// False: too many steps.
  bool iterate() {
    constexpr int most_steps = 60;  // for one eigenvalue; two are usual
    constexpr R epsilon = std::numeric_limits<R>::epsilon();
    R *const d = d_.data(), *const e = e_.data();
    // Of a matrix of low rank, most of which is roundings, the next two d may be far smaller than what they are of.
    R nothing = std::numeric_limits<R>::min();
    for (index i = 0; i < p_.n; ++i) nothing = std::max(nothing, epsilon / 16 * std::fabs(d[i]));
    for (index l = 0; l < p_.n; ++l)
      for (int steps = 0;; ++steps) {
        index m = l;
        while (m + 1 < p_.n &&
               std::fabs(e[m]) > epsilon * std::sqrt(std::fabs(d[m])) * std::sqrt(std::fabs(d[m + 1])) &&
               std::fabs(e[m]) > nothing)
          ++m;
        if (m == l) break;
        if (steps == most_steps) return false;
        step(l, m);
      }
    return true;
  }

  /// From row m up to row l, with Wilkinson's shift.
  void step(index l, index m) {
    R *const d = d_.data(), *const e = e_.data();
    R g = (d[l + 1] - d[l]) / (2 * e[l]), r = std::hypot(g, R(1));
    g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
    R sine = 1, cosine = 1, p = 0;
    for (index i = m - 1; i >= l; --i) {
      const R f = sine * e[i], b = cosine * e[i];
      r = std::hypot(f, g);
      e[i + 1] = r;
      if (r == 0) {  // the matrix has come apart
        d[i + 1] -= p;
        e[m] = 0;
        return;
      }
      sine = f / r;
      cosine = g / r;
      g = d[i + 1] - p;
      const R change = (d[i] - g) * sine + 2 * cosine * b;
      p = sine * change;
      d[i + 1] = g + p;
      g = cosine * change - b;
      if (p_.vectors) rotate(column(i), column(i + 1), cosine, sine);
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0;
  }

  void rotate(T* x, T* y, R cosine, R sine) const {
    for (index k = 0; k < p_.n; ++k) {
      const T old = y[k];
      y[k] = sine * x[k] + cosine * old;
      x[k] = cosine * x[k] - sine * old;
    }
  }

  void sort() {
    for (index i = 0; i + 1 < p_.n; ++i) {
      const index least = std::min_element(d_.begin() + i, d_.end()) - d_.begin();
      if (least == i) continue;
      std::swap(d_[elements(i)], d_[elements(least)]);
      if (p_.vectors) std::swap_ranges(column(i), column(i) + p_.n, column(least));
    }
  }

  const Syevd& p_;
  std::vector<T> M_, Z_, tau_, product_;
  std::vector<R> d_, e_;  ///< the tridiagonal matrix
  int exponent_ = 0;
};

}  // namespace

void find_eigenvalues(const Syevd& p) {
  switch (p.precision) {
    case Precision::s: return Eigensystem<float>(p).run();
    case Precision::d: return Eigensystem<double>(p).run();
    case Precision::c: return Eigensystem<std::complex<float>>(p).run();
    case Precision::z: return Eigensystem<std::complex<double>>(p).run();
  }
}

}  // namespace blaslift
