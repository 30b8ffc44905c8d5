// Matrices whose unused storage is guarded, products by plain loops, and the error bound between the two.
#pragma once
#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "blas.hpp"

namespace promises {

inline std::atomic<int> failures{0};

/// Notes a failure; the first ones are told on stdout.
[[gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
  if (failures.fetch_add(1) >= 10) return;
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::printf("WRONG: %s\n", text);
}

/// `wide` is the next wider precision, no slower than it must be; its own roundings are small beside a bound.
template <class T>
struct Scalars {
  using real = T;
  using wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  static constexpr bool is_complex = false;
};
template <class R>
struct Scalars<std::complex<R>> {
  using real = R;
  using wide = std::complex<typename Scalars<R>::wide>;
  static constexpr bool is_complex = true;
};
template <class T>
using Real = typename Scalars<T>::real;
template <class T>
using Wide = typename Scalars<T>::wide;

template <class T>
constexpr char letter() {
  constexpr bool is_double = sizeof(Real<T>) == 8;
  return Scalars<T>::is_complex ? (is_double ? 'z' : 'c') : (is_double ? 'd' : 's');
}

inline std::atomic<int> calls_made[128];  ///< by precision's letter, for the runner to compare with the report

template <class T>
T make(double re, double im) {
  if constexpr (Scalars<T>::is_complex)
    return {static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  else
    return static_cast<T>(re);
}

inline long double size_of(long double x) { return std::fabs(x); }
inline double size_of(double x) { return std::fabs(x); }
inline long double size_of(std::complex<long double> x) { return std::hypot(x.real(), x.imag()); }
inline double size_of(std::complex<double> x) { return std::hypot(x.real(), x.imag()); }
template <class T>
bool finite(T x) {
  if constexpr (Scalars<T>::is_complex)
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  else
    return std::isfinite(x);
}
template <class T>
Wide<T> conjugate(Wide<T> x) {
  if constexpr (Scalars<T>::is_complex) return std::conj(x);
  return x;
}
template <class T>
Wide<T> widen(T x) {
  if constexpr (Scalars<T>::is_complex)
    return {x.real(), x.imag()};
  else
    return x;
}

/// Numbers in [-1, 1], never 0, the same everywhere.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : state_(seed * 2654435761u + 1) {}
  double operator()() {
    state_ = state_ * 1664525u + 1013904223u;
    return (static_cast<double>(state_ >> 9) - (1 << 22) + 0.5) / (1 << 22);
  }

 private:
  std::uint32_t state_;
};

/// Column-major rows x cols with `gap` unused elements under each column.  These, and as many before and behind the
/// matrix, hold a signalling NaN: reading one into a sum shows, and so does writing one.
template <class T>
class Matrix {
 public:
  Matrix(int rows, int cols, int gap, std::uint32_t seed)
      : rows_(rows),
        cols_(cols),
        ld_((rows > 0 ? rows : 1) + gap),
        storage_(static_cast<std::size_t>(ld_) * static_cast<std::size_t>(cols) + 2 * guard) {
    for (T& x : storage_) x = canary();
    Numbers next(seed);
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i) {
        const double re = next();
        at(i, j) = make<T>(re, Scalars<T>::is_complex ? next() : 0);
      }
  }

  T& at(int i, int j) { return storage_[offset(i, j)]; }
  const T& at(int i, int j) const { return storage_[offset(i, j)]; }
  T* data() { return storage_.data() + guard; }
  const T* data() const { return storage_.data() + guard; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int ld() const { return ld_; }

  void fill(T value) {
    for (int j = 0; j < cols_; ++j)
      for (int i = 0; i < rows_; ++i) at(i, j) = value;
  }

  /// Everything outside the matrix is as it was.
  bool guarded() const {
    const T expected = canary();
    for (std::size_t at = 0; at < storage_.size(); ++at) {
      const bool within = at >= guard && at < storage_.size() - guard &&
                          (at - guard) % static_cast<std::size_t>(ld_) < static_cast<std::size_t>(rows_);
      if (!within && std::memcmp(&storage_[at], &expected, sizeof(T)) != 0) return false;
    }
    return true;
  }

  /// The same bits, within the matrix and outside.
  bool same_bits(const Matrix& other) const {
    return storage_.size() == other.storage_.size() &&
           std::memcmp(storage_.data(), other.storage_.data(), storage_.size() * sizeof(T)) == 0;
  }

  /// FNV-1a of the matrix's bits.
  std::uint64_t hash() const {
    std::uint64_t h = 14695981039346656037u;
    for (int j = 0; j < cols_; ++j) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(&at(0, j));
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows_) * sizeof(T); ++i) h = (h ^ bytes[i]) * 1099511628211u;
    }
    return h;
  }

  static T canary() {
    T x;
    const std::uint32_t s = 0x7fa5a5a5u;
    const std::uint64_t d = 0x7ff5a5a5a5a5a5a5u;
    const void* bits = sizeof(Real<T>) == 4 ? static_cast<const void*>(&s) : &d;
    for (std::size_t at = 0; at < sizeof(T); at += sizeof(Real<T>))
      std::memcpy(reinterpret_cast<char*>(&x) + at, bits, sizeof(Real<T>));
    return x;
  }

 private:
  static constexpr std::size_t guard = 32;
  std::size_t offset(int i, int j) const {
    return guard + static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * static_cast<std::size_t>(ld_);
  }
  int rows_, cols_, ld_;
  std::vector<T> storage_;
};

/// One product: its shape, its operands, and C as it was.
template <class T>
struct Problem {
  char ta, tb;
  int m, n, k;
  T alpha, beta;
  Matrix<T> A, B, C;

  Problem(char opa, char opb, int rows, int cols, int depth, T a, T b, std::uint32_t seed, int gap = 3)
      : ta(opa),
        tb(opb),
        m(rows),
        n(cols),
        k(depth),
        alpha(a),
        beta(b),
        A(opa == 'N' ? rows : depth, opa == 'N' ? depth : rows, gap, seed),
        B(opb == 'N' ? depth : cols, opb == 'N' ? cols : depth, gap + 2, seed + 1),
        C(rows, cols, gap + 4, seed + 2) {}

  T op_a(int i, int p) const { return ta == 'N' ? A.at(i, p) : A.at(p, i); }
  T op_b(int p, int j) const { return tb == 'N' ? B.at(p, j) : B.at(j, p); }

  /// Computes into `out`, which begins as C.
  void run(Via via, Matrix<T>& out) const {
    calls_made[static_cast<int>(letter<T>())].fetch_add(1);
    raw_gemm(via, ta, tb, m, n, k, alpha, A.data(), A.ld(), B.data(), B.ld(), beta, out.data(), out.ld());
  }

  std::string name() const {
    char text[120];
    std::snprintf(text, sizeof text, "%cgemm %c%c m=%d n=%d k=%d", letter<T>(), ta, tb, m, n, k);
    return text;
  }
};

/// The product by plain loops, wider than T, with the bound on what another summation order may differ by.
template <class T>
class Expected {
 public:
  explicit Expected(const Problem<T>& p) : rows_(p.m) {
    // |fl(AB) - AB| <= gamma_k |A||B| whatever the order of the sums (Higham, Accuracy and Stability, 3.5); alpha and
    // beta add four roundings, and a complex product rounds up to four times as often (ibid. 3.6).
    const long double unit = (Scalars<T>::is_complex ? 4 : 1) * (p.k + 4.0L) * std::numeric_limits<Real<T>>::epsilon();
    for (int j = 0; j < p.n; ++j)
      for (int i = 0; i < p.m; ++i) {
        Wide<T> sum{};
        long double magnitude = 0;
        if (p.alpha != T(0))
          for (int q = 0; q < p.k; ++q) {
            Wide<T> a = widen(p.op_a(i, q)), b = widen(p.op_b(q, j));
            if (p.ta == 'C') a = conjugate<T>(a);
            if (p.tb == 'C') b = conjugate<T>(b);
            sum += a * b;
            magnitude += size_of(a) * size_of(b);
          }
        sum *= widen(p.alpha);
        magnitude *= size_of(widen(p.alpha));
        if (p.beta != T(0)) {
          const Wide<T> c = widen(p.C.at(i, j));
          sum += widen(p.beta) * c;
          magnitude += size_of(widen(p.beta)) * size_of(c);
        }
        values_.push_back(sum);
        bounds_.push_back(unit * magnitude);
      }
  }

  bool near(int i, int j, T got) const {
    const auto at = static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_);
    return size_of(widen(got) - values_[at]) <= bounds_[at];  // false for NaN
  }

  /// What is wrong with `got`: an element, or the storage around it.  Empty if nothing is.
  std::string compare(const Matrix<T>& got) const {
    char text[160];
    for (int j = 0; j < got.cols(); ++j)
      for (int i = 0; i < got.rows(); ++i)
        if (!near(i, j, got.at(i, j))) {
          const auto at = static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_);
          std::snprintf(text, sizeof text, "C(%d, %d) is off by %.3Lg, more than %.3Lg", i, j,
                        static_cast<long double>(size_of(widen(got.at(i, j)) - values_[at])), bounds_[at]);
          return text;
        }
    return got.guarded() ? "" : "storage outside of C was written";
  }

 private:
  int rows_;
  std::vector<Wide<T>> values_;
  std::vector<long double> bounds_;
};

/// Runs the problem and checks the result, and that neither operand changed.
template <class T>
void run_and_check(const Problem<T>& p, const Expected<T>& expected, Via via) {
  Matrix<T> A = p.A, B = p.B, out = p.C;
  p.run(via, out);
  if (const std::string wrong = expected.compare(out); !wrong.empty())
    fail("%s by %s: %s", p.name().c_str(), name_of(via), wrong.c_str());
  if (!p.A.same_bits(A) || !p.B.same_bits(B)) fail("%s: an operand was written", p.name().c_str());
}

/// Calls `f` for each precision with a null pointer of its type.
template <class F>
void for_each_precision(F f) {
  f(static_cast<float*>(nullptr));
  f(static_cast<double*>(nullptr));
  f(static_cast<std::complex<float>*>(nullptr));
  f(static_cast<std::complex<double>*>(nullptr));
}

/// The last line of a program: what it called, and whether all was well.  Returns the exit status.
inline int verdict() {
  std::printf("calls {");
  const char* separator = "";
  for (const char c : {'s', 'd', 'c', 'z'})
    if (const int calls = calls_made[static_cast<int>(c)].load()) {
      std::printf("%s\"%cgemm\": %d", separator, c, calls);
      separator = ", ";
    }
  std::printf("}\n%s\n", failures.load() ? "WRONG" : "ok");
  std::fflush(stdout);
  return failures.load() ? 1 : 0;
}

}  // namespace promises
