// Random calls of trmm and trsm, whose arguments are the same.
#pragma once
#include "impl/core/args.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift {

/// Without matrices.
template <class T>
TriangularArgs<T> any_triangular(Random& r) {
  return {.left = r.coin(),
          .uplo = r.coin() ? Uplo::upper : Uplo::lower,
          .trans = reference::ops[r.below(3)],
          .unit = r.coin(),
          .m = r.up_to(30),
          .n = r.up_to(30),
          .alpha = reference::scalar<T>(0.75, -0.5),
          .A = nullptr,
          .lda = 0,
          .B = nullptr,
          .ldb = 0};
}

}  // namespace blaslift
