// One triangle of C := W + beta * C on the device: what a product of two matrices leaves to do on C's diagonal.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/types.hpp"

namespace blaslift {

/// Adds, on `stream`, a triangle of W (n x n, device memory, column-major) to that of beta * C; the other one of C is
/// neither read nor written.  beta (host memory, of the same precision) = 0 does not read C.  W may be null: then C is
/// only scaled.  W and C share nothing.  Returns the launch's error.
cudaError_t add_triangle(Precision precision, Part part, index n, const void* W, index ldw, const void* beta, void* C,
                         index ldc, cudaStream_t stream);

}  // namespace blaslift
