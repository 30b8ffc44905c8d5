// What the tests compare with: matrices whose unused storage holds canaries, and products computed the slow and sure
// way, in higher precision, sharing no code with the library or with any BLAS.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "impl/core/args.hpp"

namespace blaslift::reference {

template <class T>
inline constexpr bool complex_type = !std::is_same_v<T, Real<T>>;

/// A scalar with the imaginary part where there is one.
template <class T>
T scalar(double re, double im) {
  if constexpr (complex_type<T>)
    return {static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  else
    return static_cast<T>(re);
}

inline constexpr Op ops[] = {Op::none, Op::transpose, Op::conjugate};

/// A word of a canary: NaN in every precision, and not the NaN that fresh memory of the host backend is filled with.
inline constexpr std::uint32_t canary = 0xfffc0ffe;

/// Fills `bytes` (a multiple of four) with canaries.
inline void fill_with_canaries(void* to, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof canary)
    std::memcpy(static_cast<char*>(to) + at, &canary, sizeof canary);
}

/// A column-major matrix in storage of its own; the rows between `rows` and `ld` and a margin at either end hold
/// canaries.
template <class T>
class Matrix {
 public:
  Matrix(index rows, index cols, index gap = 0)
      : rows_(rows),
        cols_(cols),
        ld_(std::max<index>(1, rows + gap)),
        storage_((static_cast<std::size_t>(ld_ * cols) + 2 * margin) * sizeof(T)) {
    fill_with_canaries(storage_.data(), storage_.size());
  }

  /// Elements in [-1, 1], none of them zero.
  Matrix& random(unsigned seed) {
    std::minstd_rand bits(seed + 1);
    auto next = [&bits] {
      const auto x = static_cast<double>(bits()) / static_cast<double>(std::minstd_rand::max());
      return x < 0.5 ? x - 1 - 1e-3 * (1 - x) : x;  // the factor keeps values off a coarse grid
    };
    for (index j = 0; j < cols_; ++j)
      for (index i = 0; i < rows_; ++i) {
        const double re = next();
        (*this)(i, j) = scalar<T>(re, std::is_floating_point_v<T> ? 0.0 : next());
      }
    return *this;
  }

  Matrix& fill(T value) {
    for (index j = 0; j < cols_; ++j)
      for (index i = 0; i < rows_; ++i) (*this)(i, j) = value;
    return *this;
  }

  T* data() { return reinterpret_cast<T*>(storage_.data()) + margin; }
  const T* data() const { return reinterpret_cast<const T*>(storage_.data()) + margin; }
  T& operator()(index i, index j) { return data()[i + j * ld_]; }
  const T& operator()(index i, index j) const { return data()[i + j * ld_]; }
  index rows() const { return rows_; }
  index cols() const { return cols_; }
  index ld() const { return ld_; }

  /// Bit for bit, unused storage included.
  friend bool operator==(const Matrix&, const Matrix&) = default;

  /// Whether everything outside the matrix is as it was.
  bool canaries_intact() const {
    Matrix fresh(rows_, cols_, ld_ - rows_);
    for (index j = 0; j < cols_ && rows_ > 0; ++j)
      std::memcpy(fresh.data() + j * ld_, data() + j * ld_, static_cast<std::size_t>(rows_) * sizeof(T));
    return fresh == *this;
  }

 private:
  static constexpr std::size_t margin = 8;
  index rows_, cols_, ld_;
  std::vector<unsigned char> storage_;
};

template <class T>
bool same_bits(const T& x, const T& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}
template <class T>
bool finite(const T& x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}

/// An element of the exact result (up to the wider type's rounding), and how far from it a classical product may be.
template <class T>
struct Expected {
  using Wide = std::conditional_t<std::is_same_v<Real<T>, float>, double, long double>;
  Wide re = 0, im = 0, bound = 0;

  /// Distance of `x` in units of the bound; at most 1 passes, NaN and Inf do not.
  double excess(const T& x) const {
    const Wide error = std::fabs(std::real(x) - re) + std::fabs(std::imag(x) - im);
    return error == 0 ? 0.0 : static_cast<double>(error / bound);
  }
};

/// Element (i, j) of alpha * op(A) * op(B) + beta * C.
///
/// The bound: however it orders its sums, with or without fused operations, a classical product has
///   |C - exact| <= gamma(k + 2) |alpha| |op(A)| |op(B)| + gamma(2) |beta| |C|,  gamma(t) = t u / (1 - t u), u = eps /
///   2
/// (Higham, Accuracy and Stability, 3.5; k products, k - 1 sums, alpha, beta, the last sum).  A complex product is one
/// of twice the length in each part, scaled by complex numbers: gamma(2k + 5), with |re| + |im| for the modulus; the
/// two parts' errors are added here, hence twice that.  (k + 3) eps, and twice it for complex types, covers either.
template <class T>
Expected<T> element(const GemmArgs<T>& g, index i, index j) {
  using Wide = typename Expected<T>::Wide;
  struct Number {
    Wide re, im;
    Wide size() const { return std::fabs(re) + std::fabs(im); }
  };
  auto number = [](const T& x) { return Number{std::real(x), std::imag(x)}; };
  auto read = [&number](const T* x, index ld, Op op, index row, index col) {
    Number v = number(op == Op::none ? x[row + col * ld] : x[col + row * ld]);
    if (op == Op::conjugate) v.im = -v.im;
    return v;
  };
  Number sum{};
  Wide size = 0;
  const Number alpha = number(g.alpha), beta = number(g.beta);
  if (alpha.size() != 0)
    for (index p = 0; p < g.k; ++p) {
      const Number a = read(g.A, g.lda, g.transa, i, p), b = read(g.B, g.ldb, g.transb, p, j);
      sum.re += a.re * b.re;
      if constexpr (complex_type<T>) {
        sum.re -= a.im * b.im;
        sum.im += a.re * b.im + a.im * b.re;
      }
      size += a.size() * b.size();
    }
  Expected<T> e;
  e.re = alpha.re * sum.re - alpha.im * sum.im;
  e.im = alpha.re * sum.im + alpha.im * sum.re;
  e.bound = alpha.size() * size;
  if (beta.size() != 0) {
    const Number c = number(g.C[i + j * g.ldc]);
    e.re += beta.re * c.re - beta.im * c.im;
    e.im += beta.re * c.im + beta.im * c.re;
    e.bound += beta.size() * c.size();
  }
  constexpr Wide eps = std::numeric_limits<Real<T>>::epsilon();
  e.bound *= static_cast<Wide>(g.k + 3) * eps * (complex_type<T> ? 2 : 1);
  return e;
}

/// The whole result.
template <class T>
std::vector<Expected<T>> product(const GemmArgs<T>& g) {
  std::vector<Expected<T>> all;
  all.reserve(static_cast<std::size_t>(g.m * g.n));
  for (index j = 0; j < g.n; ++j)
    for (index i = 0; i < g.m; ++i) all.push_back(element(g, i, j));
  return all;
}

/// Largest distance of C from the result in units of the bound, NaN counted as infinitely far.
template <class T>
double worst_excess(const std::vector<Expected<T>>& expected, const Matrix<T>& C) {
  double worst = 0;
  std::size_t at = 0;
  for (index j = 0; j < C.cols(); ++j)
    for (index i = 0; i < C.rows(); ++i) {
      const double excess = expected[at++].excess(C(i, j));
      if (!(excess <= worst)) worst = std::isnan(excess) ? HUGE_VAL : excess;
    }
  return worst;
}

/// The library underneath, for backends that want one: a triple loop in the working precision, BLAS semantics; of a
/// triangle that the product is a part of, nothing else is written.
template <class T>
void naive_gemm(const Gemm& g) {
  const T alpha = *static_cast<const T*>(g.alpha), beta = *static_cast<const T*>(g.beta);
  const T *A = static_cast<const T*>(g.A), *B = static_cast<const T*>(g.B);
  auto times = [](T x, T y) -> T {
    if constexpr (complex_type<T>)  // plain: the library's operator repairs infinities, at a price
      return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
    else
      return x * y;
  };
  auto read = [](const T* x, index ld, Op op, index row, index col) -> T {
    const T v = op == Op::none ? x[row + col * ld] : x[col + row * ld];
    if constexpr (complex_type<T>) return op == Op::conjugate ? std::conj(v) : v;
    return v;
  };
  for (index j = 0; j < g.n; ++j) {
    T* c = static_cast<T*>(g.C) + j * g.ldc;
    const index from = g.part == Part::lower ? j : 0, to = g.part == Part::upper ? j + 1 : g.m;
    if (g.E) std::memcpy(c, static_cast<const T*>(g.E) + j * g.lde, static_cast<std::size_t>(g.m) * sizeof(T));
    if (beta != T(1))
      for (index i = from; i < to; ++i) c[i] = beta == T(0) ? T(0) : times(beta, c[i]);
    if (alpha == T(0)) continue;
    for (index p = 0; p < g.k; ++p) {
      const T b = times(alpha, read(B, g.ldb, g.transb, p, j));
      for (index i = from; i < to; ++i) c[i] += times(b, read(A, g.lda, g.transa, i, p));
    }
  }
}

inline void naive(const Gemm& g) {
  switch (g.precision) {
    case Precision::s: return naive_gemm<float>(g);
    case Precision::d: return naive_gemm<double>(g);
    case Precision::c: return naive_gemm<std::complex<float>>(g);
    case Precision::z: return naive_gemm<std::complex<double>>(g);
  }
}

/// A combination of blocks, element by element.
template <class T>
void naive_combine(const Combination& p) {
  for (index j = 0; j < p.cols; ++j)
    for (index i = 0; i < p.rows; ++i) {
      T results[Combination::most_targets] = {};
      for (int t = 0; t < p.targets; ++t)
        for (int s = 0; s < p.sources; ++s) {
          if (p.target[t].sign[s] == 0) continue;
          T x = static_cast<const T*>(p.source[s].at)[i + j * p.source[s].ld];
          if (p.source[s].scaled) x *= *static_cast<const T*>(p.scale);
          results[t] += static_cast<Real<T>>(p.target[t].sign[s]) * x;
        }
      for (int t = 0; t < p.targets; ++t) static_cast<T*>(p.target[t].at)[i + j * p.target[t].ld] = results[t];
    }
}

inline void naive(const Combination& p) {
  switch (p.precision) {
    case Precision::s: return naive_combine<float>(p);
    case Precision::d: return naive_combine<double>(p);
    case Precision::c: return naive_combine<std::complex<float>>(p);
    case Precision::z: return naive_combine<std::complex<double>>(p);
  }
}

/// The largest magnitudes by row and by column, NaN above all.
template <class T>
void naive_survey(const Survey& p) {
  auto raise = [](void* to, index i, Real<T> x) {
    Real<T>& most = static_cast<Real<T>*>(to)[i];
    if (std::isnan(x) || x > most) most = x;
  };
  for (index j = 0; j < p.cols; ++j)
    for (index i = 0; i < p.rows; ++i) {
      const T x = static_cast<const T*>(p.at)[i + j * p.ld];
      for (const Real<T> part : {std::real(x), std::imag(x)}) {
        raise(p.row_max, i, std::fabs(part));
        raise(p.col_max, j, std::fabs(part));
      }
    }
}

inline void naive(const Survey& p) {
  switch (p.precision) {
    case Precision::s: return naive_survey<float>(p);
    case Precision::d: return naive_survey<double>(p);
    case Precision::c: return naive_survey<std::complex<float>>(p);
    case Precision::z: return naive_survey<std::complex<double>>(p);
  }
}

/// How far from the exact product (in any element) Strassen's with this many levels over classical leaves of edge
/// `leaf` may be, in units of max|A| max|B|: Higham, Accuracy and Stability, theorem 23.3 (Winograd's form):
///   |C - exact| <= ((n / leaf)^log2(18) (leaf^2 + 6 leaf) - 6 n) u max|A| max|B|
/// Complex products are of |re| + |im|, made of four real ones and twice the sums: eight times that covers them.
template <class T>
double strassen_bound(int levels, double leaf) {
  const double u = std::numeric_limits<Real<T>>::epsilon() / 2.0;
  return std::pow(18.0, levels) * (leaf * leaf + 6 * leaf) * u * (complex_type<T> ? 8 : 1);
}

template <class T>
std::string describe(const GemmArgs<T>& g) {
  auto text = [](T x) {
    return std::to_string(std::real(x)) + (complex_type<T> ? "+" + std::to_string(std::imag(x)) + "i" : "");
  };
  return std::string(1, letter(precision_of<T>)) + "gemm " + static_cast<char>(g.transa) + static_cast<char>(g.transb) +
         " m=" + std::to_string(g.m) + " n=" + std::to_string(g.n) + " k=" + std::to_string(g.k) +
         " lda=" + std::to_string(g.lda) + " ldb=" + std::to_string(g.ldb) + " ldc=" + std::to_string(g.ldc) +
         " alpha=" + text(g.alpha) + " beta=" + text(g.beta);
}

}  // namespace blaslift::reference
