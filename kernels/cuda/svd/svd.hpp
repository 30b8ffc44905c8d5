// Singular value decompositions on the device: kernels/polar_svd.hpp, with QR by the vendor.
#pragma once
#include <functional>

#include "kernels/cuda/core/solver.hpp"
#include "kernels/operation.hpp"

namespace blaslift {

/// Starts an Svd on the solver's stream; waits until nearly all of it has been done.
/// @param ask  starts an operation there
cudaError_t svd(const Svd& p, Solver& solver, cudaStream_t stream,
                const std::function<cudaError_t(const Operation&)>& ask);

}  // namespace blaslift
