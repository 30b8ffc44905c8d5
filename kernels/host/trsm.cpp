#include "kernels/host/trsm.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/host/scalars.hpp"

namespace blaslift {
namespace {

using namespace host;

constexpr index usual_block = 64;

template <class T>
class Solver {
 public:
  Solver(const Trsm& p, const UnderlyingBlas& underlying)
      : p_(p),
        underlying_(underlying),
        A_(static_cast<const T*>(p.A)),
        B_(static_cast<T*>(p.B)),
        n_(p.order()),
        block_(p.block > 0 ? p.block : usual_block),
        // What is known first is the first row of a lower triangle, or the first column of an upper one on the right.
        forward_((p.uplo == Uplo::lower) == ((p.trans == Op::none) == (p.side == Side::left))) {
    std::memcpy(&alpha_, p.alpha, sizeof alpha_);
  }

  void run() {
    if (p_.m == 0 || p_.n == 0) return;
    if (alpha_ == T(0)) {
      for (index j = 0; j < p_.n; ++j) std::fill_n(B_ + j * p_.ldb, p_.m, T(0));
      return;
    }
    const index blocks = (n_ + block_ - 1) / block_;
    for (index step = 0; step < blocks; ++step) {
      const index first = (forward_ ? step : blocks - 1 - step) * block_, count = std::min(block_, n_ - first);
      if (step == 0)
        scale(first, count);
      else
        subtract_known(first, count);
      if (p_.side == Side::left)
        for (index j = 0; j < p_.n; ++j) solve_column(first, count, B_ + first + j * p_.ldb);
      else
        solve_columns(first, count);
    }
  }

 private:
  bool left() const { return p_.side == Side::left; }
  /// Element of op(A).
  T op_a(index i, index j) const {
    if (p_.trans == Op::none) return A_[i + j * p_.lda];
    const T a = A_[j + i * p_.lda];
    return p_.trans == Op::conjugate ? conjugate(a) : a;
  }
  /// Of B what belongs to these rows or columns of A.
  T* part(index first) const { return B_ + (left() ? first : first * p_.ldb); }

  void scale(index first, index count) {
    if (alpha_ == T(1)) return;  // not B * 1: that would touch NaN and Inf
    const index rows = left() ? count : p_.m, cols = left() ? p_.n : count;
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i) {
        T& b = part(first)[i + j * p_.ldb];
        b = times(alpha_, b);
      }
  }

  /// alpha B less what is known already, for a block's rows or columns.
  void subtract_known(index first, index count) {
    const T minus_one(-1);
    const index known = forward_ ? 0 : first + count, terms = forward_ ? first : n_ - known;
    const auto a = [&](index row, index col) {
      return A_ + (p_.trans == Op::none ? row + col * p_.lda : col + row * p_.lda);
    };
    const bool from_left = left();
    const Gemm product{.precision = p_.precision,
                       .transa = from_left ? p_.trans : Op::none,
                       .transb = from_left ? Op::none : p_.trans,
                       .m = from_left ? count : p_.m,
                       .n = from_left ? p_.n : count,
                       .k = terms,
                       .alpha = &minus_one,
                       .A = from_left ? a(first, known) : part(known),
                       .lda = from_left ? p_.lda : p_.ldb,
                       .B = from_left ? part(known) : a(known, first),
                       .ldb = from_left ? p_.ldb : p_.lda,
                       .beta = &alpha_,
                       .C = part(first),
                       .ldc = p_.ldb};
    underlying_.call(underlying_.context, product);
  }

  /// x := op(A)^-1 x for a block of the diagonal.
  void solve_column(index first, index count, T* x) const {
    for (index step = 0; step < count; ++step) {
      const index k = forward_ ? step : count - 1 - step;
      if (!p_.unit) x[k] /= op_a(first + k, first + k);
      const index from = forward_ ? k + 1 : 0, to = forward_ ? count : k;
      for (index i = from; i < to; ++i) x[i] -= times(op_a(first + i, first + k), x[k]);
    }
  }

  /// X := X op(A)^-1 for a block of the diagonal, by whole columns of X.
  void solve_columns(index first, index count) const {
    for (index step = 0; step < count; ++step) {
      const index k = forward_ ? step : count - 1 - step;
      T* const x = part(first + k);
      if (!p_.unit) {
        const T pivot = op_a(first + k, first + k);
        for (index i = 0; i < p_.m; ++i) x[i] /= pivot;
      }
      const index from = forward_ ? k + 1 : 0, to = forward_ ? count : k;
      for (index j = from; j < to; ++j) subtract(p_.m, op_a(first + k, first + j), x, part(first + j));
    }
  }

  const Trsm& p_;
  const UnderlyingBlas& underlying_;
  const T* const A_;
  T* const B_;
  const index n_, block_;
  const bool forward_;
  T alpha_;
};

}  // namespace

void solve_triangular(const Trsm& p, const UnderlyingBlas& underlying) {
  switch (p.precision) {
    case Precision::s: return Solver<float>(p, underlying).run();
    case Precision::d: return Solver<double>(p, underlying).run();
    case Precision::c: return Solver<std::complex<float>>(p, underlying).run();
    case Precision::z: return Solver<std::complex<double>>(p, underlying).run();
  }
}

}  // namespace blaslift
