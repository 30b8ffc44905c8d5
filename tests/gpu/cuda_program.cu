// A program that uses CUDA itself between its BLAS calls, in the ways that have broken interposers.
//
//   cuda_program plain|current|capture|reset|sticky|full
//
//   plain    products only
//   current  another current context (none, and a driver context of its own) is the same after each product
//   capture  a product while this thread captures a graph: the capture survives
//   reset    cudaDeviceReset between products
//   full     the program takes all of the device's memory, and gives it back
//   sticky   a kernel of the program's own ends its context with an illegal address
//
// Every product is checked; prints what it saw and "ok" last, or exits 1.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
