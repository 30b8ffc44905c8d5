// Singular value decompositions on the device: the vendor's, of tall and wide matrices, and whether there is a result.
#pragma once
#include "kernels/cuda/core/solver.hpp"

namespace blaslift {

/// Starts an Svd on the solver's stream.
cudaError_t svd(const Svd& p, Solver& solver, cudaStream_t stream);

}  // namespace blaslift
