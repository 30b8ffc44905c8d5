// Triangular systems by blocks, as products between them: what is known of X leaves the other rows of B, or columns
// where A is on the right.
#pragma once
#include <algorithm>
#include <complex>
#include <type_traits>
#include <utility>

#include "kernels/trsm.hpp"

namespace blaslift {
namespace by_blocks {

/// 1 and -1 in every precision, where products read their scalars.
inline const void* scalar(Precision precision, int sign) {
  static constexpr float s[] = {-1, 1};
  static constexpr double d[] = {-1, 1};
  static constexpr std::complex<float> c[] = {-1, 1};
  static constexpr std::complex<double> z[] = {-1, 1};
  const int i = sign > 0;
  switch (precision) {
    case Precision::s: return s + i;
    case Precision::d: return d + i;
    case Precision::c: return c + i;
    case Precision::z: return z + i;
  }
  return nullptr;
}

template <class Multiply, class Finish>
class Solver {
 public:
  Solver(const Trsm& p, const Multiply& multiply, const Finish& finish)
      : p_(p),
        layout_(p),
        multiply_(multiply),
        finish_(finish),
        left_(p.side == Side::left),
        forward_((p.uplo == Uplo::lower) == ((p.trans == Op::none) == left_)),
        at_once_(std::clamp<index>(p.others() / 512, 1, 8)) {}

  using Status = std::invoke_result_t<const Finish&, index>;

  Status run() const { return solve(0, layout_.blocks, p_.alpha); }

 private:
  struct Range {
    index first, count;  ///< rows or columns of A
  };

  char* element(const void* matrix, index ld, index row, index col) const {
    return static_cast<char*>(const_cast<void*>(matrix)) +
           (row + col * ld) * static_cast<index>(element_size(p_.precision));
  }
  char* part_of_b(index first) const {
    return left_ ? element(p_.B, p_.ldb, first, 0) : element(p_.B, p_.ldb, 0, first);
  }
  /// Which block is the i-th to be solved.
  index block(index i) const { return forward_ ? i : layout_.blocks - 1 - i; }
  /// Of the blocks first to last - 1, in the order in which they are solved.
  Range range(index first, index last) const {
    const index a = block(forward_ ? first : last - 1) * layout_.block,
                b = (block(forward_ ? last - 1 : first) + 1) * layout_.block;
    return {a, std::min(b, p_.order()) - a};
  }

  /// C := scale E - op(A)(to, from) X(from), with X on the other side where A is on the right.
  Status subtract(Range to, Range from, const void* scale, void* C, index ldc, bool into_panel) const {
    const bool plain = p_.trans == Op::none, by_rows = plain == left_;
    Gemm g{.precision = p_.precision,
           .transa = left_ ? p_.trans : Op::none,
           .transb = left_ ? Op::none : p_.trans,
           .m = left_ ? to.count : p_.m,
           .n = left_ ? p_.n : to.count,
           .k = from.count,
           .alpha = scalar(p_.precision, -1),
           .A = element(p_.A, p_.lda, by_rows ? to.first : from.first, by_rows ? from.first : to.first),
           .lda = p_.lda,
           .B = part_of_b(from.first),
           .ldb = p_.ldb,
           .beta = scale,
           .C = C,
           .ldc = ldc,
           .stream = p_.stream};
    if (!left_) std::swap(g.A, g.B), std::swap(g.lda, g.ldb);
    if (into_panel) g.E = part_of_b(to.first), g.lde = p_.ldb;
    return multiply_(g);
  }

  /// Solves for the i-th block once what came before it, from `known` on, is known.
  Status solve_one(index i, index known, const void* scale) const {
    const index b = block(i);
    const Range own = range(i, i + 1);
    void* const panel = static_cast<char*>(p_.workspace) + layout_.panel;
    const index ldw = left_ ? own.count : p_.m;
    Status status = subtract(own, known < i ? range(known, i) : Range{own.first, 0}, scale, panel, ldw, true);
    if (status != Status{}) return status;
    Gemm g{.precision = p_.precision,
           .transa = left_ ? p_.trans : Op::none,
           .transb = left_ ? Op::none : p_.trans,
           .m = left_ ? own.count : p_.m,
           .n = left_ ? p_.n : own.count,
           .k = own.count,
           .alpha = scalar(p_.precision, 1),
           .A = element(p_.workspace, layout_.block, 0, own.first),
           .lda = layout_.block,
           .B = panel,
           .ldb = ldw,
           .beta = zero(),
           .C = part_of_b(own.first),
           .ldc = p_.ldb,
           .stream = p_.stream};
    if (!left_) std::swap(g.A, g.B), std::swap(g.lda, g.ldb);
    status = multiply_(g);
    return status == Status{} ? finish_(b) : status;
  }

  /// Few at a time with all that is known, since then each element of B is read and written once; more by halves, whose
  /// products fill the device whatever B's other size is.
  Status solve(index first, index last, const void* scale) const {
    Status status{};
    if (last - first <= at_once_) {
      for (index i = first; i < last && status == Status{}; ++i) status = solve_one(i, first, scale);
      return status;
    }
    const index middle = first + (last - first + 1) / 2;
    status = solve(first, middle, scale);
    const Range rest = range(middle, last);
    if (status == Status{}) status = subtract(rest, range(first, middle), scale, part_of_b(rest.first), p_.ldb, false);
    return status == Status{} ? solve(middle, last, scalar(p_.precision, 1)) : status;
  }

  const void* zero() const {
    static constexpr std::complex<double> nothing{};  // of every precision
    return &nothing;
  }

  const Trsm& p_;
  const TrsmLayout layout_;
  const Multiply& multiply_;
  const Finish& finish_;
  const bool left_, forward_;
  const index at_once_;
};

}  // namespace by_blocks

/// With the workspace prepared: multiply(product) starts a Gemm, finish(i) what follows block i's; both return a
/// status, zero where all is well.  Returns the first that is not.  alpha is not zero, nor a size.
template <class Multiply, class Finish>
auto solve_by_blocks(const Trsm& p, const Multiply& multiply, const Finish& finish) {
  return by_blocks::Solver<Multiply, Finish>(p, multiply, finish).run();
}

}  // namespace blaslift
