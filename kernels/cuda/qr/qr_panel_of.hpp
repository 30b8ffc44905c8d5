// The panels of one precision: every kernel for every width, and their launches.  A unit a precision includes this, so
// that they compile beside each other.
#pragma once
#include <algorithm>
#include <atomic>
#include <new>

#include "kernels/cuda/qr/qr_panel.hpp"
#include "kernels/cuda/qr/qr_panel_kernels.hpp"

namespace blaslift {
namespace {

using namespace qr_kernels;

/// More than a block has without being asked for.
template <class Shared>
__device__ Shared& shared_memory() {
  extern __shared__ double2 at[];
  return *reinterpret_cast<Shared*>(at);
}

/// Blocks on a multiprocessor: two where there are many of them, and enough registers.
template <class T>
constexpr int resident(Kernel kernel) {
  switch (kernel) {
    case Kernel::gram_of_a:
    case Kernel::gram_of_q:
    case Kernel::gram_of_reflectors: return is_complex_number<T> ? 1 : 2;
    case Kernel::solve_a:
    case Kernel::solve_q: return 2;
    default: return 1;
  }
}

template <Kernel kernel, class T, int N>
__global__ void __launch_bounds__(threads, resident<T>(kernel)) panel_kernel(const __grid_constant__ Job<T> job) {
  using Shared = typename SharedOf<kernel, T, N>::type;
  Shared& shared = shared_memory<Shared>();
  if constexpr (kernel == Kernel::householder)
    householder<N>(phases::Grid<Shared>(shared), job);
  else
    run<kernel, N>(phases::Block(), job, shared);
}

/// As often as a kernel is used: its shared memory allowed, and how many of its blocks the device holds at a time.
struct Prepared {
  cudaError_t error = cudaSuccess;
  int blocks = 0;

  Prepared(const void* kernel, std::size_t shared) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    int device = 0, multiprocessors = 0, on_each = 0;
    if (error == cudaSuccess) error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, kernel, threads, shared);
    blocks = multiprocessors * std::min(on_each, 1);
    if (error == cudaSuccess && blocks == 0) error = cudaErrorInvalidConfiguration;
  }
};

/// For the calling thread's device.
class PreparedByDevice {
 public:
  cudaError_t get(const void* kernel, std::size_t shared, const Prepared*& prepared) {
    int device = 0;
    if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
    if (device >= most_devices) return cudaErrorInvalidDevice;
    std::atomic<const Prepared*>& known = known_[device];
    prepared = known.load(std::memory_order_acquire);
    if (!prepared) {
      const Prepared* const mine = new (std::nothrow) Prepared(kernel, shared);
      if (!mine) return cudaErrorMemoryAllocation;
      if (known.compare_exchange_strong(prepared, mine, std::memory_order_acq_rel))
        prepared = mine;
      else
        delete mine;
    }
    return prepared->error;
  }

 private:
  static constexpr int most_devices = 64;
  std::atomic<const Prepared*> known_[most_devices] = {};
};

template <Kernel kernel, class T, int N>
cudaError_t start(const Launch& launch, const Job<T>& job, cudaStream_t stream) {
  if constexpr (kernel != Kernel::householder)
    if (launch.kernel != kernel)
      return start<static_cast<Kernel>(static_cast<int>(kernel) + 1), T, N>(launch, job, stream);
  constexpr std::size_t shared = sizeof(typename SharedOf<kernel, T, N>::type);
  const auto* const function = reinterpret_cast<const void*>(panel_kernel<kernel, T, N>);
  static constinit PreparedByDevice devices;
  const Prepared* prepared = nullptr;
  if (const cudaError_t error = devices.get(function, shared, prepared); error != cudaSuccess) return error;
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(launch.blocks);
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  if (kernel == Kernel::householder) {
    config.gridDim = static_cast<unsigned>(std::min(launch.blocks, prepared->blocks));
    config.attrs = &cooperative;
    config.numAttrs = 1;
  }
  return cudaLaunchKernelEx(&config, panel_kernel<kernel, T, N>, job);
}

template <class T, int N>
cudaError_t start_all(const Job<T>& job, cudaStream_t stream) {
  const Launches<T, N> launches(job);
  for (int i = 0; i < launches.count; ++i)
    if (const cudaError_t error = start<Kernel::gram_of_a, T, N>(launches.all[i], job, stream); error != cudaSuccess)
      return error;
  return cudaSuccess;
}

template <class T>
cudaError_t panel_as(const QrPanel& p, void* workspace, cudaStream_t stream, bool householder) {
  if (p.n > most_columns<T>) return cudaErrorInvalidValue;
  const Job<T> job = job_of<T>(p, workspace, householder);
  if constexpr (is_complex_number<T>) {
    return start_all<T, 32>(job, stream);
  } else {
    switch (width<T>(job.n)) {
      case 16: return start_all<T, 16>(job, stream);
      case 32: return start_all<T, 32>(job, stream);
      default: return start_all<T, 64>(job, stream);
    }
  }
}

}  // namespace
}  // namespace blaslift
