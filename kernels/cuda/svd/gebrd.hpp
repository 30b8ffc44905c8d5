// The reduction to bidiagonal form on the device: the vendor's, of tall and wide matrices, and whether it is finite.
#pragma once
#include "kernels/cuda/core/solver.hpp"

namespace blaslift {

/// Starts a Gebrd on the solver's stream.
cudaError_t gebrd(const Gebrd& p, Solver& solver, cudaStream_t stream);

}  // namespace blaslift
