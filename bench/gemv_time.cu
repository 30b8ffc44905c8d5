// y := alpha * op(A) * x + beta * y with everything on the device: the kernels of kernels/cuda/gemv beside cuBLAS's and
// a copy of as many bytes, in turns, in one process.
//
//   gemv_time [--precision sdcz] [--sizes MxN,...] [--gap ELEMENTS] [--seconds SECONDS]
//
// For each size and op a line of JSON: "ours", "cublas" and "copy", each the median seconds of one call and bytes a
// second, the matrix counted once (a copy's read and written bytes each).  Operands change from call to call and are
// together larger than the second-level cache.  --gap: lda is m and so many.  "same_bits": whether ours has the same
// result for every call of one matrix.  Status 1: not so.
#include <algorithm>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cuda.hpp"
#include "kernels/cuda/gemv/gemv.hpp"
#include "kernels/gemv.hpp"

namespace {

using bench::check, bench::Memory, bench::Stream;
using blaslift::Gemv, blaslift::Precision;
using Index = blaslift::index;

/// Numbers in [-1, 1) that their place makes.
template <class R>
__global__ void fill(R* to, Index count, unsigned seed) {
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < count; i += Index{gridDim.x} * blockDim.x) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u + seed;
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
    to[i] = static_cast<R>(x) / R(2147483648.0) - R(1);
  }
}

/// Median seconds of a call.
double timed(double seconds, cudaStream_t stream, const std::function<void(int)>& call) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<double> times;
  double spent = 0;
  constexpr int calls = 10;  // between two events, as iterations make them
  for (int round = 0; round < 3 || spent < seconds; ++round) {
    check(cudaEventRecord(begin, stream));
    for (int i = 0; i < calls; ++i) call(round * calls + i);
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    spent += 1e-3 * milliseconds;
    if (round > 0) times.push_back(1e-3 * milliseconds / calls);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

void by_cublas(cublasHandle_t handle, const Gemv& p) {
  const auto op = !p.transposed ? CUBLAS_OP_N : p.conjugated ? CUBLAS_OP_C : CUBLAS_OP_T;
  const auto call = [&]<class T>(auto function, T) {
    check(function(handle, op, p.m, p.n, static_cast<const T*>(p.alpha), static_cast<const T*>(p.A), p.lda,
                   static_cast<const T*>(p.x), p.incx, static_cast<const T*>(p.beta), static_cast<T*>(p.y), p.incy));
  };
  switch (p.precision) {
    case Precision::s: return call(cublasSgemv_64, float{});
    case Precision::d: return call(cublasDgemv_64, double{});
    case Precision::c: return call(cublasCgemv_64, cuComplex{});
    case Precision::z: return call(cublasZgemv_64, cuDoubleComplex{});
  }
}

bool measure(char letter, Index m, Index n, Index gap, double seconds) {
  const auto precision = static_cast<Precision>(std::string("sdcz").find(letter));
  const std::size_t element = element_size(precision);
  const Index lda = m + gap;
  const double bytes = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(element);
  const std::size_t stored = static_cast<std::size_t>(lda) * static_cast<std::size_t>(n) * element;
  const int sets = static_cast<int>(std::clamp<std::size_t>((std::size_t{256} << 20) / stored + 1, 2, 64));
  std::vector<std::unique_ptr<Memory>> matrices;
  const Stream own;
  cudaStream_t const stream = own.get;
  const auto set = [&](void* at, std::size_t size, unsigned seed) {
    if (precision == Precision::s || precision == Precision::c)
      fill<float><<<512, 256, 0, stream>>>(static_cast<float*>(at), static_cast<Index>(size / 4), seed);
    else
      fill<double><<<512, 256, 0, stream>>>(static_cast<double*>(at), static_cast<Index>(size / 8), seed);
  };
  for (int i = 0; i < sets; ++i) {
    matrices.push_back(std::make_unique<Memory>(stored));
    set(matrices.back()->as(), stored, static_cast<unsigned>(i));
  }
  const std::size_t vector = static_cast<std::size_t>(std::max(m, n)) * element;
  Memory x(vector), y(vector);
  set(x.as(), vector, 77);
  const double one[2] = {1, 0}, none[2] = {0, 0};
  const float one_s[2] = {1, 0};
  const bool single = precision == Precision::s || precision == Precision::c;
  cublasHandle_t handle;
  check(cublasCreate(&handle));
  check(cublasSetStream(handle, stream));
  bool good = true;
  for (const bool transposed : {false, true}) {
    Gemv p{.precision = precision,
           .transposed = transposed,
           .conjugated = false,
           .m = m,
           .n = n,
           .alpha = single ? static_cast<const void*>(one_s) : one,
           .A = nullptr,
           .lda = lda,
           .x = x.as(),
           .incx = 1,
           .beta = none,
           .y = y.as(),
           .incy = 1};
    Memory workspace(gemv_workspace(p));
    p.workspace = workspace.as();
    const auto with = [&](int i) {
      p.A = matrices[static_cast<std::size_t>(i % sets)]->as();
      return p;
    };
    const double ours = timed(seconds, stream, [&](int i) { check(gemv(with(i), stream)); });
    const double theirs = timed(seconds, stream, [&](int i) { by_cublas(handle, with(i)); });
    const double copy = timed(seconds, stream, [&](int i) {
      check(cudaMemcpyAsync(matrices[static_cast<std::size_t>(i % sets)]->as(),
                            matrices[static_cast<std::size_t>((i + 1) % sets)]->as(), stored, cudaMemcpyDeviceToDevice,
                            stream));
    });
    std::vector<unsigned char> first(static_cast<std::size_t>(p.results()) * element), again(first.size());
    bool same = true;
    for (int i = 0; i < 20; ++i) {
      check(gemv(with(0), stream));
      check(cudaMemcpyAsync((i == 0 ? first : again).data(), y.as(), first.size(), cudaMemcpyDeviceToHost, stream));
      check(cudaStreamSynchronize(stream));
      same = same && (i == 0 || first == again);
    }
    good = good && same;
    std::printf(
        "{\"precision\": \"%c\", \"op\": \"%c\", \"m\": %lld, \"n\": %lld, \"lda\": %lld, "
        "\"ours\": {\"seconds\": %.4g, \"bytes_per_second\": %.4g}, "
        "\"cublas\": {\"seconds\": %.4g, \"bytes_per_second\": %.4g}, "
        "\"copy\": {\"seconds\": %.4g, \"bytes_per_second\": %.4g}, \"same_bits\": %s}\n",
        letter, transposed ? 'T' : 'N', static_cast<long long>(m), static_cast<long long>(n),
        static_cast<long long>(lda), ours, bytes / ours, theirs, bytes / theirs, copy,
        2 * static_cast<double>(stored) / copy, same ? "true" : "false");
    std::fflush(stdout);
  }
  cublasDestroy(handle);
  return good;
}

}  // namespace

int main(int count, char** words) try {
  std::string precisions = "d", sizes = "1024x1024,4096x4096,16384x16384,100000x300,300x100000";
  Index gap = 0;
  double seconds = 0.2;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string option = words[i];
    if (option == "--precision") precisions = words[i + 1];
    if (option == "--sizes") sizes = words[i + 1];
    if (option == "--gap") gap = std::atoll(words[i + 1]);
    if (option == "--seconds") seconds = std::atof(words[i + 1]);
  }
  bool good = true;
  for (const char letter : precisions) {
    if (!std::strchr("sdcz", letter)) throw std::runtime_error("precisions are some of sdcz");
    for (const char* at = sizes.c_str(); *at;) {
      char* end = nullptr;
      const Index m = std::strtoll(at, &end, 10), n = *end == 'x' ? std::strtoll(end + 1, &end, 10) : m;
      if (m < 1 || n < 1) throw std::runtime_error("sizes are MxN,...");
      good = measure(letter, m, n, gap, seconds) && good;
      at = *end == ',' ? end + 1 : end;
    }
  }
  return good ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
