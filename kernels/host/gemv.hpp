// GEMV on the host, in the order in which the device's kernels add.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Everything in host memory; needs no workspace of the caller's.  Throws std::bad_alloc before y is touched.
void gemv(const Gemv& product);

}  // namespace blaslift
