// Compiled without contraction: the GPU has to find the same bits.
#include "kernels/host/residues.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/residues.hpp"

namespace blaslift {
namespace {

using namespace residues;
using arithmetic::Complex;

template <class T>
constexpr int parts_of = sizeof(T) / sizeof(Real<T>);
template <class R>
R part(R x, int) {
  return x;
}
template <class R>
R part(Complex<R> x, int which) {
  return which == 0 ? x.re : x.im;
}

/// op(A)'s rows or op(B)'s columns, as integers.
struct Split {
  std::vector<Scaling> scaling;
  std::vector<std::int64_t> integers;  ///< k of each, with their parts side by side
  double sum = 0;                      ///< the largest
};

template <class T>
Split split(const T* at, index distance, index step, index count, index k, Op op) {
  constexpr int parts = parts_of<T>;
  Split x{std::vector<Scaling>(static_cast<std::size_t>(count)), {}};
  x.integers.reserve(static_cast<std::size_t>(count * k * parts));
  for (index i = 0; i < count; ++i) {
    const auto element = [&](index h, int which) {
      const T value = arithmetic::conjugate_if(op == Op::conjugate, at[i * distance + h * step]);
      return static_cast<double>(part(value, which));
    };
    double largest = 0;
    bool finite = true;
    for (index h = 0; h < k; ++h)
      for (int which = 0; which < parts; ++which) {
        const double magnitude = std::fabs(element(h, which));
        finite = finite && std::isfinite(magnitude);
        largest = std::max(largest, magnitude);
      }
    Found found;
    if (finite && largest > 0) {
      const int top = magnitude_of(largest).top();
      for (index h = 0; h < k; ++h) {
        int below = Found::fractions;
        for (int which = 0; which < parts; ++which)
          if (element(h, which) != 0) below = std::min(below, top - found.add(element(h, which), top));
        for (int s = below; s < Found::fractions; ++s) ++found.within[s];
      }
    }
    const Scaling scaling =
        scaling_of(finite ? largest : HUGE_VAL, found, k, parts, root_of_moduli<count_of<Real<T>>>());
    x.sum = std::max(x.sum, scaling.sum);
    x.scaling[static_cast<std::size_t>(i)] = scaling;
    const double near = power_of_two(scaling.exponent / 2), far = power_of_two(scaling.exponent - scaling.exponent / 2);
    for (index h = 0; h < k; ++h)
      for (int which = 0; which < parts; ++which)
        x.integers.push_back(finite ? static_cast<std::int64_t>(scaled(element(h, which), near, far)) : 0);
  }
  return x;
}

double error_of(const Split& x, const Split& other) {
  double error = 0;
  for (const Scaling& scaling : x.scaling) error = std::max(error, residues::error_of(scaling, other.sum));
  return error;
}

float joined(float, int128 sum, int exponent) {
  return times_power(rounded(float{}, static_cast<std::int64_t>(sum)), exponent);
}
double joined(double, int128 sum, int exponent) { return times_power(rounded(double{}, sum), exponent); }

template <class R>
R product(R, const std::int64_t* x, const std::int64_t* y, index k, int exponent) {
  int128 sum = 0;
  for (index h = 0; h < k; ++h) sum += static_cast<int128>(x[h]) * y[h];
  return joined(R{}, sum, exponent);
}
template <class R>
Complex<R> product(Complex<R>, const std::int64_t* x, const std::int64_t* y, index k, int exponent) {
  int128 re = 0, im = 0;
  for (index h = 0; h < 2 * k; h += 2) {
    re += static_cast<int128>(x[h]) * y[h] - static_cast<int128>(x[h + 1]) * y[h + 1];
    im += static_cast<int128>(x[h]) * y[h + 1] + static_cast<int128>(x[h + 1]) * y[h];
  }
  return {joined(R{}, re, exponent), joined(R{}, im, exponent)};
}

template <class T>
bool multiply(const GemmByResidues& p) {
  const bool rows = p.transa == Op::none, cols = p.transb == Op::none;
  const Split a = split(static_cast<const T*>(p.A), rows ? 1 : p.lda, rows ? p.lda : 1, p.m, p.k, p.transa),
              b = split(static_cast<const T*>(p.B), cols ? p.ldb : 1, cols ? 1 : p.ldb, p.n, p.k, p.transb);
  if (!acceptable(error_of(a, b), error_of(b, a), limit_of<Real<T>>(p.k))) return false;
  T alpha, beta;
  std::memcpy(&alpha, p.alpha, sizeof alpha);
  std::memcpy(&beta, p.beta, sizeof beta);
  for (index j = 0; j < p.n; ++j)
    for (index i = 0; i < p.m; ++i) {
      const int exponent =
          a.scaling[static_cast<std::size_t>(i)].exponent + b.scaling[static_cast<std::size_t>(j)].exponent;
      const T x = product(T{}, a.integers.data() + i * p.k * parts_of<T>, b.integers.data() + j * p.k * parts_of<T>,
                          p.k, -exponent);
      T* const to = static_cast<T*>(p.C) + i + j * p.ldc;
      *to = arithmetic::updated(alpha, x, beta, to);
    }
  return true;
}

}  // namespace

bool multiply_by_residues(const GemmByResidues& p) {
  switch (p.precision) {
    case Precision::s: return multiply<float>(p);
    case Precision::d: return multiply<double>(p);
    case Precision::c: return multiply<Complex<float>>(p);
    case Precision::z: return multiply<Complex<double>>(p);
  }
  return false;
}

}  // namespace blaslift
