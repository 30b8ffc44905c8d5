// Random calls of every routed routine, by its name (through whatever is preloaded) and by a plain handle of the
// library, in one process: all precisions, Fortran's and CBLAS's interface by columns and by rows, NaN in all that is
// not to be read, special numbers, invalid arguments, rounding modes, flushing to zero, traps.
//
//   differential BLAS LAPACK SEED FIRST COUNT LEVELS [KIND]
//
// BLAS and LAPACK are files of their own: copies of the ones that the program is linked with, so that what is plain is
// never reached through the linker.  KIND is one of those below, for calls of that kind alone.  Call i of a seed
// depends on i and the seed alone.  What is wrong is told with both; at the end a line "routine calls failed worst" for
// each, worst being the largest error in units of eps times the terms.
#include <dlfcn.h>
#include <emmintrin.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#ifndef DIFFERENTIAL_INT
#define DIFFERENTIAL_INT int
#endif

namespace {

using Int = DIFFERENTIAL_INT;
using Size = std::ptrdiff_t;

// ---- scalars

template <class T>
struct Of {
  using Real = T;
  static constexpr bool is_complex = false;
};
template <class R>
struct Of<std::complex<R>> {
  using Real = R;
  static constexpr bool is_complex = true;
};
template <class T>
using Real = typename Of<T>::Real;
template <class T>
constexpr bool is_complex = Of<T>::is_complex;
template <class T>
constexpr double eps = std::numeric_limits<Real<T>>::epsilon();
template <class T>
constexpr double least_normal = std::numeric_limits<Real<T>>::min();
template <class T>
constexpr char letter = sizeof(Real<T>) == 4 ? (is_complex<T> ? 'c' : 's') : (is_complex<T> ? 'z' : 'd');

template <class T>
T make(double re, double im) {
  if constexpr (is_complex<T>)
    return T(static_cast<Real<T>>(re), static_cast<Real<T>>(im));
  else
    return static_cast<T>(re);
}
template <class T>
T conjugate(const T& x) {
  if constexpr (is_complex<T>)
    return std::conj(x);
  else
    return x;
}
template <class T>
double magnitude(const T& x) {
  return std::fabs(static_cast<double>(std::real(x))) + std::fabs(static_cast<double>(std::imag(x)));
}
template <class T>
bool is_finite(const T& x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}
template <class T>
bool same_bits(const T& x, const T& y) {
  return std::memcmp(&x, &y, sizeof x) == 0;
}
template <class T>
T nobody_reads() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return make<T>(nan, nan);
}

// ---- what a call is

enum class Kind { plain, special, extreme, invalid, rounded, flushed, trapped };
constexpr const char* kind_names[] = {"plain", "special", "extreme", "invalid", "rounded", "flushed", "trapped"};
const char* only_kind = nullptr;

std::mt19937_64 bits;
Size below(Size n) { return n <= 0 ? 0 : static_cast<Size>(bits() % static_cast<std::uint64_t>(n)); }
bool one_in(Size n) { return below(n) == 0; }
double real_number() { return 2 * (static_cast<double>(bits() >> 11) * 0x1p-53) - 1; }
char one_of(const char* letters) { return letters[below(static_cast<Size>(std::strlen(letters)))]; }

Kind kind;
int data_kind, levels, rounding_mode;
std::string about;  ///< the call
long number, seed;  ///< of the call
std::string told;   ///< by xerbla
bool failed_now;

struct Account {
  long calls = 0, failed = 0;
  double worst = 0;
};
std::map<std::string, Account> accounts;

std::string text(const char* format, ...) {
  char line[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

/// A call fails once.
void wrong(const std::string& routine, const std::string& what) {
  if (failed_now) return;
  failed_now = true;
  static int shown = 0;
  ++accounts[routine].failed;
  if (shown++ < 20) std::printf("seed %ld call %ld: %s: %s\n", seed, number, about.c_str(), what.c_str());
}

Size dimension() {
  static constexpr Size sizes[] = {2,  3,  4,  5,  7,  8,  13, 16, 17, 31, 32, 33,
                                   47, 64, 65, 67, 96, 97, 5,  24, 40, 12, 9,  20};
  const Size which = below(40);
  if (which == 0) return below(2);
  if (which == 1) return 100 + below(60);
  return sizes[below(static_cast<Size>(std::size(sizes)))];
}
Size leading(Size rows) {
  const Size least = std::max<Size>(1, rows);
  switch (below(4)) {
    case 0: return least;
    case 1: return least + 1;
    case 2: return least + below(9);
    default: return least + below(60);
  }
}

template <class R>
R number_of() {
  const double x = real_number(), tiny = std::numeric_limits<R>::min(), root = std::sqrt(std::numeric_limits<R>::max());
  switch (data_kind) {
    case 1: return static_cast<R>(one_in(3) ? 0 : x);
    case 2: return static_cast<R>(std::ldexp(x, static_cast<int>(below(41)) - 20));
    case 3: return static_cast<R>(below(9) - 4);
    case 4: return static_cast<R>(x * tiny * 4);
    case 5: return static_cast<R>(x * root / 4);
    default: return static_cast<R>(x);
  }
}
template <class T>
T element() {
  const auto re = number_of<Real<T>>(), im = number_of<Real<T>>();
  if (kind == Kind::special && one_in(30)) {
    static constexpr double inf = std::numeric_limits<double>::infinity(),
                            specials[] = {inf, -inf, std::numeric_limits<double>::quiet_NaN(), 0};
    return make<T>(specials[below(4)], one_in(2) ? specials[below(4)] : im);
  }
  return make<T>(re, im);
}
template <class T>
T scalar() {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  using Limits = std::numeric_limits<Real<T>>;
  const double special[] = {inf, -inf, nan, 0, 1, -1, 2, -3};
  const double extreme[] = {Limits::max(), Limits::denorm_min(), Limits::min(), -0.0, std::sqrt(Limits::max()), 1, 0.5};
  const auto one = [&]() -> double {
    if (kind == Kind::special) return special[below(8)];
    if (kind == Kind::extreme && one_in(2)) return extreme[below(7)];
    switch (below(6)) {
      case 0: return 0;
      case 1: return 1;
      case 2: return -1;
      default: return real_number();
    }
  };
  const double re = one();
  return make<T>(re, one_in(2) ? 0 : one());
}

// ---- storage

/// A matrix by columns or rows, with elements around it and between its columns that nobody reads.
template <class T>
struct Matrix {
  static constexpr Size guard = 40;
  Size rows, cols, ld;
  bool by_rows;
  std::vector<T> memory;

  Matrix(Size m, Size n, Size leading_dimension, bool rows_first = false)
      : rows(m),
        cols(n),
        ld(leading_dimension),
        by_rows(rows_first),
        memory(static_cast<std::size_t>(ld * std::max<Size>(1, rows_first ? m : n) + 2 * guard), nobody_reads<T>()) {}
  T* data() { return memory.data() + guard; }
  Size place(Size i, Size j) const { return guard + (by_rows ? i * ld + j : i + j * ld); }
  T& operator()(Size i, Size j) { return memory[static_cast<std::size_t>(place(i, j))]; }
  const T& operator()(Size i, Size j) const { return memory[static_cast<std::size_t>(place(i, j))]; }
  template <class Counts>
  void fill(Counts counts) {
    for (Size j = 0; j < cols; ++j)
      for (Size i = 0; i < rows; ++i)
        if (counts(i, j)) (*this)(i, j) = element<T>();
  }
  void fill() {
    fill([](Size, Size) { return true; });
  }
  double largest() const {
    double most = 0;
    for (Size j = 0; j < cols; ++j)
      for (Size i = 0; i < rows; ++i)
        if (const double x = magnitude((*this)(i, j)); std::isfinite(x)) most = std::max(most, x);
    return most;
  }
  bool same(const Matrix& other) const {
    return std::memcmp(memory.data(), other.memory.data(), memory.size() * sizeof(T)) == 0;
  }
  /// Whether all memory is as in `before` but for the elements that count.
  template <class Counts>
  bool same_elsewhere(const Matrix& before, Counts counts) const {
    std::vector<bool> mine(memory.size());
    for (Size j = 0; j < cols; ++j)
      for (Size i = 0; i < rows; ++i)
        if (counts(i, j)) mine[static_cast<std::size_t>(place(i, j))] = true;
    for (std::size_t at = 0; at < memory.size(); ++at)
      if (!mine[at] && !same_bits(memory[at], before.memory[at])) return false;
    return true;
  }
};

/// BLAS's vector: a matrix of one row, read from its other end where inc is negative.
template <class T>
struct Vector {
  Size n, inc;
  Matrix<T> row;
  Vector(Size count, Size increment) : n(count), inc(increment), row(1, count, std::abs(increment)) {}
  T* data() { return row.data(); }
  T& operator[](Size i) { return row(0, inc < 0 ? n - 1 - i : i); }
};

// ---- calling

void* plain_blas;
void* plain_lapack;  ///< files of their own
void* linked;        ///< what the program is linked with

template <class T>
std::string name_of(const char* base) {
  return std::string(1, letter<T>) + base;
}
void* found(void* in, const std::string& name) {
  void* function = dlsym(in, name.c_str());
  if (!function) {
    std::printf("no %s\n", name.c_str());
    std::exit(2);
  }
  return function;
}

/// The environment of a call, and what it must leave as it was.
class Surroundings {
 public:
  explicit Surroundings(bool traps) : kept_(_mm_getcsr()) {
    if (kind == Kind::rounded) std::fesetround(rounding_mode);
    if (kind == Kind::flushed) _mm_setcsr(_mm_getcsr() | 0x8040);
    if (kind == Kind::trapped && traps) {
      std::feclearexcept(FE_ALL_EXCEPT);
      feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    }
    inside_ = _mm_getcsr();
    errno = 4711;
  }
  /// Whether they are.
  bool leave() {
    const bool kept = errno == 4711 && (_mm_getcsr() & controls) == (inside_ & controls) &&
                      (kind != Kind::rounded || std::fegetround() == rounding_mode);
    fedisableexcept(FE_ALL_EXCEPT);
    std::fesetround(FE_TONEAREST);
    _mm_setcsr(kept_);
    return kept;
  }

 private:
  static constexpr unsigned controls = 0xffc0;
  const unsigned kept_;
  unsigned inside_;
};

/// Makes a call by name and, in the same environment, a plain one; `told` is the first one's.
/// @param by  void(void* function, bool plain)
template <class By>
std::string by_name(const std::string& routine, const std::string& symbol, const By& by) {
  void* function = found(RTLD_DEFAULT, symbol);
  told.clear();
  ++accounts[routine].calls;
  Surroundings around(true);
  by(function);
  if (!around.leave()) wrong(routine, "errno, the rounding mode or the masks have changed");
  return told;
}
template <class By>
std::string by_handle(void* handle, const std::string& symbol, const By& by) {
  void* function = found(handle, symbol);
  told.clear();
  Surroundings around(false);
  by(function);
  around.leave();
  return told;
}

int cblas_op(char op) { return op == 'N' ? 111 : op == 'T' ? 112 : op == 'C' ? 113 : 99; }
int cblas_uplo(char uplo) { return uplo == 'U' ? 121 : uplo == 'L' ? 122 : 77; }

template <class S>
auto by_value(const S& x) {
  if constexpr (is_complex<S>)
    return static_cast<const void*>(&x);
  else
    return x;
}

// ---- judging

template <class T>
bool alike(const T& x, const T& y) {
  if constexpr (is_complex<T>)
    return !is_finite(x) && !is_finite(y);  // which part is Inf, and which NaN, depends on the order
  else
    return (std::isnan(x) && std::isnan(y)) || x == y;
}

/// One element of a product.
/// @param terms     |alpha| |A| |B| + |beta| |C|
/// @param absolute  what underflow may lose
template <class T>
void judge(const std::string& routine, const T& x, const T& plain, double terms, double limit, double absolute,
           bool exact, Size i, Size j, bool skips_zeros = false) {
  if (same_bits(x, plain) || failed_now) return;
  if (exact)
    return wrong(routine, text("(%td, %td) is %.17g %.17g, plain %.17g %.17g, bits differ", i, j,
                               static_cast<double>(std::real(x)), static_cast<double>(std::imag(x)),
                               static_cast<double>(std::real(plain)), static_cast<double>(std::imag(plain))));
  const bool overflows = kind == Kind::extreme && !(terms < std::numeric_limits<Real<T>>::max() / 64);
  double ratio = 0;
  if (is_finite(x) && is_finite(plain)) {
    const double error = std::fabs(static_cast<double>(std::real(x)) - static_cast<double>(std::real(plain))) +
                         std::fabs(static_cast<double>(std::imag(x)) - static_cast<double>(std::imag(plain)));
    if (error <= absolute || overflows || !std::isfinite(terms)) return;
    ratio = error / eps<T> / terms;
  } else if (overflows || alike(x, plain)) {
    return;
  } else if (skips_zeros && std::isnan(terms) && !is_finite(x)) {
    return;  // the reference leaves out what it multiplies by zero: Inf is not seen, nor NaN
  } else {
    ratio = HUGE_VAL;
  }
  accounts[routine].worst = std::max(accounts[routine].worst, ratio);
  if (!(ratio <= limit))
    wrong(routine, text("(%td, %td) is %.17g %.17g, plain %.17g %.17g: ratio %.3g of %.3g", i, j,
                        static_cast<double>(std::real(x)), static_cast<double>(std::imag(x)),
                        static_cast<double>(std::real(plain)), static_cast<double>(std::imag(plain)), ratio, limit));
}

/// What an element's terms are taken for where levels compute it.
double with_levels(double terms, double alpha, double a, double b, Size k) {
  return levels == 0 ? terms : std::max(terms, alpha * a * b * static_cast<double>(std::max<Size>(512, k)));
}

/// What an invalid call has to leave, and to say.
void judge_invalid(const std::string& routine, const std::string& said, const std::string& plain, bool same_memory) {
  if (said != plain) wrong(routine, "xerbla was told '" + said + "', plain '" + plain + "'");
  if (!plain.empty() && !same_memory) wrong(routine, "invalid, and yet memory has changed");
}

/// What sums of `length` terms may differ by.
template <class T>
double limit_of(Size length) {
  return (is_complex<T> ? 2 : 1) * (static_cast<double>(length) + 3) * (levels > 0 ? 8 : 1);
}
/// @param factors  what may make an underflow large again
template <class T>
double lost_by_underflow(Size length, double factors) {
  const double subnormal = kind == Kind::extreme || kind == Kind::flushed ? 1 : eps<T>;
  return least_normal<T> * static_cast<double>(length + 3) * (1 + factors) * (is_complex<T> ? 2 : 1) * subnormal;
}

// ---- gemm

template <class T>
void call_gemm(void* function, bool cblas, int layout, char ta, char tb, Size m, Size n, Size k, T alpha, const T* A,
               Size lda, const T* B, Size ldb, T beta, T* C, Size ldc) {
  const Int M = static_cast<Int>(m), N = static_cast<Int>(n), K = static_cast<Int>(k), LA = static_cast<Int>(lda),
            LB = static_cast<Int>(ldb), LC = static_cast<Int>(ldc);
  if (!cblas) {
    using F = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*, const Int*,
                       const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t);
    reinterpret_cast<F>(function)(&ta, &tb, &M, &N, &K, &alpha, A, &LA, B, &LB, &beta, C, &LC, 1, 1);
  } else {
    using S = decltype(by_value(alpha));
    using F = void (*)(int, int, int, Int, Int, Int, S, const T*, Int, const T*, Int, S, T*, Int);
    reinterpret_cast<F>(function)(layout, cblas_op(ta), cblas_op(tb), M, N, K, by_value(alpha), A, LA, B, LB,
                                  by_value(beta), C, LC);
  }
}

template <class T>
void gemm() {
  const std::string routine = name_of<T>("gemm");
  const bool cblas = one_in(2), by_rows = cblas && one_in(2);
  const Size m = dimension(), n = dimension(), k = dimension();
  const char ta = one_of("NTC"), tb = one_of("NTC");
  const T alpha = scalar<T>(), beta = scalar<T>();
  const Size rows_a = ta == 'N' ? m : k, cols_a = ta == 'N' ? k : m, rows_b = tb == 'N' ? k : n,
             cols_b = tb == 'N' ? n : k;
  Matrix<T> A(rows_a, cols_a, leading(by_rows ? cols_a : rows_a), by_rows),
      B(rows_b, cols_b, leading(by_rows ? cols_b : rows_b), by_rows), C(m, n, leading(by_rows ? n : m), by_rows);
  const bool multiplies = alpha != T(0) && k > 0, reads_c = beta != T(0);
  if (multiplies) A.fill(), B.fill();
  if (reads_c) C.fill();

  struct {
    char ta, tb;
    Size m, n, k, lda, ldb, ldc;
    int layout;
  } x{ta, tb, m, n, k, A.ld, B.ld, C.ld, by_rows ? 101 : 102};
  for (Size times = kind == Kind::invalid ? 1 + below(2) : 0; times > 0; --times) switch (below(cblas ? 9 : 8)) {
      case 0: x.ta = 'X'; break;
      case 1: x.tb = 'X'; break;
      case 2: x.m = -1 - below(5); break;
      case 3: x.n = -1 - below(5); break;
      case 4: x.k = -1 - below(5); break;
      case 5: x.lda = std::min<Size>(x.lda, by_rows ? cols_a : rows_a) - 1; break;
      case 6: x.ldb = std::min<Size>(x.ldb, by_rows ? cols_b : rows_b) - 1; break;
      case 7: x.ldc = std::min<Size>(x.ldc, by_rows ? n : m) - 1; break;
      default: x.layout = 100 + static_cast<int>(3 * below(3)); break;
    }
  about = text("%s%s %d %c%c m=%td n=%td k=%td ld %td %td %td alpha %g %g beta %g %g data %d", cblas ? "cblas_" : "",
               routine.c_str(), x.layout, x.ta, x.tb, x.m, x.n, x.k, x.lda, x.ldb, x.ldc,
               static_cast<double>(std::real(alpha)), static_cast<double>(std::imag(alpha)),
               static_cast<double>(std::real(beta)), static_cast<double>(std::imag(beta)), data_kind);
  const std::string symbol = cblas ? "cblas_" + routine : routine + "_";
  Matrix<T> a = A, b = B, c = C;
  const auto call = [&](Matrix<T>& to) {
    return [&](void* f) {
      call_gemm<T>(f, cblas, x.layout, x.ta, x.tb, x.m, x.n, x.k, alpha, a.data(), x.lda, b.data(), x.ldb, beta,
                   to.data(), x.ldc);
    };
  };
  const std::string said = by_name(routine, symbol, call(c));
  if (!a.same(A) || !b.same(B)) return wrong(routine, "an input has changed");
  if (kind == Kind::invalid) {
    Matrix<T> other = C;
    const std::string plain = by_handle(linked, symbol, call(other));
    return judge_invalid(routine, said, plain, c.same(other));
  }
  if (!c.same_elsewhere(C, [](Size, Size) { return true; })) return wrong(routine, "written outside of C");

  Matrix<T> p = C;
  by_handle(plain_blas, symbol, call(p));
  const double largest_a = multiplies ? A.largest() : 0, largest_b = multiplies ? B.largest() : 0;
  const double absolute = lost_by_underflow<T>(k, magnitude(alpha) + magnitude(beta) + largest_a + largest_b);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) {
      double terms = 0;
      if (multiplies) {
        for (Size l = 0; l < k; ++l)
          terms += magnitude(ta == 'N' ? A(i, l) : A(l, i)) * magnitude(tb == 'N' ? B(l, j) : B(j, l));
        terms = with_levels(terms * magnitude(alpha), magnitude(alpha), largest_a, largest_b, k);
      }
      if (reads_c) terms += magnitude(beta) * magnitude(C(i, j));
      judge(routine, c(i, j), p(i, j), terms, limit_of<T>(k), absolute, kind == Kind::rounded, i, j);
    }
}

// ---- syrk, herk

template <class T, class S>
void call_syrk(void* function, bool cblas, int layout, char uplo, char trans, Size n, Size k, S alpha, const T* A,
               Size lda, S beta, T* C, Size ldc) {
  const Int N = static_cast<Int>(n), K = static_cast<Int>(k), LA = static_cast<Int>(lda), LC = static_cast<Int>(ldc);
  if (!cblas) {
    using F = void (*)(const char*, const char*, const Int*, const Int*, const S*, const T*, const Int*, const S*, T*,
                       const Int*, std::size_t, std::size_t);
    reinterpret_cast<F>(function)(&uplo, &trans, &N, &K, &alpha, A, &LA, &beta, C, &LC, 1, 1);
  } else {
    using V = decltype(by_value(alpha));
    using F = void (*)(int, int, int, Int, Int, V, const T*, Int, V, T*, Int);
    reinterpret_cast<F>(function)(layout, cblas_uplo(uplo), cblas_op(trans), N, K, by_value(alpha), A, LA,
                                  by_value(beta), C, LC);
  }
}

template <class T, bool hermitian>
void syrk() {
  using S = std::conditional_t<hermitian, Real<T>, T>;
  const std::string routine = name_of<T>(hermitian ? "herk" : "syrk");
  const bool cblas = one_in(2), by_rows = cblas && one_in(2);
  const Size n = dimension(), k = dimension();
  const char uplo = one_of("UL"), trans = one_of(hermitian ? "NC" : is_complex<T> ? "NT" : "NTC");
  const S alpha = scalar<S>(), beta = scalar<S>();
  const Size rows = trans == 'N' ? n : k, cols = trans == 'N' ? k : n;
  Matrix<T> A(rows, cols, leading(by_rows ? cols : rows), by_rows), C(n, n, leading(n), by_rows);
  const bool multiplies = alpha != S(0) && k > 0, reads_c = beta != S(0);
  const auto in_triangle = [&](Size i, Size j) { return uplo == 'U' ? i <= j : i >= j; };
  if (multiplies) A.fill();
  if (reads_c) C.fill(in_triangle);

  struct {
    char uplo, trans;
    Size n, k, lda, ldc;
    int layout;
  } x{uplo, trans, n, k, A.ld, C.ld, by_rows ? 101 : 102};
  for (Size times = kind == Kind::invalid ? 1 + below(2) : 0; times > 0; --times) switch (below(cblas ? 7 : 6)) {
      case 0: x.uplo = 'X'; break;
      case 1: x.trans = hermitian ? one_of("XT") : is_complex<T> ? one_of("XC") : 'X'; break;
      case 2: x.n = -1 - below(5); break;
      case 3: x.k = -1 - below(5); break;
      case 4: x.lda = (by_rows ? cols : rows) - 1; break;
      case 5: x.ldc = n - 1; break;
      default: x.layout = 100 + static_cast<int>(3 * below(3)); break;
    }
  about = text("%s%s %d %c%c n=%td k=%td ld %td %td alpha %g %g beta %g %g data %d", cblas ? "cblas_" : "",
               routine.c_str(), x.layout, x.uplo, x.trans, x.n, x.k, x.lda, x.ldc,
               static_cast<double>(std::real(alpha)), static_cast<double>(std::imag(alpha)),
               static_cast<double>(std::real(beta)), static_cast<double>(std::imag(beta)), data_kind);
  const std::string symbol = cblas ? "cblas_" + routine : routine + "_";
  Matrix<T> a = A, c = C;
  const auto call = [&](Matrix<T>& to) {
    return [&](void* f) {
      call_syrk<T, S>(f, cblas, x.layout, x.uplo, x.trans, x.n, x.k, alpha, a.data(), x.lda, beta, to.data(), x.ldc);
    };
  };
  const std::string said = by_name(routine, symbol, call(c));
  if (!a.same(A)) return wrong(routine, "an input has changed");
  if (kind == Kind::invalid) {
    Matrix<T> other = C;
    const std::string plain = by_handle(linked, symbol, call(other));
    return judge_invalid(routine, said, plain, c.same(other));
  }
  if (!c.same_elsewhere(C, in_triangle)) return wrong(routine, "written outside of the triangle");

  Matrix<T> p = C;
  by_handle(plain_blas, symbol, call(p));
  const double largest = multiplies ? A.largest() : 0;
  const double absolute = lost_by_underflow<T>(k, magnitude(alpha) + magnitude(beta) + 2 * largest);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < n; ++i) {
      if (!in_triangle(i, j)) continue;
      double terms = 0;
      if (multiplies) {
        for (Size l = 0; l < k; ++l)
          terms += trans == 'N' ? magnitude(A(i, l)) * magnitude(A(j, l)) : magnitude(A(l, i)) * magnitude(A(l, j));
        terms = with_levels(terms * magnitude(alpha), magnitude(alpha), largest, largest, k);
      }
      if (reads_c) terms += magnitude(beta) * magnitude(C(i, j));
      judge(routine, c(i, j), p(i, j), terms, limit_of<T>(k), absolute, kind == Kind::rounded, i, j, true);
      if (hermitian && i == j && is_finite(p(i, i)) && std::imag(c(i, i)) != std::imag(p(i, i)))
        wrong(routine, text("the diagonal's imaginary part %td is %g", i, static_cast<double>(std::imag(c(i, i)))));
    }
}

// ---- symv, hemv

template <class T>
void call_symv(void* function, bool cblas, int layout, char uplo, Size n, T alpha, const T* A, Size lda, const T* x,
               Size incx, T beta, T* y, Size incy) {
  const Int N = static_cast<Int>(n), LA = static_cast<Int>(lda), IX = static_cast<Int>(incx),
            IY = static_cast<Int>(incy);
  if (!cblas) {
    using F = void (*)(const char*, const Int*, const T*, const T*, const Int*, const T*, const Int*, const T*, T*,
                       const Int*, std::size_t);
    reinterpret_cast<F>(function)(&uplo, &N, &alpha, A, &LA, x, &IX, &beta, y, &IY, 1);
  } else {
    using V = decltype(by_value(alpha));
    using F = void (*)(int, int, Int, V, const T*, Int, const T*, Int, V, T*, Int);
    reinterpret_cast<F>(function)(layout, cblas_uplo(uplo), N, by_value(alpha), A, LA, x, IX, by_value(beta), y, IY);
  }
}

template <class T>
void symv() {
  const bool of_lapack = is_complex<T> && one_in(3);  // csymv and zsymv, which have no CBLAS
  const std::string routine = name_of<T>(is_complex<T> && !of_lapack ? "hemv" : "symv");
  const bool cblas = !of_lapack && one_in(2), by_rows = cblas && one_in(2);
  const Size n = one_in(4) ? 2 * dimension() : dimension();
  const char uplo = one_of("UL");
  const T alpha = scalar<T>(), beta = scalar<T>();
  const auto increment = [] { return (one_in(2) ? 1 : 1 + below(4)) * (one_in(3) ? -1 : 1); };
  Matrix<T> A(n, n, leading(n), by_rows);
  Vector<T> X(n, increment()), Y(n, increment());
  const bool multiplies = alpha != T(0), reads_y = beta != T(0);
  const auto in_triangle = [&](Size i, Size j) { return uplo == 'U' ? i <= j : i >= j; };
  if (multiplies) A.fill(in_triangle), X.row.fill();
  if (reads_y) Y.row.fill();

  struct {
    char uplo;
    Size n, lda, incx, incy;
    int layout;
  } v{uplo, n, A.ld, X.inc, Y.inc, by_rows ? 101 : 102};
  for (Size times = kind == Kind::invalid ? 1 + below(2) : 0; times > 0; --times) switch (below(cblas ? 6 : 5)) {
      case 0: v.uplo = 'X'; break;
      case 1: v.n = -1 - below(5); break;
      case 2: v.lda = n - 1; break;
      case 3: v.incx = 0; break;
      case 4: v.incy = 0; break;
      default: v.layout = 100 + static_cast<int>(3 * below(3)); break;
    }
  about = text("%s%s %d %c n=%td ld %td inc %td %td alpha %g %g beta %g %g data %d", cblas ? "cblas_" : "",
               routine.c_str(), v.layout, v.uplo, v.n, v.lda, v.incx, v.incy, static_cast<double>(std::real(alpha)),
               static_cast<double>(std::imag(alpha)), static_cast<double>(std::real(beta)),
               static_cast<double>(std::imag(beta)), data_kind);
  const std::string symbol = cblas ? "cblas_" + routine : routine + "_";
  Matrix<T> a = A;
  Vector<T> x = X, y = Y;
  const auto call = [&](Vector<T>& to) {
    return [&](void* f) {
      call_symv<T>(f, cblas, v.layout, v.uplo, v.n, alpha, a.data(), v.lda, x.data(), v.incx, beta, to.data(), v.incy);
    };
  };
  const std::string said = by_name(routine, symbol, call(y));
  if (!a.same(A) || !x.row.same(X.row)) {
    // Reference CBLAS conjugates x in place, and back: NaN may change its sign.
    if (!(is_complex<T> && by_rows && !multiplies)) return wrong(routine, "an input has changed");
  }
  if (kind == Kind::invalid) {
    Vector<T> other = Y;
    const std::string plain = by_handle(linked, symbol, call(other));
    return judge_invalid(routine, said, plain, y.row.same(other.row));
  }
  if (!y.row.same_elsewhere(Y.row, [](Size, Size) { return true; })) return wrong(routine, "written outside of y");

  Vector<T> p = Y;
  by_handle(of_lapack ? plain_lapack : plain_blas, symbol, call(p));
  const double largest = multiplies ? A.largest() + X.row.largest() : 0;
  const double absolute = lost_by_underflow<T>(n, magnitude(alpha) + magnitude(beta) + largest);
  for (Size i = 0; i < n; ++i) {
    double terms = 0;
    if (multiplies)
      for (Size j = 0; j < n; ++j) terms += magnitude(in_triangle(i, j) ? A(i, j) : A(j, i)) * magnitude(X[j]);
    // The reference multiplies x by alpha, the device the sums, which overflow however small alpha is.
    const bool sums_overflow = kind == Kind::extreme && !(terms < std::numeric_limits<Real<T>>::max() / 64);
    terms = sums_overflow ? HUGE_VAL : multiplies ? terms * magnitude(alpha) : 0;
    if (reads_y) terms += magnitude(beta) * magnitude(Y[i]);
    judge(routine, y[i], p[i], terms, limit_of<T>(n), absolute, kind == Kind::rounded, i, 0);
  }
}

// ---- gemv

template <class T>
void call_gemv(void* function, bool cblas, int layout, char trans, Size m, Size n, T alpha, const T* A, Size lda,
               const T* x, Size incx, T beta, T* y, Size incy) {
  const Int M = static_cast<Int>(m), N = static_cast<Int>(n), LA = static_cast<Int>(lda), IX = static_cast<Int>(incx),
            IY = static_cast<Int>(incy);
  if (!cblas) {
    using F = void (*)(const char*, const Int*, const Int*, const T*, const T*, const Int*, const T*, const Int*,
                       const T*, T*, const Int*, std::size_t);
    reinterpret_cast<F>(function)(&trans, &M, &N, &alpha, A, &LA, x, &IX, &beta, y, &IY, 1);
  } else {
    using V = decltype(by_value(alpha));
    using F = void (*)(int, int, Int, Int, V, const T*, Int, const T*, Int, V, T*, Int);
    reinterpret_cast<F>(function)(layout, cblas_op(trans), M, N, by_value(alpha), A, LA, x, IX, by_value(beta), y, IY);
  }
}

template <class T>
void gemv() {
  const std::string routine = name_of<T>("gemv");
  const bool cblas = one_in(2), by_rows = cblas && one_in(2);
  const Size m = one_in(4) ? 3 * dimension() : dimension(), n = one_in(4) ? 3 * dimension() : dimension();
  // Reference CBLAS conjugates x before anybody looks at its size.
  const bool to_the_letter = by_rows && (kind == Kind::invalid || m == 0 || n == 0);
  const char trans = to_the_letter ? one_of("NT") : one_of("NTC");
  const T alpha = scalar<T>(), beta = scalar<T>();
  const Size results = trans == 'N' ? m : n, terms_of_each = trans == 'N' ? n : m;
  const auto increment = [] { return (one_in(2) ? 1 : 1 + below(4)) * (one_in(3) ? -1 : 1); };
  Matrix<T> A(m, n, leading(by_rows ? n : m), by_rows);
  Vector<T> X(terms_of_each, increment()), Y(results, increment());
  const bool works = m > 0 && n > 0, multiplies = works && alpha != T(0), reads_y = works && beta != T(0);
  if (multiplies) A.fill(), X.row.fill();
  if (reads_y) Y.row.fill();

  struct {
    char trans;
    Size m, n, lda, incx, incy;
    int layout;
  } v{trans, m, n, A.ld, X.inc, Y.inc, by_rows ? 101 : 102};
  for (Size times = kind == Kind::invalid ? 1 + below(2) : 0; times > 0; --times) switch (below(cblas ? 7 : 6)) {
      case 0: v.trans = 'X'; break;
      case 1: v.m = -1 - below(5); break;
      case 2: v.n = -1 - below(5); break;
      case 3: v.lda = std::min<Size>(v.lda, by_rows ? n : m) - 1; break;
      case 4: v.incx = 0; break;
      case 5: v.incy = 0; break;
      default: v.layout = 100 + static_cast<int>(3 * below(3)); break;
    }
  about = text("%s%s %d %c m=%td n=%td ld %td inc %td %td alpha %g %g beta %g %g data %d", cblas ? "cblas_" : "",
               routine.c_str(), v.layout, v.trans, v.m, v.n, v.lda, v.incx, v.incy,
               static_cast<double>(std::real(alpha)), static_cast<double>(std::imag(alpha)),
               static_cast<double>(std::real(beta)), static_cast<double>(std::imag(beta)), data_kind);
  const std::string symbol = cblas ? "cblas_" + routine : routine + "_";
  Matrix<T> a = A;
  Vector<T> x = X, y = Y;
  const auto call = [&](Vector<T>& to) {
    return [&](void* f) {
      call_gemv<T>(f, cblas, v.layout, v.trans, v.m, v.n, alpha, a.data(), v.lda, x.data(), v.incx, beta, to.data(),
                   v.incy);
    };
  };
  const std::string said = by_name(routine, symbol, call(y));
  if (!a.same(A) || !x.row.same(X.row)) return wrong(routine, "an input has changed");
  if (kind == Kind::invalid) {
    Vector<T> other = Y;
    const std::string plain = by_handle(linked, symbol, call(other));
    return judge_invalid(routine, said, plain, y.row.same(other.row));
  }
  if (!y.row.same_elsewhere(Y.row, [](Size, Size) { return true; })) return wrong(routine, "written outside of y");
  if (!works) {
    if (!y.row.same(Y.row)) wrong(routine, "y has changed, without a matrix");
    return;
  }

  Vector<T> p = Y;
  by_handle(plain_blas, symbol, call(p));
  const double largest = multiplies ? A.largest() + X.row.largest() : 0;
  const double absolute = lost_by_underflow<T>(terms_of_each, magnitude(alpha) + magnitude(beta) + largest);
  for (Size i = 0; i < results; ++i) {
    double terms = 0;
    if (multiplies)
      for (Size j = 0; j < terms_of_each; ++j) terms += magnitude(trans == 'N' ? A(i, j) : A(j, i)) * magnitude(X[j]);
    // The reference multiplies x by alpha, the device the sums, which overflow however small alpha is.
    const bool sums_overflow = kind == Kind::extreme && !(terms < std::numeric_limits<Real<T>>::max() / 64);
    terms = sums_overflow ? HUGE_VAL : multiplies ? terms * magnitude(alpha) : 0;
    if (reads_y) terms += magnitude(beta) * magnitude(Y[i]);
    judge(routine, y[i], p[i], terms, limit_of<T>(terms_of_each), absolute, kind == Kind::rounded, i, 0);
  }
}

// ---- QR

constexpr double qr_limit = 30;

template <class T>
double length(const Matrix<T>& A, Size j, Size rows) {
  double sum = 0;
  for (Size i = 0; i < rows; ++i) sum = std::hypot(sum, std::abs(std::complex<double>(A(i, j))));
  return sum;
}

/// Column j of a difference beside a column's length.
template <class T>
void judge_column(const std::string& routine, const char* what, double error, double size, Size order, Size j) {
  const double ratio = error / (eps<T> * static_cast<double>(std::max<Size>(1, order)) * size +
                                least_normal<T> * static_cast<double>(order + 1));
  accounts[routine].worst = std::max(accounts[routine].worst, ratio);
  const double limit = kind == Kind::rounded ? 2 * qr_limit : qr_limit;
  if (!(ratio <= limit)) wrong(routine, text("%s, column %td: ratio %.3g of %g", what, j, ratio, limit));
}

template <class T>
struct Factors {
  Matrix<T> A, tau;
};

template <class T>
Int call_geqrf(void* function, Size m, Size n, T* A, Size lda, T* tau, T* work, Size lwork) {
  using F = void (*)(const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*);
  const Int M = static_cast<Int>(m), N = static_cast<Int>(n), LA = static_cast<Int>(lda), LW = static_cast<Int>(lwork);
  Int info = -99;
  reinterpret_cast<F>(function)(&M, &N, A, &LA, tau, work, &LW, &info);
  return info;
}
template <class T>
Int call_orgqr(void* function, Size m, Size n, Size k, T* A, Size lda, const T* tau, T* work, Size lwork) {
  using F = void (*)(const Int*, const Int*, const Int*, T*, const Int*, const T*, T*, const Int*, Int*);
  const Int M = static_cast<Int>(m), N = static_cast<Int>(n), K = static_cast<Int>(k), LA = static_cast<Int>(lda),
            LW = static_cast<Int>(lwork);
  Int info = -99;
  reinterpret_cast<F>(function)(&M, &N, &K, A, &LA, tau, work, &LW, &info);
  return info;
}
/// ormqr, and with `T of tsize elements` for tau gemqr.
template <class T>
Int call_ormqr(void* function, bool compact, char side, char trans, Size m, Size n, Size k, const T* A, Size lda,
               const T* tau, Size tsize, T* C, Size ldc, T* work, Size lwork) {
  const Int M = static_cast<Int>(m), N = static_cast<Int>(n), K = static_cast<Int>(k), LA = static_cast<Int>(lda),
            LC = static_cast<Int>(ldc), LW = static_cast<Int>(lwork), TS = static_cast<Int>(tsize);
  Int info = -99;
  if (compact) {
    using F = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const T*, const Int*, const T*,
                       const Int*, T*, const Int*, T*, const Int*, Int*, std::size_t, std::size_t);
    reinterpret_cast<F>(function)(&side, &trans, &M, &N, &K, A, &LA, tau, &TS, C, &LC, work, &LW, &info, 1, 1);
  } else {
    using F = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const T*, const Int*, const T*, T*,
                       const Int*, T*, const Int*, Int*, std::size_t, std::size_t);
    reinterpret_cast<F>(function)(&side, &trans, &M, &N, &K, A, &LA, tau, C, &LC, work, &LW, &info, 1, 1);
  }
  return info;
}
template <class T>
Int call_geqr(void* function, Size m, Size n, T* A, Size lda, T* t, Size tsize, T* work, Size lwork) {
  using F = void (*)(const Int*, const Int*, T*, const Int*, T*, const Int*, T*, const Int*, Int*);
  const Int M = static_cast<Int>(m), N = static_cast<Int>(n), LA = static_cast<Int>(lda), TS = static_cast<Int>(tsize),
            LW = static_cast<Int>(lwork);
  Int info = -99;
  reinterpret_cast<F>(function)(&M, &N, A, &LA, t, &TS, work, &LW, &info);
  return info;
}

template <class T>
constexpr char adjoint = is_complex<T> ? 'C' : 'T';

/// A matrix of one column that nobody has written to.
template <class T>
Matrix<T> array(Size n) {
  return Matrix<T>(std::max<Size>(1, n), 1, std::max<Size>(1, n));
}

template <class T>
void judge_qr(const std::string& routine, const Matrix<T>& A, const Matrix<T>& factored, Matrix<T>& tau) {
  const Size m = A.rows, n = A.cols, k = std::min(m, n);
  if (k == 0) return;
  Matrix<T> Q(m, k, m), work = array<T>(64 * k);
  for (Size j = 0; j < k; ++j)
    for (Size i = 0; i < m; ++i) Q(i, j) = factored(i, j);
  const auto form = found(plain_lapack, name_of<T>(is_complex<T> ? "ungqr_" : "orgqr_"));
  if (call_orgqr<T>(form, m, k, k, Q.data(), m, tau.data(), work.data(), 64 * k) != 0) std::exit(2);
  using Wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  std::vector<Wide> column(static_cast<std::size_t>(m));
  for (Size j = 0; j < n; ++j) {
    for (Size i = 0; i < m; ++i) column[static_cast<std::size_t>(i)] = Wide(A(i, j));
    for (Size l = 0; l < std::min(k, j + 1); ++l)
      for (Size i = 0; i < m; ++i) column[static_cast<std::size_t>(i)] -= Wide(Q(i, l)) * Wide(factored(l, j));
    double error = 0;
    for (const Wide& x : column) error = std::hypot(error, std::abs(x));
    judge_column<T>(routine, "|A - Q R|", error, length(A, j, m), m, j);
  }
  for (Size j = 0; j < k; ++j) {
    double error = 0;
    for (Size i = 0; i <= j; ++i) {
      Wide sum = i == j ? -1 : 0;
      for (Size l = 0; l < m; ++l) sum += conjugate(Wide(Q(l, i))) * Wide(Q(l, j));
      error = std::max(error, std::abs(sum));
    }
    judge_column<T>(routine, "|I - Q^H Q|", error, 1, m, j);
  }
}

/// Data of moderate size, or all of it small or large; with columns or rows that are zero, or nearly so.
template <class T>
void fill_for_qr(Matrix<T>& A) {
  data_kind = static_cast<int>(below(4));
  A.fill();
  const double scale = one_in(4) ? std::ldexp(1.0, static_cast<int>(below(41)) - 20) : 1, shrunk = one_in(3) ? 1e-9 : 0;
  const Size column = one_in(4) ? below(A.cols) : -1, row = one_in(4) ? below(A.rows) : -1;
  for (Size j = 0; j < A.cols; ++j)
    for (Size i = 0; i < A.rows; ++i) A(i, j) *= static_cast<Real<T>>(j == column || i == row ? scale * shrunk : scale);
}

template <class T>
void geqrf() {
  const std::string routine = name_of<T>("geqrf"), symbol = routine + "_";
  const Size m = one_in(6) ? 3 * dimension() : dimension(), n = dimension(), k = std::min(m, n);
  Matrix<T> A(m, n, leading(m));
  fill_for_qr(A);
  struct {
    Size m, n, lda, lwork;
  } x{m, n, A.ld, std::max<Size>(1, n) * (1 + below(40))};
  Matrix<T> a = A, tau = array<T>(k), work = array<T>(x.lwork);
  for (Size times = kind == Kind::invalid ? 1 + below(2) : 0; times > 0; --times) switch (below(4)) {
      case 0: x.m = -1 - below(5); break;
      case 1: x.n = -1 - below(5); break;
      case 2: x.lda = m - 1; break;
      default: x.lwork = n > 1 ? n - 1 : 0; break;
    }
  about = text("%s m=%td n=%td lda=%td lwork=%td data %d", routine.c_str(), x.m, x.n, x.lda, x.lwork, data_kind);
  const auto call = [&](Matrix<T>& to, Matrix<T>& to_tau, Matrix<T>& scratch, Int& info) {
    return
        [&](void* f) { info = call_geqrf<T>(f, x.m, x.n, to.data(), x.lda, to_tau.data(), scratch.data(), x.lwork); };
  };
  Matrix<T> other = A, other_tau = tau, other_work = work;
  Int info, plain_info;
  const std::string said = by_name(routine, symbol, call(a, tau, work, info));
  if (kind == Kind::invalid) {
    const std::string plain = by_handle(linked, symbol, call(other, other_tau, other_work, plain_info));
    judge_invalid(routine, said, plain, a.same(other));
    if (info != plain_info) wrong(routine, text("info %td, plain %td", Size{info}, Size{plain_info}));
    return;
  }
  if (info != 0) return wrong(routine, text("info %td", Size{info}));
  const auto all = [](Size, Size) { return true; };
  if (!a.same_elsewhere(A, all) || !tau.same_elsewhere(array<T>(k), all) || !work.same_elsewhere(other_work, all))
    return wrong(routine, "written outside of A, tau or work");
  if (!(std::real(work(0, 0)) >= static_cast<Real<T>>(k == 0 ? 1 : n))) return wrong(routine, "work(1) is too small");
  if (kind == Kind::rounded) {
    by_handle(plain_lapack, symbol, call(other, other_tau, other_work, plain_info));
    if (!a.same(other) || !tau.same(other_tau)) return wrong(routine, "bits differ from plain");
  }
  judge_qr(routine, A, a, tau);
}

/// Reflectors of an m x k matrix, by the plain library.
template <class T>
Factors<T> factors(Size m, Size k) {
  Factors<T> f{Matrix<T>(m, k, leading(m)), array<T>(k)};
  fill_for_qr(f.A);
  Matrix<T> work = array<T>(64 * std::max<Size>(1, k));
  if (k > 0 && m > 0)
    call_geqrf<T>(found(plain_lapack, name_of<T>("geqrf_")), m, k, f.A.data(), f.A.ld, f.tau.data(), work.data(),
                  64 * std::max<Size>(1, k));
  return f;
}

/// Of a product with Q.
template <class T>
void judge_product(const std::string& routine, const Matrix<T>& C, const Matrix<T>& plain, const Matrix<T>& before,
                   bool by_columns, Size order) {
  for (Size j = 0; j < (by_columns ? C.cols : C.rows); ++j) {
    double error = 0, size = 0;
    for (Size i = 0; i < (by_columns ? C.rows : C.cols); ++i) {
      const Size r = by_columns ? i : j, c = by_columns ? j : i;
      error = std::hypot(error, magnitude(T(C(r, c) - plain(r, c))));
      size = std::hypot(size, magnitude(before(r, c)));
    }
    judge_column<T>(routine, "|C - plain|", error, size, order, j);
  }
}

template <class T>
void orgqr() {
  const std::string routine = name_of<T>(is_complex<T> ? "ungqr" : "orgqr"), symbol = routine + "_";
  const Size m = dimension(), n = std::min(m, dimension()), k = std::min(n, one_in(2) ? n : dimension());
  Factors<T> f = factors<T>(m, n);
  struct {
    Size m, n, k, lda, lwork;
  } x{m, n, k, f.A.ld, std::max<Size>(1, n) * (1 + below(40))};
  Matrix<T> a = f.A, other = f.A, work = array<T>(x.lwork), other_work = work;
  for (Size times = kind == Kind::invalid ? 1 + below(2) : 0; times > 0; --times) switch (below(5)) {
      case 0: x.m = -1 - below(5); break;
      case 1: x.n = one_in(2) ? -1 - below(5) : m + 1; break;
      case 2: x.k = one_in(2) ? -1 : n + 1; break;
      case 3: x.lda = m - 1; break;
      default: x.lwork = n > 1 ? n - 1 : 0; break;
    }
  about =
      text("%s m=%td n=%td k=%td lda=%td lwork=%td data %d", routine.c_str(), x.m, x.n, x.k, x.lda, x.lwork, data_kind);
  const auto call = [&](Matrix<T>& to, Matrix<T>& scratch, Int& info) {
    return [&](void* f_) {
      info = call_orgqr<T>(f_, x.m, x.n, x.k, to.data(), x.lda, f.tau.data(), scratch.data(), x.lwork);
    };
  };
  Int info, plain_info;
  const std::string said = by_name(routine, symbol, call(a, work, info));
  const std::string plain =
      by_handle(kind == Kind::invalid ? linked : plain_lapack, symbol, call(other, other_work, plain_info));
  if (info != plain_info) return wrong(routine, text("info %td, plain %td", Size{info}, Size{plain_info}));
  if (kind == Kind::invalid) return judge_invalid(routine, said, plain, a.same(other));
  const auto all = [](Size, Size) { return true; };
  if (!a.same_elsewhere(f.A, all) || !work.same_elsewhere(array<T>(x.lwork), all))
    return wrong(routine, "written outside of A or work");
  if (kind == Kind::rounded && !a.same(other)) return wrong(routine, "bits differ from plain");
  Matrix<T> ones(m, n, std::max<Size>(1, m));
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) ones(i, j) = T(i == j);
  judge_product(routine, a, other, ones, true, m);
}

template <class T>
void ormqr() {
  const std::string routine = name_of<T>(is_complex<T> ? "unmqr" : "ormqr"), symbol = routine + "_";
  const char side = one_of("LR"), trans = one_in(2) ? 'N' : adjoint<T>;
  const Size order = dimension(), across = dimension(), k = std::min(order, dimension());
  const Size m = side == 'L' ? order : across, n = side == 'L' ? across : order;
  Factors<T> f = factors<T>(order, k);
  Matrix<T> C(m, n, leading(m));
  fill_for_qr(C);
  struct {
    char side, trans;
    Size m, n, k, lda, ldc, lwork;
  } x{side, trans, m, n, k, f.A.ld, C.ld, std::max<Size>(1, across) * (1 + below(40))};
  Matrix<T> a = f.A, c = C, other = C, work = array<T>(x.lwork), other_work = work;
  for (Size times = kind == Kind::invalid ? 1 + below(2) : 0; times > 0; --times) switch (below(8)) {
      case 0: x.side = 'X'; break;
      case 1: x.trans = is_complex<T> ? one_of("XT") : one_of("XC"); break;
      case 2: x.m = -1 - below(5); break;
      case 3: x.n = -1 - below(5); break;
      case 4: x.k = one_in(2) ? -1 : order + 1; break;
      case 5: x.lda = order - 1; break;
      case 6: x.ldc = m - 1; break;
      default: x.lwork = across > 1 ? across - 1 : 0; break;
    }
  about = text("%s %c%c m=%td n=%td k=%td lda=%td ldc=%td lwork=%td data %d", routine.c_str(), x.side, x.trans, x.m,
               x.n, x.k, x.lda, x.ldc, x.lwork, data_kind);
  const auto call = [&](Matrix<T>& to, Matrix<T>& scratch, Int& info) {
    return [&](void* f_) {
      info = call_ormqr<T>(f_, false, x.side, x.trans, x.m, x.n, x.k, a.data(), x.lda, f.tau.data(), 0, to.data(),
                           x.ldc, scratch.data(), x.lwork);
    };
  };
  Int info, plain_info;
  const std::string said = by_name(routine, symbol, call(c, work, info));
  if (!a.same(f.A)) return wrong(routine, "the reflectors have changed");
  const std::string plain =
      by_handle(kind == Kind::invalid ? linked : plain_lapack, symbol, call(other, other_work, plain_info));
  if (info != plain_info) return wrong(routine, text("info %td, plain %td", Size{info}, Size{plain_info}));
  if (kind == Kind::invalid) return judge_invalid(routine, said, plain, c.same(other));
  const auto all = [](Size, Size) { return true; };
  if (!c.same_elsewhere(C, all) || !work.same_elsewhere(array<T>(x.lwork), all))
    return wrong(routine, "written outside of C or work");
  if (kind == Kind::rounded && !c.same(other)) return wrong(routine, "bits differ from plain");
  judge_product(routine, c, other, C, side == 'L', order);
}

template <class T>
void geqr() {
  const std::string routine = name_of<T>("geqr"), symbol = routine + "_", product = name_of<T>("gemqr");
  const Size m = std::max<Size>(1, one_in(4) ? 4 * dimension() : dimension()), n = std::max<Size>(1, dimension()),
             k = std::min(m, n);
  Matrix<T> A(m, n, leading(m));
  fill_for_qr(A);
  Matrix<T> a = A, sizes_t = array<T>(5), size_work = array<T>(1);
  const Size asks = one_in(2) ? -1 : -2;
  about = text("%s m=%td n=%td lda=%td asks %td data %d", routine.c_str(), m, n, A.ld, asks, data_kind);
  Int info = 0, plain_info = 0;
  by_name(routine, symbol,
          [&](void* f) { info = call_geqr<T>(f, m, n, a.data(), A.ld, sizes_t.data(), asks, size_work.data(), asks); });
  if (info != 0) return wrong(routine, text("a query has info %td", Size{info}));
  const auto told_size = [](const T& x) { return static_cast<Size>(std::real(x)); };
  struct {
    Size m, n, lda, tsize, lwork;
  } x{m, n, A.ld, std::max<Size>(5, told_size(sizes_t(0, 0))) + below(9),
      std::max<Size>(1, told_size(size_work(0, 0))) + below(9)};
  Matrix<T> t = array<T>(x.tsize), work = array<T>(x.lwork);
  for (Size times = kind == Kind::invalid ? 1 + below(2) : 0; times > 0; --times) switch (below(5)) {
      case 0: x.m = -1 - below(5); break;
      case 1: x.n = -1 - below(5); break;
      case 2: x.lda = m - 1; break;
      case 3: x.tsize = below(5); break;
      default: x.lwork = 0; break;
    }
  about = text("%s m=%td n=%td lda=%td tsize=%td lwork=%td data %d", routine.c_str(), x.m, x.n, x.lda, x.tsize, x.lwork,
               data_kind);
  const auto call = [&](Matrix<T>& to, Matrix<T>& to_t, Matrix<T>& scratch, Int& status) {
    return [&](void* f) {
      status = call_geqr<T>(f, x.m, x.n, to.data(), x.lda, to_t.data(), x.tsize, scratch.data(), x.lwork);
    };
  };
  const Matrix<T> fresh_t = t, fresh_work = work;
  const std::string said = by_name(routine, symbol, call(a, t, work, info));
  if (kind == Kind::invalid) {
    Matrix<T> other = A, other_t = fresh_t, other_work = fresh_work;
    const std::string plain = by_handle(linked, symbol, call(other, other_t, other_work, plain_info));
    judge_invalid(routine, said, plain, a.same(other));
    if (info != plain_info) wrong(routine, text("info %td, plain %td", Size{info}, Size{plain_info}));
    return;
  }
  if (info != 0) return wrong(routine, text("info %td", Size{info}));
  const auto all = [](Size, Size) { return true; };
  if (!a.same_elsewhere(A, all) || !t.same_elsewhere(fresh_t, all) || !work.same_elsewhere(fresh_work, all))
    return wrong(routine, "written outside of A, T or work");

  // Q^H A, or its adjoint A^H Q, is R.
  const bool left = one_in(2);
  Matrix<T> C(left ? m : n, left ? n : m, leading(left ? m : n));
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) (left ? C(i, j) : C(j, i)) = left ? A(i, j) : conjugate(A(i, j));
  const Matrix<T> before = C;
  const Matrix<T> kept = a, kept_t = t;
  about += left ? ", and gemqr LC" : ", and gemqr RN";
  Size lwork = -1;
  for (int asking = 1; asking >= 0; --asking) {
    Matrix<T> scratch = array<T>(lwork + 64 * (m + n));  // LAPACK 3.11 alone takes more than it tells
    by_name(product, product + "_", [&](void* f) {
      info = call_ormqr<T>(f, true, left ? 'L' : 'R', left ? adjoint<T> : 'N', C.rows, C.cols, k, a.data(), a.ld,
                           t.data(), x.tsize, C.data(), C.ld, scratch.data(), lwork);
    });
    if (info != 0) return wrong(product, text("info %td", Size{info}));
    if (asking) lwork = std::max<Size>(1, told_size(scratch(0, 0)));
  }
  if (!a.same(kept) || !t.same(kept_t)) return wrong(product, "A or T has changed");
  if (!C.same_elsewhere(before, all)) return wrong(product, "written outside of C");
  for (Size j = 0; j < n; ++j) {
    double error = 0;
    for (Size i = 0; i < m; ++i) {
      const T r = i <= j && i < k ? a(i, j) : T(0), q = left ? C(i, j) : conjugate(C(j, i));
      error = std::hypot(error, magnitude(T(q - r)));
    }
    judge_column<T>(product, "|Q^H A - R|", error, length(A, j, m), m, j);
  }
}

// ---- all of them

template <class T>
void any() {
  const bool numbers_only = kind == Kind::special || kind == Kind::extreme || kind == Kind::flushed;
  const Size which = below(numbers_only ? 6 : 14);
  if (which < 2) return gemm<T>();
  if (which < 4) {
    if constexpr (is_complex<T>)
      if (one_in(2)) return syrk<T, true>();
    return syrk<T, false>();
  }
  // By its number, so that calls of others which are known by seed and number stay what they are.
  if (which < 6) return number % 3 == 1 ? gemv<T>() : symv<T>();
  if (which < 8) return geqrf<T>();
  if (which < 10) return ormqr<T>();
  if (which < 12) return orgqr<T>();
  geqr<T>();
}

void one_call() {
  bits.seed(static_cast<std::uint64_t>(seed) * 1000003 + static_cast<std::uint64_t>(number));
  failed_now = false;
  static constexpr Kind kinds[] = {Kind::plain,   Kind::plain,   Kind::plain,   Kind::plain,   Kind::plain,
                                   Kind::plain,   Kind::plain,   Kind::plain,   Kind::plain,   Kind::special,
                                   Kind::special, Kind::special, Kind::extreme, Kind::invalid, Kind::invalid,
                                   Kind::rounded, Kind::rounded, Kind::flushed, Kind::trapped, Kind::trapped};
  kind = kinds[below(static_cast<Size>(std::size(kinds)))];
  for (int i = 0; only_kind && i < static_cast<int>(std::size(kind_names)); ++i)
    if (std::strcmp(only_kind, kind_names[i]) == 0) kind = static_cast<Kind>(i);
  static constexpr int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  rounding_mode = modes[below(3)];
  // Small whole numbers where Inf and NaN have to be in the same places: neither overflows nor vanishes.
  data_kind = kind == Kind::special   ? 3
              : kind == Kind::extreme ? static_cast<int>(below(6))
              : kind == Kind::flushed ? (one_in(2) ? 4 : 0)
                                      : static_cast<int>(below(4));
  switch (below(4)) {
    case 0: return any<float>();
    case 1: return any<double>();
    case 2: return any<std::complex<float>>();
    default: return any<std::complex<double>>();
  }
}

void stopped(int which) {
  char line[600];
  const int length =
      std::snprintf(line, sizeof line, "seed %ld call %ld: %s: signal %d\n", seed, number, about.c_str(), which);
  (void)!write(1, line, static_cast<std::size_t>(length));
  _exit(99);
}

}  // namespace

// The program's own: both sides find it.
extern "C" __attribute__((visibility("default"))) void xerbla_(const char* routine, const Int* argument,
                                                               std::size_t length) {
  length = length > 0 && length < 32 ? length : 6;
  while (length > 0 && routine[length - 1] == ' ') --length;
  told += std::string(routine, length) + "/" + std::to_string(*argument) + ";";
}
extern "C" __attribute__((visibility("default"))) void cblas_xerbla(Int argument, const char* routine, const char*,
                                                                    ...) {
  told += std::string(routine) + "/" + std::to_string(argument) + ";";
}

int main(int count, char** arguments) {
  if (count < 7) return 2;
  if (count > 7) only_kind = arguments[7];
  plain_blas = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  plain_lapack = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  linked = dlopen("liblapack.so.3", RTLD_NOW | RTLD_NOLOAD);
  if (!plain_blas || !plain_lapack || !linked) {
    std::printf("%s\n", dlerror());
    return 2;
  }
  seed = std::atol(arguments[3]);
  const long first = std::atol(arguments[4]), calls = std::atol(arguments[5]);
  levels = std::atoi(arguments[6]);
  for (const int which : {SIGFPE, SIGSEGV, SIGBUS, SIGABRT}) signal(which, stopped);
  for (number = first; number < first + calls; ++number) one_call();
  long all = 0, failed = 0;
  for (const auto& [name, account] : accounts) {
    std::printf("%s %ld %ld %.3g\n", name.c_str(), account.calls, account.failed, account.worst);
    all += account.calls;
    failed += account.failed;
  }
  return failed != 0;
}
