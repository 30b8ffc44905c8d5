// Systolic products on the device, for comparison.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/systolic.hpp"

namespace blaslift::systolic {

/// Starts the products of `deal` on `stream`: C := C + A B each, or alpha A B + beta C (Operands).  Column-major, in
/// device memory; no two of C overlap.  `schedule.count` is not looked at, nor is all but m, n and k by loops.  G1, Gt
/// and L1 want `from_c`.  Returns the launch's error; cudaErrorInvalidValue: not within the limits of Schedule and of a
/// grid, or g < k.
template <class T>
cudaError_t start(Variant variant, const Schedule& schedule, const Deal& deal, const Operands<T>& operands,
                  cudaStream_t stream);

/// Starts a batch that is to be computed so (GemmBatch::systolic), by as many arrays as fill the device.
cudaError_t multiply(const GemmBatch& products, cudaStream_t stream);

}  // namespace blaslift::systolic
