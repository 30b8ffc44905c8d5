// Largest magnitudes of blocks on the device.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/types.hpp"

namespace blaslift {

/// Carries the survey out on `stream`; everything in device memory.  Several may run at once and note into the same
/// places.  Returns the launch's error.
cudaError_t survey(const Survey& survey, cudaStream_t stream);

}  // namespace blaslift
