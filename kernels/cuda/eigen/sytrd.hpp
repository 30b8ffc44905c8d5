// The reduction to tridiagonal form on the device: the vendor's, and whether it is finite.
#pragma once
#include "kernels/cuda/core/solver.hpp"

namespace blaslift {

/// Starts a Sytrd on the solver's stream.
cudaError_t sytrd(const Sytrd& p, Solver& solver, cudaStream_t stream);

}  // namespace blaslift
