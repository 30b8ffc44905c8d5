// Products that are added to another matrix than the one they are written to, by cuBLASLt: cuBLAS's gemm has no name
// for that.
#pragma once
#include <cublasLt.h>

#include <array>
#include <map>
#include <optional>

#include "kernels/types.hpp"

namespace blaslift {

/// Remembers which algorithm does which product; for one thread at a time.
class OutOfPlace {
 public:
  struct Where {
    void* workspace;  ///< device memory, aligned to 256 bytes
    std::size_t bytes;
    cudaStream_t stream;
  };

  /// Starts C := alpha * op(A) * op(B) + beta * E; neither alpha, beta nor a size is zero.  Repeats bit for bit where
  /// addresses are aligned alike.  CUBLAS_STATUS_NOT_SUPPORTED: nothing has been started, cuBLASLt will not do it.
  cublasStatus_t multiply(cublasLtHandle_t handle, const Gemm& product, const Where& where);

 private:
  /// Everything that an algorithm is chosen by.
  using Shape = std::array<index, 14>;
  std::map<Shape, std::optional<cublasLtMatmulAlgo_t>> algorithms_;  ///< none: refused
};

}  // namespace blaslift
