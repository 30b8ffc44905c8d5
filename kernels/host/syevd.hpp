// Eigenvalues and eigenvectors of symmetric and Hermitian matrices on the host: for schedules to be tried without a
// GPU, not fast.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Everything in host memory.  Throws std::bad_alloc, before anything has happened.
void find_eigenvalues(const Syevd& matrix);

}  // namespace blaslift
