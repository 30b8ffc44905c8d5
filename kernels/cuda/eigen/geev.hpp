// Eigenproblems of general matrices on the device: the vendor's, and whether there is a result.
#pragma once
#include "kernels/cuda/core/solver.hpp"

namespace blaslift {

/// Starts a Geev on the solver's stream, and waits for most of it.
cudaError_t geev(const Geev& p, Solver& solver, cudaStream_t stream);

}  // namespace blaslift
