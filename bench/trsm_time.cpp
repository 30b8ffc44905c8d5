// Triangular systems with everything on the device: by blocks through the cuda module, by the door that the library
// uses (kernels/backend.hpp), beside cuBLAS's trsm, in turns, in one process.
//
//   trsm_time [--precision sdcz] [--kinds LLN,...] [--sizes MxN,...] [--block B] [--scale S] [--seconds SECONDS]
//             [--modules DIR]
//
// --kinds: side L or R, uplo U or L, trans N, T or C, and for a diagonal of ones a U behind it.  DIR is where
// libblaslift_cuda.so lies (../lib beside this program).  Off the diagonal A is uniform in +-S / sqrt(order), S = 1
// unless said otherwise: with 30 inverses grow too much to be used, and blocks are solved by substitution.  A line for
// each system: milliseconds by the host's clock, from the call to the end on the device, medians; with what an earlier
// call has prepared; and "residual": of some columns (rows on the right) the largest |B - op(A) X| in units of eps
// |op(A)| |X|.  B is made anew before each call, outside its time.  Status 1: a residual is above 2 n, or is not a
// number, or another run gave other bits.
#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/cuda.hpp"
#include "bench/product.hpp"
#include "impl/route/device.hpp"
#include "kernels/trsm.hpp"

namespace {

using bench::check, bench::Memory;
using blaslift::Backend, blaslift::Lane, blaslift::Op, blaslift::Side, blaslift::Status, blaslift::Trsm,
    blaslift::TrsmWay, blaslift::Uplo;
using Index = blaslift::index;

struct Arguments {
  std::string precisions = "d", kinds = "LLN", sizes = "4096x4096,8192x8192,16384x16384", modules;
  Index block = 0;
  double scale = 1, seconds = 0.5;
};

struct Kind {
  Side side;
  Uplo uplo;
  Op trans;
  bool unit;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class T>
T element(std::uint64_t seed, Index i) {
  const auto u = static_cast<std::uint64_t>(i);
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(2 * bench::uniform(seed, u));
  else
    return {static_cast<blaslift::Real<T>>(2 * bench::uniform(seed, 2 * u)),
            static_cast<blaslift::Real<T>>(2 * bench::uniform(seed, 2 * u + 1))};
}

cublasStatus_t solve(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op,
                     cublasDiagType_t diag, const Trsm& p) {
  switch (p.precision) {
    case blaslift::Precision::s:
      return cublasStrsm_64(h, side, uplo, op, diag, p.m, p.n, static_cast<const float*>(p.alpha),
                            static_cast<const float*>(p.A), p.lda, static_cast<float*>(p.B), p.ldb);
    case blaslift::Precision::d:
      return cublasDtrsm_64(h, side, uplo, op, diag, p.m, p.n, static_cast<const double*>(p.alpha),
                            static_cast<const double*>(p.A), p.lda, static_cast<double*>(p.B), p.ldb);
    case blaslift::Precision::c:
      return cublasCtrsm_64(h, side, uplo, op, diag, p.m, p.n, static_cast<const cuComplex*>(p.alpha),
                            static_cast<const cuComplex*>(p.A), p.lda, static_cast<cuComplex*>(p.B), p.ldb);
    case blaslift::Precision::z: break;
  }
  return cublasZtrsm_64(h, side, uplo, op, diag, p.m, p.n, static_cast<const cuDoubleComplex*>(p.alpha),
                        static_cast<const cuDoubleComplex*>(p.A), p.lda, static_cast<cuDoubleComplex*>(p.B), p.ldb);
}

template <class T>
class Problem {
 public:
  Problem(const Arguments& arguments, Backend& backend, Kind kind, Index m, Index n)
      : arguments_(arguments),
        backend_(backend),
        kind_(kind),
        m_(m),
        n_(n),
        order_(kind.side == Side::left ? m : n),
        host_A_(static_cast<std::size_t>(order_ * order_)),
        host_B_(static_cast<std::size_t>(m * n)),
        A_(bytes(order_ * order_)),
        B_(bytes(m * n)),
        X_(bytes(m * n)),
        workspace_(blaslift::trsm_workspace(trsm(TrsmWay::blocks, false))) {
    const double off = arguments.scale / std::sqrt(static_cast<double>(order_));
    bench::in_parallel(host_A_.size(), [&](std::size_t first, std::size_t last) {
      for (std::size_t at = first; at < last; ++at) {
        const Index i = static_cast<Index>(at) % order_, j = static_cast<Index>(at) / order_;
        const T x = element<T>(1, static_cast<Index>(at));
        host_A_[at] = i == j ? x + T(std::real(x) < 0 ? -1 : 1) : x * static_cast<blaslift::Real<T>>(off);
      }
    });
    bench::in_parallel(host_B_.size(), [&](std::size_t first, std::size_t last) {
      for (std::size_t at = first; at < last; ++at) host_B_[at] = element<T>(2, static_cast<Index>(at));
    });
    check(cudaMemcpy(A_.as(), host_A_.data(), bytes(order_ * order_), cudaMemcpyHostToDevice));
    check(cudaMemcpy(B_.as(), host_B_.data(), bytes(m * n), cudaMemcpyHostToDevice));
    check(cublasCreate(&handle_));
    check(cublasSetStream(handle_, stream_.get));
    check(cublasSetWorkspace(handle_, cublas_workspace_.as(), cublas_bytes));
    Status status = Status::lost;
    lane_ = backend.acquire({}, std::size_t{1} << 30, status);
    if (!lane_) throw std::runtime_error("no lane");
  }
  ~Problem() {
    backend_.release(lane_);
    cublasDestroy(handle_);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  bool run() {
    enum { ours, prepared, cublas, ways };
    double residuals[ways];
    bool same = true;
    for (int way = 0; way < ways; ++way) {
      (void)time(way == cublas, way == prepared);
      std::vector<T> first = fetch();
      residuals[way] = residual(first);
      (void)time(way == cublas, way == prepared);
      if (way != cublas && std::memcmp(first.data(), fetch().data(), first.size() * sizeof(T)) != 0) same = false;
    }
    std::vector<double> times[ways];
    const double begin = now();
    for (int round = 0; round < 5 || (round < 200 && now() - begin < arguments_.seconds); ++round)
      for (int way = 0; way < ways; ++way) times[way].push_back(time(way == cublas, way == prepared));
    const double mine = bench::median(times[ours]), ready = bench::median(times[prepared]),
                 theirs = bench::median(times[cublas]),
                 flops = (std::is_floating_point_v<T> ? 1.0 : 4.0) * static_cast<double>(order_) *
                         static_cast<double>(m_) * static_cast<double>(n_);
    std::printf(
        "%c %c%c%c%c %6lld x %-6lld block %3lld | ours %9.3f ms %5.1f TF | prepared %9.3f | cuBLAS %9.3f ms %5.1f TF | "
        "x %5.2f "
        "(%5.2f) | residual %8.3g %8.3g%s\n",
        blaslift::letter(blaslift::precision_of<T>), static_cast<char>(kind_.side), static_cast<char>(kind_.uplo),
        static_cast<char>(kind_.trans), kind_.unit ? 'U' : 'N', static_cast<long long>(m_), static_cast<long long>(n_),
        static_cast<long long>(blaslift::TrsmLayout(trsm(TrsmWay::blocks, false)).block), mine * 1e3,
        flops / mine * 1e-12, ready * 1e3, theirs * 1e3, flops / theirs * 1e-12, theirs / mine, theirs / ready,
        residuals[ours], residuals[cublas], same ? "" : " OTHER BITS");
    std::fflush(stdout);
    const double most = 2 * static_cast<double>(order_);
    return same && residuals[ours] <= most && residuals[prepared] <= most;
  }

 private:
  static constexpr std::size_t cublas_bytes = std::size_t{32} << 20;
  static std::size_t bytes(Index elements) { return static_cast<std::size_t>(elements) * sizeof(T); }

  Trsm trsm(TrsmWay way, bool prepared) const {
    return {.precision = blaslift::precision_of<T>,
            .side = kind_.side,
            .uplo = kind_.uplo,
            .trans = kind_.trans,
            .unit = kind_.unit,
            .m = m_,
            .n = n_,
            .alpha = &one_,
            .A = A_.as(),
            .lda = order_,
            .B = X_.as(),
            .ldb = m_,
            .way = way,
            .block = arguments_.block,
            .workspace = workspace_.as(),
            .prepared = prepared};
  }

  double time(bool cublas, bool prepared) {
    check(cudaMemcpyAsync(X_.as(), B_.as(), bytes(m_ * n_), cudaMemcpyDeviceToDevice, stream_.get));
    check(cudaStreamSynchronize(stream_.get));
    const Trsm p = trsm(TrsmWay::blocks, prepared);
    const double begin = now();
    if (cublas) {
      check(solve(handle_, p.side == Side::left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,
                  p.uplo == Uplo::lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER,
                  p.trans == Op::none        ? CUBLAS_OP_N
                  : p.trans == Op::transpose ? CUBLAS_OP_T
                                             : CUBLAS_OP_C,
                  p.unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, p));
      check(cudaStreamSynchronize(stream_.get));
    } else if (lane_->ask(p, {nullptr, 0}) != Status::done || lane_->drain() != Status::done) {
      throw std::runtime_error("the device cannot do it");
    }
    return now() - begin;
  }

  std::vector<T> fetch() const {
    std::vector<T> x(host_B_.size());
    check(cudaMemcpy(x.data(), X_.as(), x.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return x;
  }

  T op_a(Index i, Index j) const {
    if (kind_.trans != Op::none) std::swap(i, j);
    if (kind_.uplo == Uplo::lower ? i < j : i > j) return T(0);
    if (i == j && kind_.unit) return T(1);
    const T a = host_A_[static_cast<std::size_t>(i + j * order_)];
    if constexpr (!std::is_floating_point_v<T>)
      if (kind_.trans == Op::conjugate) return std::conj(a);
    return a;
  }

  double residual(const std::vector<T>& x) const {
    constexpr int samples = 4;
    const bool left = kind_.side == Side::left;
    const Index others = left ? n_ : m_;
    const auto at = [&](const std::vector<T>& of, Index i, Index c) {
      return of[static_cast<std::size_t>(left ? i + c * m_ : c + i * m_)];
    };
    using Wide = std::complex<long double>;
    const auto wide = [](T y) { return Wide(std::real(y), std::imag(y)); };
    std::vector<double> worst(static_cast<std::size_t>(order_));
    bench::in_parallel(static_cast<std::size_t>(order_), [&](std::size_t first, std::size_t last) {
      for (auto i = static_cast<Index>(first); i < static_cast<Index>(last); ++i)
        for (int s = 0; s < samples; ++s) {
          const Index c = s * (others - 1) / (samples - 1);
          Wide sum = wide(at(host_B_, i, c));
          long double size = 0;
          for (Index k = 0; k < order_; ++k) {
            const T a = left ? op_a(i, k) : op_a(k, i);
            if (a == T(0)) continue;
            const T y = at(x, k, c);
            sum -= wide(a) * wide(y);
            size += std::abs(wide(a)) * std::abs(wide(y));
          }
          const double units =
              static_cast<double>(std::abs(sum) / size / std::numeric_limits<blaslift::Real<T>>::epsilon());
          double& most = worst[static_cast<std::size_t>(i)];
          if (!(units <= most)) most = std::isnan(units) ? HUGE_VAL : units;
        }
    });
    return *std::max_element(worst.begin(), worst.end());
  }

  const Arguments& arguments_;
  Backend& backend_;
  const Kind kind_;
  const Index m_, n_, order_;
  const T one_{1};
  std::vector<T> host_A_, host_B_;
  const bench::Stream stream_;
  const Memory A_, B_, X_, workspace_, cublas_workspace_{cublas_bytes};
  cublasHandle_t handle_ = nullptr;
  Lane* lane_ = nullptr;
};

Kind kind_of(const std::string& text) {
  if (text.size() < 3 || !std::strchr("LR", text[0]) || !std::strchr("UL", text[1]) || !std::strchr("NTC", text[2]))
    throw std::runtime_error("no such kind: " + text);
  return {static_cast<Side>(text[0]), static_cast<Uplo>(text[1]), static_cast<Op>(text[2]), text.size() > 3};
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--precision")
      a.precisions = value;
    else if (option == "--kinds")
      a.kinds = value;
    else if (option == "--sizes")
      a.sizes = value;
    else if (option == "--block")
      a.block = std::atol(argv[i + 1]);
    else if (option == "--scale")
      a.scale = std::atof(argv[i + 1]);
    else if (option == "--seconds")
      a.seconds = std::atof(argv[i + 1]);
    else if (option == "--modules")
      a.modules = value;
    else
      throw std::runtime_error("no such option: " + option);
  }
  if (a.modules.empty()) {
    char path[4096];
    const auto length = readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    a.modules = self.substr(0, self.rfind('/')) + "/../lib";
  }
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  bool right = true;
  try {
    const Arguments arguments = parse(argc, argv);
    std::string why;
    Backend* const backend =
        blaslift::open_module(arguments.modules, "cuda", {.memory_limit = 0, .local_rank = 0, .local_size = 1}, why);
    if (!backend) {
      std::fprintf(stderr, "trsm_time: %s\n", why.c_str());
      return 77;
    }
    for (const char precision : arguments.precisions)
      for (const std::string& kind : words_of(arguments.kinds))
        for (const std::string& size : words_of(arguments.sizes)) {
          char* end = nullptr;
          const Index m = std::strtol(size.c_str(), &end, 10), n = *end == 'x' ? std::atol(end + 1) : m;
          if (m < 1 || n < 1) throw std::runtime_error("no such size: " + size);
          const auto run = [&]<class T>(T) { return Problem<T>(arguments, *backend, kind_of(kind), m, n).run(); };
          right = (precision == 's'   ? run(float{})
                   : precision == 'd' ? run(double{})
                   : precision == 'c' ? run(std::complex<float>{})
                                      : run(std::complex<double>{})) &&
                  right;
        }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "trsm_time: %s\n", error.what());
    return 2;
  }
  return right ? 0 : 1;
}
