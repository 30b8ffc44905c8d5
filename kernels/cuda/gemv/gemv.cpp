#include "kernels/cuda/gemv/gemv.hpp"

#include <cstdint>

namespace blaslift {

cudaError_t gemv(const Gemv& p, cudaStream_t stream) {
  if (p.m == 0 || p.n == 0) return cudaSuccess;
  if (p.m > INT32_MAX || p.n > INT32_MAX) return cudaErrorInvalidValue;
  switch (p.precision) {
    case Precision::s: return gemv_s(p, stream);
    case Precision::d: return gemv_d(p, stream);
    case Precision::c: return gemv_c(p, stream);
    case Precision::z: return gemv_z(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
