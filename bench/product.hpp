// What the timing programs share: gemm by its Fortran names, operands made by several threads, and a check of sampled
// entries in higher precision.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
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

namespace bench {

inline void gemm(int m, int n, int k, const float* A, const float* B, float beta, float* C) {
  const float one = 1;
  sgemm_("N", "N", &m, &n, &k, &one, A, &m, B, &k, &beta, C, &m, 1, 1);
}
inline void gemm(int m, int n, int k, const double* A, const double* B, double beta, double* C) {
  const double one = 1;
  dgemm_("N", "N", &m, &n, &k, &one, A, &m, B, &k, &beta, C, &m, 1, 1);
}
inline void gemm(int m, int n, int k, const std::complex<double>* A, const std::complex<double>* B,
                 std::complex<double> beta, std::complex<double>* C) {
  const std::complex<double> one = 1;
  zgemm_("N", "N", &m, &n, &k, &one, A, &m, B, &k, &beta, C, &m, 1, 1);
}

/// Calls body(first, last) for parts of [0, count) on `threads` threads (0: as many as there are cores).
template <class Body>
void in_parallel(std::size_t count, const Body& body, unsigned threads = 0) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t)
    others.emplace_back([&body, count, t, threads] { body(count * t / threads, count * (t + 1) / threads); });
  body(std::size_t{0}, count / threads);
  for (std::thread& other : others) other.join();
}

/// The i-th number of splitmix64's sequence number `seed`, in [-0.5, 0.5): different for every element, whichever
/// thread asks for it.
inline double uniform(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = (seed << 32) + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5;
}
inline void set_uniform(float& x, std::uint64_t seed, std::uint64_t i) { x = static_cast<float>(uniform(seed, i)); }
inline void set_uniform(double& x, std::uint64_t seed, std::uint64_t i) { x = uniform(seed, i); }
inline void set_uniform(std::complex<double>& x, std::uint64_t seed, std::uint64_t i) {
  x = {uniform(seed, 2 * i), uniform(seed, 2 * i + 1)};
}

template <class T>
void fill_uniform(T* x, std::size_t count, std::uint64_t seed) {
  in_parallel(count, [x, seed](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) set_uniform(x[i], seed, i);
  });
}

template <class T>
void fill(T* x, std::size_t count, T value) {
  in_parallel(count, [x, value](std::size_t first, std::size_t last) { std::fill(x + first, x + last, value); });
}

constexpr std::size_t elements(int rows, int cols) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
}

/// C := A B + beta C, operands packed, in pageable memory that fill_uniform or fill touches first, as any program's.
template <class T>
struct Product {
  int m, n, k;
  T beta;
  std::unique_ptr<T[]> A{new T[elements(m, k)]}, B{new T[elements(k, n)]}, C{new T[elements(m, n)]};

  /// Random operands.  With beta = 0 C is all NaN: it must not be read.
  void make(std::uint64_t seed) {
    fill_uniform(A.get(), elements(m, k), 3 * seed + 1);
    fill_uniform(B.get(), elements(k, n), 3 * seed + 2);
    if (beta == T(0))
      fill(C.get(), elements(m, n), T(std::numeric_limits<double>::quiet_NaN()));
    else
      fill_uniform(C.get(), elements(m, n), 3 * seed + 3);
  }

  void call() { gemm(m, n, k, A.get(), B.get(), beta, C.get()); }
};

/// Sampled entries of one product: remember() what C holds before the call, then worst_error() after it.
template <class T>
class Samples {
 public:
  Samples(const Product<T>& product, int count) : p_(product) {
    for (int s = 0; s < count; ++s) add(random(p_.m), random(p_.n));
  }

  /// One more sample, in this row and some column.
  void add_in_row(std::size_t row) { add(row, random(p_.n)); }

  void remember() {
    if (p_.beta == T(0)) return;
    for (Sample& s : samples_) s.before = wide(p_.C[s.row + s.col * leading(p_.m)]);
  }

  /// The largest error over its bound: (k + 2) * eps * (sum |a||b| + |beta c|), the classical one, times 8 for complex
  /// products and blocked sums.  Above 1 (NaN counts as that) the product is wrong.
  double worst_error() const {
    using Real = decltype(std::abs(T()));
    long double largest = 0;
    for (const Sample& s : samples_) {
      Wide sum = wide(p_.beta) * s.before;
      long double size = std::abs(sum);
      for (std::size_t l = 0; l < leading(p_.k); ++l) {
        const Wide a = wide(p_.A[s.row + l * leading(p_.m)]), b = wide(p_.B[l + s.col * leading(p_.k)]);
        sum += a * b;
        size += std::abs(a) * std::abs(b);
      }
      const long double error = std::abs(wide(p_.C[s.row + s.col * leading(p_.m)]) - sum);
      const long double bound = 8 * (p_.k + 2.0L) * std::numeric_limits<Real>::epsilon() * size;
      if (!(error <= bound)) return wrong;
      largest = std::max(largest, error / bound);
    }
    return static_cast<double>(largest);
  }

 private:
  static constexpr double wrong = 1e99;  // JSON has no infinity

  using Wide = std::complex<long double>;
  static Wide wide(float x) { return x; }
  static Wide wide(double x) { return x; }
  static Wide wide(std::complex<double> x) { return {x.real(), x.imag()}; }

  struct Sample {
    std::size_t row, col;
    Wide before;
  };
  static std::size_t leading(int rows) { return static_cast<std::size_t>(rows); }
  void add(std::size_t row, std::size_t col) { samples_.push_back({row, col, 0}); }
  std::size_t random(int bound) { return static_cast<std::size_t>((uniform(12345, drawn_++) + 0.5) * bound); }

  const Product<T>& p_;
  std::vector<Sample> samples_;
  std::uint64_t drawn_ = 0;
};

/// The middle one of an odd number, the upper of the two middle ones otherwise.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace bench
