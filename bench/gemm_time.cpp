// Times gemm as a program sees it: operands in pageable host memory, results back there.  Links the ordinary BLAS;
// whatever is preloaded computes.
//
//   gemm_time s|d|z REPETITIONS N|MxNxK ...
//
// Prints a line a size: precision, m, n, k, median seconds, worst relative error of sampled entries.  Two sets of
// operands take turns, so that no call finds its own bytes in a cache.  Exit status 1 if an error is over its bound.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

extern "C" {
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*, std::size_t, std::size_t);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);
void zgemm_(const char*, const char*, const int*, const int*, const int*, const std::complex<double>*,
            const std::complex<double>*, const int*, const std::complex<double>*, const int*,
            const std::complex<double>*, std::complex<double>*, const int*, std::size_t, std::size_t);
}

namespace {

void gemm(const int* m, const int* n, const int* k, const float* alpha, const float* A, const float* B,
          const float* beta, float* C) {
  sgemm_("N", "N", m, n, k, alpha, A, m, B, k, beta, C, m, 1, 1);
}
void gemm(const int* m, const int* n, const int* k, const double* alpha, const double* A, const double* B,
          const double* beta, double* C) {
  dgemm_("N", "N", m, n, k, alpha, A, m, B, k, beta, C, m, 1, 1);
}
void gemm(const int* m, const int* n, const int* k, const std::complex<double>* alpha, const std::complex<double>* A,
          const std::complex<double>* B, const std::complex<double>* beta, std::complex<double>* C) {
  zgemm_("N", "N", m, n, k, alpha, A, m, B, k, beta, C, m, 1, 1);
}

/// splitmix64: fast enough to fill gigabytes, different for every element.
double uniform(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5;
}
void fill(float& x, std::uint64_t& s) { x = static_cast<float>(uniform(s)); }
void fill(double& x, std::uint64_t& s) { x = uniform(s); }
void fill(std::complex<double>& x, std::uint64_t& s) { x = {uniform(s), uniform(s)}; }

constexpr double warm_seconds = 3;

using Wide = std::complex<long double>;
Wide wide(float x) { return Wide(x); }
Wide wide(double x) { return Wide(x); }
Wide wide(std::complex<double> x) { return Wide(x.real(), x.imag()); }

template <class T>
struct Set {
  std::unique_ptr<T[]> A, B, C;  // new T[n] leaves the pages to the first touch below, like any program's
};

/// Largest error of sampled entries over its bound: (k + 2) * eps * sum |a||b|, the classical one, times 8 for the
/// complex products and blocked sums.
template <class T>
double worst(const Set<T>& set, int m, int n, int k) {
  using Real = decltype(std::abs(T()));
  std::uint64_t state = 12345;
  double largest = 0;
  for (int sample = 0; sample < 200; ++sample) {
    const auto i = static_cast<std::size_t>((uniform(state) + 0.5) * m),
               j = static_cast<std::size_t>((uniform(state) + 0.5) * n);
    Wide sum = 0;
    long double size = 0;
    for (std::size_t p = 0; p < static_cast<std::size_t>(k); ++p) {
      const Wide a = wide(set.A[i + p * static_cast<std::size_t>(m)]),
                 b = wide(set.B[p + j * static_cast<std::size_t>(k)]);
      sum += a * b;
      size += std::abs(a) * std::abs(b);
    }
    const long double error = std::abs(wide(set.C[i + j * static_cast<std::size_t>(m)]) - sum);
    const long double bound = 8 * (k + 2.0L) * std::numeric_limits<Real>::epsilon() * size;
    largest = std::max(largest, static_cast<double>(error / bound));
    if (!(error <= bound)) return INFINITY;  // NaN, too
  }
  return largest;
}

template <class T>
bool time_sizes(char precision, int repetitions, int count, char** sizes) {
  bool right = true;
  for (int s = 0; s < count; ++s) {
    int m = 0, n = 0, k = 0;
    if (std::sscanf(sizes[s], "%dx%dx%d", &m, &n, &k) != 3) m = n = k = std::atoi(sizes[s]);
    const auto size = [](int r, int c) { return static_cast<std::size_t>(r) * static_cast<std::size_t>(c); };
    Set<T> sets[2];
    std::uint64_t state = 42;
    for (Set<T>& set : sets) {
      set = {std::unique_ptr<T[]>(new T[size(m, k)]), std::unique_ptr<T[]>(new T[size(k, n)]),
             std::unique_ptr<T[]>(new T[size(m, n)])};
      for (std::size_t i = 0; i < size(m, k); ++i) fill(set.A[i], state);
      for (std::size_t i = 0; i < size(k, n); ++i) fill(set.B[i], state);
      std::memset(static_cast<void*>(set.C.get()), 0xff, size(m, n) * sizeof(T));  // NaN: beta = 0 must not read it
    }
    const T one(1), zero(0);
    std::vector<double> seconds;
    const auto call = [&](int which) {
      Set<T>& set = sets[which % 2];
      const auto start = std::chrono::steady_clock::now();
      gemm(&m, &n, &k, &one, set.A.get(), set.B.get(), &zero, set.C.get());
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    // Warm: each set once, then until whoever computes has had the time to start up what it starts up.
    double warm = 0;
    for (int i = 0; i < 2 || warm < warm_seconds; ++i) warm += call(i);
    for (int r = 0; r < repetitions; ++r) seconds.push_back(call(r));
    std::nth_element(seconds.begin(), seconds.begin() + repetitions / 2, seconds.end());
    const double error = std::max(worst(sets[0], m, n, k), worst(sets[1], m, n, k));
    right = right && error <= 1;
    std::printf("%c %d %d %d %.6f %.3g\n", precision, m, n, k, seconds[static_cast<std::size_t>(repetitions / 2)],
                error);
    std::fflush(stdout);
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 0;
  const std::string precision = argc > 1 ? argv[1] : "";
  if (argc < 4 || repetitions < 1 || (precision != "s" && precision != "d" && precision != "z")) {
    std::fprintf(stderr, "usage: gemm_time s|d|z REPETITIONS N|MxNxK ...\n");
    return 2;
  }
  const bool right = precision == "s"   ? time_sizes<float>('s', repetitions, argc - 3, argv + 3)
                     : precision == "d" ? time_sizes<double>('d', repetitions, argc - 3, argv + 3)
                                        : time_sizes<std::complex<double>>('z', repetitions, argc - 3, argv + 3);
  if (!right) std::fprintf(stderr, "gemm_time: a sampled entry is over its error bound\n");
  return right ? 0 : 1;
}
