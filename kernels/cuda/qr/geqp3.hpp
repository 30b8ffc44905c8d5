// A QR with pivoting of columns on the device, which the vendor's library does not have.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>

#include "kernels/types.hpp"

namespace blaslift {

/// Starts a Geqp3 on the stream, in work memory of the stream's pool.
/// @param multiply  starts a product on that stream; where n is 1, B and C are vectors
cudaError_t geqp3(const Geqp3& p, cudaStream_t stream, const std::function<cudaError_t(const Gemm&)>& multiply);

}  // namespace blaslift
