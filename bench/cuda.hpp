// What the timing programs that call CUDA themselves share: errors as exceptions, memory and streams with an owner.
#pragma once
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace bench {

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

/// Memory on the device, or pinned on the host.
class Memory {
 public:
  enum Where { device, pinned };
  explicit Memory(std::size_t bytes, Where where = device) : where_(where) {
    bytes = std::max<std::size_t>(bytes, 1);
    check(where == device ? cudaMalloc(&at_, bytes) : cudaHostAlloc(&at_, bytes, cudaHostAllocDefault));
  }
  ~Memory() { where_ == device ? cudaFree(at_) : cudaFreeHost(at_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class T = void>
  T* as() const {
    return static_cast<T*>(at_);
  }

 private:
  Where where_;
  void* at_ = nullptr;
};

/// Waits for no other stream.
struct Stream {
  cudaStream_t get = nullptr;
  Stream() { check(cudaStreamCreateWithFlags(&get, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(get); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

}  // namespace bench
