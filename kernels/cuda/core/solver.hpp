// cuSOLVER, which is opened when first needed: most programs need none of it, and the module runs without.
#pragma once
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "kernels/types.hpp"

namespace blaslift {

/// What we call of it.  A status is 0 for success.  Its 64-bit interface has types as arguments.
struct SolverLibrary {
  static constexpr int success = 0, alloc_failed = 2;
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, cudaStream_t stream) = nullptr;
  int (*create_params)(void** params) = nullptr;
  int (*potrf_size)(void* handle, void* params, cublasFillMode_t uplo, index n, cudaDataType type_of_A, const void* A,
                    index lda, cudaDataType arithmetic, std::size_t* bytes_on_device,
                    std::size_t* bytes_on_host) = nullptr;
  int (*potrf)(void* handle, void* params, cublasFillMode_t uplo, index n, cudaDataType type_of_A, void* A, index lda,
               cudaDataType arithmetic, void* on_device, std::size_t bytes_on_device, void* on_host,
               std::size_t bytes_on_host, int* info) = nullptr;

  int (*getrf_size)(void* handle, void* params, index m, index n, cudaDataType type_of_A, const void* A, index lda,
                    cudaDataType arithmetic, std::size_t* bytes_on_device, std::size_t* bytes_on_host) = nullptr;
  int (*getrf)(void* handle, void* params, index m, index n, cudaDataType type_of_A, void* A, index lda, index* ipiv,
               cudaDataType arithmetic, void* on_device, std::size_t bytes_on_device, void* on_host,
               std::size_t bytes_on_host, int* info) = nullptr;

  /// Null where there are none of these two.
  int (*syevd_size)(void* handle, void* params, int vectors, cublasFillMode_t uplo, index n, cudaDataType type_of_A,
                    const void* A, index lda, cudaDataType type_of_w, const void* w, cudaDataType arithmetic,
                    std::size_t* bytes_on_device, std::size_t* bytes_on_host) = nullptr;
  int (*syevd)(void* handle, void* params, int vectors, cublasFillMode_t uplo, index n, cudaDataType type_of_A, void* A,
               index lda, cudaDataType type_of_w, void* w, cudaDataType arithmetic, void* on_device,
               std::size_t bytes_on_device, void* on_host, std::size_t bytes_on_host, int* info) = nullptr;

  /// By precision, s to z; null where one of them is missing.
  int (*gebrd_size[4])(void* handle, int m, int n, int* elements) = {};
  int (*gebrd[4])(void* handle, int m, int n, void* A, int lda, void* d, void* e, void* tauq, void* taup, void* work,
                  int elements, int* info) = {};

  /// Likewise.
  int (*sytrd_size[4])(void* handle, cublasFillMode_t uplo, int n, const void* A, int lda, const void* d, const void* e,
                       const void* tau, int* elements) = {};
  int (*sytrd[4])(void* handle, cublasFillMode_t uplo, int n, void* A, int lda, void* d, void* e, void* tau, void* work,
                  int elements, int* info) = {};

  /// Likewise.
  int (*geqrf_size[4])(void* handle, int m, int n, void* A, int lda, int* elements) = {};
  int (*geqrf[4])(void* handle, int m, int n, void* A, int lda, void* tau, void* work, int elements, int* info) = {};
  int (*orgqr_size[4])(void* handle, int m, int n, int k, const void* A, int lda, const void* tau, int* elements) = {};
  int (*orgqr[4])(void* handle, int m, int n, int k, void* A, int lda, const void* tau, void* work, int elements,
                  int* info) = {};

  /// Eigenvalues and right eigenvectors of general matrices, of real ones all by real types: W has the real parts and
  /// behind them the imaginary ones.  Null where there are none of these two.
  int (*geev_size)(void* handle, void* params, int left, int right, index n, cudaDataType type_of_A, const void* A,
                   index lda, cudaDataType type_of_W, const void* W, cudaDataType type_of_VL, const void* VL,
                   index ldvl, cudaDataType type_of_VR, const void* VR, index ldvr, cudaDataType arithmetic,
                   std::size_t* bytes_on_device, std::size_t* bytes_on_host) = nullptr;
  int (*geev)(void* handle, void* params, int left, int right, index n, cudaDataType type_of_A, void* A, index lda,
              cudaDataType type_of_W, void* W, cudaDataType type_of_VL, void* VL, index ldvl, cudaDataType type_of_VR,
              void* VR, index ldvr, cudaDataType arithmetic, void* on_device, std::size_t bytes_on_device,
              void* on_host, std::size_t bytes_on_host, int* info) = nullptr;

  /// Null where there is none that has all this but for syevd, gebrd, sytrd, geqrf, orgqr and geev, of the major
  /// version that goes with the CUDA that we are built with.
  static const SolverLibrary* get();
};

/// Eigenvalues of A (n x n), in memory that may be written, and right eigenvectors.
struct GeneralEigenproblem {
  Precision precision;
  bool vectors;
  index n;
  void* A;
  index lda;
  void* w;  ///< n complex numbers, or of a real matrix n real and n imaginary parts
  void* V;  ///< without vectors nothing
  index ldv;
};

/// For what one stream computes with it: a handle, and memory that is made and grows when needed.
class Solver {
 public:
  /// The number of the element whose pivot will not do goes to info(), or 0; as far as cuSOLVER notices.
  cudaError_t potrf(const Potrf& p, cudaStream_t stream);
  /// What cuSOLVER says of it goes to info().  What it works in, which is large, is given back behind it.
  /// @param begin  asks for what comes before, once nothing can be missing any more
  cudaError_t syevd(const Syevd& p, cudaStream_t stream, const std::function<cudaError_t()>& begin);
  /// Likewise; with m >= n.
  cudaError_t gebrd(const Gebrd& p, cudaStream_t stream, const std::function<cudaError_t()>& begin);
  /// Likewise; with n > 1.
  cudaError_t sytrd(const Sytrd& p, cudaStream_t stream, const std::function<cudaError_t()>& begin);
  /// Of a matrix without gaps between its columns, LAPACK's format.
  cudaError_t geqrf(Precision precision, index m, index n, void* A, void* tau, cudaStream_t stream);
  /// n of its columns of Q, from k reflectors.
  cudaError_t orgqr(Precision precision, index m, index n, index k, void* Q, const void* tau, cudaStream_t stream);
  /// As syevd; waits until it has ended, since it computes on the host, too.
  cudaError_t geev(const GeneralEigenproblem& p, cudaStream_t stream, const std::function<cudaError_t()>& begin);
  /// Before scratch() is used.
  cudaError_t prepare(cudaStream_t stream);
  static constexpr std::size_t words = 64;
  /// On the device, so many bytes for whoever calls.
  void* scratch() const { return static_cast<char*>(memory_) + for_info / 2; }
  /// The pivots' rows, from 1 on, go to pivots().
  cudaError_t getrf(const Getrf& p, cudaStream_t stream);
  /// On the device, behind info().
  const index* pivots() const { return reinterpret_cast<const index*>(static_cast<const char*>(memory_) + for_info); }
  /// On the device.
  const int* info() const { return static_cast<const int*>(memory_); }
  /// Once nothing is under way.
  void destroy();

 private:
  static constexpr std::size_t for_info = 256;  // what follows is aligned

  cudaError_t create(cudaStream_t stream);
  cudaError_t make_room(std::size_t on_device, std::size_t on_host);
  /// Runs `use` with so much memory on the device, which is given back behind what it asks for.
  static cudaError_t with_memory(std::size_t bytes, cudaStream_t stream, const std::function<cudaError_t(void*)>& use);

  void *handle_ = nullptr, *params_ = nullptr;
  void* memory_ = nullptr;  ///< what cuSOLVER works in, behind an int
  std::size_t bytes_ = 0;
  std::vector<char> on_host_;
};

}  // namespace blaslift
