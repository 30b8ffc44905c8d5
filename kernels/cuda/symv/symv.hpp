// SYMV and HEMV on the device.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/types.hpp"

namespace blaslift {

/// Starts y := alpha * A * x + beta * y on `stream`; A, x, y and the workspace in device memory.  In one kernel where
/// the blocking has no panels, otherwise in two.  Returns the launch's error, cudaErrorInvalidValue for a blocking that
/// kernels/symv.hpp does not list.
cudaError_t symv(const Symv& product, cudaStream_t stream);

/// Of one element type each: for symv(), which has checked the product.
cudaError_t symv_s(const Symv& product, cudaStream_t stream);
cudaError_t symv_d(const Symv& product, cudaStream_t stream);
cudaError_t symv_c(const Symv& product, cudaStream_t stream);
cudaError_t symv_z(const Symv& product, cudaStream_t stream);
cudaError_t symv_w(const Symv& product, cudaStream_t stream);

}  // namespace blaslift
