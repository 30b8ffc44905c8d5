// A product by residues as kernels/residues.hpp defines it, once more: with the standard library's functions, and
// without residues.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/host/residues.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::reference {

__extension__ typedef __int128 Int128;

/// A row of op(A), or a column of op(B); of complex numbers with its parts side by side.
template <class T>
struct Scaled {
  int exponent = 0;
  std::vector<Int128> integers{};

  explicit Scaled(const std::vector<T>& x) {
    long double product = 1;
    const std::vector<int> moduli = sizeof(Real<T>) == 4 ? std::vector<int>{256, 255, 253, 251, 247, 241, 239}
                                                         : std::vector<int>{256, 255, 253, 251, 247, 241, 239, 233,
                                                                            229, 227, 223, 217, 211, 199, 197};
    for (const int p : moduli) product *= p;
    std::vector<double> parts;
    for (const T& e : x) {
      parts.push_back(static_cast<double>(std::real(e)));
      if (complex_type<T>) parts.push_back(static_cast<double>(std::imag(e)));
    }
    double largest = 0;
    for (const double e : parts) largest = std::max(largest, std::fabs(e));
    if (largest > 0) {
      // In units of the largest magnitude's leading bit, over 512.
      const int unit = std::ilogb(largest) - 9;
      double squares = 0;
      for (const double e : parts) {
        const double units = std::ceil(std::ldexp(std::fabs(e), -unit));
        squares += units * units;
      }
      const double root = std::sqrt(static_cast<double>(product) * 0.495),
                   room = root - std::sqrt(static_cast<double>(parts.size())) / 2;
      exponent = std::ilogb(room / std::sqrt(squares)) - unit;
    }
    for (const double e : parts)
      integers.push_back(static_cast<Int128>(std::rint(std::ldexp(static_cast<long double>(e), exponent))));
  }
};

/// What the definition says of an element, before alpha and beta.
template <class T>
T exactly(const Scaled<T>& a, const Scaled<T>& b) {
  const auto value = [&](Int128 sum) { return std::ldexp(static_cast<Real<T>>(sum), -(a.exponent + b.exponent)); };
  Int128 re = 0, im = 0;
  const auto &x = a.integers, &y = b.integers;
  if constexpr (!complex_type<T>) {
    for (std::size_t h = 0; h < x.size(); ++h) re += x[h] * y[h];
    return value(re);
  } else {
    for (std::size_t h = 0; h < x.size(); h += 2) {
      re += x[h] * y[h] - x[h + 1] * y[h + 1];
      im += x[h] * y[h + 1] + x[h + 1] * y[h];
    }
    return {value(re), value(im)};
  }
}

template <class R>
R fused_product(R a, R x, R sum) {
  return std::fma(a, x, sum);
}
template <class R>
std::complex<R> fused_product(std::complex<R> a, std::complex<R> x, std::complex<R> sum) {
  return {std::fma(-a.imag(), x.imag(), std::fma(a.real(), x.real(), sum.real())),
          std::fma(a.imag(), x.real(), std::fma(a.real(), x.imag(), sum.imag()))};
}
template <class R>
R rounded_product(R a, R x) {
  return a * x;
}
template <class R>
std::complex<R> rounded_product(std::complex<R> a, std::complex<R> x) {
  return {std::fma(-a.imag(), x.imag(), a.real() * x.real()), std::fma(a.real(), x.imag(), a.imag() * x.real())};
}

/// Of all of C.
template <class T>
void by_residues(const Gemm& g) {
  const T *const A = static_cast<const T*>(g.A), *const B = static_cast<const T*>(g.B);
  const T alpha = *static_cast<const T*>(g.alpha), beta = *static_cast<const T*>(g.beta);
  const auto conjugated = [](T x, Op op) {
    if constexpr (complex_type<T>)
      if (op == Op::conjugate) return std::conj(x);
    return x;
  };
  std::vector<Scaled<T>> rows, cols;
  std::vector<T> x(static_cast<std::size_t>(g.k));
  for (index i = 0; i < g.m; ++i) {
    for (index h = 0; h < g.k; ++h)
      x[static_cast<std::size_t>(h)] = conjugated(g.transa == Op::none ? A[i + h * g.lda] : A[h + i * g.lda], g.transa);
    rows.emplace_back(x);
  }
  for (index j = 0; j < g.n; ++j) {
    for (index h = 0; h < g.k; ++h)
      x[static_cast<std::size_t>(h)] = conjugated(g.transb == Op::none ? B[h + j * g.ldb] : B[j + h * g.ldb], g.transb);
    cols.emplace_back(x);
  }
  for (index j = 0; j < g.n; ++j)
    for (index i = 0; i < g.m; ++i) {
      T& c = static_cast<T*>(g.C)[i + j * g.ldc];
      const T value =
          rounded_product(alpha, exactly(rows[static_cast<std::size_t>(i)], cols[static_cast<std::size_t>(j)]));
      c = beta == T(0) ? value : beta == T(1) ? c + value : fused_product(beta, c, value);
    }
}

/// As a device would compute it that splits rows and columns when it is told to: what has not been split by then shows.
inline void split_and_multiply(const GemmByResidues& g) {
  const auto is_split = [](const ResidueMemory& memory, index first, index count, bool make) {
    constexpr char split = 1;  // no canary's byte
    char* const marks = static_cast<char*>(memory.at) + first;
    if (make) std::fill_n(marks, count, split);
    return std::all_of(marks, marks + count, [](char mark) { return mark == split; });
  };
  const bool a = is_split(g.split_a, g.first_a, g.m, g.make_a), b = is_split(g.split_b, g.first_b, g.n, g.make_b);
  if (!a || !b)
    fill_with_canaries(g.C, element_size(g.precision) * static_cast<std::size_t>(g.m));
  else if (!multiply_by_residues(g))
    naive(g);
}

}  // namespace blaslift::reference
