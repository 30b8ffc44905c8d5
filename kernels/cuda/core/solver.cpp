#include "kernels/cuda/core/solver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <string>

namespace blaslift {
namespace {

constexpr const char* file = CUDART_VERSION >= 13000 ? "libcusolver.so.12" : "libcusolver.so.11";

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function;
}

const SolverLibrary* opened() {
  static SolverLibrary found;
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  const bool all =
      find(library, "cusolverDnCreate", found.create) && find(library, "cusolverDnDestroy", found.destroy) &&
      find(library, "cusolverDnSetStream", found.set_stream) &&
      find(library, "cusolverDnCreateParams", found.create_params) &&
      find(library, "cusolverDnXpotrf_bufferSize", found.potrf_size) &&
      find(library, "cusolverDnXpotrf", found.potrf) &&
      find(library, "cusolverDnXgetrf_bufferSize", found.getrf_size) && find(library, "cusolverDnXgetrf", found.getrf);
  if (!find(library, "cusolverDnXsyevd_bufferSize", found.syevd_size) ||
      !find(library, "cusolverDnXsyevd", found.syevd))
    found.syevd = nullptr;
  if (!find(library, "cusolverDnXgeev_bufferSize", found.geev_size) || !find(library, "cusolverDnXgeev", found.geev))
    found.geev = nullptr;
  const auto find_each = [&](const auto& rest, auto& sizes, auto& functions) {
    for (int i = 0; i < 4; ++i) {
      const std::string name = std::string("cusolverDn") + "SDCZ"[i] + rest(i);
      if (find(library, (name + "_bufferSize").c_str(), sizes[i]) && find(library, name.c_str(), functions[i]))
        continue;
      std::fill_n(functions, 4, nullptr);
      break;
    }
  };
  find_each([](int) { return "gebrd"; }, found.gebrd_size, found.gebrd);
  find_each([](int i) { return i < 2 ? "sytrd" : "hetrd"; }, found.sytrd_size, found.sytrd);
  find_each([](int) { return "geqrf"; }, found.geqrf_size, found.geqrf);
  find_each([](int i) { return i < 2 ? "orgqr" : "ungqr"; }, found.orgqr_size, found.orgqr);
  return all ? &found : nullptr;
}

cudaError_t error_of(int status) {
  return status == SolverLibrary::success        ? cudaSuccess
         : status == SolverLibrary::alloc_failed ? cudaErrorMemoryAllocation
                                                 : cudaErrorUnknown;
}

/// Of a failure before anything has begun, whatever it is of (cuSOLVER has limits that it does not document): the call
/// stays, as without memory, and the device is none the worse.
cudaError_t error_of_preparing(int status) {
  return status == SolverLibrary::success ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaDataType type_of(Precision precision) {
  switch (precision) {
    case Precision::s: return CUDA_R_32F;
    case Precision::d: return CUDA_R_64F;
    case Precision::c: return CUDA_C_32F;
    case Precision::z: break;
  }
  return CUDA_C_64F;
}

bool is_double(Precision precision) { return precision == Precision::d || precision == Precision::z; }

}  // namespace

const SolverLibrary* SolverLibrary::get() {
  static const SolverLibrary* const library = opened();
  return library;
}

cudaError_t Solver::potrf(const Potrf& p, cudaStream_t stream) {
  if (const cudaError_t error = create(stream); error != cudaSuccess) return error;
  const SolverLibrary& library = *SolverLibrary::get();
  const cublasFillMode_t uplo = p.uplo == Uplo::upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  const cudaDataType type = type_of(p.precision);
  std::size_t on_device = 0, on_host = 0;
  if (const int status = library.potrf_size(handle_, params_, uplo, p.n, type, p.A, p.lda, type, &on_device, &on_host))
    return error_of_preparing(status);
  if (const cudaError_t error = make_room(on_device, on_host); error != cudaSuccess) return error;
  return error_of(library.potrf(handle_, params_, uplo, p.n, type, p.A, p.lda, type,
                                static_cast<char*>(memory_) + for_info, bytes_ - for_info, on_host_.data(),
                                on_host_.size(), static_cast<int*>(memory_)));
}

cudaError_t Solver::getrf(const Getrf& p, cudaStream_t stream) {
  if (const cudaError_t error = create(stream); error != cudaSuccess) return error;
  const SolverLibrary& library = *SolverLibrary::get();
  const cudaDataType type = type_of(p.precision);
  std::size_t on_device = 0, on_host = 0;
  if (const int status = library.getrf_size(handle_, params_, p.m, p.n, type, p.A, p.lda, type, &on_device, &on_host))
    return error_of_preparing(status);
  const std::size_t for_pivots = static_cast<std::size_t>(p.factored()) * sizeof(index);
  if (const cudaError_t error = make_room(for_pivots, on_host); error != cudaSuccess) return error;
  auto* const found = reinterpret_cast<index*>(static_cast<char*>(memory_) + for_info);
  return with_memory(on_device, stream, [&](void* own) {
    return error_of(library.getrf(handle_, params_, p.m, p.n, type, p.A, p.lda, found, type, own, on_device,
                                  on_host_.data(), on_host_.size(), static_cast<int*>(memory_)));
  });
}

cudaError_t Solver::prepare(cudaStream_t stream) {
  const cudaError_t error = create(stream);
  return error == cudaSuccess ? make_room(0, 0) : error;
}

cudaError_t Solver::syevd(const Syevd& p, cudaStream_t stream, const std::function<cudaError_t()>& begin) {
  if (const cudaError_t error = prepare(stream); error != cudaSuccess) return error;
  const SolverLibrary& library = *SolverLibrary::get();
  if (!library.syevd) return cudaErrorNotSupported;
  const cublasFillMode_t uplo = p.uplo == Uplo::upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  const cudaDataType type = type_of(p.precision), type_of_w = is_double(p.precision) ? CUDA_R_64F : CUDA_R_32F;
  std::size_t on_device = 0, on_host = 0;
  if (const int status = library.syevd_size(handle_, params_, p.vectors, uplo, p.n, type, p.A, p.lda, type_of_w, p.w,
                                            type, &on_device, &on_host))
    return error_of_preparing(status);
  if (const cudaError_t error = make_room(0, on_host); error != cudaSuccess) return error;
  return with_memory(on_device, stream, [&](void* own) {
    if (const cudaError_t error = begin(); error != cudaSuccess) return error;
    return error_of(library.syevd(handle_, params_, p.vectors, uplo, p.n, type, p.A, p.lda, type_of_w, p.w, type, own,
                                  on_device, on_host_.data(), on_host_.size(), static_cast<int*>(memory_)));
  });
}

cudaError_t Solver::gebrd(const Gebrd& p, cudaStream_t stream, const std::function<cudaError_t()>& begin) {
  if (const cudaError_t error = prepare(stream); error != cudaSuccess) return error;
  const SolverLibrary& library = *SolverLibrary::get();
  const auto which = static_cast<std::size_t>(p.precision);
  if (!library.gebrd[which]) return cudaErrorNotSupported;
  // Its elements may be numbered by 32 bits.
  if (p.lda > std::numeric_limits<int>::max() / p.n) return cudaErrorMemoryAllocation;
  const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), lda = static_cast<int>(p.lda);
  int elements = 0;
  if (const int status = library.gebrd_size[which](handle_, m, n, &elements)) return error_of_preparing(status);
  if (elements < 0) return cudaErrorMemoryAllocation;
  const std::size_t bytes = static_cast<std::size_t>(elements) * element_size(p.precision);
  return with_memory(bytes, stream, [&](void* own) {
    if (const cudaError_t error = begin(); error != cudaSuccess) return error;
    return error_of(library.gebrd[which](handle_, m, n, p.A, lda, p.d, p.e, p.tauq, p.taup, own, elements,
                                         static_cast<int*>(memory_)));
  });
}

cudaError_t Solver::sytrd(const Sytrd& p, cudaStream_t stream, const std::function<cudaError_t()>& begin) {
  if (const cudaError_t error = prepare(stream); error != cudaSuccess) return error;
  const SolverLibrary& library = *SolverLibrary::get();
  const auto which = static_cast<std::size_t>(p.precision);
  if (!library.sytrd[which]) return cudaErrorNotSupported;
  // Its elements may be numbered by 32 bits.
  if (p.lda > std::numeric_limits<int>::max() / p.n) return cudaErrorMemoryAllocation;
  const cublasFillMode_t uplo = p.uplo == Uplo::upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  const int n = static_cast<int>(p.n), lda = static_cast<int>(p.lda);
  int elements = 0;
  if (const int status = library.sytrd_size[which](handle_, uplo, n, p.A, lda, p.d, p.e, p.tau, &elements))
    return error_of_preparing(status);
  if (elements < 0) return cudaErrorMemoryAllocation;
  const std::size_t bytes = static_cast<std::size_t>(elements) * element_size(p.precision);
  return with_memory(bytes, stream, [&](void* own) {
    if (const cudaError_t error = begin(); error != cudaSuccess) return error;
    return error_of(
        library.sytrd[which](handle_, uplo, n, p.A, lda, p.d, p.e, p.tau, own, elements, static_cast<int*>(memory_)));
  });
}

cudaError_t Solver::geqrf(Precision precision, index m, index n, void* A, void* tau, cudaStream_t stream) {
  if (const cudaError_t error = prepare(stream); error != cudaSuccess) return error;
  const SolverLibrary& library = *SolverLibrary::get();
  const auto which = static_cast<std::size_t>(precision);
  if (!library.geqrf[which]) return cudaErrorNotSupported;
  if (m > std::numeric_limits<int>::max() / n) return cudaErrorMemoryAllocation;  // elements numbered by 32 bits
  const int rows = static_cast<int>(m), cols = static_cast<int>(n);
  int elements = 0;
  if (const int status = library.geqrf_size[which](handle_, rows, cols, A, rows, &elements))
    return error_of_preparing(status);
  if (elements < 0) return cudaErrorMemoryAllocation;
  return with_memory(static_cast<std::size_t>(elements) * element_size(precision), stream, [&](void* own) {
    return error_of(library.geqrf[which](handle_, rows, cols, A, rows, tau, own, elements, static_cast<int*>(memory_)));
  });
}

cudaError_t Solver::orgqr(Precision precision, index m, index n, index k, void* Q, const void* tau,
                          cudaStream_t stream) {
  if (const cudaError_t error = prepare(stream); error != cudaSuccess) return error;
  const SolverLibrary& library = *SolverLibrary::get();
  const auto which = static_cast<std::size_t>(precision);
  if (!library.orgqr[which]) return cudaErrorNotSupported;
  if (m > std::numeric_limits<int>::max() / n) return cudaErrorMemoryAllocation;
  const int rows = static_cast<int>(m), cols = static_cast<int>(n), reflectors = static_cast<int>(k);
  int elements = 0;
  if (const int status = library.orgqr_size[which](handle_, rows, cols, reflectors, Q, rows, tau, &elements))
    return error_of_preparing(status);
  if (elements < 0) return cudaErrorMemoryAllocation;
  return with_memory(static_cast<std::size_t>(elements) * element_size(precision), stream, [&](void* own) {
    return error_of(
        library.orgqr[which](handle_, rows, cols, reflectors, Q, rows, tau, own, elements, static_cast<int*>(memory_)));
  });
}

cudaError_t Solver::geev(const GeneralEigenproblem& p, cudaStream_t stream, const std::function<cudaError_t()>& begin) {
  constexpr index largest_order = 46340;  // its elements are numbered by 32 bits
  if (const cudaError_t error = prepare(stream); error != cudaSuccess) return error;
  const SolverLibrary& library = *SolverLibrary::get();
  if (!library.geev) return cudaErrorNotSupported;
  if (p.n > largest_order) return cudaErrorMemoryAllocation;
  const cudaDataType type = type_of(p.precision);
  std::size_t on_device = 0, on_host = 0;
  if (const int status = library.geev_size(handle_, params_, false, p.vectors, p.n, type, p.A, p.lda, type, p.w, type,
                                           nullptr, p.n, type, p.V, p.ldv, type, &on_device, &on_host))
    return error_of_preparing(status);
  if (const cudaError_t error = make_room(0, on_host); error != cudaSuccess) return error;
  return with_memory(on_device, stream, [&](void* own) {
    if (const cudaError_t error = begin(); error != cudaSuccess) return error;
    if (const int status = library.geev(handle_, params_, false, p.vectors, p.n, type, p.A, p.lda, type, p.w, type,
                                        nullptr, p.n, type, p.V, p.ldv, type, own, on_device, on_host_.data(),
                                        on_host_.size(), static_cast<int*>(memory_)))
      return error_of(status);
    return cudaStreamSynchronize(stream);
  });
}

cudaError_t Solver::with_memory(std::size_t bytes, cudaStream_t stream, const std::function<cudaError_t(void*)>& use) {
  void* own = nullptr;
  if (const cudaError_t error = bytes > 0 ? cudaMallocAsync(&own, bytes, stream) : cudaSuccess; error != cudaSuccess)
    return error;
  const cudaError_t error = use(own);
  const cudaError_t freed = own ? cudaFreeAsync(own, stream) : cudaSuccess;
  return error == cudaSuccess ? freed : error;
}

void Solver::destroy() {
  if (handle_) SolverLibrary::get()->destroy(handle_);
  cudaFree(memory_);
}

cudaError_t Solver::create(cudaStream_t stream) {
  const SolverLibrary* library = SolverLibrary::get();
  if (!library) return cudaErrorNotSupported;
  if (!params_)
    if (const int status = library->create_params(&params_)) return error_of_preparing(status);
  if (handle_) return cudaSuccess;
  void* made = nullptr;
  if (const int status = library->create(&made)) return error_of_preparing(status);
  if (const int status = library->set_stream(made, stream)) {
    library->destroy(made);
    return error_of_preparing(status);
  }
  handle_ = made;
  return cudaSuccess;
}

cudaError_t Solver::make_room(std::size_t on_device, std::size_t on_host) {
  if (on_host_.size() < on_host) on_host_.resize(on_host);
  if (bytes_ >= for_info + on_device) return cudaSuccess;
  cudaFree(memory_);  // waits for what is under way
  bytes_ = 0;
  memory_ = nullptr;
  const cudaError_t error = cudaMalloc(&memory_, for_info + on_device);
  if (error == cudaSuccess) bytes_ = for_info + on_device;
  return error;
}

}  // namespace blaslift
