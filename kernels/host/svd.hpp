// Singular value decompositions on the host: for plans to be tried without a GPU, not fast.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Everything in host memory.  Throws std::bad_alloc, before anything has happened.
void decompose(const Svd& matrix);

}  // namespace blaslift
