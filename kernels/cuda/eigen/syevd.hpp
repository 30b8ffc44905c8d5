// Eigenvalues and eigenvectors on the device: the vendor's, of any scale, and whether there is a result.
#pragma once
#include "kernels/cuda/core/solver.hpp"

namespace blaslift {

/// Starts a Syevd on the solver's stream.
cudaError_t syevd(const Syevd& p, Solver& solver, cudaStream_t stream);

}  // namespace blaslift
