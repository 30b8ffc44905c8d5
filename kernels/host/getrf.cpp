#include "kernels/host/getrf.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/host/scalars.hpp"

namespace blaslift {
namespace {

using namespace host;

constexpr index block = 64;

template <class T>
Real<T> size_of(const T& x) {
  return std::fabs(std::real(x)) + std::fabs(std::imag(x));
}

template <class T>
void exchange(T* A, index lda, index cols, index i, index j) {
  for (index col = 0; i != j && col < cols; ++col) std::swap(A[i + col * lda], A[j + col * lda]);
}

/// Right-looking, a block of columns at a time.
template <class T>
class Factoring {
 public:
  Factoring(const Getrf& p, const UnderlyingBlas& underlying)
      : p_(p), underlying_(underlying), A_(static_cast<T*>(p.A)), pivots_(static_cast<T*>(p.pivots)) {}

  void run() {
    T& failed = *static_cast<T*>(p_.failed);
    failed = T(0);
    if (const index col = first_not_finite(); col < p_.n) return fail(col);
    for (index first = 0; first < p_.factored(); first += block) {
      const index end = std::min(first + block, p_.factored());
      for (index k = first; k < end; ++k)
        if (!column(k, end)) return fail(k);
      for (index k = first; k < end; ++k) {
        const index row = static_cast<index>(std::real(pivots_[k])) - 1;
        exchange(A_, p_.lda, first, k, row);
        exchange(&at(0, end), p_.lda, p_.n - end, k, row);
      }
      for (index j = end; j < p_.n; ++j)
        for (index k = first; k < end; ++k) subtract(end - k - 1, at(k, j), &at(k + 1, k), &at(k + 1, j));
      if (end < p_.m && end < p_.n) subtract_product(first, end);
    }
    if (const index col = first_not_finite(); col < p_.n) fail(col);
  }

 private:
  index first_not_finite() const {
    for (index j = 0; j < p_.n; ++j)
      for (index i = 0; i < p_.m; ++i)
        if (!std::isfinite(std::real(at(i, j))) || !std::isfinite(std::imag(at(i, j)))) return j;
    return p_.n;
  }
  void fail(index col) { *static_cast<T*>(p_.failed) = T(static_cast<Real<T>>(std::min(col + 1, p_.factored()))); }
  T& at(index i, index j) const { return A_[i + j * p_.lda]; }

  /// Column k of a block that ends at `end`, and what it makes of the block's others; false: its pivot will not do.
  bool column(index k, index end) const {
    index pivot = k;
    for (index i = k + 1; i < p_.m; ++i)
      if (!(size_of(at(i, k)) <= size_of(at(pivot, k)))) pivot = i;  // NaN is found
    const Real<T> size = size_of(at(pivot, k));
    if (!(size > 0 && std::isfinite(size))) return false;
    pivots_[k] = T(static_cast<Real<T>>(pivot + 1));
    const index first = k / block * block;
    exchange(&at(0, first), p_.lda, end - first, k, pivot);
    // A reciprocal could overflow.
    for (index i = k + 1; i < p_.m; ++i) at(i, k) /= at(k, k);
    for (index j = k + 1; j < end; ++j) subtract(p_.m - k - 1, at(k, j), &at(k + 1, k), &at(k + 1, j));
    return true;
  }

  void subtract_product(index first, index end) {
    const T minus_one(-1), one(1);
    const Gemm product{.precision = p_.precision,
                       .transa = Op::none,
                       .transb = Op::none,
                       .m = p_.m - end,
                       .n = p_.n - end,
                       .k = end - first,
                       .alpha = &minus_one,
                       .A = &at(end, first),
                       .lda = p_.lda,
                       .B = &at(first, end),
                       .ldb = p_.lda,
                       .beta = &one,
                       .C = &at(end, end),
                       .ldc = p_.lda};
    underlying_.call(underlying_.context, product);
  }

  const Getrf& p_;
  const UnderlyingBlas& underlying_;
  T *const A_, *const pivots_;
};

/// Where a Getrf has ended early, pivots may be anything: such rows stay, so that nothing beside A is written.
template <class T>
void exchange_all(const RowSwaps& p) {
  const T* const pivots = static_cast<const T*>(p.pivots);
  for (index i = 0; i < p.count; ++i) {
    const index row = p.backward ? p.count - 1 - i : i;
    const Real<T> other = std::real(pivots[row]);
    if (other > static_cast<Real<T>>(row + 1) && other <= static_cast<Real<T>>(p.m))
      exchange(static_cast<T*>(p.A), p.lda, p.n, row, static_cast<index>(other) - 1);
  }
}

}  // namespace

void factor_general(const Getrf& p, const UnderlyingBlas& underlying) {
  switch (p.precision) {
    case Precision::s: return Factoring<float>(p, underlying).run();
    case Precision::d: return Factoring<double>(p, underlying).run();
    case Precision::c: return Factoring<std::complex<float>>(p, underlying).run();
    case Precision::z: return Factoring<std::complex<double>>(p, underlying).run();
  }
}

void exchange_rows(const RowSwaps& p) {
  switch (p.precision) {
    case Precision::s: return exchange_all<float>(p);
    case Precision::d: return exchange_all<double>(p);
    case Precision::c: return exchange_all<std::complex<float>>(p);
    case Precision::z: return exchange_all<std::complex<double>>(p);
  }
}

}  // namespace blaslift
