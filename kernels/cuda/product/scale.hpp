// C := beta * C on the device.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/types.hpp"

namespace blaslift {

/// Scales the m x n matrix C (device memory, column-major, leading dimension ldc) on `stream`; beta (host memory, of
/// the same precision) = 0 writes zeros without reading C, so that no NaN in it survives.  The rows between m and ldc
/// are not touched.  Returns the launch's error.
cudaError_t scale(Precision precision, index m, index n, const void* beta, void* C, index ldc, cudaStream_t stream);

}  // namespace blaslift
