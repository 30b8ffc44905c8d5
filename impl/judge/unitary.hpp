// How far reflectors are from what they are meant to be.
#pragma once
#include <cmath>
#include <limits>

#include "impl/core/library_call.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"

namespace blaslift::judging {

/// Whether nothing that is computed on the way may overflow, with a matrix of this 1-norm and factors of such orders.
template <class T>
bool leaves_room(long double size, index order) {
  return size < std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(order + 1));
}

/// |x| / (order eps size), 1-norms, of what is left of a matrix of this size after its factors have been put together;
/// HUGE_VAL if that is NaN.  Where the matrix is about to vanish, roundings are not what eps says.
template <class T>
double off_product(Packed<T>& x, index cols, index order, long double size) {
  using R = Real<T>;
  const long double off = one_norm(x, cols);
  if (off <= static_cast<long double>(std::numeric_limits<R>::min()) * static_cast<long double>(order * (cols + 2)))
    return 0;
  if (std::isnan(off)) return HUGE_VAL;
  return static_cast<double>(
      off / (static_cast<long double>(order) * static_cast<long double>(std::numeric_limits<R>::epsilon()) * size));
}

/// |I - Q^H Q| / (order eps), with Q of k reflectors, which is made of them in their place; HUGE_VAL if that is NaN.
/// @param by  `beside` as judged_with_qr() has it
template <class T>
double off_unitary(const JudgingLibrary& by, Packed<T>& reflectors, index order, index k, T* tau) {
  if (k == 0) return 0;
  call_with_own_workspaces(
      *by.beside[by_orgqr],
      OrmqrArgs<T>{{true, false, order, k, k, true}, reflectors.at.get(), order, tau, reflectors.at.get(), order});
  Packed<T> gram(k, k);
  for_each_of(k, k, [&](index i, index j) { gram(i, j) = T(i == j ? -1 : 0); });
  const T one(1);
  call_product(*by.beside[by_gemm],
               {precision_of<T>, complex_type<T> ? Op::conjugate : Op::transpose, Op::none, k, k, order, &one,
                reflectors.at.get(), order, reflectors.at.get(), order, &one, gram.at.get(), k});
  const long double off = one_norm(gram, k);
  if (std::isnan(off)) return HUGE_VAL;
  return static_cast<double>(
      off / (static_cast<long double>(order) * static_cast<long double>(std::numeric_limits<Real<T>>::epsilon())));
}

}  // namespace blaslift::judging
