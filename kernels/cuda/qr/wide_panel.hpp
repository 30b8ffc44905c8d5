// Panels of QR that are wider than what a device's kernels take: by halves, the left one's reflectors on the right one,
// that one, and T of both together, as plans do with panels (impl/qr/qr_plan.hpp).  Of those that are factored already,
// the halves' V and T, and T of both.
#pragma once
#include <complex>

#include "kernels/types.hpp"

namespace blaslift {

/// Elements of scratch memory: two products of the halves' widths.
constexpr index wide_panel_scratch(index n) { return n / 2 * (n - n / 2) * 2; }

namespace wide_panel {

inline void* at(void* matrix, index ld, index row, index col, Precision precision) {
  return static_cast<char*>(matrix) + (row + col * ld) * static_cast<index>(element_size(precision));
}

/// 0, 1 and -1 in every precision, where products read their scalars.
inline const void* scalar(Precision precision, int value) {
  static constexpr float s[] = {-1, 0, 1};
  static constexpr double d[] = {-1, 0, 1};
  static constexpr std::complex<float> c[] = {-1, 0, 1};
  static constexpr std::complex<double> z[] = {-1, 0, 1};
  switch (precision) {
    case Precision::s: return s + value + 1;
    case Precision::d: return d + value + 1;
    case Precision::c: return c + value + 1;
    case Precision::z: return z + value + 1;
  }
  return nullptr;
}

}  // namespace wide_panel

/// narrow(panel) does what is asked for with at most `most` columns, multiply(product) starts a Gemm; both return a
/// status, zero where all is well.  Returns the first that is not.
/// @param scratch  wide_panel_scratch(n) elements
template <class Narrow, class Multiply>
auto factor_by_halves(const QrPanel& p, index most, void* scratch, const Narrow& narrow, const Multiply& multiply)
    -> decltype(narrow(p)) {
  using wide_panel::at;
  if (p.n <= most) return narrow(p);
  const Precision x = p.precision;
  const index left = (p.n + 1) / 2, right = p.n - left;
  QrPanel first = p, second = p;
  first.n = left;
  second.m = p.m - left;
  second.n = right;
  second.A = at(p.A, p.lda, left, left, x);
  second.tau = at(p.tau, 1, left, 0, x);
  second.above = p.above + left;
  second.V = at(p.V, p.ldv, 0, left, x);
  second.T = at(p.T, p.ldt, 0, left, x);
  void* const V1 = at(p.V, p.ldv, p.above, 0, x);
  void* const V2 = at(p.V, p.ldv, second.above, left, x);
  void* const T1 = at(p.T, p.ldt, p.above, 0, x);
  void* const T2 = at(p.T, p.ldt, second.above, left, x);
  void* const A2 = at(p.A, p.lda, 0, left, x);
  void *const W0 = scratch, *const W1 = at(scratch, left, 0, right, x);
  const auto product = [&](Op op, index m, index n, index k, int alpha, const void* A, index lda, const void* B,
                           index ldb, int beta, void* C, index ldc) {
    return multiply({.precision = x,
                     .transa = op,
                     .transb = Op::none,
                     .m = m,
                     .n = n,
                     .k = k,
                     .alpha = wide_panel::scalar(x, alpha),
                     .A = A,
                     .lda = lda,
                     .B = B,
                     .ldb = ldb,
                     .beta = wide_panel::scalar(x, beta),
                     .C = C,
                     .ldc = ldc,
                     .stream = p.stream});
  };
  // A2 := (I - V1 T1 V1^H)^H A2, then T12 := -T1 (V1^H V2) T2.  The halves' own scratch is no longer or not yet in use.
  auto status = factor_by_halves(first, most, scratch, narrow, multiply);
  const auto then = [&](const auto& step) {
    if (status == decltype(status){}) status = step();
  };
  if (!p.factored) {
    then([&] { return product(Op::conjugate, left, right, p.m, 1, V1, p.ldv, A2, p.lda, 0, W0, left); });
    then([&] { return product(Op::conjugate, left, right, left, 1, T1, p.ldt, W0, left, 0, W1, left); });
    then([&] { return product(Op::none, p.m, right, left, -1, V1, p.ldv, W1, left, 1, A2, p.lda); });
  }
  then([&] { return factor_by_halves(second, most, scratch, narrow, multiply); });
  then([&] {
    return product(Op::conjugate, left, right, second.m, 1, at(V1, p.ldv, left, 0, x), p.ldv, V2, p.ldv, 0, W0, left);
  });
  then([&] { return product(Op::none, left, right, right, 1, W0, left, T2, p.ldt, 0, W1, left); });
  then([&] {
    return product(Op::none, left, right, left, -1, T1, p.ldt, W1, left, 0, at(p.T, p.ldt, p.above, left, x), p.ldt);
  });
  return status;
}

}  // namespace blaslift
