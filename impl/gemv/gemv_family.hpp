// What is the same of all products of a general matrix with a vector.
#pragma once
#include <algorithm>

#include "impl/core/args.hpp"
#include "impl/route/family.hpp"

namespace blaslift {

/// The matrix moves for a product that reads it once, so the device gains only with a copy, or in device memory.
extern const Family gemv_family;

template <class T>
Problem problem_of(Routine routine, const GemvArgs<T>& a) {
  // A column of A's array, unless it is longer than these.
  const auto vector = [&a](const T* at, index n, index inc) { return stored_vector(at, n, inc, std::max(a.lda, n)); };
  const StoredVector x = vector(a.x, a.terms(), a.incx), y = vector(a.y, a.results(), a.incy);
  const auto in_y = [&y](const void* at, index rows, index cols, index ld) {
    return overlap(y.at, y.rows, y.cols, y.ld, at, rows, cols, ld, sizeof(T));
  };
  Problem problem{.routine = routine,
                  .element = element_of<T>,
                  .m = a.m,
                  .n = a.n,
                  .alpha_zero = a.alpha == T(0),
                  .beta_zero = a.beta == T(0),
                  .overlaps = in_y(a.A, a.m, a.n, a.lda) || in_y(x.at, x.rows, x.cols, x.ld),
                  .alpha_finite = is_finite(a.alpha),
                  .adjoint = a.trans != Op::none};
  family_of(routine).count(problem);
  return problem;
}

}  // namespace blaslift
