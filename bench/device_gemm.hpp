// What levels_time and levels_in_turns share: operands of a product on the device, made anew for every call and checked
// in samples; gemm by an address; and options.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "bench/samples.hpp"

namespace bench {

/// sgemm_, dgemm_, cgemm_, zgemm_: what they take is given as memory.
using GemmEntry = void (*)(const char*, const char*, const int*, const int*, const int*, const void*, const void*,
                           const int*, const void*, const int*, const void*, void*, const int*, std::size_t,
                           std::size_t);

template <class T>
void gemm(GemmEntry entry, const Call<T>& x) {
  using R = typename Real<T>::type;
  const R one[2] = {1, 0}, beta[2] = {static_cast<R>(x.beta), 0};
  entry(&x.transa, &x.transb, &x.m, &x.n, &x.k, one, x.A, &x.lda, x.B, &x.ldb, beta, x.C, &x.m, 1, 1);
}

struct Size {
  int m, n, k;
};

inline Size size_of(const std::string& word) {
  Size s{};
  if (std::sscanf(word.c_str(), "%dx%dx%d", &s.m, &s.n, &s.k) != 3) s.m = s.n = s.k = std::atoi(word.c_str());
  if (std::min({s.m, s.n, s.k}) < 1) throw std::runtime_error(word + " is neither N nor MxNxK");
  return s;
}

/// A and B uniform in [-1, 1]; C as well where it is read, and all NaN where it is not.
template <class T>
class DeviceProduct {
  using R = typename Real<T>::type;
  static constexpr index reals = sizeof(T) / sizeof(R);

 public:
  /// @param with_samples  whether there are `rows` and `cols`
  DeviceProduct(const Size& size, char transa, char transb, double beta, bool with_samples)
      : A(static_cast<index>(size.m) * size.k),
        B(static_cast<index>(size.k) * size.n),
        C(static_cast<index>(size.m) * size.n),
        call{transa,
             transb,
             size.m,
             size.n,
             size.k,
             A.get(),
             transa == 'N' ? size.m : size.k,
             B.get(),
             transb == 'N' ? size.k : size.n,
             beta,
             C.get()} {
    if (!with_samples) return;
    const auto [m, n, k] = size;
    const View<T> a = view(call.A, call.lda, transa), b = view(call.B, call.ldb, transb), c = view<T>(call.C, m, 'N');
    rows = std::make_unique<Samples<T>>(a, b, c, m, n, k, 1);
    cols = std::make_unique<Samples<T>>(b.swapped(), a.swapped(), c.swapped(), n, m, k, 2);
  }

  double flops() const { return (is_complex<T> ? 8.0 : 2.0) * call.m * call.n * call.k; }

  /// A wrong block is off by about the largest entry.  The bound is far below that and far above what was ever seen.
  double bound() const { return 8.0 * std::numeric_limits<R>::epsilon() * std::max(call.k, 64); }

  void fill_inputs(std::uint64_t seed) {
    fill_uniform(A, 3 * seed);
    fill_uniform(B, 3 * seed + 1);
    finish();
  }
  void fill(std::uint64_t seed) {
    if (call.beta == 0)
      for_each(C.count() * reals, Fill<R>{reinterpret_cast<R*>(C.get()), std::numeric_limits<R>::quiet_NaN()});
    else
      fill_uniform(C, 3 * seed + 2);
    fill_inputs(seed);
    if (rows && call.beta != 0) rows->take_before(), cols->take_before();
  }

  Array<T> A, B, C;
  const Call<T> call;
  std::unique_ptr<Samples<T>> rows, cols;

 private:
  static void fill_uniform(const Array<T>& x, std::uint64_t seed) {
    for_each(x.count() * reals, FillUniform<R>{reinterpret_cast<R*>(x.get()), seed});
  }
};

/// An option and its value.
struct Option {
  std::string name, value;

  char one_of(const char* letters, std::size_t at) const {
    if (value.size() <= at || !std::strchr(letters, value[at])) wrong();
    return value[at];
  }
  double number(double least) const {
    const double x = std::atof(value.c_str());
    if (!(x >= least)) wrong();
    return x;
  }
  bool on() const {
    if (value != "on" && value != "off") wrong();
    return value == "on";
  }
  [[noreturn]] void wrong() const { throw std::runtime_error(name + " " + value); }
};

/// take(Option) for all of them, which says whether there is such an option.
template <class Take>
void read_options(char** words, const Take& take) {
  for (++words; *words; ++words) {
    const std::string name = *words;
    if (!*++words) throw std::runtime_error(name + " has no value");
    if (!take(Option{name, *words})) throw std::runtime_error("no such option: " + name);
  }
}

/// run(T{}) of the type that sdcz names; the program's exit status.
template <class Run>
int by_precision(const char* program, const char* seen_in, char precision, const Run& run) {
  const bool right = precision == 's'   ? run(float{})
                     : precision == 'd' ? run(double{})
                     : precision == 'c' ? run(Complex<float>{})
                                        : run(Complex<double>{});
  if (!right) std::fprintf(stderr, "%s: a result is wrong: see \"%s\"\n", program, seen_in);
  return right ? 0 : 1;
}

}  // namespace bench
