// What gemm leaves to do when alpha = 0 or k = 0.  A kernel of our own because cuBLAS promises nothing there about
// reading A and B, or a C full of NaN.
#include <cuComplex.h>

#include <algorithm>
#include <cstring>

#include "kernels/cuda/product/scale.hpp"

namespace blaslift {
namespace of_scale {
namespace {

__device__ inline float times(float a, float b) { return a * b; }
__device__ inline double times(double a, double b) { return a * b; }
__device__ inline cuFloatComplex times(cuFloatComplex a, cuFloatComplex b) { return cuCmulf(a, b); }
__device__ inline cuDoubleComplex times(cuDoubleComplex a, cuDoubleComplex b) { return cuCmul(a, b); }

/// Grid-stride over columns (y) and rows (x): any m, n up to 64 bits.
template <class T>
__global__ void scale_kernel(index m, index n, T beta, bool zero, T* C, index ldc) {
  for (index j = blockIdx.y; j < n; j += gridDim.y)
    for (index i = blockIdx.x * static_cast<index>(blockDim.x) + threadIdx.x; i < m;
         i += static_cast<index>(gridDim.x) * blockDim.x) {
      T& c = C[i + j * ldc];
      c = zero ? T{} : times(beta, c);
    }
}

template <class T, class Host>
cudaError_t launch(index m, index n, const void* beta, void* C, index ldc, cudaStream_t stream) {
  constexpr int threads = 256;
  if (*static_cast<const Host*>(beta) == Host(1)) return cudaSuccess;  // not C * 1: that would touch NaN and Inf
  const bool zero = *static_cast<const Host*>(beta) == Host(0);
  const dim3 grid(static_cast<unsigned>(std::min<index>((m + threads - 1) / threads, 1024)),
                  static_cast<unsigned>(std::min<index>(n, 16384)));
  T factor;  // CUDA's complex types are aligned more strictly than a caller's
  std::memcpy(&factor, beta, sizeof factor);
  scale_kernel<T><<<grid, threads, 0, stream>>>(m, n, factor, zero, static_cast<T*>(C), ldc);
  return cudaGetLastError();
}

}  // namespace
}  // namespace of_scale

cudaError_t scale(Precision precision, index m, index n, const void* beta, void* C, index ldc, cudaStream_t stream) {
  using namespace of_scale;
  if (m <= 0 || n <= 0) return cudaSuccess;
  switch (precision) {
    case Precision::s: return launch<float, float>(m, n, beta, C, ldc, stream);
    case Precision::d: return launch<double, double>(m, n, beta, C, ldc, stream);
    case Precision::c: return launch<cuFloatComplex, std::complex<float>>(m, n, beta, C, ldc, stream);
    case Precision::z: return launch<cuDoubleComplex, std::complex<double>>(m, n, beta, C, ldc, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
