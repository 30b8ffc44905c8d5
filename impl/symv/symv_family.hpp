// What is the same of all products of a symmetric or Hermitian matrix with a vector.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"

namespace blaslift {

/// The matrix moves for a product that reads it once, so the device gains only with a copy, or in device memory.
extern const Family symv_family;

/// Pairs of doubles a second that our own loops multiply (kernels/host/symv.cpp), until measured.
inline constexpr double cpu_pair_rate = 1e8;

template <class T>
Problem problem_of(Routine routine, const SymvArgs<T>& a) {
  const auto in_y = [&a, y = stored_vector(a.y, a.n, a.incy, a.lda)](const void* at, index rows, index cols, index ld) {
    return overlap(y.at, y.rows, y.cols, y.ld, at, rows, cols, ld, sizeof(T));
  };
  const StoredVector x = stored_vector(a.x, a.n, a.incx, a.lda);
  Problem problem{.routine = routine,
                  .element = element_of<T>,
                  .n = a.n,
                  .alpha_zero = a.alpha == T(0),
                  .beta_zero = a.beta == T(0),
                  .overlaps = in_y(a.A, a.n, a.n, a.lda) || in_y(x.at, x.rows, x.cols, x.ld),
                  .alpha_finite = is_finite(a.alpha)};
  family_of(routine).count(problem);
  return problem;
}

}  // namespace blaslift
