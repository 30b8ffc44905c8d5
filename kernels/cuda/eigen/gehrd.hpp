// The reduction to Hessenberg form on the device, which the vendor's library does not have.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>

#include "kernels/types.hpp"

namespace blaslift {

/// Starts a Gehrd on the stream, in work memory of the stream's pool.
/// @param multiply  starts a product on that stream; most are with a vector
cudaError_t gehrd(const Gehrd& p, cudaStream_t stream, const std::function<cudaError_t(const Gemm&)>& multiply);

}  // namespace blaslift
