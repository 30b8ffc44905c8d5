// Singular value decompositions on the host: for plans, and what they are computed by, to be tried without a GPU.
#pragma once
#include <functional>

#include "kernels/operation.hpp"

namespace blaslift {

/// Everything in host memory.  Throws std::bad_alloc, before anything but s has been written.
/// @param ask  computes an operation
void decompose(const Svd& matrix, const std::function<void(const Operation&)>& ask);

}  // namespace blaslift
