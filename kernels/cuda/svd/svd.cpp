#include "kernels/cuda/svd/svd.hpp"

#include "kernels/polar_svd.hpp"

namespace blaslift {
namespace {

template <class T>
class Means {
 public:
  Means(Solver& solver, cudaStream_t stream, const std::function<cudaError_t(const Operation&)>& ask)
      : solver_(solver), stream_(stream), ask_(ask) {}

  bool ask(const Operation& operation) { return noted(ask_(operation)); }
  template <class X>
  bool read(const X* from, index ld, index n, X* to) {
    return noted(cudaMemcpy2DAsync(to, sizeof(X), from, static_cast<std::size_t>(ld) * sizeof(X), sizeof(X),
                                   static_cast<std::size_t>(n), cudaMemcpyDeviceToHost, stream_)) &&
           noted(cudaStreamSynchronize(stream_));
  }
  bool reflect(index m, index n, T* A, T* tau) { return noted(solver_.geqrf(precision_of<T>, m, n, A, tau, stream_)); }
  bool form(index m, index n, index k, T* Q, const T* tau) {
    return noted(solver_.orgqr(precision_of<T>, m, n, k, Q, tau, stream_));
  }
  void* take(std::size_t bytes) {
    void* memory = nullptr;
    return noted(cudaMallocAsync(&memory, bytes, stream_)) ? memory : nullptr;
  }
  void give_back(void* memory) {
    if (const cudaError_t freed = cudaFreeAsync(memory, stream_); error_ == cudaSuccess) error_ = freed;
  }
  /// The first that there was.
  cudaError_t error() const { return error_; }

 private:
  bool noted(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
    return error == cudaSuccess;
  }

  Solver& solver_;
  const cudaStream_t stream_;
  const std::function<cudaError_t(const Operation&)>& ask_;
  cudaError_t error_ = cudaSuccess;
};

template <class T>
cudaError_t svd_of(const Svd& p, Solver& solver, cudaStream_t stream,
                   const std::function<cudaError_t(const Operation&)>& ask) {
  Means<T> means(solver, stream, ask);
  PolarSvd<T, Means<T>>(p, means).run();
  return means.error();
}

}  // namespace

cudaError_t svd(const Svd& p, Solver& solver, cudaStream_t stream,
                const std::function<cudaError_t(const Operation&)>& ask) {
  switch (p.precision) {
    case Precision::s: return svd_of<float>(p, solver, stream, ask);
    case Precision::d: return svd_of<double>(p, solver, stream, ask);
    case Precision::c: return svd_of<std::complex<float>>(p, solver, stream, ask);
    case Precision::z: break;
  }
  return svd_of<std::complex<double>>(p, solver, stream, ask);
}

}  // namespace blaslift
