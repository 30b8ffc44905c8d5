// Systolic products with everything on the device: the variants of kernels/systolic.hpp and the loops beside them,
// cuBLAS in a loop and its batched products.
//
//   systolic [--precision sd] [--sizes N,...] [--products S,...] [--variants G1,Gt,S1,St,L1,Lr,LS,shuffle,cublas]
//            [--t T,...] [--walks thesis,short,all] [--arrays one,fill] [--seconds SECONDS]
//   systolic --constants on [--precision sd]
//
// C := C + A B, S products of order N.  For each of them a line of JSON: the median and the least seconds of all S
// products, and "bits": whether every element of the result is the sum in the order of k with fused additions.  Walks:
// the thesis's (g = 2N - 1, all steps), the short one (g = N, steps without work skipped), or all four.  Arrays: one,
// which takes the products in a row, or as many as fill the device.  "printed" and "corrected" are the accesses that
// the cost model counts (kernels/systolic_model.hpp).
//
// --constants: seconds of an access by 256 threads to global memory and by 16 to shared memory, "alone" by one block,
// and "filled" by as many as the device holds, over their number (shared memory: over that of a multiprocessor).
// Accesses do not wait for each other.
//
// Status 1: bits of ours are wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cuda.hpp"
#include "kernels/cuda/systolic/systolic.hpp"
#include "kernels/systolic_model.hpp"

namespace {

using namespace blaslift::systolic;
using bench::check, bench::Memory, bench::Stream;
using Index = blaslift::index;

struct Arguments {
  std::string precisions = "d", sizes = "64,256,1024", products = "1,10",
              variants = "G1,Gt,S1,St,L1,Lr,LS,shuffle,cublas", t = "4,32", walks = "thesis,short", arrays = "one",
              constants = "off";
  double seconds = 0.1;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    found.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return found;
}
std::vector<Index> numbers_of(const std::string& text) {
  std::vector<Index> found;
  for (const std::string& word : words_of(text)) {
    found.push_back(std::atoll(word.c_str()));
    if (found.back() < 1) throw std::runtime_error("not a number above 0: " + word);
  }
  return found;
}

struct Times {
  double median, least;
  int rounds;
};

/// Of one call.
Times timed(double seconds, cudaStream_t stream, const std::function<void()>& call) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<double> times;
  double spent = 0;
  // The first is not counted, and of what takes long there are few.
  for (int round = 0; round < 2 || (spent < seconds && round < 1000); ++round) {
    check(cudaEventRecord(begin, stream));
    call();
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    if (round > 0) {
      times.push_back(1e-3 * milliseconds);
      spent += times.back();
    }
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), static_cast<int>(times.size())};
}

/// Numbers in [-0.5, 0.5) that their place makes.
template <class T>
__global__ void fill(T* to, Index count, unsigned seed) {
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < count; i += Index{gridDim.x} * blockDim.x) {
    unsigned long long z = (static_cast<unsigned long long>(seed) << 40) + static_cast<unsigned long long>(i) + 1;
    z *= 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    to[i] = static_cast<T>(static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5);
  }
}

template <class T>
__global__ void count_others(const T* x, const T* y, Index count, unsigned long long* others) {
  unsigned long long found = 0;
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < count; i += Index{gridDim.x} * blockDim.x) {
    const bool same =
        sizeof(T) == 8
            ? __double_as_longlong(static_cast<double>(x[i])) == __double_as_longlong(static_cast<double>(y[i]))
            : __float_as_int(static_cast<float>(x[i])) == __float_as_int(static_cast<float>(y[i]));
    found += same ? 0 : 1;
  }
  if (found > 0) atomicAdd(others, found);
}

void multiply(cublasHandle_t handle, int n, const Operands<double>& x, Index i) {
  check(cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &x.alpha, x.A + i * x.stride_a, x.lda,
                       x.B + i * x.stride_b, x.ldb, &x.beta, x.C + i * x.stride_c, x.ldc));
}
void multiply(cublasHandle_t handle, int n, const Operands<float>& x, Index i) {
  check(cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &x.alpha, x.A + i * x.stride_a, x.lda,
                       x.B + i * x.stride_b, x.ldb, &x.beta, x.C + i * x.stride_c, x.ldc));
}
void multiply_all(cublasHandle_t handle, int n, const Operands<double>& x, Index count) {
  check(cublasDgemmStridedBatched_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &x.alpha, x.A, x.lda, x.stride_a, x.B,
                                     x.ldb, x.stride_b, &x.beta, x.C, x.ldc, x.stride_c, count));
}
void multiply_all(cublasHandle_t handle, int n, const Operands<float>& x, Index count) {
  check(cublasSgemmStridedBatched_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &x.alpha, x.A, x.lda, x.stride_a, x.B,
                                     x.ldb, x.stride_b, &x.beta, x.C, x.ldc, x.stride_c, count));
}

/// S products of order N, and what comes of them.
template <class T>
class Problem {
 public:
  Problem(int n, Index count, cudaStream_t stream)
      : n_(n), count_(count), elements_(Index{n} * n * count), stream_(stream) {
    set(A_.template as<T>(), 1);
    set(B_.template as<T>(), 2);
    reset();
    // The loop with a sum in a register, by all of the device; and some of its elements by the host.
    check(start(Variant::lr, {n, n, n, 1, n}, filling(n, n, count), operands(), stream));
    check(cudaMemcpyAsync(due_.as(), C_.as(), bytes(), cudaMemcpyDeviceToDevice, stream));
    check(cudaStreamSynchronize(stream));
    for (int i = 0; i < 24; ++i)
      if (!sample(i)) throw std::runtime_error("the reference is not the host's sum in the order of k");
  }

  Operands<T> operands() const {
    const Index stride = Index{n_} * n_;
    return {A_.template as<T>(), n_, stride, B_.template as<T>(), n_, stride, C_.template as<T>(), n_, stride};
  }
  void reset() { set(C_.template as<T>(), 3); }
  /// After reset() and one call.
  bool right() {
    check(cudaMemsetAsync(others_.as(), 0, sizeof(unsigned long long), stream_));
    count_others<<<1024, 256, 0, stream_>>>(C_.template as<T>(), due_.template as<T>(), elements_,
                                            others_.template as<unsigned long long>());
    check(cudaGetLastError());
    unsigned long long others = 1;
    check(cudaMemcpyAsync(&others, others_.as(), sizeof others, cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    return others == 0;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(elements_) * sizeof(T); }
  void set(T* at, unsigned seed) {
    fill<<<1024, 256, 0, stream_>>>(at, elements_, seed);
    check(cudaGetLastError());
  }
  /// One element, of the first, the last, or any.
  bool sample(int which) {
    const auto place = [&](Index end, int salt) {
      return which == 0 ? 0 : which == 1 ? end - 1 : (Index{which} * 7919 + salt * 104729) % end;
    };
    const Index product = place(count_, 1), i = place(n_, 2), j = place(n_, 3), at = product * n_ * n_;
    std::vector<T> row(static_cast<std::size_t>(n_)), column(row);
    T c, due;
    check(cudaMemcpy2D(row.data(), sizeof(T), A_.template as<T>() + at + i, sizeof(T) * static_cast<std::size_t>(n_),
                       sizeof(T), static_cast<std::size_t>(n_), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(column.data(), B_.template as<T>() + at + j * n_, sizeof(T) * static_cast<std::size_t>(n_),
                     cudaMemcpyDeviceToHost));
    check(cudaMemcpy(&due, due_.template as<T>() + at + i + j * n_, sizeof(T), cudaMemcpyDeviceToHost));
    reset();
    check(cudaStreamSynchronize(stream_));
    check(cudaMemcpy(&c, C_.template as<T>() + at + i + j * n_, sizeof(T), cudaMemcpyDeviceToHost));
    for (std::size_t v = 0; v < row.size(); ++v) c = std::fma(row[v], column[v], c);
    return std::memcmp(&c, &due, sizeof(T)) == 0;
  }

  int n_;
  Index count_, elements_;
  cudaStream_t stream_;
  Memory A_{bytes()}, B_{bytes()}, C_{bytes()}, due_{bytes()}, others_{sizeof(unsigned long long)};
};

template <class T>
class Measured {
 public:
  Measured(const Arguments& arguments, char letter, int n, Index count)
      : arguments_(arguments), letter_(letter), n_(n), count_(count), problem_(n, count, stream_.get) {
    check(cublasCreate(&handle_));
    check(cublasSetStream(handle_, stream_.get));
  }
  ~Measured() { cublasDestroy(handle_); }
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

  bool all() {
    bool good = true;
    for (const std::string& name : words_of(arguments_.variants)) {
      if (name == "cublas") {
        by_cublas();
        continue;
      }
      int found = 0;
      while (found < variants && name != name_of(static_cast<Variant>(found))) ++found;
      if (found == variants) throw std::runtime_error("no such variant: " + name);
      good = of(static_cast<Variant>(found)) && good;
    }
    return good;
  }

 private:
  bool of(Variant variant) {
    bool good = true;
    for (const std::string& arrays : words_of(arguments_.arrays)) {
      const Deal deal = arrays == "fill" ? filling(n_, n_, count_) : Deal{count_};
      if (arrays == "fill" && deal.arrays == 1) continue;
      for (const Index t : has_steps(variant) ? numbers_of(arguments_.t) : std::vector<Index>{1})
        for (const bool far : {true, false})
          for (const bool skips : {false, true})
            if (wanted(far, skips) && (is_array(variant) || (!far && skips)))
              good = time(variant, {n_, n_, n_, 1, far ? 2 * n_ - 1 : n_, static_cast<int>(t), skips}, deal) && good;
    }
    return good;
  }
  /// Loops have no walk: they are measured once, with the short one.
  bool wanted(bool far, bool skips) const {
    for (const std::string& walk : words_of(arguments_.walks))
      if (walk == "all" || (walk == "thesis" && far && !skips) || (walk == "short" && !far && skips)) return true;
    return false;
  }

  bool time(Variant variant, const Schedule& schedule, const Deal& deal) {
    const auto call = [&] { check(start(variant, schedule, deal, problem_.operands(), stream_.get)); };
    problem_.reset();
    call();
    const bool right = problem_.right();
    const Times times = timed(arguments_.seconds, stream_.get, call);
    head(name_of(variant));
    if (is_array(variant))
      std::printf("\"t\": %d, \"g\": %d, \"skips\": %s, ", schedule.t, schedule.g, schedule.skips ? "true" : "false");
    std::printf("\"arrays\": %lld, ", static_cast<long long>(deal.arrays));
    if (deal.arrays == 1) {
      const double N = n_, S = static_cast<double>(count_), t = schedule.t;
      const auto model = [&](const char* name, double steps, bool corrected) {
        const Accesses x = accesses(variant, {N, S, steps, t}, corrected);
        std::printf("\"%s\": {\"global\": %.10g, \"shared\": %.10g}, ", name, x.global, x.shared);
      };
      model("printed", steps_of(N, S, schedule.g), false);
      // All blocks are alike, and of what is skipped there is nothing to count.
      model("corrected", schedule.skips ? N + 2 * edge - 2 + (S - 1) * schedule.g : steps_of(N, S, schedule.g), true);
    }
    tail(times, right);
    return right;
  }

  void by_cublas() {
    Operands<T> x = problem_.operands();
    const auto loop = [&] {
      for (Index i = 0; i < count_; ++i) multiply(handle_, n_, x, i);
    };
    const auto batch = [&] { multiply_all(handle_, n_, x, count_); };
    const auto measure = [&](const char* name, const std::function<void()>& call) {
      problem_.reset();
      call();
      const bool same = problem_.right();
      const Times times = timed(arguments_.seconds, stream_.get, call);
      head(name);
      tail(times, same);
    };
    measure("cublas loop", loop);
    measure("cublas batch", batch);
  }

  void head(const char* name) const {
    std::printf("{\"variant\": \"%s\", \"precision\": \"%c\", \"N\": %d, \"S\": %lld, ", name, letter_, n_,
                static_cast<long long>(count_));
  }
  void tail(const Times& times, bool bits) const {
    const double flops = 2 * std::pow(n_, 3.0) * static_cast<double>(count_);
    std::printf("\"seconds\": %.4g, \"least\": %.4g, \"rounds\": %d, \"GFLOP/s\": %.5g, \"bits\": %s}\n", times.median,
                times.least, times.rounds, 1e-9 * flops / times.median, bits ? "true" : "false");
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  char letter_;
  int n_;
  Index count_;
  Stream stream_;
  cublasHandle_t handle_ = nullptr;
  Problem<T> problem_;
};

constexpr int model_threads = 256, half_warp = 16;

/// Each access is of elements beside each other, none of which another access has.
template <class T>
__global__ void __launch_bounds__(model_threads) read_global(const T* from, Index elements, int accesses, T* to) {
  T sum[4] = {};
  const Index stride = Index{model_threads} * gridDim.x;
  Index at = Index{blockIdx.x} * model_threads + threadIdx.x;
  for (int i = 0; i < accesses; i += 4) {
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      sum[q] += __ldcs(from + at);
      at += stride;
      if (at >= elements) at -= elements;
    }
  }
  to[blockIdx.x * model_threads + threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}
template <class T>
__global__ void __launch_bounds__(model_threads) read_shared(int accesses, T* to) {
  constexpr int words = 4 * model_threads;
  __shared__ T of_block[words];
  for (int i = static_cast<int>(threadIdx.x); i < words; i += model_threads) of_block[i] = static_cast<T>(i);
  __syncthreads();
  const volatile T* const from = of_block;
  T sum[4] = {};
  for (int i = 0; i < accesses; i += 4) {
#pragma unroll
    for (int q = 0; q < 4; ++q) sum[q] += from[q * model_threads + static_cast<int>(threadIdx.x)];
  }
  to[blockIdx.x * model_threads + threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}

template <class T>
void constants(char letter) {
  const Stream stream;
  int device = 0, multiprocessors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const int full = 8 * multiprocessors;  // all that a multiprocessor has threads for
  // Larger than any second-level cache, and a multiple of what all blocks read at once.
  const Index step = Index{full} * model_threads, elements = ((Index{1} << 30) / Index{sizeof(T)} / step + 1) * step;
  const Memory from(static_cast<std::size_t>(elements) * sizeof(T)), to(static_cast<std::size_t>(step) * sizeof(T));
  fill<<<1024, 256, 0, stream.get>>>(from.as<T>(), elements, 1);
  check(cudaGetLastError());
  // Of a longer run less a shorter one: without the launch.
  const auto seconds_of = [&](int accesses, const std::function<void(int)>& run) {
    const double once = timed(0.05, stream.get, [&] { run(accesses); }).median,
                 twice = timed(0.05, stream.get, [&] { run(2 * accesses); }).median;
    return (twice - once) / accesses;
  };
  const auto global = [&](int blocks) {
    return seconds_of(blocks == 1 ? 1 << 15 : 1 << 10, [&](int accesses) {
      read_global<<<static_cast<unsigned>(blocks), model_threads, 0, stream.get>>>(from.as<T>(), elements, accesses,
                                                                                   to.as<T>());
      check(cudaGetLastError());
    });
  };
  const auto shared = [&](int blocks) {
    return seconds_of(1 << 15, [&](int accesses) {
      read_shared<<<static_cast<unsigned>(blocks), model_threads, 0, stream.get>>>(accesses, to.as<T>());
      check(cudaGetLastError());
    });
  };
  constexpr double groups = model_threads / half_warp;
  std::printf(
      "{\"constants\": true, \"precision\": \"%c\", \"multiprocessors\": %d, "
      "\"lgm\": {\"alone\": %.5g, \"filled\": %.5g}, \"lsm\": {\"alone\": %.5g, \"filled\": %.5g}}\n",
      letter, multiprocessors, global(1), global(full) / full, shared(1) / groups,
      shared(full) / groups * multiprocessors / full);
  std::fflush(stdout);
}

template <class T>
bool measure(const Arguments& arguments, char letter) {
  if (arguments.constants == "on") {
    constants<T>(letter);
    return true;
  }
  bool good = true;
  for (const Index n : numbers_of(arguments.sizes))
    for (const Index count : numbers_of(arguments.products)) {
      if (n > 1 << 16) throw std::runtime_error("N is 65,536 at most");
      good = Measured<T>(arguments, letter, static_cast<int>(n), count).all() && good;
    }
  return good;
}

}  // namespace

int main(int count, char** words) try {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string option = words[i];
    if (i + 1 == count) throw std::runtime_error(option + " has no value");
    const char* const value = words[i + 1];
    if (option == "--precision")
      arguments.precisions = value;
    else if (option == "--sizes")
      arguments.sizes = value;
    else if (option == "--products")
      arguments.products = value;
    else if (option == "--variants")
      arguments.variants = value;
    else if (option == "--t")
      arguments.t = value;
    else if (option == "--walks")
      arguments.walks = value;
    else if (option == "--arrays")
      arguments.arrays = value;
    else if (option == "--constants")
      arguments.constants = value;
    else if (option == "--seconds")
      arguments.seconds = std::atof(value);
    else
      throw std::runtime_error("unknown option " + option);
  }
  bool good = true;
  for (const char letter : arguments.precisions) {
    if (letter != 's' && letter != 'd') throw std::runtime_error("precisions are some of sd");
    good = (letter == 's' ? measure<float>(arguments, letter) : measure<double>(arguments, letter)) && good;
  }
  return good ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
