#include "kernels/cuda/trsm/trsm.hpp"

#include <cstring>
#include <type_traits>

namespace blaslift {
namespace {

cublasFillMode_t fill_mode(Uplo uplo) { return uplo == Uplo::upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER; }
cublasOperation_t operation(Op op) {
  return op == Op::none ? CUBLAS_OP_N : op == Op::transpose ? CUBLAS_OP_T : CUBLAS_OP_C;
}

/// call(function, T{}) with cuBLAS's type.
template <class Call, class S, class D, class C, class Z>
auto by_precision(Precision precision, const Call& call, S s, D d, C c, Z z) {
  switch (precision) {
    case Precision::s: return call(s, float{});
    case Precision::d: return call(d, double{});
    case Precision::c: return call(c, cuComplex{});
    case Precision::z: break;
  }
  return call(z, cuDoubleComplex{});
}
template <class T>
constexpr T real(float x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return {x, 0};
}

/// Tiles of order s to those of 2 s, and so on: V21 := - outer (L21 inner).
cublasStatus_t join_tiles(const Trsm& p, cublasHandle_t handle) {
  const TrsmLayout layout(p);
  const auto call = [&]<class T>(auto function, T) {
    auto** const addresses = reinterpret_cast<T**>(static_cast<char*>(p.workspace) + layout.addresses);
    const index all = layout.pairs();
    const T one = real<T>(1), minus_one = real<T>(-1), zero = real<T>(0);
    index before = 0;
    for (index s = layout.least_tile; s < layout.block; s *= 2) {
      const index count = layout.blocks * (layout.block / (2 * s));
      T** const at = addresses + before;
      const auto multiply = [&](const T* factor, int left, int right, int result) {
        return function(handle, CUBLAS_OP_N, CUBLAS_OP_N, s, s, s, factor, at + left * all, layout.block,
                        at + right * all, layout.block, &zero, at + result * all, layout.block, count);
      };
      // Of a lower triangle L21 V11 and V22 times that; of an upper one, L12 V22 and V11 times that.
      if (const cublasStatus_t status = multiply(&one, 0, 1, 2); status != CUBLAS_STATUS_SUCCESS) return status;
      if (const cublasStatus_t status = multiply(&minus_one, 3, 2, 4); status != CUBLAS_STATUS_SUCCESS) return status;
      before += count;
    }
    return CUBLAS_STATUS_SUCCESS;
  };
  return by_precision(p.precision, call, cublasSgemmBatched_64, cublasDgemmBatched_64, cublasCgemmBatched_64,
                      cublasZgemmBatched_64);
}

cudaError_t take(const Trsm& p, cudaStream_t stream) {
  switch (p.precision) {
    case Precision::s: return take_trsm_blocks_s(p, stream);
    case Precision::d: return take_trsm_blocks_d(p, stream);
    case Precision::c: return take_trsm_blocks_c(p, stream);
    case Precision::z: break;
  }
  return take_trsm_blocks_z(p, stream);
}
cudaError_t check(const Trsm& p, cudaStream_t stream) {
  switch (p.precision) {
    case Precision::s: return check_trsm_blocks_s(p, stream);
    case Precision::d: return check_trsm_blocks_d(p, stream);
    case Precision::c: return check_trsm_blocks_c(p, stream);
    case Precision::z: break;
  }
  return check_trsm_blocks_z(p, stream);
}

}  // namespace

TrsmStarted prepare_trsm(const Trsm& p, cublasHandle_t handle, cudaStream_t stream) {
  if (p.prepared) return {};
  if (const cudaError_t error = take(p, stream); error != cudaSuccess) return {.error = error};
  if (const cublasStatus_t status = join_tiles(p, handle); status != CUBLAS_STATUS_SUCCESS) return {.status = status};
  return {.error = check(p, stream)};
}

cudaError_t finish_trsm_block(const Trsm& p, index i, cudaStream_t stream) {
  switch (p.precision) {
    case Precision::s: return finish_trsm_block_s(p, i, stream);
    case Precision::d: return finish_trsm_block_d(p, i, stream);
    case Precision::c: return finish_trsm_block_c(p, i, stream);
    case Precision::z: break;
  }
  return finish_trsm_block_z(p, i, stream);
}

cublasStatus_t substitute(const Trsm& p, cublasHandle_t handle) {
  const auto call = [&]<class T>(auto function, T) {
    T alpha;  // cuBLAS's complex types are aligned to 16 bytes, a caller's need not be
    std::memcpy(&alpha, p.alpha, sizeof alpha);
    return function(handle, p.side == Side::left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT, fill_mode(p.uplo),
                    operation(p.trans), p.unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, p.m, p.n, &alpha,
                    static_cast<const T*>(p.A), p.lda, static_cast<T*>(p.B), p.ldb);
  };
  return by_precision(p.precision, call, cublasStrsm_64, cublasDtrsm_64, cublasCtrsm_64, cublasZtrsm_64);
}

}  // namespace blaslift
