// Combinations of blocks on the device.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/types.hpp"

namespace blaslift {

/// Carries the combination out on `stream`: rows x cols blocks in device memory, column-major, each aligned to its
/// element's size.  A source that no target counts is not read, a target that counts none becomes zero, and the rows
/// between rows and ld are not touched.  Rounded as kernels/host/passes.cpp does: sums in the order of the sources,
/// beginning with the first that counts, products and sums one by one.  Returns the launch's error.
cudaError_t combine(const Combination& combination, cudaStream_t stream);

}  // namespace blaslift
