// A product whose operands are all where they are computed with, so that there is nothing to plan.
#pragma once
#include "impl/route/attempts.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

inline Status at_once(Backend& backend, Gemm product, const UnderlyingBlas& underlying) {
  product.awaited = false;
  Status status = Status::lost;
  // From here on nothing throws.
  if (Lane* lane = backend.acquire(underlying, 0, status)) {
    const Acquired acquired(backend, lane);
    status = not_exiting() ? lane->ask(product, {nullptr, 0}) : Status::lost;
    const Status drained = lane->drain();
    if (status == Status::done) status = drained;
  }
  return status;
}

}  // namespace blaslift
