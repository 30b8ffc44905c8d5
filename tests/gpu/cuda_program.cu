// A program that uses CUDA itself between its BLAS calls, in the ways that have broken interposers.
//
//   cuda_program plain|current|capture|reset|sticky|full|places|registered
//
//   plain    products only
//   current  another current context (none, and a driver context of its own) is the same after each product
//   capture  a product while this thread captures a graph: the capture survives
//   reset    cudaDeviceReset between products
//   full     the program takes all of the device's memory, and gives it back
//   places   operands in every kind of memory that CUDA gives
//   registered  the GPU writes into an operand that the program registers between products
//   sticky   a kernel of the program's own ends its context with an illegal address
//
// Every product is checked; prints what it saw and "ok" last, or exits 1.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

extern "C" void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                       const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);

namespace {

int failures = 0;

void expect(bool good, const char* what) {
  if (!good) ++failures, std::printf("WRONG: %s\n", what);
}

/// C = A B with A[i,p] = (i + p) % 7, B[p,j] = (p * j) % 5: exact in double whatever the order.
void product(const char* when, int n = 517) {
  std::vector<double> A(n * n), B(n * n), C(n * n, NAN);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) A[i + j * n] = (i + j) % 7, B[i + j * n] = (i * j) % 5;
  const double one = 1, zero = 0;
  dgemm_("N", "N", &n, &n, &n, &one, A.data(), &n, B.data(), &n, &zero, C.data(), &n, 1, 1);
  for (int j = 0; j < n; j += 13)
    for (int i = 0; i < n; i += 11) {
      double sum = 0;
      for (int p = 0; p < n; ++p) sum += A[i + p * n] * B[p + j * n];
      if (C[i + j * n] != sum) return expect(false, when);
    }
  std::printf("right: %s\n", when);
}

__global__ void bad_kernel(int* p) { *p = 1; }
__global__ void good_kernel(int* p) { *p = 42; }

CUcontext current() {
  CUcontext context = nullptr;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault, &found);
  if (function) reinterpret_cast<CUresult (*)(CUcontext*)>(function)(&context);
  return context;
}

bool device_works() {
  int *d = nullptr, h = 0;
  if (cudaMalloc(&d, sizeof h) != cudaSuccess) return false;
  good_kernel<<<1, 1>>>(d);
  const bool copied = cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost) == cudaSuccess;
  cudaFree(d);
  return copied && h == 42;
}

/// A matrix with room between its columns in one kind of memory, filled and read through CUDA.
class Matrix {
 public:
  static constexpr const char* kinds[] = {"pageable", "pinned", "registered", "half registered", "managed", "device"};

  Matrix(int kind, int rows, int cols) : kind_(kind), rows_(rows), cols_(cols), bytes_(size_t(rows + 3) * cols * 8) {
    bool made = true;
    if (kind == 1) made = cudaHostAlloc(&data_, bytes_, cudaHostAllocDefault) == cudaSuccess;
    if (kind == 4) made = cudaMallocManaged(&data_, bytes_) == cudaSuccess;
    if (kind == 5) made = cudaMalloc(&data_, bytes_) == cudaSuccess;
    if (kind == 0 || kind == 2 || kind == 3)
      data_ = static_cast<double*>(std::aligned_alloc(4096, (bytes_ + 4095) / 4096 * 4096));
    if (kind == 2 || kind == 3)
      made = cudaHostRegister(data_, kind == 2 ? bytes_ : bytes_ / 8192 * 4096, cudaHostRegisterDefault) == cudaSuccess;
    expect(made && data_, "memory");
  }
  ~Matrix() {
    if (kind_ == 2 || kind_ == 3) cudaHostUnregister(data_);
    if (kind_ == 1)
      cudaFreeHost(data_);
    else if (kind_ >= 4)
      cudaFree(data_);
    else
      std::free(data_);
  }
  Matrix(const Matrix&) = delete;

  template <class Value>
  void fill(Value value) {
    std::vector<double> all(bytes_ / 8, NAN);
    for (int j = 0; j < cols_; ++j)
      for (int i = 0; i < rows_; ++i) all[i + size_t(j) * ld()] = value(i, j);
    copy(data_, all.data());
    cudaDeviceSynchronize();
  }
  std::vector<double> contents() const {
    std::vector<double> all(bytes_ / 8);
    copy(all.data(), data_);
    return all;
  }
  double* data() { return data_; }
  int ld() const { return rows_ + 3; }

 private:
  /// By CUDA where only it can: it refuses ranges of which a part is registered.
  void copy(double* to, const double* from) const {
    if (kind_ < 5)
      std::memcpy(to, from, bytes_);
    else
      expect(cudaMemcpy(to, from, bytes_, cudaMemcpyDefault) == cudaSuccess, "a copy of the program's own");
  }

  const int kind_, rows_, cols_;
  const size_t bytes_;
  double* data_ = nullptr;
};

/// C = A B + beta C with one nonzero a column of B: C[i,j] = A[i,(3 j) % k] + beta C[i,j].
void product_in(int a, int b, int c, double beta) {
  const int m = 700, n = 600, k = 500;
  Matrix A(a, m, k), B(b, k, n), C(c, m, n);
  A.fill([](int i, int p) { return double(i % 31 - p % 17); });
  B.fill([](int p, int j) { return double(p == 3 * j % k); });
  C.fill([beta](int i, int j) { return beta == 0 ? NAN : double(i - j); });
  const double one = 1;
  const int lda = A.ld(), ldb = B.ld(), ldc = C.ld();
  dgemm_("N", "N", &m, &n, &k, &one, A.data(), &lda, B.data(), &ldb, &beta, C.data(), &ldc, 1, 1);
  const std::vector<double> result = C.contents();
  bool good = true;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i)
      good &= result[i + size_t(j) * ldc] == double(i % 31 - 3 * j % k % 17) + (beta == 0 ? 0 : beta * (i - j));
    for (int i = m; i < ldc; ++i) good &= std::isnan(result[i + size_t(j) * ldc]);
  }
  const std::string what = std::string(Matrix::kinds[a]) + " x " + Matrix::kinds[b] + " -> " + Matrix::kinds[c];
  expect(good, what.c_str());
  if (good) std::printf("right: %s, beta %g\n", what.c_str(), beta);
}

__global__ void write_one(double* p) { *p = 1000; }

/// A stays the same until the GPU writes one element of it, through memory that the program registers meanwhile.
void written_by_the_gpu() {
  const int n = 1024;
  const double one = 1, zero = 0;
  Matrix A(0, n, n), B(0, n, n), C(0, n, n);
  A.fill([](int i, int j) { return double((i + 2 * j) % 9); });
  B.fill([](int p, int j) { return double(p == j); });
  const int ld = A.ld();
  double expected = 0;
  auto check = [&](const char* when) {
    dgemm_("N", "N", &n, &n, &n, &one, A.data(), &ld, B.data(), &ld, &zero, C.data(), &ld, 1, 1);
    bool good = true;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        good &= C.data()[i + size_t(j) * ld] == (i == 5 && j == 512 ? expected : double((i + 2 * j) % 9));
    expect(good, when);
    if (good) std::printf("right: %s\n", when);
  };
  expected = (5 + 2 * 512) % 9;
  for (int i = 0; i < 3; ++i) check("A stays");
  auto* middle = reinterpret_cast<double*>(reinterpret_cast<size_t>(A.data() + 5 + size_t(512) * ld) & ~size_t{4095});
  expect(cudaHostRegister(middle, size_t{3} << 20, cudaHostRegisterMapped) == cudaSuccess, "register");
  check("registered");
  double* there = nullptr;
  expect(cudaHostGetDevicePointer(&there, A.data() + 5 + size_t(512) * ld, 0) == cudaSuccess, "its device address");
  write_one<<<1, 1>>>(there);
  expect(cudaDeviceSynchronize() == cudaSuccess, "the kernel");
  expected = 1000;
  check("written by the GPU");
  expect(cudaHostUnregister(middle) == cudaSuccess, "unregister");
  check("no longer registered");
  check("and again");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "plain";
  product("first product");
  product("second product");
  if (mode == "current") {
    expect(current() == nullptr, "no context was current, and none is after products");
    expect(device_works(), "the program's own kernel");
    const CUcontext mine = current();
    product("with the primary context current");
    expect(current() == mine, "the current context is kept");
  } else if (mode == "capture") {
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    expect(cudaStreamCreate(&stream) == cudaSuccess, "a stream");
    expect(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess, "begin capture");
    product("during a capture");
    expect(cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph, "the capture survives");
  } else if (mode == "full") {
    std::vector<void*> taken;
    for (size_t bytes = size_t{8} << 30; bytes >= size_t{1} << 20; bytes /= 2)
      for (void* p = nullptr; cudaMalloc(&p, bytes) == cudaSuccess;) taken.push_back(p);
    cudaGetLastError();
    expect(taken.size() > 3, "the program has the device's memory");
    product("without room on the device", 2100);
    for (void* p : taken) cudaFree(p);
    product("with room again", 2100);
  } else if (mode == "places") {
    const int kinds = static_cast<int>(std::size(Matrix::kinds));
    for (int a = 0; a < kinds; ++a)
      for (const double beta : {0.0, 2.0}) {
        product_in(a, (a + 1) % kinds, (a + 2) % kinds, beta);
        product_in(a, a, a, beta);
        product_in((a + 3) % kinds, (a + 1) % kinds, a, beta);
      }
  } else if (mode == "registered") {
    written_by_the_gpu();
  } else if (mode == "reset") {
    for (int i = 0; i < 3; ++i) {
      expect(cudaDeviceReset() == cudaSuccess, "cudaDeviceReset");
      product("after a reset");
      expect(device_works(), "the program's own kernel after a reset");
      product("after a reset and use");
    }
  } else if (mode == "sticky") {
    bad_kernel<<<1, 1>>>(reinterpret_cast<int*>(8));
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("the program's own error: %s\n", cudaGetErrorString(error));
    expect(error != cudaSuccess, "the illegal address was noticed");
    product("after a sticky error");
    product("again after a sticky error");
    expect(cudaDeviceSynchronize() != cudaSuccess, "the error is still the program's to see");
  }
  std::printf(failures ? "%d failures\n" : "ok\n", failures);
  return failures ? 1 : 0;
}
