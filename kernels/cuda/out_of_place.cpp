#include "kernels/cuda/out_of_place.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace blaslift {
namespace {

constexpr std::size_t most_remembered = 256;

/// The first failure of a sequence; later ones are not tried.
template <class... Steps>
cublasStatus_t in_order(Steps... steps) {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  (void)(... && ((status = steps()) == CUBLAS_STATUS_SUCCESS));
  return status;
}

/// Whether this says that the library cannot do it, and not that the device is in trouble.
bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

/// In bytes, up to what cuBLASLt distinguishes.
std::uint32_t alignment(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(bits & -bits, 256));
}

/// A product as cuBLASLt describes it: its C is our E, its D our C.
class Description {
 public:
  explicit Description(const Gemm& p) : p_(p) {}

  cublasStatus_t make() {
    const cublasOperation_t ops[] = {operation(p_.transa), operation(p_.transb)};
    const bool a_is_plain = p_.transa == Op::none, b_is_plain = p_.transb == Op::none;
    return in_order([&] { return cublasLtMatmulDescInit(&operation_, compute(), type()); },
                    [&] { return set(CUBLASLT_MATMUL_DESC_TRANSA, ops[0]); },
                    [&] { return set(CUBLASLT_MATMUL_DESC_TRANSB, ops[1]); },
                    [&] { return layout(a_, a_is_plain ? p_.m : p_.k, a_is_plain ? p_.k : p_.m, p_.lda); },
                    [&] { return layout(b_, b_is_plain ? p_.k : p_.n, b_is_plain ? p_.n : p_.k, p_.ldb); },
                    [&] { return layout(e_, p_.m, p_.n, p_.lde); }, [&] { return layout(c_, p_.m, p_.n, p_.ldc); });
  }

  /// The algorithm that cuBLASLt holds to be the fastest of those that repeat their results and are classical products
  /// in the precision asked for.
  cublasStatus_t choose(cublasLtHandle_t handle, std::uint64_t workspace, cublasLtMatmulAlgo_t& algorithm) {
    // Partial sums of k, if any, are added up afterwards, in one order.
    constexpr std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    constexpr std::uint64_t implementations =
        ~std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 |
                       CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF};
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      return cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value);
    };
    const cublasStatus_t status =
        in_order([&] { return cublasLtMatmulPreferenceInit(&preference); },
                 [&] { return prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace); },
                 [&] { return prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions); },
                 [&] { return prefer(CUBLASLT_MATMUL_PREF_IMPL_MASK, implementations); },
                 [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p_.A)); },
                 [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p_.B)); },
                 [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p_.E)); },
                 [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(p_.C)); },
                 [&] {
                   return cublasLtMatmulAlgoGetHeuristic(handle, &operation_, &a_, &b_, &e_, &c_, &preference, 1,
                                                         &result, &found);
                 });
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (found == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    algorithm = result.algo;
    return result.state;
  }

  cublasStatus_t start(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm, const OutOfPlace::Where& where) {
    alignas(16) char alpha[16], beta[16];  // cuBLAS's complex types are aligned to 16 bytes, a caller's need not be
    std::memcpy(alpha, p_.alpha, element_size(p_.precision));
    std::memcpy(beta, p_.beta, element_size(p_.precision));
    return cublasLtMatmul(handle, &operation_, alpha, p_.A, &a_, p_.B, &b_, beta, p_.E, &e_, p_.C, &c_, &algorithm,
                          where.workspace, where.bytes, where.stream);
  }

 private:
  cudaDataType type() const {
    constexpr cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
    return types[static_cast<int>(p_.precision)];
  }
  cublasComputeType_t compute() const {
    return p_.precision == Precision::s || p_.precision == Precision::c ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F;
  }
  /// Real matrices are not asked to be conjugated.
  cublasOperation_t operation(Op op) const {
    if (op == Op::none) return CUBLAS_OP_N;
    return op == Op::conjugate && is_complex(p_.precision) ? CUBLAS_OP_C : CUBLAS_OP_T;
  }
  cublasStatus_t set(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t value) {
    return cublasLtMatmulDescSetAttribute(&operation_, attribute, &value, sizeof value);
  }
  cublasStatus_t layout(cublasLtMatrixLayoutOpaque_t& x, index rows, index cols, index ld) const {
    return cublasLtMatrixLayoutInit(&x, type(), static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), ld);
  }

  const Gemm& p_;
  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t a_, b_, e_, c_;
};

}  // namespace

cublasStatus_t OutOfPlace::multiply(cublasLtHandle_t handle, const Gemm& p, const Where& where) {
  const Shape shape{static_cast<index>(p.precision),
                    static_cast<index>(p.transa),
                    static_cast<index>(p.transb),
                    p.m,
                    p.n,
                    p.k,
                    p.lda,
                    p.ldb,
                    p.ldc,
                    p.lde,
                    alignment(p.A),
                    alignment(p.B),
                    alignment(p.C),
                    alignment(p.E)};
  if (algorithms_.size() >= most_remembered && !algorithms_.contains(shape)) algorithms_.clear();
  const auto [known, is_new] = algorithms_.try_emplace(shape);
  std::optional<cublasLtMatmulAlgo_t>& algorithm = known->second;
  if (!is_new && !algorithm) return CUBLAS_STATUS_NOT_SUPPORTED;
  Description description(p);
  const cublasStatus_t status = in_order(
      [&] { return description.make(); },
      [&] { return algorithm ? CUBLAS_STATUS_SUCCESS : description.choose(handle, where.bytes, algorithm.emplace()); },
      [&] { return description.start(handle, *algorithm, where); });
  if (status == CUBLAS_STATUS_SUCCESS) return status;
  if (!is_refusal(status)) return algorithms_.erase(known), status;  // not the shape's fault
  algorithm.reset();
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace blaslift
