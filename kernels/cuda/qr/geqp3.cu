#include "kernels/cuda/qr/geqp3.hpp"

#include "kernels/cuda/qr/geqp3_kernels.hpp"

namespace blaslift {
namespace of_geqp3 {
namespace {

using namespace geqp3_kernels;

template <class T>
cudaError_t factor(const Geqp3& p, cudaStream_t stream, const std::function<cudaError_t(const Gemm&)>& multiply) {
  cudaError_t error = cudaMemsetAsync(p.failed, 0, sizeof(T), stream);
  if (error != cudaSuccess || p.m == 0 || p.n == 0) return error;
  Factorisation<T> factorisation(p);
  Parts counted(nullptr);
  factorisation.lay_out(counted);
  void* memory = nullptr;
  error = cudaMallocAsync(&memory, counted.bytes(), stream);
  if (error != cudaSuccess) return error;
  Parts parts(memory);
  factorisation.lay_out(parts);
  error = factorisation.start(
      [&](unsigned blocks, auto kernel, const auto&... arguments) {
        kernel<<<blocks, threads, 0, stream>>>(arguments...);
        return cudaGetLastError();
      },
      multiply);
  const cudaError_t freed = cudaFreeAsync(memory, stream);
  return error == cudaSuccess ? freed : error;
}

}  // namespace
}  // namespace of_geqp3

cudaError_t geqp3(const Geqp3& p, cudaStream_t stream, const std::function<cudaError_t(const Gemm&)>& multiply) {
  using namespace of_geqp3;
  switch (p.precision) {
    case Precision::s: return factor<float>(p, stream, multiply);
    case Precision::d: return factor<double>(p, stream, multiply);
    case Precision::c: return factor<Complex<float>>(p, stream, multiply);
    case Precision::z: break;
  }
  return factor<Complex<double>>(p, stream, multiply);
}

}  // namespace blaslift
