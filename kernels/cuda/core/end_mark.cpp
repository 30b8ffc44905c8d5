#include "kernels/cuda/core/end_mark.hpp"

#include <cuda.h>

#include <atomic>
#include <chrono>

#include "kernels/cuda/core/driver.hpp"

namespace blaslift {
namespace {

using Write = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

Write write_value() {
  static const Write found = [] {
    Write function = nullptr;
    return find_in_driver("cuStreamWriteValue32", function) ? function : nullptr;
  }();
  return found;
}

}  // namespace

void EndMark::create() {
  void* memory = nullptr;
  // Elsewhere, on WSL for one, the program may not touch its managed memory before the driver has seen the end itself.
  int device = 0, concurrent = 0;
  if (!write_value() || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device) != cudaSuccess || !concurrent)
    return;
  if (cudaHostAlloc(&memory, sizeof *memory_, cudaHostAllocMapped | cudaHostAllocPortable) != cudaSuccess ||
      cudaHostGetDevicePointer(&on_device_, memory, 0) != cudaSuccess) {
    if (memory) cudaFreeHost(memory);
    (void)cudaGetLastError();
    return;
  }
  memory_ = static_cast<volatile std::uint32_t*>(memory);
  *memory_ = 0;
}

void EndMark::destroy() {
  if (memory_) cudaFreeHost(const_cast<std::uint32_t*>(memory_));
  memory_ = nullptr;
}

cudaError_t EndMark::await(cudaStream_t stream) {
  using Clock = std::chrono::steady_clock;
  // After a failure the number is never written; and who waits for long loses by it: see soon_.
  constexpr auto patience = std::chrono::microseconds(500);
  const auto start = Clock::now();
  if (memory_ && soon_ &&
      write_value()(stream, reinterpret_cast<CUdeviceptr>(on_device_), ++last_, 0) == CUDA_SUCCESS) {
    do
      for (int i = 0; i < 64; ++i)
        if (*memory_ == last_) {
          std::atomic_thread_fence(std::memory_order_acquire);
          return cudaSuccess;
        }
    while (Clock::now() - start < patience);
  }
  const cudaError_t end = cudaStreamSynchronize(stream);
  soon_ = Clock::now() - start < patience;
  return end;
}

}  // namespace blaslift
