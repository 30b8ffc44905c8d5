// What no library between a program and the GPU can beat: the bus with pinned memory, cuBLAS with data on the device.
//
//   ceilings bus | s|d|z:N | s|d|z:MxNxK ...
//
// Prints a line of JSON each: `bus` bytes a second of 1 GiB each way alone and both ways at once; a product the median
// seconds of one cuBLAS call, set up as the cuda backend does (kernels/cuda/cuda.cpp), beta = 0.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cuda.hpp"
#include "bench/product.hpp"

namespace {

using bench::check, bench::Memory, bench::Stream;

constexpr std::size_t copied_bytes = std::size_t{1} << 30, workspace_bytes = std::size_t{32} << 20;
constexpr int warming_copies = 3, copies = 7, least_products = 3, most_products = 31;
constexpr double warming_seconds = 0.5, product_seconds = 2;  // clocks rise only under load

/// Seconds until the device has done what `start` asks for.
template <class Start>
double seconds(const Start& start) {
  check(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  start();
  check(cudaDeviceSynchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void time_bus() {
  const Memory host_in(copied_bytes, Memory::pinned), host_out(copied_bytes, Memory::pinned), device_in(copied_bytes),
      device_out(copied_bytes);
  const Stream in, out;
  for (const Memory* host : {&host_in, &host_out})
    bench::fill_uniform(host->as<double>(), copied_bytes / sizeof(double), 1);
  const auto start = [&](bool up, bool down) {
    if (up) check(cudaMemcpyAsync(device_in.as(), host_in.as(), copied_bytes, cudaMemcpyHostToDevice, in.get));
    if (down) check(cudaMemcpyAsync(host_out.as(), device_out.as(), copied_bytes, cudaMemcpyDeviceToHost, out.get));
  };
  const auto rate = [&](bool up, bool down) {
    std::vector<double> times;
    for (int i = 0; i < warming_copies + copies; ++i) times.push_back(seconds([&] { start(up, down); }));
    times.erase(times.begin(), times.begin() + warming_copies);
    return static_cast<double>(copied_bytes) / bench::median(times);
  };
  const double up = rate(true, false), down = rate(false, true), both = rate(true, true);
  std::printf("{\"what\": \"bus\", \"in\": %.5g, \"out\": %.5g, \"each_way_at_once\": %.5g}\n", up, down, both);
}

/// Random numbers all over `to`: products of zeros draw less power and run faster.
template <class T>
void fill_device(const Memory& to, std::size_t count) {
  const std::size_t part = std::min<std::size_t>(count, std::size_t{8} << 20);
  std::vector<T> numbers(part);
  bench::fill_uniform(numbers.data(), part, 3);
  for (std::size_t i = 0; i < count; i += part)
    check(cudaMemcpy(to.as<T>() + i, numbers.data(), std::min(part, count - i) * sizeof(T), cudaMemcpyHostToDevice));
}

cublasStatus_t gemm(cublasHandle_t handle, int m, int n, int k, const float* A, const float* B, float* C) {
  const float one = 1, zero = 0;
  return cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, A, m, B, k, &zero, C, m);
}
cublasStatus_t gemm(cublasHandle_t handle, int m, int n, int k, const double* A, const double* B, double* C) {
  const double one = 1, zero = 0;
  return cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, A, m, B, k, &zero, C, m);
}
cublasStatus_t gemm(cublasHandle_t handle, int m, int n, int k, const std::complex<double>* A,
                    const std::complex<double>* B, std::complex<double>* C) {
  const cuDoubleComplex one{1, 0}, zero{0, 0};
  return cublasZgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, reinterpret_cast<const cuDoubleComplex*>(A), m,
                        reinterpret_cast<const cuDoubleComplex*>(B), k, &zero, reinterpret_cast<cuDoubleComplex*>(C),
                        m);
}

template <class T>
void time_product(char precision, int m, int n, int k) {
  const std::size_t a = bench::elements(m, k), b = bench::elements(k, n), c = bench::elements(m, n);
  const Memory A(a * sizeof(T)), B(b * sizeof(T)), C(c * sizeof(T)), workspace(workspace_bytes);
  fill_device<T>(A, a);
  fill_device<T>(B, b);
  const Stream stream;
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle));
  check(cublasSetStream(handle, stream.get));
  check(cublasSetWorkspace(handle, workspace.as(), workspace_bytes));
  check(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED));
  check(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
  const auto once = [&] {
    return seconds([&] { check(gemm(handle, m, n, k, A.as<const T>(), B.as<const T>(), C.as<T>())); });
  };
  for (double warm = 0; warm < warming_seconds;) warm += once();
  std::vector<double> times;
  double all = 0;
  for (int i = 0; i < least_products || (i < most_products && all < product_seconds); ++i)
    all += times.emplace_back(once());
  check(cublasDestroy(handle));
  std::printf(
      "{\"what\": \"product\", \"precision\": \"%c\", \"m\": %d, \"n\": %d, \"k\": %d, \"calls\": %zu, "
      "\"seconds\": %.7f}\n",
      precision, m, n, k, times.size(), bench::median(times));
}

void time_one(const std::string& what) {
  int m = 0, n = 0, k = 0;
  char precision = 0;
  if (what == "bus") return time_bus();
  const int found = std::sscanf(what.c_str(), "%c:%dx%dx%d", &precision, &m, &n, &k);
  if (found == 2) n = k = m;
  if ((found == 2 || found == 4) && std::min({m, n, k}) > 0) switch (precision) {
      case 's': return time_product<float>('s', m, n, k);
      case 'd': return time_product<double>('d', m, n, k);
      case 'z': return time_product<std::complex<double>>('z', m, n, k);
    }
  throw std::runtime_error("not `bus` nor PRECISION:N nor PRECISION:MxNxK");
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    try {
      time_one(argv[i]);
      std::fflush(stdout);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "ceilings %s: %s\n", argv[i], error.what());
      return 1;
    }
  }
}
