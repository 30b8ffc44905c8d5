// What levels_time needs of a device: memory, loops over elements, and a gemm to compare with.
//
// By nvcc this is CUDA and cuBLAS; by any other compiler the host and the BLAS underneath, so that the program's own
// logic is tested where there is no GPU.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#ifdef __CUDACC__
#include "bench/cuda.hpp"
#define BENCH_BOTH __host__ __device__
#else
#include <dlfcn.h>

#include <cmath>
#define BENCH_BOTH
#endif

namespace bench {

using index = std::int64_t;

/// As std::complex lies in memory, and with arithmetic that runs on the device.
template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

template <class T>
struct Real {
  using type = T;
};
template <class R>
struct Real<Complex<R>> {
  using type = R;
};
template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, typename Real<T>::type>;

/// Neither is ever fused with what surrounds it.
BENCH_BOTH inline double rounded_product(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;  // for a baseline x86-64, which has no fused instruction
#endif
}
BENCH_BOTH inline double fused(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

/// C := op(A) op(B) + beta C as BLAS has it: columns of A are lda apart.
template <class T>
struct Call {
  char transa, transb;
  int m, n, k;
  const T* A;
  int lda;
  const T* B;
  int ldb;
  double beta;
  T* C;
};

#ifdef __CUDACC__

inline constexpr const char* other_name = "cuBLAS";

inline void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes));
  return memory;
}
inline void release(void* memory) { cudaFree(memory); }
inline void bring(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}
inline void finish() { check(cudaDeviceSynchronize()); }
inline std::size_t bytes_free() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  return free;
}

template <class Body>
__global__ void __launch_bounds__(256) loop(index count, Body body) {
  for (index i = blockIdx.x * static_cast<index>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<index>(gridDim.x) * blockDim.x)
    body(i);
}

/// body(i) for all i < count, in any order; done when finish() returns.
template <class Body>
void for_each(index count, const Body& body) {
  if (count <= 0) return;
  const index blocks = (count + 255) / 256, most = 1 << 16;
  loop<<<static_cast<unsigned>(blocks < most ? blocks : most), 256>>>(count, body);
  check(cudaGetLastError());
}

/// cuBLAS with a handle of its own and everything else as it is by default.
class Other {
 public:
  Other() {
    check(cublasCreate(&handle_));
    check(cublasSetStream(handle_, stream_.get));
  }
  ~Other() { cublasDestroy(handle_); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  /// Starts the product.
  template <class T>
  void gemm(const Call<T>& x) {
    const auto op = [](char c) { return c == 'N' ? CUBLAS_OP_N : c == 'T' ? CUBLAS_OP_T : CUBLAS_OP_C; };
    const auto call = [&](auto function, auto* example) {
      using V = std::remove_pointer_t<decltype(example)>;
      const V one = scalar<V>(1), beta = scalar<V>(x.beta);
      check(function(handle_, op(x.transa), op(x.transb), x.m, x.n, x.k, &one, reinterpret_cast<const V*>(x.A), x.lda,
                     reinterpret_cast<const V*>(x.B), x.ldb, &beta, reinterpret_cast<V*>(x.C), x.m));
    };
    if constexpr (std::is_same_v<T, float>) call(cublasSgemm_64, static_cast<float*>(nullptr));
    if constexpr (std::is_same_v<T, double>) call(cublasDgemm_64, static_cast<double*>(nullptr));
    if constexpr (std::is_same_v<T, Complex<float>>) call(cublasCgemm_64, static_cast<cuComplex*>(nullptr));
    if constexpr (std::is_same_v<T, Complex<double>>) call(cublasZgemm_64, static_cast<cuDoubleComplex*>(nullptr));
  }

  void wait() { check(cudaStreamSynchronize(stream_.get)); }

 private:
  template <class V>
  static V scalar(double x) {
    if constexpr (std::is_same_v<V, cuComplex> || std::is_same_v<V, cuDoubleComplex>)
      return V{static_cast<decltype(V::x)>(x), 0};
    else
      return static_cast<V>(x);
  }

  cublasHandle_t handle_ = nullptr;
  Stream stream_;  ///< before the handle: says better than cuBLAS why there is no device
};

#else  // the host

inline constexpr const char* other_name = "libblas.so.3";

inline void* allocate(std::size_t bytes) {
  if (void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256)) return memory;
  throw std::runtime_error("out of memory");
}
inline void release(void* memory) { std::free(memory); }
inline void bring(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
inline void finish() {}
inline std::size_t bytes_free() { return 0; }

template <class Body>
void for_each(index count, const Body& body) {
  for (index i = 0; i < count; ++i) body(i);
}

/// The BLAS underneath, by a handle of its own, which nobody in front of it sees.
class Other {
 public:
  Other() : library_(dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw std::runtime_error(dlerror());
  }

  template <class T>
  void gemm(const Call<T>& x) {
    using Function =
        void (*)(const char*, const char*, const int*, const int*, const int*, const void*, const void*, const int*,
                 const void*, const int*, const void*, void*, const int*, std::size_t, std::size_t);
    const char* name = std::is_same_v<T, float> ? "sgemm_"
                       : std::is_same_v<T, double> ? "dgemm_"
                       : std::is_same_v<T, Complex<float>> ? "cgemm_"
                                                           : "zgemm_";
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    if (!function) throw std::runtime_error(dlerror());
    using R = typename Real<T>::type;
    const R one[2] = {1, 0}, beta[2] = {static_cast<R>(x.beta), 0};
    function(&x.transa, &x.transb, &x.m, &x.n, &x.k, one, x.A, &x.lda, x.B, &x.ldb, beta, x.C, &x.m, 1, 1);
  }

  void wait() {}

 private:
  void* library_;
};

#endif

/// Memory on the device.
template <class T>
class Array {
 public:
  explicit Array(index count) : count_(count), at_(static_cast<T*>(allocate(bytes()))) {}
  ~Array() { release(at_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* get() const { return at_; }
  index count() const { return count_; }
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }

 private:
  index count_;
  T* at_;
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace bench
