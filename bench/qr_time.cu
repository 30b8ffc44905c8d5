// QR with everything on the device: our plan and panels beside cuSOLVER's geqrf, in turns, in one process.
//
//   qr_time [--precision sd] [--shapes MxN,MxN,...] [--block B] [--panel P] [--householder on|off] [--priority on|off]
//           [--seconds SECONDS] [--cusolver on|off]
//
// For each shape a line of JSON: "ours" and "cusolver", each the median and the least seconds of one call and
// operations a second, 2 n^2 (m - n / 3).  A's copy is made anew before each call, outside its time.  --block 0 and
// --panel 0: what the kernels are made for.  --householder on: all panels column by column, as those are that the fast
// way is not for.
// --priority on: the stream with the panels before the other one.
//
// "residual": of eight columns, the largest |A e - Q R e| / |A e|; "orthogonality": the largest relative difference
// between x^H y and (Q x)^H (Q y) for eight random vectors; both with cuSOLVER's ormqr, which consumes R, V and tau as
// any LAPACK does.  Status 1: one of them is above 50 sqrt(n) eps, or is not a number, or another run gave other bits.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/cuda.hpp"
#include "bench/product.hpp"
#include "impl/qr/qr_execute.hpp"
#include "kernels/cuda/qr/qr_panel.hpp"
#include "kernels/cuda/qr/wide_panel.hpp"

namespace {

using bench::check, bench::Memory;
using blaslift::After, blaslift::Gemm, blaslift::QrPanel, blaslift::QrPlan, blaslift::Status, blaslift::Ticket;
using Index = blaslift::index;

struct Arguments {
  std::string precisions = "d", shapes = "16384x16384,1048576x64";
  Index block = 0, panel = 0;
  bool householder = false, priority = false, cusolver = true;
  double seconds = 1;
};

__device__ double uniform(unsigned long long seed, Index i) {
  unsigned long long z = (seed << 40) + (static_cast<unsigned long long>(i) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5;
}
template <class T>
__global__ void fill(T* to, Index count, unsigned long long seed) {
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * Index{blockDim.x})
    to[i] = static_cast<T>(uniform(seed, i));
}
/// Column c of C := column of[c] of A; only its first `rows` if upper, zeros below.
template <class T>
__global__ void take_columns(const T* A, Index lda, Index m, const Index* of, bool upper, T* C) {
  const Index j = of[blockIdx.y];
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < m; i += gridDim.x * Index{blockDim.x})
    C[i + blockIdx.y * m] = upper && i > j ? T(0) : A[i + j * lda];
}
template <class T>
__global__ void subtract(T* x, const T* y, Index count) {
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * Index{blockDim.x})
    x[i] -= y[i];
}
/// Counts words that differ.
__global__ void compare(const unsigned* x, const unsigned* y, Index count, unsigned long long* different) {
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * Index{blockDim.x})
    if (x[i] != y[i]) atomicAdd(different, 1ull);
}

// ---- cuSOLVER, which is opened, not linked: the rest runs without

class Cusolver {
 public:
  struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  explicit Cusolver(cudaStream_t stream) {
    for (const char* name : {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"})
      if (!library_) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library_) throw std::runtime_error(dlerror());
    ask(find<int(void**)>("cusolverDnCreate")(&handle_));
    ask(find<int(void*, cudaStream_t)>("cusolverDnSetStream")(handle_, stream));
    ask(find<int(void**)>("cusolverDnCreateParams")(&params_));
  }
  Cusolver(const Cusolver&) = delete;
  Cusolver& operator=(const Cusolver&) = delete;

  /// Makes what it needs for this size.
  template <class T>
  void prepare(Index m, Index n, T* A, T* tau) {
    std::size_t device = 0, host = 0;
    ask(find<int(void*, void*, Index, Index, cudaDataType, const void*, Index, cudaDataType, const void*, cudaDataType,
                 std::size_t*, std::size_t*)>("cusolverDnXgeqrf_bufferSize")(
        handle_, params_, m, n, type<T>(), A, m, type<T>(), tau, type<T>(), &device, &host));
    device_ = std::make_unique<Memory>(device);
    device_bytes_ = device;
    host_.resize(host);
  }
  template <class T>
  void geqrf(Index m, Index n, T* A, T* tau) {
    ask(find<int(void*, void*, Index, Index, cudaDataType, void*, Index, cudaDataType, void*, cudaDataType, void*,
                 std::size_t, void*, std::size_t, int*)>("cusolverDnXgeqrf")(
        handle_, params_, m, n, type<T>(), A, m, type<T>(), tau, type<T>(), device_->as(), device_bytes_, host_.data(),
        host_.size(), info_.as<int>()));
  }
  /// C (m x cols) := Q C, by so many reflectors at a time that its 32-bit sizes suffice.
  template <class T>
  void apply(Index m, Index cols, Index k, const T* A, const T* tau, T* C) {
    constexpr Index at_once = 8192;
    for (Index j = (k - 1) / at_once * at_once; j >= 0; j -= at_once)
      apply_at_once(m - j, cols, std::min(at_once, k - j), A + j + j * m, m, tau + j, C + j, m);
  }

 private:
  template <class T>
  void apply_at_once(Index m, Index cols, Index k, const T* A, Index lda, const T* tau, T* C, Index ldc) {
    constexpr bool single = std::is_same_v<T, float>;
    constexpr int left = 0, plain = 0;  // CUBLAS_SIDE_LEFT, CUBLAS_OP_N
    const int rows = static_cast<int>(m), columns = static_cast<int>(cols), reflectors = static_cast<int>(k);
    int size = 0;
    ask(find<int(void*, int, int, int, int, int, const T*, int, const T*, const T*, int, int*)>(
        single ? "cusolverDnSormqr_bufferSize" : "cusolverDnDormqr_bufferSize")(handle_, left, plain, rows, columns,
                                                                                reflectors, A, static_cast<int>(lda),
                                                                                tau, C, static_cast<int>(ldc), &size));
    const Memory work(static_cast<std::size_t>(size) * sizeof(T));
    ask(find<int(void*, int, int, int, int, int, const T*, int, const T*, T*, int, T*, int, int*)>(
        single ? "cusolverDnSormqr" : "cusolverDnDormqr")(handle_, left, plain, rows, columns, reflectors, A,
                                                          static_cast<int>(lda), tau, C, static_cast<int>(ldc),
                                                          work.as<T>(), size, info_.as<int>()));
    check(cudaDeviceSynchronize());
  }
  template <class T>
  static constexpr cudaDataType type() {
    return std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
  }
  template <class Signature>
  Signature* find(const char* name) const {
    if (void* found = dlsym(library_, name)) return reinterpret_cast<Signature*>(found);
    throw std::runtime_error(dlerror());
  }
  static void ask(int status) {
    if (status != 0) throw Refused("cuSOLVER's status " + std::to_string(status));
  }

  void* library_ = nullptr;
  void *handle_ = nullptr, *params_ = nullptr;
  std::unique_ptr<Memory> device_;
  std::size_t device_bytes_ = 0;
  std::vector<char> host_;
  const Memory info_{sizeof(int)};
};

// ---- ours: the plan's steps on two streams; transfers are none, since everything is there

class DeviceLane final : public blaslift::Lane {
 public:
  DeviceLane(bool householder, bool priority) : householder_(householder) {
    int least = 0, most = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &most));
    for (Own& own : own_) {
      const int which = priority && &own == own_ ? most : least;
      check(cudaStreamCreateWithPriority(&own.stream, cudaStreamNonBlocking, which));
      check(cublasCreate(&own.handle));
      check(cublasSetStream(own.handle, own.stream));
      check(cublasSetWorkspace(own.handle, own.workspace.as(), products_bytes));
      check(cudaMemset(own.panels.as(), 0, panels_bytes()));
    }
    check(cudaDeviceSynchronize());
  }
  ~DeviceLane() {
    for (Own& own : own_) {
      cublasDestroy(own.handle);
      cudaStreamDestroy(own.stream);
    }
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  cudaStream_t first_stream() const { return own_[0].stream; }
  void begin() { operations_.clear(); }
  /// What comes next in the first stream comes after everything.
  void join() {
    check(cudaEventRecord(event(0), own_[1].stream));
    check(cudaStreamWaitEvent(own_[0].stream, event(0), 0));
  }
  Status failure() const { return failure_; }

  Status upload(const blaslift::Transfer&, After) override { return nothing(); }
  Status download(const blaslift::Transfer&, After, std::atomic<bool>& landed) override {
    landed = true;
    return nothing();
  }
  Status ask(const blaslift::Operation& operation, After after) override {
    if (const Gemm* p = operation.get<Gemm>()) return ask_for(*p, after);
    if (const QrPanel* p = operation.get<QrPanel>()) return ask_for(*p, after);
    return Status::lost;
  }
  Status ask_for(const Gemm& p, After after) {
    return run(p.stream, after, [&](Own& own) { return multiply(own, p); });
  }
  Status ask_for(const QrPanel& p, After after) {
    return run(p.stream, after, [&](Own& own) {
      return blaslift::factor_by_halves(
          p, blaslift::qr_panel_columns(p.precision), own.panels.as<char>() + own_panel_bytes(),
          [&](const QrPanel& x) {
            return as_status(blaslift::qr_panel(x, own.panels.as(), own.stream, householder_) == cudaSuccess);
          },
          [&](const Gemm& x) { return multiply(own, x); });
    });
  }
  Status await(const std::atomic<bool>&) override { return Status::lost; }
  void abandon() override {}
  /// Not waited for here, and so never done; nothing is to be brought back or put back.
  Status drain() override { return Status::lost; }

 private:
  static constexpr std::size_t products_bytes = std::size_t{32} << 20;
  static std::size_t own_panel_bytes() { return (blaslift::qr_panel_workspace() + 255) / 256 * 256; }
  static std::size_t panels_bytes() {
    return own_panel_bytes() +
           static_cast<std::size_t>(blaslift::wide_panel_scratch(blaslift::most_panel_columns)) * 16;
  }
  struct Own {
    cudaStream_t stream = nullptr;
    cublasHandle_t handle = nullptr;
    Memory workspace{products_bytes}, panels{panels_bytes()};
  };
  struct Asked {
    int stream;
    cudaEvent_t end;
  };

  static Status as_status(bool done) { return done ? Status::done : Status::lost; }
  cudaEvent_t event(std::size_t i) {
    while (events_.size() <= i) check(cudaEventCreateWithFlags(&events_.emplace_back(), cudaEventDisableTiming));
    return events_[i];
  }
  Status nothing() {
    operations_.push_back({-1, nullptr});
    return Status::done;
  }
  template <class Start>
  Status run(int stream, After after, const Start& start) {
    Own& own = own_[stream];
    for (int i = 0; i < after.count; ++i)
      if (const Asked& x = operations_.at(static_cast<std::size_t>(after.tickets[i])); x.stream == 1 - stream)
        check(cudaStreamWaitEvent(own.stream, x.end, 0));
    const Status status = start(own);
    if (status != Status::done) failure_ = status;
    const cudaEvent_t end = event(operations_.size() + 1);
    check(cudaEventRecord(end, own.stream));
    operations_.push_back({stream, end});
    return status;
  }
  static Status multiply(const Own& own, const Gemm& p) {
    const auto op = [](blaslift::Op x) { return x == blaslift::Op::none ? CUBLAS_OP_N : CUBLAS_OP_T; };
    if (p.precision == blaslift::Precision::s)
      return as_status(cublasSgemm_64(own.handle, op(p.transa), op(p.transb), p.m, p.n, p.k,
                                      static_cast<const float*>(p.alpha), static_cast<const float*>(p.A), p.lda,
                                      static_cast<const float*>(p.B), p.ldb, static_cast<const float*>(p.beta),
                                      static_cast<float*>(p.C), p.ldc) == CUBLAS_STATUS_SUCCESS);
    return as_status(cublasDgemm_64(own.handle, op(p.transa), op(p.transb), p.m, p.n, p.k,
                                    static_cast<const double*>(p.alpha), static_cast<const double*>(p.A), p.lda,
                                    static_cast<const double*>(p.B), p.ldb, static_cast<const double*>(p.beta),
                                    static_cast<double*>(p.C), p.ldc) == CUBLAS_STATUS_SUCCESS);
  }

  const bool householder_;
  Own own_[2];
  std::vector<cudaEvent_t> events_;
  std::vector<Asked> operations_;
  Status failure_ = Status::done;
};

struct Event {
  cudaEvent_t get = nullptr;
  Event() { check(cudaEventCreate(&get)); }
  ~Event() { cudaEventDestroy(get); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

/// Blocks by how long products have to be to be fast, and never wider than the matrix; see docs/developer/qr.md.
Index usual_block(Index m, Index n) {
  const Index least = std::min(m, n);
  return least <= 128 ? least : least <= 1024 ? std::min<Index>(least, 128) : least <= 4096 ? 256 : 512;
}

template <class T>
class Problem {
 public:
  Problem(const Arguments& arguments, Index m, Index n)
      : arguments_(arguments),
        m_(m),
        n_(n),
        block_(std::min(arguments.block > 0 ? arguments.block : usual_block(m, n), std::min(m, n))),
        panel_(std::min({arguments.panel > 0 ? arguments.panel : Index{64}, block_, blaslift::most_panel_columns})),
        plan_(blaslift::plan_qr(m, n, block_, panel_)),
        lane_(arguments.householder, arguments.priority),
        original_(bytes(m * n)),
        matrix_(bytes(m * n)),
        tau_(bytes(std::min(m, n))),
        lease_(plan_.bytes(sizeof(T), true, true)) {
    launch(fill<T>, m * n, original_.as<T>(), m * n, 1ull);
    check(cudaDeviceSynchronize());
  }

  bool run() {
    const Index k = std::min(m_, n_);
    const double mm = static_cast<double>(m_), nn = static_cast<double>(n_);
    const double flops = m_ >= n_ ? 2 * nn * nn * (mm - nn / 3) : 2 * mm * mm * (nn - mm / 3);
    std::printf(
        "{\"precision\": \"%c\", \"m\": %lld, \"n\": %lld, \"block\": %lld, \"panel\": %lld, \"householder\": %s, "
        "\"priority\": %s",
        letter(), static_cast<long long>(m_), static_cast<long long>(n_), static_cast<long long>(block_),
        static_cast<long long>(panel_), arguments_.householder ? "true" : "false",
        arguments_.priority ? "true" : "false");
    bool right = true;
    {
      // A second result to compare with, as long as cuSOLVER's workspace is not needed.
      const Memory first(bytes(m_ * n_)), different(sizeof(unsigned long long));
      ours();
      check(cudaDeviceSynchronize());
      check(cudaMemcpy(first.as(), A(), bytes(m_ * n_), cudaMemcpyDeviceToDevice));
      check(cudaMemset(different.as(), 0, sizeof(unsigned long long)));
      ours();
      check(cudaDeviceSynchronize());
      const auto words = static_cast<Index>(bytes(m_ * n_) / sizeof(unsigned));
      launch(compare, words, matrix_.as<unsigned>(), first.as<unsigned>(), words, different.as<unsigned long long>());
      unsigned long long count = 0;
      check(cudaMemcpy(&count, different.as(), sizeof count, cudaMemcpyDeviceToHost));
      std::printf(", \"other_bits\": %llu", count);
      right = count == 0;
    }
    Cusolver cusolver(lane_.first_stream());
    {
      const double residual = residual_of(cusolver, k), orthogonality = orthogonality_of(cusolver, k);
      const double allowed = 50 * std::sqrt(static_cast<double>(k)) * std::numeric_limits<T>::epsilon();
      std::printf(", \"residual\": %.3g, \"orthogonality\": %.3g, \"allowed\": %.3g",
                  std::isfinite(residual) ? residual : 1e99, std::isfinite(orthogonality) ? orthogonality : 1e99,
                  allowed);
      right = right && residual <= allowed && orthogonality <= allowed;
    }
    int ways = arguments_.cusolver ? 2 : 1;
    if (ways == 2) try {
        cusolver.prepare(m_, n_, A(), tau());
      } catch (const Cusolver::Refused& refused) {
        std::printf(", \"refused\": \"%s\"", refused.what());
        ways = 1;
      }
    std::vector<double> times[2];
    double all = 0;
    for (int round = -1; round < 3 || (round < 100 && all < arguments_.seconds * ways); ++round)
      for (int way = 0; way < ways; ++way) {
        const double each = way == 0 ? ours() : seconds([&] { cusolver.geqrf(m_, n_, A(), tau()); });
        all += each;
        if (round >= 0) times[way].push_back(each);
      }
    const char* const names[] = {"ours", "cusolver"};
    for (int way = 0; way < ways; ++way) {
      const double median = bench::median(times[way]);
      std::printf(", \"%s\": {\"seconds\": %.5g, \"least\": %.5g, \"TFLOP/s\": %.4g}", names[way], median,
                  *std::min_element(times[way].begin(), times[way].end()), flops / median / 1e12);
    }
    right = right && lane_.failure() == Status::done;
    std::printf(", \"right\": %s}\n", right ? "true" : "false");
    std::fflush(stdout);
    return right;
  }

 private:
  static constexpr Index samples = 8;
  static std::size_t bytes(Index elements) { return static_cast<std::size_t>(elements) * sizeof(T); }
  static char letter() { return std::is_same_v<T, float> ? 's' : 'd'; }
  T* A() const { return matrix_.as<T>(); }
  T* tau() const { return tau_.as<T>(); }

  template <class... Parameters, class... Values>
  static void launch(void (*kernel)(Parameters...), Index count, const Values&... values) {
    const Index blocks = (count + 255) / 256, most = 1 << 14;
    kernel<<<static_cast<unsigned>(std::min(blocks, most)), 256>>>(values...);
    check(cudaGetLastError());
  }

  template <class Start>
  double seconds(const Start& start) {
    check(cudaMemcpyAsync(A(), original_.as(), bytes(m_ * n_), cudaMemcpyDeviceToDevice, lane_.first_stream()));
    check(cudaDeviceSynchronize());
    check(cudaEventRecord(begin_.get, lane_.first_stream()));
    start();
    check(cudaEventRecord(end_.get, lane_.first_stream()));
    check(cudaEventSynchronize(end_.get));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_.get, end_.get));
    return ms * 1e-3;
  }

  double ours() {
    return seconds([&] {
      lane_.begin();
      const blaslift::GeqrfArgs<T> args{m_, n_, A(), m_, tau()};
      const blaslift::QrPlacement placement{
          .lease = lease_.as(), .A = {.device = A(), .ld = m_, .in_place = true}, .tau = tau()};
      (void)blaslift::execute(
          plan_, args, placement, std::size_t{1} << 60, lane_, +[] { return true; });
      lane_.join();
    });
  }

  /// Columns' norms, from the device.
  std::vector<double> norms(const Memory& C, Index cols) const {
    std::vector<T> there(static_cast<std::size_t>(m_ * cols));
    check(cudaMemcpy(there.data(), C.as(), bytes(m_ * cols), cudaMemcpyDeviceToHost));
    std::vector<double> found;
    for (Index c = 0; c < cols; ++c) {
      long double sum = 0;  // of millions
      for (Index i = 0; i < m_; ++i) {
        const long double x = there[static_cast<std::size_t>(i + c * m_)];
        sum += x * x;
      }
      found.push_back(static_cast<double>(std::sqrt(sum)));
    }
    return found;
  }

  double residual_of(Cusolver& cusolver, Index k) const {
    const Index count = std::min(samples, n_);
    std::vector<Index> of;
    for (Index c = 0; c < count; ++c) of.push_back(count == 1 ? 0 : (n_ - 1) * c / (count - 1));
    const Memory which(of.size() * sizeof(Index)), C(bytes(m_ * count)), original(bytes(m_ * count));
    check(cudaMemcpy(which.as(), of.data(), of.size() * sizeof(Index), cudaMemcpyHostToDevice));
    const dim3 grid(256, static_cast<unsigned>(count));
    take_columns<<<grid, 256>>>(original_.as<T>(), m_, m_, which.as<Index>(), false, original.as<T>());
    take_columns<<<grid, 256>>>(A(), m_, m_, which.as<Index>(), true, C.as<T>());
    check(cudaGetLastError());
    cusolver.apply(m_, count, k, A(), tau(), C.as<T>());
    launch(subtract<T>, m_ * count, C.as<T>(), original.as<T>(), m_ * count);
    const std::vector<double> error = norms(C, count), size = norms(original, count);
    double worst = 0;
    for (std::size_t c = 0; c < error.size(); ++c)
      if (!(error[c] / size[c] <= worst)) worst = error[c] / size[c];
    return worst;
  }

  double orthogonality_of(Cusolver& cusolver, Index k) const {
    const Memory C(bytes(m_ * samples));
    launch(fill<T>, m_ * samples, C.as<T>(), m_ * samples, 7ull);
    check(cudaDeviceSynchronize());
    const std::vector<double> before = norms(C, samples), products = neighbours(C);
    cusolver.apply(m_, samples, k, A(), tau(), C.as<T>());
    const std::vector<double> after = norms(C, samples), products_after = neighbours(C);
    double worst = 0;
    for (std::size_t c = 0; c < before.size(); ++c) {
      const double square = before[c] * before[c];
      for (const double error :
           {std::fabs(after[c] * after[c] - square) / square, std::fabs(products_after[c] - products[c]) / square})
        if (!(error <= worst)) worst = error;
    }
    return worst;
  }
  /// Scalar products of each column with the next one.
  std::vector<double> neighbours(const Memory& C) const {
    std::vector<T> there(static_cast<std::size_t>(m_ * samples));
    check(cudaMemcpy(there.data(), C.as(), bytes(m_ * samples), cudaMemcpyDeviceToHost));
    std::vector<double> found;
    for (Index c = 0; c < samples; ++c) {
      long double sum = 0;
      for (Index i = 0; i < m_; ++i)
        sum += static_cast<long double>(there[static_cast<std::size_t>(i + c * m_)]) *
               static_cast<long double>(there[static_cast<std::size_t>(i + (c + 1) % samples * m_)]);
      found.push_back(static_cast<double>(sum));
    }
    return found;
  }

  const Arguments& arguments_;
  const Index m_, n_, block_, panel_;
  const QrPlan plan_;
  DeviceLane lane_;
  const Memory original_, matrix_, tau_, lease_;
  const Event begin_, end_;
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--precision")
      a.precisions = value;
    else if (option == "--shapes")
      a.shapes = value;
    else if (option == "--block")
      a.block = std::atol(argv[i + 1]);
    else if (option == "--panel")
      a.panel = std::atol(argv[i + 1]);
    else if (option == "--householder")
      a.householder = value == "on";
    else if (option == "--priority")
      a.priority = value == "on";
    else if (option == "--cusolver")
      a.cusolver = value != "off";
    else if (option == "--seconds")
      a.seconds = std::atof(argv[i + 1]);
    else
      throw std::runtime_error("no such option: " + option);
  }
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  bool right = true;
  try {
    const Arguments arguments = parse(argc, argv);
    for (const char precision : arguments.precisions)
      for (const char* at = arguments.shapes.c_str(); *at;) {
        char* end = nullptr;
        const Index m = std::strtol(at, &end, 10), n = *end == 'x' ? std::strtol(end + 1, &end, 10) : 0;
        if (m < 1 || n < 1 || (*end && *end != ',')) throw std::runtime_error("no such shapes: " + arguments.shapes);
        if (precision != 's' && precision != 'd') throw std::runtime_error("no such precision");
        right = (precision == 's' ? Problem<float>(arguments, m, n).run() : Problem<double>(arguments, m, n).run()) &&
                right;
        at = *end ? end + 1 : end;
      }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "qr_time: %s\n", error.what());
    return 2;
  }
  return right ? 0 : 1;
}
