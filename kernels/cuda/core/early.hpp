// Kernels that begin before the one before them has ended, which they wait for themselves
// (kernels/cuda/core/streaming.hpp).
#pragma once
#include <cuda_runtime_api.h>

namespace blaslift {

/// Clusters, and kernels that begin before the one before has ended, came with the same devices.
inline cudaError_t is_hopper_or_later(bool& is) {
  int device = 0, major = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  is = major >= 9;
  return error;
}

/// @param hopper  otherwise it begins behind the one before
template <class Job>
cudaError_t start_early(void (*kernel)(Job), unsigned blocks, dim3 threads, const Job& job, bool hopper,
                        cudaStream_t stream) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = hopper ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, job);
}

}  // namespace blaslift
