// Products by cuBLASLt: those that are added to another matrix than the one they are written to, for which cuBLAS's
// gemm has no name, those for which an algorithm is known that is faster than what cuBLAS would choose, and small ones,
// for which cuBLAS takes long to choose.
#pragma once
#include <cublasLt.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.hpp"

namespace blaslift {

using Preferences = std::vector<Preference>;

/// Remembers which algorithm does which product; for one thread at a time.
class Matmul {
 public:
  struct Where {
    void* workspace;  ///< device memory, aligned to 256 bytes
    std::size_t bytes;
    cudaStream_t stream;
  };

  Matmul();
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  /// From now on, in place of what was preferred before; may be null.
  void prefer(std::shared_ptr<const Preferences> preferences);

  /// Starts C := alpha * op(A) * op(B) + beta * E, or, with neither E nor beta, C := alpha * op(A) * op(B); neither
  /// alpha nor a size is zero.  E may be C.  Repeats bit for bit where addresses are aligned alike.
  /// CUBLAS_STATUS_NOT_SUPPORTED: nothing has been started, cuBLASLt will not do it or, without E, is not known to do
  /// it better than cuBLAS.
  cublasStatus_t multiply(cublasLtHandle_t handle, const Gemm& product, const Where& where);

 private:
  /// Everything that an algorithm is chosen by.
  using Shape = std::array<index, 15>;
  struct Choice;

  std::shared_ptr<const Preferences> preferences_;
  bool without_e_ = false;  ///< some of them are of products without E
  std::map<Shape, std::unique_ptr<Choice>> choices_;
};

/// See Backend::candidates and DeviceFacts::algorithms.
int matmul_candidates(const SquareProduct& product, std::uint32_t alignment, std::size_t workspace,
                      Candidate* candidates, int most);
std::string matmul_version();

}  // namespace blaslift
