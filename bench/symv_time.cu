// y := alpha * A * x + beta * y with everything on the device: the kernels of kernels/cuda/symv/symv_of.hpp beside
// cuBLAS as it is and with CUBLAS_ATOMICS_ALLOWED, in turns, in one process.
//
//   symv_time [--precision sdczw] [--uplo U|L] [--sizes N,N,...] [--hermitian on|off] [--gap ELEMENTS|copy]
//             [--inc INC] [--sets COUNT]
//             [--blocking UxTxTyxH|auto] [--blockings UxTxTyxH[:tickets],...|all|published] [--seconds SECONDS]
//             [--repeat RUNS]
//
// For each size a line of JSON: "ours" (the blocking that the rules or --blocking give; strips, parts, tickets) and
// cuBLAS's, each the median seconds of one call, bytes and elements a second, the triangle counted once.  Operands
// change from call to call and are together larger than the second-level cache.  "error": the largest difference from
// cuBLAS's result relative to the largest element of it.  Pairs of doubles, w, cuBLAS does not know: there "error" is
// of some rows, compared with sums on the host.
//
// --gap: lda is n and so many; copy: as device copies of a triangle have it.  --sets: change among so many matrices; 1
// is what iterations do, and a matrix that fits into the cache may stay there. With --blockings a line for each of them
// (all: every kernel, with all heights of chunks that make sense, and strips, as 0x0x0x0, up to n = 4,096), the fastest
// first, beside cuBLAS; all in turns, with medians and minima of some rounds that take --seconds together.  published:
// the kernel with a ticket at every step as it was printed (bench/published_symv.hpp; s and d, upper triangles, inc 1),
// in five shapes TxxTyxU, beside ours by parts and by tickets.
//
// With --repeat every way is run so many times beside a stream that keeps writing memory; "other_bits" counts the
// results that differ from the host's schedule, which adds in the same order.  Status 1: some do, or parts and tickets,
// or an error is too large.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cuda.hpp"
#include "bench/product.hpp"
#include "bench/published_symv.hpp"
#include "impl/residency/residency.hpp"
#include "kernels/cuda/symv/symv.hpp"
#include "kernels/host/symv.hpp"
#include "kernels/symv.hpp"

namespace {

using bench::check, bench::Memory, bench::Stream;
using blaslift::DoubleDouble, blaslift::Symv, blaslift::SymvBlocking, blaslift::Element, blaslift::SymvWay,
    blaslift::Uplo;

using Index = blaslift::index;

struct Arguments {
  std::string precisions = "d", sizes = "1024,4096,16384", blocking = "auto", blockings;
  Uplo uplo = Uplo::lower;
  bool hermitian = true;
  Index gap = 0, inc = 1, sets = 0;  ///< gap -1: as a copy's; sets 0: more than the cache holds
  double seconds = 0.3;
  int repeat = 0;
};

struct Event {
  cudaEvent_t get = nullptr;
  Event() { check(cudaEventCreate(&get)); }
  ~Event() { cudaEventDestroy(get); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

struct Cublas {
  cublasHandle_t get = nullptr;
  Memory workspace{workspace_bytes};
  Cublas(cudaStream_t stream, cublasAtomicsMode_t atomics) {
    check(cublasCreate(&get));
    check(cublasSetStream(get, stream));
    check(cublasSetWorkspace(get, workspace.as(), workspace_bytes));
    check(cublasSetAtomicsMode(get, atomics));
  }
  ~Cublas() { cublasDestroy(get); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
};

__device__ double uniform(unsigned long long seed, Index i) {
  unsigned long long z = (seed << 40) + (static_cast<unsigned long long>(i) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5;
}

/// Numbers in [-0.5, 0.5), different all over: equal ones draw less power.
template <class R>
__global__ void fill(R* to, Index count, unsigned long long seed) {
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * Index{blockDim.x}) {
    const double x = uniform(seed, i);
    if constexpr (std::is_same_v<R, DoubleDouble>)
      to[i] = {x, x * uniform(seed + 100, i) * 0x1p-53};
    else
      to[i] = static_cast<R>(x);
  }
}

/// What disturbs: long or short, as it comes.
__global__ void write(unsigned* to, Index count, unsigned value) {
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * Index{blockDim.x})
    to[i] = value;
}

cublasStatus_t cublas(cublasHandle_t h, bool, cublasFillMode_t u, Index n, const float* a, const float* A, Index lda,
                      const float* x, Index incx, const float* b, float* y, Index incy) {
  return cublasSsymv_64(h, u, n, a, A, lda, x, incx, b, y, incy);
}
cublasStatus_t cublas(cublasHandle_t h, bool, cublasFillMode_t u, Index n, const double* a, const double* A, Index lda,
                      const double* x, Index incx, const double* b, double* y, Index incy) {
  return cublasDsymv_64(h, u, n, a, A, lda, x, incx, b, y, incy);
}
cublasStatus_t cublas(cublasHandle_t h, bool hermitian, cublasFillMode_t u, Index n, const cuComplex* a,
                      const cuComplex* A, Index lda, const cuComplex* x, Index incx, const cuComplex* b, cuComplex* y,
                      Index incy) {
  return (hermitian ? cublasChemv_64 : cublasCsymv_64)(h, u, n, a, A, lda, x, incx, b, y, incy);
}
cublasStatus_t cublas(cublasHandle_t h, bool hermitian, cublasFillMode_t u, Index n, const cuDoubleComplex* a,
                      const cuDoubleComplex* A, Index lda, const cuDoubleComplex* x, Index incx,
                      const cuDoubleComplex* b, cuDoubleComplex* y, Index incy) {
  return (hermitian ? cublasZhemv_64 : cublasZsymv_64)(h, u, n, a, A, lda, x, incx, b, y, incy);
}

SymvBlocking blocking_of(const std::string& text, Element precision) {
  SymvBlocking b;
  if (std::sscanf(text.c_str(), "%dx%dx%dx%d", &b.U, &b.Tx, &b.Ty, &b.H) != 4 || !blaslift::symv_fits(b, precision))
    throw std::runtime_error("no such blocking: " + text);
  return b;
}
std::string text_of(const SymvBlocking& b) {
  return std::to_string(b.U) + "x" + std::to_string(b.Tx) + "x" + std::to_string(b.Ty) + "x" + std::to_string(b.H);
}

/// Ours one way, cuBLAS, or, from `published_way` on, the published kernel in one of its shapes.
struct Candidate {
  SymvBlocking blocking;
  int way;
  std::vector<double> times{};
};

constexpr int published_way = 4;

std::vector<Candidate> candidates_of(const Arguments& arguments, Element precision, Index n) {
  std::vector<Candidate> found;
  if (arguments.blockings == "published") {
    if ((precision != Element::s && precision != Element::d) || arguments.uplo != Uplo::upper || arguments.inc != 1)
      throw std::runtime_error("the published kernel: s and d, --uplo U, --inc 1 alone");
    const SymvBlocking own = blaslift::symv_blocking(precision, arguments.uplo, n);
    found.push_back({own, 0});
    if (own.U != 0) found.push_back({own, 1});
    for (std::size_t i = 0; i < std::size(blaslift::published::shapes); ++i)
      found.push_back({{}, published_way + static_cast<int>(i)});
    return found;
  }
  if (arguments.blockings != "all") {
    for (std::size_t at = 0; at < arguments.blockings.size();) {
      const std::size_t end = std::min(arguments.blockings.find(',', at), arguments.blockings.size());
      const std::string text = arguments.blockings.substr(at, end - at);
      found.push_back({blocking_of(text, precision), text.find(":tickets") != text.npos});
      at = end + 1;
    }
    return found;
  }
  if (n <= 4096) found.push_back({{}, 0});
  const auto add = [&](SymvBlocking b) {
    for (b.H = n < 12288 ? 32 : 128; b.H <= 1024 && b.H <= std::max<Index>(n / 8, 64); b.H *= 2)
      if (blaslift::symv_fits(b, precision)) found.push_back({b, 0});
  };
  if (element_size(precision) == 16)
    for (const SymvBlocking& b : blaslift::symv_blockings_16) add(b);
  else
    for (const SymvBlocking& b : blaslift::symv_blockings) add(b);
  return found;
}

/// T as cuBLAS has it, where it does.
template <class T, Element::Name precision>
class Problem {
  static constexpr bool pairs = precision == Element::w, is_single = precision == Element::s || precision == Element::c;
  using R = std::conditional_t<pairs, DoubleDouble, std::conditional_t<is_single, float, double>>;
  static constexpr bool complex = sizeof(T) > sizeof(R);

 public:
  Problem(const Arguments& arguments, Index n)
      : arguments_(arguments),
        n_(n),
        lda_(arguments.gap >= 0 ? n + arguments.gap
                                : blaslift::copy_ld({nullptr, n, n, n, sizeof(T), blaslift::Part::lower})),
        blocking_(arguments.blocking == "auto" ? blaslift::symv_blocking(precision, arguments.uplo, n)
                                               : blocking_of(arguments.blocking, precision)),
        candidates_(candidates_of(arguments, precision, n)),
        sets_(arguments.sets > 0
                  ? static_cast<int>(arguments.sets)
                  : static_cast<int>(std::clamp<double>(std::ceil(cache_bytes() * 2.5 / triangle_bytes()), 1, 256))),
        A_(static_cast<std::size_t>(sets_ * lda_ * n) * sizeof(T)),
        x_(vector_bytes()),
        y_(vector_bytes() * ways),
        workspace_(most_workspace()),
        v_(vector_bytes()),
        counters_((static_cast<std::size_t>(n) / 32 + 2) * sizeof(int)) {
    reset(A_, sets_ * lda_ * n, 1);
    reset(x_, n * arguments.inc, 2);
  }

  bool run() {
    if (!candidates_.empty()) return sweep();
    const bool strips = blocking_.U == 0;
    const char* const names[ways] = {strips ? "strips" : "parts", "tickets", "cublas", "cublas_atomics"};
    std::printf(
        "{\"precision\": \"%c\", \"uplo\": \"%c\", \"hermitian\": %s, \"n\": %lld, \"lda\": %lld, "
        "\"inc\": %lld, \"sets\": %d, \"blocking\": \"%s\"",
        letter(precision), static_cast<char>(arguments_.uplo), complex && arguments_.hermitian ? "true" : "false",
        static_cast<long long>(n_), static_cast<long long>(lda_), static_cast<long long>(arguments_.inc), sets_,
        text_of(blocking_).c_str());
    bool right = compare();
    if (arguments_.repeat > 0)
      right = repeat(names) && right;
    else
      time(names);
    std::printf(", \"right\": %s}\n", right ? "true" : "false");
    std::fflush(stdout);
    return right;
  }

 private:
  static constexpr int ways = 4;  // parts or strips, tickets, cuBLAS, cuBLAS with atomics

  static double cache_bytes() {
    int device = 0, bytes = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
    return bytes;
  }
  double triangle_bytes() const { return 0.5 * static_cast<double>(n_) * static_cast<double>(n_ + 1) * sizeof(T); }
  std::size_t vector_bytes() const { return static_cast<std::size_t>(n_ * arguments_.inc) * sizeof(T); }
  void reset(const Memory& memory, Index elements, unsigned long long seed) {
    fill<<<2048, 256, 0, stream_.get>>>(memory.as<R>(), elements * static_cast<Index>(sizeof(T) / sizeof(R)), seed);
    check(cudaGetLastError());
  }
  T* y(int way) const { return y_.as<T>() + way * n_ * arguments_.inc; }
  bool is_there(int way) const { return way < 2 ? way == 0 || blocking_.U != 0 : !pairs; }

  Symv ours(int set, SymvWay way) const {
    return {.precision = precision,
            .hermitian = complex && arguments_.hermitian,
            .uplo = arguments_.uplo,
            .n = n_,
            .alpha = &alpha_,
            .A = A_.as<T>() + set * lda_ * n_,
            .lda = lda_,
            .x = x_.as<T>(),
            .incx = arguments_.inc,
            .beta = &beta_,
            .y = y(way == SymvWay::parts ? 0 : 1),
            .incy = arguments_.inc,
            .blocking = blocking_,
            .way = way};
  }

  void start(int way, int set) {
    if (way >= published_way) {
      if constexpr (std::is_same_v<T, R> && !pairs) start_published(static_cast<std::size_t>(way - published_way), set);
    } else if (way < 2) {
      Symv p = ours(set, way == 0 ? SymvWay::parts : SymvWay::tickets);
      p.workspace = workspace_.as();
      check(blaslift::symv(p, stream_.get));
    } else if constexpr (!pairs) {
      check(cublas((way == 2 ? plain_ : atomics_).get, complex && arguments_.hermitian,
                   arguments_.uplo == Uplo::upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER, n_, &alpha_,
                   A_.as<T>() + set * lda_ * n_, lda_, x_.as<T>(), arguments_.inc, &beta_, y(way), arguments_.inc));
    }
  }

  std::vector<R> result(int way) {
    std::vector<R> y_there(vector_bytes() / sizeof(R));
    check(cudaMemcpyAsync(y_there.data(), y(way), vector_bytes(), cudaMemcpyDeviceToHost, stream_.get));
    check(cudaStreamSynchronize(stream_.get));
    return y_there;
  }

  /// Both of ours with each other, to the bit, and with cuBLAS's or the host's.  Sums of n products of numbers below
  /// 1/2 in magnitude: n u of sqrt(n) is far above what either loses, and far below any mistake; with pairs, 16 n u^2.
  bool compare() {
    std::vector<R> results[ways];
    for (int way = 0; way < ways; ++way) {
      if (!is_there(way)) continue;
      reset_y();
      start(way, 0);
      results[way] = result(way);
    }
    double error = 0, most = 0;
    if constexpr (pairs) {
      error = error_of_rows(results[0]);
      most = static_cast<double>(n_) * 0x1p-102;
    } else {
      error = largest_difference(results[2], results[0]);
      most = static_cast<double>(n_) * std::numeric_limits<R>::epsilon();
    }
    std::printf(", \"error\": %.3g", std::isfinite(error) ? error : 1e99);
    const bool same = !is_there(1) || std::memcmp(results[0].data(), results[1].data(), vector_bytes()) == 0;
    return same && error <= most;
  }

  static double largest_difference(const std::vector<R>& expected, const std::vector<R>& found) {
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
      const double d = std::fabs(static_cast<double>(expected[i]) - static_cast<double>(found[i]));
      if (!(d <= difference)) difference = d;
    }
    return difference / largest;
  }

  /// Of pairs: 16 rows, the first and the last among them, summed from left to right.
  double error_of_rows(const std::vector<R>& found) {
    namespace dd = blaslift::double_double;
    reset_y();
    const std::vector<R> before = result(0);
    std::vector<R> x(before.size()), row(static_cast<std::size_t>(n_));
    check(cudaMemcpy(x.data(), x_.as<R>(), vector_bytes(), cudaMemcpyDeviceToHost));
    double largest = 0, difference = 0;
    for (int sample = 0; sample < 16; ++sample) {
      const Index i = (n_ - 1) * sample / 15;
      const Index from_row = arguments_.uplo == Uplo::lower ? 0 : i,
                  row_end = arguments_.uplo == Uplo::lower ? i + 1 : n_;
      check(cudaMemcpy(row.data(), A_.as<R>() + i * lda_, static_cast<std::size_t>(n_) * sizeof(R),
                       cudaMemcpyDeviceToHost));
      check(cudaMemcpy2D(row.data() + from_row, sizeof(R), A_.as<R>() + i + from_row * lda_,
                         static_cast<std::size_t>(lda_) * sizeof(R), sizeof(R),
                         static_cast<std::size_t>(row_end - from_row), cudaMemcpyDeviceToHost));
      R sum{};
      for (Index j = 0; j < n_; ++j)
        sum = dd::multiply_add(row[static_cast<std::size_t>(j)], x[static_cast<std::size_t>(j * arguments_.inc)], sum);
      const auto at = static_cast<std::size_t>(i * arguments_.inc);
      const R expected = dd::multiply_add(beta_, before[at], dd::multiply(alpha_, sum));
      largest = std::max(largest, std::fabs(expected.hi));
      const double d = std::fabs(dd::add(expected, {-found[at].hi, -found[at].lo}).hi);
      if (!(d <= difference)) difference = d;
    }
    return difference / largest;
  }

  void reset_y() {
    reset(y_, ways * n_ * arguments_.inc, 3);
    // The same for each.
    for (int way = 1; way < ways; ++way)
      check(cudaMemcpyAsync(y(way), y(0), vector_bytes(), cudaMemcpyDeviceToDevice, stream_.get));
  }

  std::size_t most_workspace() {
    std::size_t most = 0;
    const auto look = [&] {
      for (const SymvWay way : {SymvWay::parts, SymvWay::tickets})
        most = std::max(most, blaslift::symv_workspace(ours(0, way)));
    };
    look();
    for (const Candidate& c : candidates_) {
      blocking_ = c.blocking;
      look();
    }
    return most;
  }

  /// Of one call.  Several at a time where one is short: what starting costs hides behind the one before, as in a
  /// program.
  double seconds(int way) {
    const int calls = calls_at_once();
    check(cudaEventRecord(begin_.get, stream_.get));
    for (int c = 0; c < calls; ++c) start(way, set_ = (set_ + 1) % sets_);
    check(cudaEventRecord(end_.get, stream_.get));
    check(cudaEventSynchronize(end_.get));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_.get, end_.get));
    return ms * 1e-3 / calls;
  }
  int calls_at_once() const { return std::clamp(static_cast<int>(2e-4 / (triangle_bytes() / 2e12)), 1, 50); }

  void time(const char* const (&names)[ways]) {
    std::vector<double> times[ways];
    double all = 0;
    for (int round = -2; round < 9 || (round < 200 && all < arguments_.seconds * ways); ++round)
      for (int way = 0; way < ways; ++way) {
        if (!is_there(way)) continue;
        const double each = seconds(way);
        all += each * calls_at_once();
        if (round >= 0) times[way].push_back(each);
      }
    for (int way = 0; way < ways; ++way) {
      if (!is_there(way)) continue;
      const double median = bench::median(times[way]);
      const double rate = triangle_bytes() / median;
      std::printf(", \"%s\": {\"seconds\": %.4g, \"GB/s\": %.5g, \"elements/s\": %.5g}", names[way], median, rate / 1e9,
                  rate / sizeof(T));
    }
  }

  static const char* way_of(const Candidate& c) {
    const char* const names[ways] = {c.blocking.U == 0 ? "strips" : "parts", "tickets", "cublas", "cublas_atomics"};
    return c.way < ways ? names[c.way] : "published";
  }
  static std::string name_of(const Candidate& c) {
    if (c.way < published_way) return c.way < 2 ? text_of(c.blocking) : "";
    const blaslift::published::Shape& s = blaslift::published::shapes[c.way - published_way];
    return std::to_string(s.Tx) + "x" + std::to_string(s.Ty) + "x" + std::to_string(s.U);
  }

  bool sweep() {
    std::vector<R> expected;
    if constexpr (!pairs) {
      for (const int way : {2, 3}) candidates_.push_back({{}, way});
      reset_y();
      start(2, 0);
      expected = result(2);
    }
    bool right = true;
    for (Candidate& c : candidates_) {
      if (c.way >= 2 && c.way < published_way) continue;
      blocking_ = c.blocking;
      reset_y();
      start(c.way, 0);
      const int where = c.way < ways ? c.way : 0;
      const std::vector<R> found = result(where);
      reset_y();
      start(c.way, 0);
      if (std::memcmp(result(where).data(), found.data(), vector_bytes()) != 0) {
        std::printf("{\"n\": %lld, \"other_bits\": \"%s\"}\n", static_cast<long long>(n_), name_of(c).c_str());
        right = false;
      }
      double error = 0, most = 0;
      if constexpr (pairs) {
        error = error_of_rows(found);
        most = static_cast<double>(n_) * 0x1p-102;
      } else {
        error = largest_difference(expected, found);
        most = static_cast<double>(n_) * std::numeric_limits<R>::epsilon();
      }
      if (error <= most) continue;
      std::printf("{\"n\": %lld, \"wrong\": \"%s\", \"way\": %d, \"error\": %.3g}\n", static_cast<long long>(n_),
                  name_of(c).c_str(), c.way, std::isfinite(error) ? error : 1e99);
      right = false;
    }
    double all = 0;
    for (int round = -1; round < 5 || (round < 100 && all < arguments_.seconds); ++round)
      for (Candidate& c : candidates_) {
        blocking_ = c.blocking;
        const double each = seconds(c.way);
        all += each * calls_at_once();
        if (round >= 0) c.times.push_back(each);
      }
    const auto median = [](const Candidate& c) { return bench::median(c.times); };
    std::sort(candidates_.begin(), candidates_.end(),
              [&](const Candidate& a, const Candidate& b) { return median(a) < median(b); });
    for (const Candidate& c : candidates_) {
      const double least = *std::min_element(c.times.begin(), c.times.end());
      std::printf(
          "{\"precision\": \"%c\", \"uplo\": \"%c\", \"n\": %lld, \"lda\": %lld, \"way\": \"%s\", \"blocking\": "
          "\"%s\", "
          "\"us\": %.2f, \"us_min\": %.2f, \"GB/s\": %.0f}\n",
          letter(precision), static_cast<char>(arguments_.uplo), static_cast<long long>(n_),
          static_cast<long long>(lda_), way_of(c), name_of(c).c_str(), median(c) * 1e6, least * 1e6,
          triangle_bytes() / median(c) / 1e9);
    }
    std::fflush(stdout);
    return right;
  }

  /// What the host's schedule leaves in y.
  std::vector<R> on_host() {
    const auto elements = static_cast<std::size_t>(lda_ * n_);
    std::vector<T> A(elements), x(vector_bytes() / sizeof(T)), y_there(x.size());
    reset_y();
    check(cudaStreamSynchronize(stream_.get));
    check(cudaMemcpy(A.data(), A_.as<T>(), elements * sizeof(T), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(x.data(), x_.as<T>(), vector_bytes(), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(y_there.data(), y(0), vector_bytes(), cudaMemcpyDeviceToHost));
    Symv p = ours(0, SymvWay::parts);
    p.A = A.data();
    p.x = x.data();
    p.y = y_there.data();
    blaslift::symv(p);
    std::vector<R> found(vector_bytes() / sizeof(R));
    std::memcpy(found.data(), y_there.data(), vector_bytes());
    return found;
  }

  bool repeat(const char* const (&names)[ways]) {
    constexpr Index disturbed = Index{64} << 20;
    const Memory other(disturbed * sizeof(unsigned));
    const Stream disturbing;
    const std::vector<R> expected = on_host();
    bool same = true;
    for (int way = 0; way < 2; ++way) {
      if (!is_there(way)) continue;
      int different = 0;
      for (int run = 0; run < arguments_.repeat; ++run) {
        const auto chance = static_cast<unsigned>(run) * 2654435761u >> 16;
        // Few blocks take long: rarely.
        if (chance % 3)
          write<<<(run % 64 ? 16 : 1) + chance % 300, 256, 0, disturbing.get>>>(other.as<unsigned>(),
                                                                                disturbed >> chance % 12, chance);
        check(cudaGetLastError());
        reset_y();
        start(way, 0);
        different += std::memcmp(expected.data(), result(way).data(), vector_bytes()) != 0;
      }
      check(cudaDeviceSynchronize());
      std::printf(", \"%s\": {\"runs\": %d, \"other_bits\": %d}", names[way], arguments_.repeat, different);
      same = same && different == 0;
    }
    return same;
  }

  const Arguments& arguments_;
  const Index n_, lda_;
  SymvBlocking blocking_;
  std::vector<Candidate> candidates_;
  const int sets_;
  int set_ = 0;
  Stream stream_;
  const Event begin_, end_;
  const Memory A_, x_, y_;
  const Cublas plain_{stream_.get, CUBLAS_ATOMICS_NOT_ALLOWED}, atomics_{stream_.get, CUBLAS_ATOMICS_ALLOWED};
  const T alpha_ = real(1.25), beta_ = real(-0.5);
  const Memory workspace_, v_, counters_;  ///< the last two are the published kernel's

  static T real(double value) {
    if constexpr (complex)
      return {static_cast<R>(value), 0};
    else
      return static_cast<T>(value);
  }

  template <std::size_t I = 0>
  void start_published(std::size_t which, int set) {
    if constexpr (I < std::size(blaslift::published::shapes)) {
      if (which != I) return start_published<I + 1>(which, set);
      constexpr blaslift::published::Shape s = blaslift::published::shapes[I];
      const Index panels = (n_ + s.U - 1) / s.U, steps = (n_ + s.Tx - 1) / s.Tx;
      const auto blocks = static_cast<unsigned>((n_ + 255) / 256);
      const blaslift::published::Symv<T> p{n_,
                                           alpha_,
                                           beta_,
                                           A_.as<T>() + set * lda_ * n_,
                                           lda_,
                                           x_.as<T>(),
                                           y(0),
                                           v_.as<T>(),
                                           counters_.as<unsigned>(),
                                           counters_.as<int>() + 1,
                                           static_cast<int>(panels)};
      blaslift::published::prepare<T><<<blocks, 256, 0, stream_.get>>>(p, steps);
      blaslift::published::multiply<T, s.Tx, s.Ty, s.U>
          <<<static_cast<unsigned>(panels), dim3(s.Tx, s.Ty), 0, stream_.get>>>(p);
      blaslift::published::finish<T><<<blocks, 256, 0, stream_.get>>>(p);
      check(cudaGetLastError());
    }
  }
};

bool run_one(const Arguments& arguments, char precision, Index n) {
  switch (precision) {
    case 's': return Problem<float, Element::s>(arguments, n).run();
    case 'd': return Problem<double, Element::d>(arguments, n).run();
    case 'c': return Problem<cuComplex, Element::c>(arguments, n).run();
    case 'z': return Problem<cuDoubleComplex, Element::z>(arguments, n).run();
    case 'w': return Problem<DoubleDouble, Element::w>(arguments, n).run();
  }
  throw std::runtime_error("no such precision");
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--precision")
      a.precisions = value;
    else if (option == "--uplo")
      a.uplo = value == "U" ? Uplo::upper : Uplo::lower;
    else if (option == "--sizes")
      a.sizes = value;
    else if (option == "--hermitian")
      a.hermitian = value != "off";
    else if (option == "--gap")
      a.gap = value == "copy" ? -1 : std::max(0l, std::atol(argv[i + 1]));
    else if (option == "--inc")
      a.inc = std::max(1l, std::atol(argv[i + 1]));
    else if (option == "--sets")
      a.sets = std::clamp(std::atol(argv[i + 1]), 1l, 256l);
    else if (option == "--blocking")
      a.blocking = value;
    else if (option == "--blockings")
      a.blockings = value;
    else if (option == "--seconds")
      a.seconds = std::atof(argv[i + 1]);
    else if (option == "--repeat")
      a.repeat = std::atoi(argv[i + 1]);
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
      for (const char* at = arguments.sizes.c_str(); *at;) {
        char* end = nullptr;
        const Index n = std::strtol(at, &end, 10);
        if (end == at || n < 1) throw std::runtime_error("no such sizes: " + arguments.sizes);
        right = run_one(arguments, precision, n) && right;
        at = *end ? end + 1 : end;
      }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "symv_time: %s\n", error.what());
    return 2;
  }
  return right ? 0 : 1;
}
