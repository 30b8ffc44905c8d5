// Products by residues (kernels/residues.hpp) on the GPU: INT8 products by cuBLAS, the rest by kernels of our own.
#pragma once
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "kernels/types.hpp"

namespace blaslift {

struct ResiduesStarted {
  cudaError_t error = cudaSuccess;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  bool accepted = false;  ///< false: the guard has declined, and C is as it was
};

/// C := alpha op(A) op(B) + beta C in the handle's stream, for which this waits once before products begin.
/// @param findings  two doubles of pinned host memory
ResiduesStarted multiply_by_residues(const GemmByResidues& product, cublasHandle_t handle, cudaStream_t stream,
                                     double* findings);

}  // namespace blaslift
