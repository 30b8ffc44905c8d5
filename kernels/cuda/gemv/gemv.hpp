// GEMV on the device.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/types.hpp"

namespace blaslift {

/// Starts y := alpha * op(A) * x + beta * y on `stream`; A, x, y and the workspace in device memory.  In one kernel, or
/// two where the terms of a result are cut into chunks.  Returns the launch's error.
cudaError_t gemv(const Gemv& product, cudaStream_t stream);

/// Of one element type each: for gemv(), which has checked the product.
cudaError_t gemv_s(const Gemv& product, cudaStream_t stream);
cudaError_t gemv_d(const Gemv& product, cudaStream_t stream);
cudaError_t gemv_c(const Gemv& product, cudaStream_t stream);
cudaError_t gemv_z(const Gemv& product, cudaStream_t stream);

}  // namespace blaslift
