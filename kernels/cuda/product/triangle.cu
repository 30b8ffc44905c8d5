#include "kernels/cuda/product/triangle.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/product/triangle_kernel.hpp"

namespace blaslift {
namespace of_triangle {
namespace {

using triangle_kernels::Keeps;

template <class T, class Host>
cudaError_t launch(Part part, index n, const void* W, index ldw, const void* beta, void* C, index ldc,
                   cudaStream_t stream) {
  constexpr int threads = triangle_kernels::threads;
  T factor;  // CUDA's complex types are aligned more strictly than a caller's
  std::memcpy(&factor, beta, sizeof factor);
  Host value;
  std::memcpy(&value, beta, sizeof value);
  const Keeps keeps = value == Host(0) ? Keeps::nothing : value == Host(1) ? Keeps::all : Keeps::scaled;
  if (!W && keeps == Keeps::all) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>(std::min<index>((n + threads - 1) / threads, 1024)),
                  static_cast<unsigned>(std::min<index>(n, 16384)));
  triangle_kernels::triangle_kernel<T>
      <<<grid, threads, 0, stream>>>(part, n, static_cast<const T*>(W), ldw, factor, keeps, static_cast<T*>(C), ldc);
  return cudaGetLastError();
}

}  // namespace
}  // namespace of_triangle

cudaError_t add_triangle(Precision precision, Part part, index n, const void* W, index ldw, const void* beta, void* C,
                         index ldc, cudaStream_t stream) {
  using namespace of_triangle;
  using arithmetic::Complex;
  if (n <= 0) return cudaSuccess;
  switch (precision) {
    case Precision::s: return launch<float, float>(part, n, W, ldw, beta, C, ldc, stream);
    case Precision::d: return launch<double, double>(part, n, W, ldw, beta, C, ldc, stream);
    case Precision::c: return launch<Complex<float>, std::complex<float>>(part, n, W, ldw, beta, C, ldc, stream);
    case Precision::z: return launch<Complex<double>, std::complex<double>>(part, n, W, ldw, beta, C, ldc, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
