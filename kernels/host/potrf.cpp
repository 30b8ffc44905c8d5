#include "kernels/host/potrf.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/host/scalars.hpp"

namespace blaslift {
namespace {

using namespace host;

constexpr index block = 64;

/// By columns of L, or what they are in the other triangle: rows of U, conjugated.
template <class T>
class Factoring {
 public:
  Factoring(const Potrf& p, const UnderlyingBlas& underlying)
      : p_(p), underlying_(underlying), A_(static_cast<T*>(p.A)), lower_(p.uplo == Uplo::lower) {}

  void run() {
    T& failed = *static_cast<T*>(p_.failed);
    failed = T(0);
    for (index first = 0; first < p_.n; first += block) {
      const index count = std::min(block, p_.n - first), end = first + count;
      if (first > 0) {
        subtract(first, count, first, count, part_of(p_.uplo));
        if (end < p_.n) subtract(end, p_.n - end, first, count, Part::whole);
      }
      for (index k = first; k < end; ++k)
        if (!column(first, k)) return void(failed = T(static_cast<Real>(k + 1)));
    }
  }

 private:
  using Real = decltype(std::real(T()));

  /// Element of L.
  T& at(index i, index j) const { return lower_ ? A_[i + j * p_.lda] : A_[j + i * p_.lda]; }

  /// What the columns before `first` make of the rows [row, row + rows) of those from there on.
  void subtract(index row, index rows, index first, index cols, Part part) {
    const T minus_one(-1), one(1);
    const Op adjoint = is_complex(p_.precision) ? Op::conjugate : Op::transpose;
    T *const left = &at(row, 0), *const right = &at(first, 0);
    Gemm product{.precision = p_.precision,
                 .transa = lower_ ? Op::none : adjoint,
                 .transb = lower_ ? adjoint : Op::none,
                 .m = lower_ ? rows : cols,
                 .n = lower_ ? cols : rows,
                 .k = first,
                 .alpha = &minus_one,
                 .A = lower_ ? left : right,
                 .lda = p_.lda,
                 .B = lower_ ? right : left,
                 .ldb = p_.lda,
                 .beta = &one,
                 .C = &at(row, first),
                 .ldc = p_.lda};
    product.part = part;
    underlying_.call(underlying_.context, product);
  }

  /// Column k of a block that begins at `first`, down to the matrix's end; false: its pivot will not do.
  bool column(index first, index k) const {
    Real pivot = std::real(at(k, k));
    for (index j = first; j < k; ++j) pivot -= std::norm(at(k, j));
    if (!(pivot > 0)) return false;  // nor NaN
    pivot = std::sqrt(pivot);
    at(k, k) = T(pivot);
    for (index i = k + 1; i < p_.n; ++i) {
      T x = at(i, k);
      for (index j = first; j < k; ++j) x -= times(at(i, j), conjugate(at(k, j)));
      at(i, k) = x / pivot;
    }
    return true;
  }
  const Potrf& p_;
  const UnderlyingBlas& underlying_;
  T* const A_;
  const bool lower_;
};

}  // namespace

void factor_definite(const Potrf& p, const UnderlyingBlas& underlying) {
  switch (p.precision) {
    case Precision::s: return Factoring<float>(p, underlying).run();
    case Precision::d: return Factoring<double>(p, underlying).run();
    case Precision::c: return Factoring<std::complex<float>>(p, underlying).run();
    case Precision::z: return Factoring<std::complex<double>>(p, underlying).run();
  }
}

}  // namespace blaslift
