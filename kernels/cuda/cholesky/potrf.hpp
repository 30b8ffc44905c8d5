// Cholesky factors on the device: the vendor's, and what LAPACK says besides.
#pragma once
#include "kernels/cuda/core/solver.hpp"

namespace blaslift {

/// Starts a Potrf on the solver's stream.
cudaError_t potrf(const Potrf& p, Solver& solver, cudaStream_t stream);

}  // namespace blaslift
