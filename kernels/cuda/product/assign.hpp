// Copies of matrices on the device, as they are or transposed, identities, and whole matrices of triangles.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/types.hpp"

namespace blaslift {

/// Start an operation in a stream.
cudaError_t assign(const Assign& p, cudaStream_t stream);
cudaError_t mirror(const Mirror& p, cudaStream_t stream);

}  // namespace blaslift
