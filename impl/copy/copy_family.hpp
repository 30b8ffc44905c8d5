// What is the same of all copies of a vector.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"

namespace blaslift {

/// One thread that goes through memory in long steps waits for one cache line after the other; several wait at once.  A
/// device would have to get every one of these lines through the bus.
extern const Family copy_family;

/// With the increments as m and k.
template <class T>
Problem problem_of(Routine routine, const CopyArgs<T>& a) {
  const auto vector = [&a](const T* at, index inc) { return stored_vector(at, a.n, inc, a.n > 1 ? a.n : 1); };
  Problem problem{.routine = routine, .element = element_of<T>, .m = a.incx, .n = a.n, .k = a.incy};
  family_of(routine).count(problem);
  if (problem.volume > 0) {  // or nothing hangs on it
    const StoredVector x = vector(a.x, a.incx), y = vector(a.y, a.incy);
    problem.overlaps = overlap(x.at, x.rows, x.cols, x.ld, y.at, y.rows, y.cols, y.ld, sizeof(T));
  }
  return problem;
}

}  // namespace blaslift
