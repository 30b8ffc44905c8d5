// The cuda backend: products by cuBLAS and cuBLASLt, transfers by the engine through pinned memory, four streams a
// lane.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/by_triangles.hpp"
#include "kernels/cuda/cholesky/potrf.hpp"
#include "kernels/cuda/core/context.hpp"
#include "kernels/cuda/core/device_share.hpp"
#include "kernels/cuda/core/end_mark.hpp"
#include "kernels/cuda/core/ranges.hpp"
#include "kernels/cuda/core/utilization.hpp"
#include "kernels/cuda/eigen/geev.hpp"
#include "kernels/cuda/eigen/gehrd.hpp"
#include "kernels/cuda/eigen/syevd.hpp"
#include "kernels/cuda/eigen/sytrd.hpp"
#include "kernels/cuda/gemv/gemv.hpp"
#include "kernels/cuda/lu/getrf.hpp"
#include "kernels/cuda/product/assign.hpp"
#include "kernels/cuda/product/combine.hpp"
#include "kernels/cuda/product/matmul.hpp"
#include "kernels/cuda/product/residues.hpp"
#include "kernels/cuda/product/scale.hpp"
#include "kernels/cuda/product/survey.hpp"
#include "kernels/cuda/product/triangle.hpp"
#include "kernels/cuda/qr/geqp3.hpp"
#include "kernels/cuda/qr/qr_panel.hpp"
#include "kernels/cuda/qr/wide_panel.hpp"
#include "kernels/cuda/svd/gebrd.hpp"
#include "kernels/cuda/svd/svd.hpp"
#include "kernels/cuda/symv/symv.hpp"
#include "kernels/cuda/systolic/systolic.hpp"
#include "kernels/cuda/trsm/solve_by_blocks.hpp"
#include "kernels/cuda/trsm/trsm.hpp"
#include "kernels/engine/lane.hpp"
#include "kernels/engine/spare_memory.hpp"
#include "kernels/module.hpp"

namespace blaslift {
namespace {

// Smaller copies leave the bus waiting between them; more or larger slots fall out of the caches before they are sent.
constexpr std::size_t most_slot_in = std::size_t{4} << 20, most_slot_out = std::size_t{4} << 20;
constexpr int slots_in = 8;
constexpr std::size_t largest_spare = std::size_t{64} << 20;
// cuBLAS's own recommendation for Hopper; given explicitly, because its results repeat bit by bit only while a stream
// keeps its handle and workspace to itself.
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
// Each has a workspace, streams and handles of its own: made when so many callers come at once.
constexpr int few_lanes = 4, most_lanes = 16;
// On 16 cores, both ways at once, these leave one to the caller; five are enough for one way out.
constexpr unsigned most_threads_in = 11, most_threads_beside = 4, most_threads_out = 6;

Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return Status::done;
  (void)cudaGetLastError();  // ours alone: this module's runtime is not the program's
  return error == cudaErrorMemoryAllocation ? Status::no_memory : Status::lost;
}

Status status_of(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS        ? Status::done
         : status == CUBLAS_STATUS_ALLOC_FAILED ? Status::no_memory
                                                : Status::lost;
}

/// For what asks for operations itself.
cudaError_t error_of(Status status) {
  return status == Status::done        ? cudaSuccess
         : status == Status::no_memory ? cudaErrorMemoryAllocation
                                       : cudaErrorUnknown;
}

/// The first failure of a sequence; later ones are not tried.
template <class... Steps>
Status in_order(Steps... steps) {
  Status status = Status::done;
  (void)(... && ((status = status_of(steps())) == Status::done));
  return status;
}

cublasOperation_t cublas_op(Op op) {
  return op == Op::none ? CUBLAS_OP_N : op == Op::transpose ? CUBLAS_OP_T : CUBLAS_OP_C;
}

bool equals(Precision precision, const void* scalar, float x) {
  switch (precision) {
    case Precision::s: return *static_cast<const float*>(scalar) == x;
    case Precision::d: return *static_cast<const double*>(scalar) == x;
    case Precision::c: return *static_cast<const std::complex<float>*>(scalar) == x;
    case Precision::z: return *static_cast<const std::complex<double>*>(scalar) == static_cast<double>(x);
  }
  return false;
}

/// A stay in the device's context on a thread of the program's, whatever that is in the middle of.
class Visit {
 public:
  bool begin(const Context& context) {
    if (!context.enter(before_)) return false;
    (void)cudaThreadExchangeStreamCaptureMode(&capture_);  // the program may be capturing a graph on this thread
    return true;
  }
  void end(const Context& context) const {
    cudaStreamCaptureMode capture = capture_;
    (void)cudaThreadExchangeStreamCaptureMode(&capture);
    context.leave(before_);
  }

 private:
  CUcontext before_ = nullptr;
  cudaStreamCaptureMode capture_ = cudaStreamCaptureModeRelaxed;
};

constexpr Operation::Kinds solver_computes = Operation::Kinds(Operation::Kind::potrf) | Operation::Kind::getrf |
                                             Operation::Kind::syevd | Operation::Kind::gebrd | Operation::Kind::svd |
                                             Operation::Kind::geev | Operation::Kind::sytrd;

/// A stream a queue, with everything that cuBLAS needs to run alone.
class CudaLane final : public EngineLane {
 public:
  /// @param has_peers  of its device
  CudaLane(Engine& engine, const std::atomic<bool>& has_peers) : EngineLane(engine, 0), has_peers_(has_peers) {}

  Status create() {
    for (const Queue queue : {Queue::in, Queue::out, Queue::compute, Queue::second})
      if (const Status made = create(queue); made != Status::done) return made;
    end_.create();
    return products(Queue::compute).create(stream(Queue::compute));
  }

  /// For a lane whose creation failed half way.
  void destroy() {
    for (Products& products : products_) products.destroy();
    for (void* memory : panels_) cudaFree(memory);
    for (void* memory : tiles_) cudaFree(memory);
    for (Solver& solver : solvers_) solver.destroy();
    end_.destroy();
    for (cudaStream_t stream : streams_)
      if (stream) cudaStreamDestroy(stream);
    (void)cudaGetLastError();
  }

  void serve_next(std::size_t bytes, int lanes) {
    EngineLane::serve_next(bytes, lanes);
    noted_there_ = 0;
  }

  void prefer(const std::shared_ptr<const Preferences>& preferences) {
    for (Products& products : products_) products.matmul.prefer(preferences);
  }

  Visit visit;  ///< during a call

 private:
  /// What products in one stream have to themselves.
  struct Products {
    cublasHandle_t handle = nullptr;
    void* workspace = nullptr;
    double* findings = nullptr;  ///< pinned: of products by residues, from the first on
    Matmul matmul;
    bool ready = false;

    /// The second stream's are seldom needed: made when they are.
    Status create_once(cudaStream_t stream) { return ready ? Status::done : create(stream); }
    Status create(cudaStream_t stream) {
      const Status status = in_order([&] { return workspace ? cudaSuccess : cudaMalloc(&workspace, workspace_bytes); },
                                     [&] { return handle ? CUBLAS_STATUS_SUCCESS : cublasCreate(&handle); },
                                     [&] { return cublasSetStream(handle, stream); },
                                     [&] { return cublasSetWorkspace(handle, workspace, workspace_bytes); },
                                     [&] { return cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST); },
                                     [&] { return cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED); },
                                     [&] { return cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH); });
      ready = status == Status::done;
      return status;
    }
    void destroy() {
      if (handle) cublasDestroy(handle);
      cudaFree(workspace);
      cudaFreeHost(findings);
    }
  };
  Products& products(Queue queue) { return products_[queue == Queue::second]; }

  Status create(Queue queue) {
    // What is in the second one can wait, beside steps that others wait for.
    int least = 0, greatest = 0;
    if (const cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest); error != cudaSuccess)
      return status_of(error);
    return status_of(cudaStreamCreateWithPriority(&streams_[static_cast<int>(queue)], cudaStreamNonBlocking,
                                                  queue == Queue::second ? least : greatest));
  }

  Status compute(Queue queue, const Operation& operation) override {
    return operation.visit([&](const auto& x) { return compute(queue, x); });
  }

  Status compute(Queue queue, const Gemm& p) {
    if (p.m == 0 || p.n == 0) return Status::done;
    if (p.part != Part::whole)
      return p.update == Update::product ? multiply_squares(queue, p) : multiply_triangle(queue, p);
    const bool multiplies = p.k != 0 && !equals(p.precision, p.alpha, 0);
    const bool adds_e = p.E && !equals(p.precision, p.beta, 0);
    if (!multiplies)
      return adds_e ? c_from_e(queue, p, !equals(p.precision, p.beta, 1))  // not E * 1: that would touch NaN and Inf
                    : status_of(scale(p.precision, p.m, p.n, p.beta, p.C, p.ldc, stream(queue)));
    Products& own = products(queue);
    if (const Status made = own.create_once(stream(queue)); made != Status::done) return made;
    Gemm product = p;
    if (!adds_e) {
      const bool overwrites = p.E || equals(p.precision, p.beta, 0);  // with E, beta is zero here
      product.E = overwrites ? nullptr : p.C;
      product.lde = p.ldc;
    }
    // NVIDIA's documentation of cublasLtHandle_t: any valid cublasHandle_t may be used in its place with a cast.
    const cublasStatus_t tried =
        own.matmul.multiply(reinterpret_cast<cublasLtHandle_t>(own.handle), product,
                            {.workspace = own.workspace, .bytes = workspace_bytes, .stream = stream(queue)});
    if (tried != CUBLAS_STATUS_NOT_SUPPORTED) return status_of(tried);
    const Status copied = adds_e ? c_from_e(queue, p, false) : Status::done;
    return copied == Status::done ? multiply_in_place(own.handle, p) : copied;
  }

  Status compute(Queue queue, const GemmBatch& p) {
    if (p.m == 0 || p.n == 0 || p.count == 0) return Status::done;
    if (p.k == 0 || equals(p.precision, p.alpha, 0)) {
      for (index i = 0; i < p.count; ++i)
        if (const Status status = compute(queue, p.product(i)); status != Status::done) return status;
      return Status::done;
    }
    if (p.systolic) return status_of(systolic::multiply(p, stream(queue)));
    Products& own = products(queue);
    const Status made = own.create_once(stream(queue));
    return made == Status::done ? multiply_all(own.handle, p) : made;
  }
  Status compute(Queue queue, const GemmByResidues& p) {
    Products& own = products(queue);
    if (const Status made = own.create_once(stream(queue)); made != Status::done) return made;
    if (!own.findings)
      if (const Status made = status_of(cudaMallocHost(reinterpret_cast<void**>(&own.findings), 2 * sizeof(double)));
          made != Status::done)
        return made;
    const ResiduesStarted started = multiply_by_residues(p, own.handle, stream(queue), own.findings);
    const Status status = started.error != cudaSuccess ? status_of(started.error) : status_of(started.status);
    if (status != Status::done) return status;
    if (started.accepted) return p.hermitian() ? make_diagonal_real(queue, p) : status;
    *p.declined = true;
    return compute(queue, static_cast<const Gemm&>(p));
  }
  Status compute(Queue queue, const Combination& combination) { return status_of(combine(combination, stream(queue))); }
  Status compute(Queue queue, const Survey& x) { return status_of(survey(x, stream(queue))); }
  Status compute(Queue queue, const Symv& product) { return status_of(symv(product, stream(queue))); }
  Status compute(Queue queue, const Gemv& product) { return status_of(gemv(product, stream(queue))); }
  Status compute(Queue queue, const QrPanel& panel) {
    // For all panels of this stream, one after the other; made with the first.
    constexpr std::size_t alignment = 256;
    const std::size_t own = (qr_panel_workspace() + alignment - 1) / alignment * alignment,
                      scratch = static_cast<std::size_t>(wide_panel_scratch(most_panel_columns)) * 16;
    void*& memory = panels_[queue == Queue::second];
    if (!memory) {
      void* made = nullptr;
      if (const Status status = in_order([&] { return cudaMalloc(&made, own + scratch); },
                                         [&] { return cudaMemsetAsync(made, 0, own + scratch, stream(queue)); });
          status != Status::done) {
        cudaFree(made);
        return status;
      }
      memory = made;
    }
    return factor_by_halves(
        panel, qr_panel_columns(panel.precision), static_cast<char*>(memory) + own,
        [&](const QrPanel& p) { return status_of(qr_panel(p, memory, stream(queue))); },
        [&](const Gemm& p) { return compute(queue, p); });
  }

  Status compute(Queue queue, const Trsm& p) {
    if (p.m == 0 || p.n == 0) return Status::done;
    if (equals(p.precision, p.alpha, 0))
      return status_of(scale(p.precision, p.m, p.n, p.alpha, p.B, p.ldb, stream(queue)));
    Products& own = products(queue);
    if (const Status made = own.create_once(stream(queue)); made != Status::done) return made;
    if (p.way == TrsmWay::substitution) return status_of(substitute(p, own.handle));
    const TrsmStarted prepared = prepare_trsm(p, own.handle, stream(queue));
    const Status status = prepared.error == cudaSuccess ? status_of(prepared.status) : status_of(prepared.error);
    if (status != Status::done) return status;
    return solve_by_blocks(
        p, [&](const Gemm& product) { return compute(queue, product); },
        [&](index block) { return status_of(finish_trsm_block(p, block, stream(queue))); });
  }

  Status compute(Queue queue, const Potrf& p) {
    return status_of(potrf(p, solvers_[queue == Queue::second], stream(queue)));
  }

  Status compute(Queue queue, const Getrf& p) {
    return status_of(getrf(p, solvers_[queue == Queue::second], stream(queue)));
  }
  Status compute(Queue queue, const Syevd& p) {
    return status_of(syevd(p, solvers_[queue == Queue::second], stream(queue)));
  }
  Status compute(Queue queue, const Sytrd& p) {
    return status_of(sytrd(p, solvers_[queue == Queue::second], stream(queue)));
  }
  Status compute(Queue queue, const Gehrd& p) { return with_products(queue, p, gehrd); }
  Status compute(Queue queue, const Geqp3& p) { return with_products(queue, p, geqp3); }
  /// What starts products on its way, some of them with vectors.
  template <class Work>
  Status with_products(Queue queue, const Work& p,
                       cudaError_t (*start)(const Work&, cudaStream_t,
                                            const std::function<cudaError_t(const Gemm&)>&)) {
    Products& own = products(queue);
    if (const Status made = own.create_once(stream(queue)); made != Status::done) return made;
    return status_of(start(p, stream(queue), [&](const Gemm& product) {
      const bool of_vector = product.n == 1 && product.transb == Op::none;
      return error_of(of_vector ? multiply_vector(own.handle, product) : compute(queue, product));
    }));
  }
  Status compute(Queue queue, const Gebrd& p) {
    return status_of(gebrd(p, solvers_[queue == Queue::second], stream(queue)));
  }
  Status compute(Queue queue, const Svd& p) {
    return status_of(svd(p, solvers_[queue == Queue::second], stream(queue),
                         [&](const Operation& asked) { return error_of(compute(queue, asked)); }));
  }
  Status compute(Queue queue, const Assign& p) { return status_of(assign(p, stream(queue))); }
  Status compute(Queue queue, const Mirror& p) { return status_of(mirror(p, stream(queue))); }
  Status compute(Queue queue, const Geev& p) {
    return status_of(geev(p, solvers_[queue == Queue::second], stream(queue)));
  }
  Status compute(Queue queue, const RowSwaps& p) { return status_of(exchange_rows(p, stream(queue))); }

  /// C := E or beta * E
  Status c_from_e(Queue queue, const Gemm& p, bool scaled) {
    return compute(queue, Combination{.precision = p.precision,
                                      .rows = p.m,
                                      .cols = p.n,
                                      .sources = 1,
                                      .targets = 1,
                                      .source = {{p.E, p.lde, scaled}},
                                      .target = {{p.C, p.ldc, {1}}},
                                      .scale = p.beta});
  }

  static Status multiply_in_place(cublasHandle_t handle, const Gemm& p) {
    const auto call = [&]<class T>(auto function, T) {
      T alpha, beta;  // cuBLAS's complex types are aligned to 16 bytes, a caller's need not be
      std::memcpy(&alpha, p.alpha, sizeof alpha);
      std::memcpy(&beta, p.beta, sizeof beta);
      return status_of(function(handle, cublas_op(p.transa), cublas_op(p.transb), p.m, p.n, p.k, &alpha,
                                static_cast<const T*>(p.A), p.lda, static_cast<const T*>(p.B), p.ldb, &beta,
                                static_cast<T*>(p.C), p.ldc));
    };
    switch (p.precision) {
      case Precision::s: return call(cublasSgemm_64, float{});
      case Precision::d: return call(cublasDgemm_64, double{});
      case Precision::c: return call(cublasCgemm_64, cuComplex{});
      case Precision::z: return call(cublasZgemm_64, cuDoubleComplex{});
    }
    return Status::lost;
  }

  /// With B, which is not transposed, and C of one column.
  static Status multiply_vector(cublasHandle_t handle, const Gemm& p) {
    const auto call = [&]<class T>(auto function, T) {
      const bool plain = p.transa == Op::none;
      T alpha, beta;  // as above
      std::memcpy(&alpha, p.alpha, sizeof alpha);
      std::memcpy(&beta, p.beta, sizeof beta);
      return status_of(function(handle, cublas_op(p.transa), plain ? p.m : p.k, plain ? p.k : p.m, &alpha,
                                static_cast<const T*>(p.A), p.lda, static_cast<const T*>(p.B), 1, &beta,
                                static_cast<T*>(p.C), 1));
    };
    switch (p.precision) {
      case Precision::s: return call(cublasSgemv_64, float{});
      case Precision::d: return call(cublasDgemv_64, double{});
      case Precision::c: return call(cublasCgemv_64, cuComplex{});
      case Precision::z: return call(cublasZgemv_64, cuDoubleComplex{});
    }
    return Status::lost;
  }

  static Status multiply_all(cublasHandle_t handle, const GemmBatch& p) {
    const auto call = [&]<class T>(auto function, T) {
      T alpha, beta;  // as above
      std::memcpy(&alpha, p.alpha, sizeof alpha);
      std::memcpy(&beta, p.beta, sizeof beta);
      return status_of(function(handle, cublas_op(p.transa), cublas_op(p.transb), p.m, p.n, p.k, &alpha,
                                static_cast<const T*>(p.A), p.lda, p.stride_a, static_cast<const T*>(p.B), p.ldb,
                                p.stride_b, &beta, static_cast<T*>(p.C), p.ldc, p.stride_c, p.count));
    };
    switch (p.precision) {
      case Precision::s: return call(cublasSgemmStridedBatched_64, float{});
      case Precision::d: return call(cublasDgemmStridedBatched_64, double{});
      case Precision::c: return call(cublasCgemmStridedBatched_64, cuComplex{});
      case Precision::z: return call(cublasZgemmStridedBatched_64, cuDoubleComplex{});
    }
    return Status::lost;
  }

  /// A triangle of a product of two matrices, for which cuBLAS has nothing: squares on the diagonal come to a tile of
  /// our own first.
  Status multiply_squares(Queue queue, const Gemm& p) {
    if (p.k == 0 || equals(p.precision, p.alpha, 0))
      return status_of(add_triangle(p.precision, p.part, p.n, nullptr, 0, p.beta, p.C, p.ldc, stream(queue)));
    constexpr index edge = 256;
    void*& tile = tiles_[queue == Queue::second];
    if (!tile)
      if (const Status made = status_of(cudaMalloc(&tile, sizeof(std::complex<double>) * edge * edge));
          made != Status::done)
        return made;
    const std::complex<double> zero{};  // in every precision
    const auto square = [&](const Gemm& x) {
      Gemm apart = x;
      apart.part = Part::whole;
      apart.beta = &zero;
      apart.C = tile;
      apart.ldc = x.n;
      const Status status = compute(queue, apart);
      return status != Status::done
                 ? status
                 : status_of(add_triangle(x.precision, p.part, x.n, tile, x.n, x.beta, x.C, x.ldc, stream(queue)));
    };
    return by_triangles(p, edge, square, [&](const Gemm& x) { return compute(queue, x); });
  }

  /// cuBLAS's her2k reads the imaginary parts of C's diagonal, which BLAS takes to be zero whatever is there.  Of a
  /// herk by residues that of an element that overflows is none.
  Status make_diagonal_real(Queue queue, const Gemm& p) {
    const std::size_t element = element_size(p.precision), part = element / 2;
    return status_of(cudaMemset2DAsync(static_cast<char*>(p.C) + part, static_cast<std::size_t>(p.ldc + 1) * element, 0,
                                       part, static_cast<std::size_t>(p.n), stream(queue)));
  }

  Status multiply_triangle(Queue queue, const Gemm& p) {
    Products& own = products(queue);
    if (const Status made = own.create_once(stream(queue)); made != Status::done) return made;
    const cublasFillMode_t triangle = p.part == Part::upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const index k = equals(p.precision, p.alpha, 0) ? 0 : p.k;  // cuBLAS reads A where alpha = 0
    if (p.update == Update::rank_2k) {
      if (p.hermitian())
        if (const Status made = make_diagonal_real(queue, p); made != Status::done) return made;
      const auto call = [&]<class Beta, class T>(auto function, Beta, T) {
        T alpha;
        Beta beta;  // of a Hermitian one the real part, which comes first
        std::memcpy(&alpha, p.alpha, sizeof alpha);
        std::memcpy(&beta, p.beta, sizeof beta);
        return status_of(function(own.handle, triangle, cublas_op(p.transa), p.n, k, &alpha, static_cast<const T*>(p.A),
                                  p.lda, static_cast<const T*>(p.B), p.ldb, &beta, static_cast<T*>(p.C), p.ldc));
      };
      switch (p.precision) {
        case Precision::s: return call(cublasSsyr2k_64, float{}, float{});
        case Precision::d: return call(cublasDsyr2k_64, double{}, double{});
        case Precision::c:
          return p.hermitian() ? call(cublasCher2k_64, float{}, cuComplex{})
                               : call(cublasCsyr2k_64, cuComplex{}, cuComplex{});
        case Precision::z:
          return p.hermitian() ? call(cublasZher2k_64, double{}, cuDoubleComplex{})
                               : call(cublasZsyr2k_64, cuDoubleComplex{}, cuDoubleComplex{});
      }
      return Status::lost;
    }
    const auto call = [&]<class Scalar, class T>(auto function, Scalar, T) {
      Scalar alpha, beta;  // of a Hermitian one the real parts, which come first
      std::memcpy(&alpha, p.alpha, sizeof alpha);
      std::memcpy(&beta, p.beta, sizeof beta);
      return status_of(function(own.handle, triangle, cublas_op(p.transa), p.n, k, &alpha, static_cast<const T*>(p.A),
                                p.lda, &beta, static_cast<T*>(p.C), p.ldc));
    };
    switch (p.precision) {
      case Precision::s: return call(cublasSsyrk_64, float{}, float{});
      case Precision::d: return call(cublasDsyrk_64, double{}, double{});
      case Precision::c:
        return p.hermitian() ? call(cublasCherk_64, float{}, cuComplex{})
                             : call(cublasCsyrk_64, cuComplex{}, cuComplex{});
      case Precision::z:
        return p.hermitian() ? call(cublasZherk_64, double{}, cuDoubleComplex{})
                             : call(cublasZsyrk_64, cuDoubleComplex{}, cuDoubleComplex{});
    }
    return Status::lost;
  }

  /// The one between devices is made when it is first used.
  Status have(Queue queue) { return stream(queue) ? Status::done : create(queue); }

  Status wait(Queue queue, Ticket ticket) override {
    if (const Status made = have(queue); made != Status::done) return made;
    std::lock_guard lock(marks_mutex_);
    return status_of(cudaStreamWaitEvent(stream(queue), marks_[static_cast<std::size_t>(ticket)], 0));
  }

  Status mark(Queue queue, Ticket ticket) override {
    std::lock_guard lock(marks_mutex_);
    while (marks_.size() <= static_cast<std::size_t>(ticket)) {
      cudaEvent_t event = nullptr;
      if (const cudaError_t made = cudaEventCreateWithFlags(&event, cudaEventDisableTiming); made != cudaSuccess)
        return status_of(made);
      marks_.push_back(event);
    }
    return status_of(cudaEventRecord(marks_[static_cast<std::size_t>(ticket)], stream(queue)));
  }

  Status send(Queue queue, Slot& slot, const Transfer& p) override {
    if (p.direct) return status_of(copy(p, p.device, p.ldd, p.host, p.ldh, cudaMemcpyDefault, queue));
    return in_order([&] { return copy(p, p.device, p.ldd, slot.memory, p.rows, cudaMemcpyHostToDevice, queue); },
                    [&] { return cudaEventRecord(static_cast<cudaEvent_t>(slot.mark), stream(queue)); });
  }

  Status receive(Queue queue, Slot& slot, const Transfer& p) override {
    return in_order(
        [&] {
          return p.direct ? copy(p, p.host, p.ldh, p.device, p.ldd, cudaMemcpyDefault, queue)
                          : copy(p, slot.memory, p.rows, p.device, p.ldd, cudaMemcpyDeviceToHost, queue);
        },
        [&] { return cudaEventRecord(static_cast<cudaEvent_t>(slot.mark), stream(queue)); });
  }

  bool has_peers() const override { return has_peers_.load(std::memory_order_relaxed); }

  Status note_there(Queue queue, void*& mark) override {
    if (const Status made = have(queue); made != Status::done) return made;
    std::lock_guard lock(marks_mutex_);
    if (noted_there_ == there_.size()) {
      cudaEvent_t event = nullptr;
      if (const cudaError_t made = cudaEventCreateWithFlags(&event, cudaEventDisableTiming); made != cudaSuccess)
        return status_of(made);
      there_.push_back(event);
    }
    mark = there_[noted_there_++];
    return status_of(cudaEventRecord(static_cast<cudaEvent_t>(mark), stream(queue)));
  }

  Status fetch(Queue queue, const OnDevice& from, const Transfer& p) override {
    if (const Status made = have(queue); made != Status::done) return made;
    return in_order([&] { return cudaStreamWaitEvent(stream(queue), static_cast<cudaEvent_t>(from.mark), 0); },
                    [&] { return copy(p, p.device, p.ldd, from.memory, from.ld, cudaMemcpyDefault, queue); });
  }

  Status settle_there(void* mark) override { return status_of(cudaEventSynchronize(static_cast<cudaEvent_t>(mark))); }

  Status settle(Slot& slot) override { return status_of(cudaEventSynchronize(static_cast<cudaEvent_t>(slot.mark))); }

  Status idle(Queue queue) override {
    if (!stream(queue)) return Status::done;
    // Where transfers are awaited, too, they end later.
    return status_of(queue == Queue::compute ? end_.await(stream(queue)) : cudaStreamSynchronize(stream(queue)));
  }

  /// In one dimension where both sides allow: faster.  CUDA refuses pitches from 2 GiB on.
  cudaError_t copy(const Transfer& p, void* to, index ldt, const void* from, index lds, cudaMemcpyKind kind,
                   Queue queue) const {
    const std::size_t width = static_cast<std::size_t>(p.rows) * p.element, cols = static_cast<std::size_t>(p.cols);
    constexpr std::size_t most_pitch = (std::size_t{1} << 31) - 1;
    if (static_cast<std::size_t>(std::max(ldt, lds)) * p.element > most_pitch) {
      cudaError_t error = cudaSuccess;
      for (std::size_t j = 0; j < cols && error == cudaSuccess; ++j)
        error = cudaMemcpyAsync(static_cast<char*>(to) + j * static_cast<std::size_t>(ldt) * p.element,
                                static_cast<const char*>(from) + j * static_cast<std::size_t>(lds) * p.element, width,
                                kind, stream(queue));
      return error;
    }
    if (cols == 1 || (ldt == p.rows && lds == p.rows))
      return cudaMemcpyAsync(to, from, width * cols, kind, stream(queue));
    return cudaMemcpy2DAsync(to, static_cast<std::size_t>(ldt) * p.element, from,
                             static_cast<std::size_t>(lds) * p.element, width, cols, kind, stream(queue));
  }

  cudaStream_t stream(Queue queue) const { return streams_[static_cast<int>(queue)]; }

  cudaStream_t streams_[queues] = {};
  Products products_[2];
  void* panels_[2] = {};  ///< workspace of QR's, by stream
  void* tiles_[2] = {};   ///< of products of which a triangle is computed, by stream
  Solver solvers_[2];
  EndMark end_;  ///< of Queue::compute
  std::mutex marks_mutex_;
  std::vector<cudaEvent_t> marks_;  ///< by ticket
  const std::atomic<bool>& has_peers_;
  std::vector<cudaEvent_t> there_;  ///< for lanes of other devices, one after the other
  std::size_t noted_there_ = 0;     ///< of these, by this call
};

/// The driver's library was in the process before this module asked for it.
bool driver_was_loaded = false;

class CudaBackend final : public Backend {
 public:
  /// Returns an error sentence, or an empty string.
  std::string open(const OpenRequest& request) {
    if (void* driver = request.number == 0 ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : nullptr) {
      driver_was_loaded = true;
      dlclose(driver);
    }
    int count = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0)
      return std::string("no usable GPU: ") + (error == cudaSuccess ? "none is visible" : cudaGetErrorString(error));
    const CUcontext before = current_context();
    std::string problem;
    try {
      problem = open_on(request, count);
    } catch (const std::exception&) {  // the program's context is current again in any case
      problem = "out of memory";
    }
    make_current(before);
    return problem;
  }

  const DeviceFacts& facts() const override { return facts_; }

  bool equip(Operation::Kind kind) override {
    if (!solver_computes.has(kind)) return true;
    const SolverLibrary* library = SolverLibrary::get();
    if (!library) return false;
    if (kind == Operation::Kind::syevd) return library->syevd;
    if (kind == Operation::Kind::svd) return library->syevd && library->geqrf[0] && library->orgqr[0];
    if (kind == Operation::Kind::geev) return library->geev;
    if (kind == Operation::Kind::sytrd) return library->sytrd[0];
    return kind != Operation::Kind::gebrd || library->gebrd[0];
  }

  Lane* acquire(const UnderlyingBlas&, std::size_t bytes, Status& status) override {
    Visit visit;
    const bool entered = visit.begin(context_);
    status = Status::lost;
    std::unique_lock lock(mutex_);
    if (!entered) lost_ = true, freed_.notify_all();
    CudaLane* lane = nullptr;
    while (!lane && !lost_) {
      if (!idle_.empty()) {
        lane = idle_.back();
        idle_.pop_back();
        status = Status::done;
      } else if (lanes_ < most_lanes_) {
        ++lanes_;
        lock.unlock();  // others need not wait for this
        lane = new_lane(status);
        lock.lock();
        if (lane) break;
        most_lanes_ = std::max(1, --lanes_);  // there will be no more than these, one of which comes back
        if (lanes_ == 0) break;
      } else {
        freed_.wait(lock, [this] { return !idle_.empty() || lanes_ < most_lanes_ || lost_; });
      }
    }
    if (!lane) {
      lock.unlock();
      if (entered) visit.end(context_);
      return nullptr;
    }
    lane->visit = visit;
    lane->serve_next(bytes, lanes_ - static_cast<int>(idle_.size()));
    lane->prefer(preferences_);
    return lane;
  }

  void release(Lane* released) override {
    auto* lane = static_cast<CudaLane*>(released);
    (void)lane->drain();
    const Visit visit = lane->visit;
    {
      std::lock_guard lock(mutex_);
      idle_.push_back(lane);
    }
    freed_.notify_all();
    visit.end(context_);
  }

  // Lanes start nothing on memory before allocate() has returned, and have ended before it is freed.

  Status allocate(std::size_t bytes, void*& memory) override {
    if (spare_.take(bytes, memory)) return Status::done;
    Visit visit;
    if (!visit.begin(context_)) return Status::lost;
    const auto ask = [&] {
      return in_order([&] { return cudaMallocFromPoolAsync(&memory, bytes, pool_, allocations_); },
                      [&] { return cudaStreamSynchronize(allocations_); });
    };
    Status status = ask();
    if (status == Status::no_memory && free_spare()) status = ask();
    if (void* other = status == Status::done ? spare_.note(memory, bytes) : nullptr)
      (void)status_of(cudaFreeAsync(other, allocations_));
    visit.end(context_);
    return status;
  }

  void free(void* memory) override {
    if (spare_.keep(memory)) return;
    Visit visit;
    if (!visit.begin(context_)) return;
    (void)status_of(cudaFreeAsync(memory, allocations_));
    visit.end(context_);
  }

  MemoryKind memory_kind(const void* memory, std::size_t bytes, bool everywhere) override {
    return memory_kind_of(memory, bytes, everywhere);
  }

  int candidates(const SquareProduct& product, std::uint32_t alignment, Candidate* candidates, int most) override {
    Visit visit;
    if (!visit.begin(context_)) return 0;
    int found = 0;
    try {
      found = matmul_candidates(product, alignment, workspace_bytes, candidates, most);
    } catch (const std::exception&) {
    }
    visit.end(context_);
    return found;
  }

  void prefer(const Preference* preferences, int count) override {
    std::shared_ptr<const Preferences> copy;
    try {
      if (count > 0) copy = std::make_shared<const Preferences>(preferences, preferences + count);
    } catch (const std::exception&) {  // nothing is preferred, then
    }
    std::lock_guard lock(mutex_);
    preferences_.swap(copy);
  }

  int busy_percent() override {
    if (!utilization_) utilization_.emplace(pci_bus_id_);
    return utilization_->percent();
  }

  void begin_range(const char* routine, index m, index n, index k) override { ranges_.begin(routine, m, n, k); }
  void end_range() override { ranges_.end(); }

 private:
  /// @param count  of the devices that are visible
  std::string open_on(const OpenRequest& request, int count) {
    const DeviceShare share = device_share(count, {request.named, static_cast<std::size_t>(request.named_count)},
                                           request.local_rank, request.local_size);
    if (!share.problem.empty()) return share.problem;
    const std::vector<int>& devices = share.devices;
    facts_.devices = static_cast<int>(devices.size());
    if (request.most_used > 0) facts_.devices = std::min(facts_.devices, request.most_used);
    if (request.number >= facts_.devices) return "there are no more GPUs for this process";
    const auto at = [&](int number) { return devices[static_cast<std::size_t>(number)]; };
    for (int i = 1; i < facts_.devices; ++i)
      if (!are_alike(at(0), at(i))) facts_.devices = i;
    facts_.exchanges = facts_.devices > 1;
    for (int i = 0; i < facts_.devices && facts_.exchanges; ++i)
      for (int j = 0; j < i; ++j) facts_.exchanges = facts_.exchanges && are_linked(at(i), at(j));
    const int device = at(request.number);
    if (const std::string problem = context_.open(device); !problem.empty()) return problem;
    if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess) return cudaGetErrorString(error);
    cudaDeviceProp properties{};
    int driver = 0, runtime = 0;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess || cudaDriverGetVersion(&driver) != cudaSuccess ||
        cudaRuntimeGetVersion(&runtime) != cudaSuccess)
      return "the device cannot be asked for its properties";
    using enum Operation::Kind;
    facts_.computes.add(gemm, "sdcz").add(combine, "sdcz").add(survey, "sdcz").add(symv, "sdczw").add(gemv, "sdcz");
    facts_.computes.add(potrf, "sdcz").add(getrf, "sdcz").add(row_swaps, "sdcz").add(syevd, "sdcz").add(gebrd, "sdcz");
    facts_.computes.add(Operation::Kind::svd, "sdcz").add(Operation::Kind::assign, "sdcz").add(geev, "sdcz");
    facts_.computes.add(Operation::Kind::mirror, "sdcz").add(gemm_batch, "sdcz").add(Operation::Kind::sytrd, "sdcz");
    facts_.computes.add(Operation::Kind::gehrd, "sdcz").add(Operation::Kind::geqp3, "sdcz").add(residues, "sdcz");
    if (properties.sharedMemPerBlockOptin >= qr_panel_shared_memory() && properties.cooperativeLaunch)
      facts_.computes.add(qr_panel, "sdcz");
    if (properties.sharedMemPerBlockOptin >= trsm_shared_memory) facts_.computes.add(trsm, "sdcz");
    std::snprintf(facts_.name, sizeof facts_.name, "%.95s", properties.name);
    std::snprintf(facts_.driver, sizeof facts_.driver, "driver for CUDA %d.%d, runtime %d.%d, %s", driver / 1000,
                  driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, matmul_version().c_str());
    std::snprintf(pci_bus_id_, sizeof pci_bus_id_, "%08x:%02x:%02x.0", static_cast<unsigned>(properties.pciDomainID),
                  static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
    std::snprintf(facts_.profile, sizeof facts_.profile, "sm_%d%d", properties.major, properties.minor);
    std::snprintf(facts_.algorithms, sizeof facts_.algorithms, "%s-%s", matmul_version().c_str(), facts_.profile);
    // A polite share: four fifths of the card, split among the job's processes that have it.
    facts_.memory = properties.totalGlobalMem / 5 * 4 / static_cast<std::size_t>(share.processes);
    if (request.memory_limit) facts_.memory = std::min(facts_.memory, request.memory_limit);
    // A further device may be somebody else's: what is free there now is what there is.
    if (std::size_t free = 0, all = 0; request.number > 0 && cudaMemGetInfo(&free, &all) == cudaSuccess)
      facts_.memory = std::min(facts_.memory, free / 10 * 9);
    // Their workspaces shall take an eighth of a small card at most.
    most_lanes_ = static_cast<int>(std::clamp<std::size_t>(facts_.memory / 8 / workspace_bytes, few_lanes, most_lanes));
    spare_.set_largest(std::min(largest_spare, facts_.memory / 8 / SpareMemory::most_pieces));
    device_ = device;
    request_ = request;
    idle_.reserve(most_lanes);  // giving a lane back must not fail
    int reaches = 0, through_host_tables = 0;
    (void)cudaDeviceGetAttribute(&reaches, cudaDevAttrPageableMemoryAccess, device);
    (void)cudaDeviceGetAttribute(&through_host_tables, cudaDevAttrPageableMemoryAccessUsesHostPageTables, device);
    if (reaches && !through_host_tables && program_used_cuda())
      std::snprintf(facts_.unseen_writes, sizeof facts_.unseen_writes,
                    "the program uses CUDA, and the GPU reaches all of its memory (HMM)");
    // A limited device has slots in proportion, so that small products, too, are committed in pieces.
    facts_.piece_bytes = std::clamp<std::size_t>(facts_.memory / 8, 64, most_slot_out);
    const std::size_t slot_in = std::clamp<std::size_t>(facts_.memory / 8, 64, most_slot_in);
    facts_.loads_when_used = true;
    // The first device may well be the only one that has anything to do.
    const unsigned cores =
        std::thread::hardware_concurrency() / static_cast<unsigned>(request.number ? facts_.devices : 1);
    const unsigned out = std::clamp(cores * 3 / 8, 1u, most_threads_out),
                   beside = std::clamp(cores / 4, 1u, most_threads_beside);
    const Engine::Threads threads{.in = static_cast<int>(std::clamp(cores * 11 / 16, 1u, most_threads_in)),
                                  .out = static_cast<int>(out),
                                  .spare = static_cast<int>(out - beside)};
    engine_ = new (std::nothrow) Engine({.in = slot_in, .out = facts_.piece_bytes, .slots_in = slots_in}, threads,
                                        {this, use_device, make_slots, be_idle});
    if (!engine_) return "out of memory";

    cudaMemPoolProps pool{};
    pool.allocType = cudaMemAllocationTypePinned;
    pool.location.type = cudaMemLocationTypeDevice;
    pool.location.id = device;
    // Kept between calls up to a quarter of the share: enough that a loop of products need not ask the driver again.
    std::uint64_t kept = facts_.memory / 4;
    if (cudaMemPoolCreate(&pool_, &pool) != cudaSuccess ||
        cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept) != cudaSuccess ||
        cudaStreamCreateWithFlags(&allocations_, cudaStreamNonBlocking) != cudaSuccess)
      return "the device gives no memory pool";
    Status status = Status::done;
    CudaLane* lane = new_lane(status);
    if (!lane) return status == Status::no_memory ? "the device has no memory left" : "cuBLAS cannot be started";
    lanes_ = 1;
    idle_.push_back(lane);
    meet_others();
    return {};
  }

  /// So that each is worth an equal share; and the other one is for everybody's use, not for one process alone.
  static bool are_alike(int x, int y) {
    cudaDeviceProp of_x{}, of_y{};
    int mode = 0;
    const bool asked = cudaGetDeviceProperties(&of_x, x) == cudaSuccess &&
                       cudaGetDeviceProperties(&of_y, y) == cudaSuccess &&
                       cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, y) == cudaSuccess;
    (void)cudaGetLastError();
    return asked && mode == cudaComputeModeDefault && std::strcmp(of_x.name, of_y.name) == 0 &&
           of_x.multiProcessorCount == of_y.multiProcessorCount && of_y.totalGlobalMem / 10 >= of_x.totalGlobalMem / 11;
  }

  /// By links of their own, such as NVLink: those carry atomics.  Copies by PCIe would take both devices' buses.
  static bool are_linked(int x, int y) {
    int access = 0, atomics = 0;
    const bool asked = cudaDeviceGetP2PAttribute(&access, cudaDevP2PAttrAccessSupported, x, y) == cudaSuccess &&
                       cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, x, y) == cudaSuccess;
    (void)cudaGetLastError();
    return asked && access && atomics;
  }

  /// The devices that are open, one after the other.  Where two of them cannot read each other's memory, no two do.
  void meet_others() {
    static std::mutex mutex;
    static std::vector<CudaBackend*>& open = *new std::vector<CudaBackend*>;
    static bool all = true;
    const std::lock_guard lock(mutex);
    const auto may_read = [](const CudaBackend& reader, const CudaBackend& owner) {
      if (!are_linked(reader.device_, owner.device_)) return false;
      cudaMemAccessDesc access{};
      access.location.type = cudaMemLocationTypeDevice;
      access.location.id = reader.device_;
      access.flags = cudaMemAccessFlagsProtReadWrite;
      return cudaMemPoolSetAccess(owner.pool_, &access, 1) == cudaSuccess;
    };
    for (CudaBackend* other : open) all = all && may_read(*this, *other) && may_read(*other, *this);
    (void)cudaGetLastError();
    open.push_back(this);
    for (CudaBackend* backend : open) backend->has_peers_.store(all && open.size() > 1, std::memory_order_relaxed);
  }

  /// During a visit.  Whether there was any.
  bool free_spare() {
    bool any = false;
    for (void* memory; spare_.give_up(memory); any = true) (void)status_of(cudaFreeAsync(memory, allocations_));
    return any;
  }

  CudaLane* new_lane(Status& status) {
    CudaLane* lane = nullptr;
    try {
      lane = new CudaLane(*engine_, has_peers_);
    } catch (const std::exception&) {
    }
    status = lane ? lane->create() : Status::no_memory;
    if (status == Status::done) return lane;
    if (lane) lane->destroy();
    delete lane;
    return nullptr;
  }

  /// For the engine's threads: the primary context that the lanes live in, whatever the program captures elsewhere.
  static bool use_device(void* self) {
    const auto* backend = static_cast<CudaBackend*>(self);
    if (backend->request_.adopt) backend->request_.adopt();
    cudaStreamCaptureMode capture = cudaStreamCaptureModeRelaxed;
    return cudaSetDevice(backend->device_) == cudaSuccess &&
           cudaThreadExchangeStreamCaptureMode(&capture) == cudaSuccess;
  }

  static bool make_slots(void*, Slot* slots, int count, std::size_t bytes) {
    const auto give_up = [&](int made) {
      for (int i = 0; i < made; ++i) (void)cudaEventDestroy(static_cast<cudaEvent_t>(slots[i].mark));
      return false;
    };
    for (int i = 0; i < count; ++i) {
      cudaEvent_t mark = nullptr;
      if (status_of(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming)) != Status::done) return give_up(i);
      slots[i].mark = mark;
    }
    void* memory = nullptr;
    if (status_of(cudaHostAlloc(&memory, bytes * static_cast<std::size_t>(count), cudaHostAllocPortable)) !=
        Status::done)
      return give_up(count);
    for (int i = 0; i < count; ++i) slots[i].memory = static_cast<char*>(memory) + static_cast<std::size_t>(i) * bytes;
    return true;
  }

  /// What calls no longer use is for others: first what the process keeps for later, then the pool's own.
  static void be_idle(void* self) {
    auto* backend = static_cast<CudaBackend*>(self);
    const OpenRequest& r = backend->request_;
    r.idle ? r.idle(r.idle_context, trim, backend) : trim(backend);
  }

  static void trim(void* self) {
    auto* backend = static_cast<CudaBackend*>(self);
    Visit visit;
    if (!visit.begin(backend->context_)) return;
    (void)backend->free_spare();
    (void)in_order([&] { return cudaStreamSynchronize(backend->allocations_); },
                   [&] { return cudaMemPoolTrimTo(backend->pool_, 0); });
    visit.end(backend->context_);
  }

  /// Before us: then its kernels may write anywhere that they reach.
  static bool program_used_cuda() {
    bool found = false;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* result) {
          if (std::strstr(object->dlpi_name, "libcudart") || std::strstr(object->dlpi_name, "libnvrtc"))
            *static_cast<bool*>(result) = true;
          return 0;
        },
        &found);
    return found || driver_was_loaded;
  }

  Context context_;
  DeviceFacts facts_{};
  Ranges ranges_;
  char pci_bus_id_[32] = "";
  std::optional<Utilization> utilization_;  ///< from the first question on
  int device_ = 0;
  Engine* engine_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  std::atomic<bool> has_peers_{false};
  cudaStream_t allocations_ = nullptr;
  SpareMemory spare_;
  OpenRequest request_{};
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<CudaLane*> idle_;
  std::shared_ptr<const Preferences> preferences_;
  int lanes_ = 0, most_lanes_ = most_lanes;
  bool lost_ = false;
};

Backend* open(const OpenRequest& request, char* why, std::size_t why_size) {
  auto* backend = new (std::nothrow) CudaBackend;
  const std::string problem = backend ? backend->open(request) : "out of memory";
  if (problem.empty()) return backend;
  std::snprintf(why, why_size, "%s", problem.c_str());
  return nullptr;  // the failed one is left: tearing down half a device is riskier than a few bytes
}

}  // namespace
}  // namespace blaslift

BLASLIFT_MODULE(blaslift::open)
