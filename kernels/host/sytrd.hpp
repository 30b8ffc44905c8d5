// The reduction to tridiagonal form in plain loops.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// In the calling thread.
void reduce_to_tridiagonal(const Sytrd& matrix);

}  // namespace blaslift
