// Executes a gemm schedule on a backend's lane, and finishes on the library underneath whatever the lane could not.
#pragma once
#include <cstddef>

#include "impl/schedule.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

struct Outcome {
  Status status = Status::done;  ///< the first failure, if any
  std::size_t steps = 0;         ///< executed before it
  double bytes_in = 0, bytes_out = 0;
};

/// Runs the schedule until its end or the first failure.  `args.C` receives committed pieces only; A and B are read
/// only.
/// @param keep_going  asked between steps; false stops as a failure would, with Status::lost (the process is exiting).
template <class T>
Outcome execute(const GemmSchedule& schedule, const GemmArgs<T>& args, Lane& lane, bool (*keep_going)());

/// Computes with the library underneath each piece of C that the first `steps` steps of the schedule did not commit.
template <class T>
void finish(const GemmSchedule& schedule, std::size_t steps, const GemmArgs<T>& args, const UnderlyingGemm& underlying);

/// The product as the layers below take it.
template <class T>
Gemm as_gemm(const GemmArgs<T>& a) {
  return {precision_of<T>, a.transa, a.transb, a.m, a.n, a.k, &a.alpha, a.A, a.lda, a.B, a.ldb, &a.beta, a.C, a.ldc};
}

}  // namespace blaslift
