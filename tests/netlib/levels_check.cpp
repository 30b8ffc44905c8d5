// Stands between a netlib tester and libblaslift.so (both preloaded, this one first) and judges every gemm by what
// theory promises of Strassen's algorithm, which is less than the testers ask for.
//
// The testers' ratio is componentwise: error / (eps * (|alpha| |A| |B| + |beta| |C|)) in each element.  Strassen's is
// bounded normwise only, by the largest elements of A and B (Higham, Accuracy and Stability, 23.2), so an element whose
// own terms are all small may exceed any ratio.  Here every call is computed three times: by the library; in higher
// precision, by plain loops; and by a textbook Strassen with as many levels, which shares no code with the library.
// Noted are the results outside the normwise bound (there may be none), and the testers' ratios of both.
//
//   BLASLIFT_STRASSEN      the number of levels
//   LEVELS_CHECK_REPORT    a file; gets a line of JSON at exit
//   LEVELS_CHECK_ANSWER    textbook: the caller gets the textbook's results, so that the tester itself judges them
//
// The file's name begins with libblaslift so that the library does not take it for the BLAS underneath.  The testers
// have one thread.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using Index = std::int64_t;

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
constexpr bool is_complex = !std::is_same_v<T, Real<T>>;
template <class T>
using Wide = std::conditional_t<std::is_same_v<Real<T>, float>, double, long double>;

/// The testers' modulus: |re| + |im|.
template <class T>
Wide<T> size_of(T x) {
  return std::fabs(static_cast<Wide<T>>(std::real(x))) + std::fabs(static_cast<Wide<T>>(std::imag(x)));
}

/// Without the complex operator's repair of infinities.
template <class T>
T times(T x, T y) {
  if constexpr (is_complex<T>)
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  else
    return x * y;
}

template <class T>
struct Call {
  char transa, transb;  ///< N, T or C
  Index m, n, k;
  T alpha;
  const T* A;
  Index lda;
  const T* B;
  Index ldb;
  T beta;
  T* C;
  Index ldc;
  bool transposed = false;  ///< the caller's matrices are the transposes: row by row

  bool valid() const {
    const auto known = [](char op) { return op == 'N' || op == 'T' || op == 'C'; };
    return known(transa) && known(transb) && m >= 0 && n >= 0 && k >= 0 &&
           lda >= std::max<Index>(1, transa == 'N' ? m : k) && ldb >= std::max<Index>(1, transb == 'N' ? k : n) &&
           ldc >= std::max<Index>(1, m);
  }
};

/// What is noted of a routine, by the name that the testers give it.
struct Account {
  std::uint64_t calls = 0;        ///< valid ones
  std::uint64_t checked = 0;      ///< with something to multiply, all of it finite
  std::uint64_t with_levels = 0;  ///< checked, and large enough for a level
  std::uint64_t violations = 0;   ///< calls with elements outside the bound
  double bound = 0;               ///< the largest error, in units of the bound
  double ratio = 0;               ///< the largest ratio that the testers report
  double ratio_anywhere = 0;      ///< and of all elements
  std::uint64_t textbook_violations = 0;
  double textbook_bound = 0, textbook_ratio = 0, textbook_ratio_anywhere = 0;
  std::string first;  ///< the first violation
};

std::map<std::string, Account>& accounts() {
  static auto& all = *new std::map<std::string, Account>;
  return all;
}

int levels_asked() {
  static const int levels = [] {
    const char* text = std::getenv("BLASLIFT_STRASSEN");
    return text ? std::atoi(text) : 0;
  }();
  return levels;
}

bool answers_by_textbook() {
  static const char* answer = std::getenv("LEVELS_CHECK_ANSWER");
  return answer && std::string(answer) == "textbook";
}

/// As many levels as were asked for, or as halve the smallest size to no less than 1.
int levels_of(Index smallest) {
  int levels = levels_asked();
  while (levels > 0 && smallest >> levels == 0) --levels;
  return levels;
}

/// A column-major matrix without gaps.
template <class T>
struct Dense {
  Index rows = 0, cols = 0;
  std::vector<T> values;

  Dense(Index r, Index c) : rows(r), cols(c), values(static_cast<std::size_t>(r * c)) {}
  T& operator()(Index i, Index j) { return values[static_cast<std::size_t>(i + j * rows)]; }
  const T& operator()(Index i, Index j) const { return values[static_cast<std::size_t>(i + j * rows)]; }

  Wide<T> largest() const {
    Wide<T> most = 0;
    for (const T& x : values) most = std::max(most, size_of(x));
    return most;
  }
  bool finite() const {
    return std::all_of(values.begin(), values.end(),
                       [](const T& x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); });
  }
  Dense block(Index row, Index col, Index r, Index c) const {
    Dense b(r, c);
    for (Index j = 0; j < c; ++j)
      for (Index i = 0; i < r; ++i) b(i, j) = row + i < rows && col + j < cols ? (*this)(row + i, col + j) : T{};
    return b;
  }
};

template <class T>
Dense<T> copy_of(const T* x, Index ld, char op, Index rows, Index cols) {
  Dense<T> d(rows, cols);
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) {
      const T v = op == 'N' ? x[i + j * ld] : x[j + i * ld];
      if constexpr (is_complex<T>)
        d(i, j) = op == 'C' ? std::conj(v) : v;
      else
        d(i, j) = v;
    }
  return d;
}

template <class T>
Dense<T> operator+(Dense<T> x, const Dense<T>& y) {
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] += y.values[i];
  return x;
}
template <class T>
Dense<T> operator-(Dense<T> x, const Dense<T>& y) {
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] -= y.values[i];
  return x;
}

/// Strassen's algorithm in Winograd's form (Higham, 23.1, (23.6)), all sizes multiples of 2 to the number of levels.
template <class T>
Dense<T> textbook(const Dense<T>& A, const Dense<T>& B, int levels) {
  Dense<T> C(A.rows, B.cols);
  if (levels == 0) {
    for (Index j = 0; j < C.cols; ++j)
      for (Index p = 0; p < A.cols; ++p)
        for (Index i = 0; i < C.rows; ++i) C(i, j) += times(A(i, p), B(p, j));
    return C;
  }
  const Index m = A.rows / 2, k = A.cols / 2, n = B.cols / 2;
  const Dense<T> A11 = A.block(0, 0, m, k), A12 = A.block(0, k, m, k), A21 = A.block(m, 0, m, k),
                 A22 = A.block(m, k, m, k);
  const Dense<T> B11 = B.block(0, 0, k, n), B12 = B.block(0, n, k, n), B21 = B.block(k, 0, k, n),
                 B22 = B.block(k, n, k, n);
  const Dense<T> S1 = A21 + A22, S2 = S1 - A11, S3 = A11 - A21, S4 = A12 - S2;
  const Dense<T> S5 = B12 - B11, S6 = B22 - S5, S7 = B22 - B12, S8 = S6 - B21;
  const auto product = [levels](const Dense<T>& x, const Dense<T>& y) { return textbook(x, y, levels - 1); };
  const Dense<T> M1 = product(S2, S6), M2 = product(A11, B11), M3 = product(A12, B21), M4 = product(S3, S7),
                 M5 = product(S1, S5), M6 = product(S4, B22), M7 = product(A22, S8);
  const Dense<T> T1 = M1 + M2, T2 = T1 + M4;
  const Dense<T> quarters[] = {M2 + M3, T1 + M5 + M6, T2 - M7, T2 + M5};
  for (Index q = 0; q < 4; ++q)
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < m; ++i) C(i + q / 2 * m, j + q % 2 * n) = quarters[static_cast<std::size_t>(q)](i, j);
  return C;
}

/// The same for any sizes, by padding with zeros; the whole of C := alpha A B + beta C.
template <class T>
Dense<T> textbook(const Call<T>& g, const Dense<T>& A, const Dense<T>& B, const Dense<T>& C, int levels) {
  const auto padded = [levels](Index size) { return (size + (Index{1} << levels) - 1) >> levels << levels; };
  const Index m = padded(g.m), n = padded(g.n), k = padded(g.k);
  const Dense<T> P = textbook(A.block(0, 0, m, k), B.block(0, 0, k, n), levels);
  Dense<T> result(g.m, g.n);
  for (Index j = 0; j < g.n; ++j)
    for (Index i = 0; i < g.m; ++i)
      result(i, j) = times(g.alpha, P(i, j)) + (g.beta == T(0) ? T(0) : times(g.beta, C(i, j)));
  return result;
}

/// How far from exact, in units of u max|A| max|B|, Winograd's form may be with leaves of this inner size (Higham,
/// theorem 23.3): (n / n0)^log2(18) (n0^2 + 6 n0) - 6 n.  The last term is left out, which makes room for the
/// library's adding of a matrix on the way: one more sum a level, of at most four leaves' terms.  A complex product is
/// one of real products four times as many and sums of |re| + |im|: eight times that covers it.
template <class T>
Wide<T> strassen_bound(int levels, Index leaf) {
  if (levels == 0) return 0;
  const auto n0 = static_cast<Wide<T>>(leaf);
  return std::pow(Wide<T>(18), static_cast<Wide<T>>(levels)) * (n0 * n0 + 6 * n0) * (is_complex<T> ? 8 : 1);
}

/// The exact result, up to the wider type's rounding, and what errors are measured by.
template <class T>
struct Expected {
  std::vector<Wide<T>> re, im, terms;  ///< terms: |alpha| |A| |B| + |beta| |C|, element by element
};

template <class T>
Expected<T> expect(const Call<T>& g, const Dense<T>& A, const Dense<T>& B, const Dense<T>& C) {
  using W = Wide<T>;
  Expected<T> e;
  const auto ar = static_cast<W>(std::real(g.alpha)), ai = static_cast<W>(std::imag(g.alpha));
  const auto br = static_cast<W>(std::real(g.beta)), bi = static_cast<W>(std::imag(g.beta));
  std::vector<W> re(static_cast<std::size_t>(g.m)), im(re.size()), size(re.size());
  for (Index j = 0; j < g.n; ++j) {
    for (auto* column : {&re, &im, &size}) std::fill(column->begin(), column->end(), W(0));
    for (Index p = 0; p < g.k; ++p) {
      const auto xr = static_cast<W>(std::real(B(p, j))), xi = static_cast<W>(std::imag(B(p, j)));
      const W x = size_of(B(p, j));
      for (Index i = 0; i < g.m; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto yr = static_cast<W>(std::real(A(i, p)));
        re[at] += yr * xr;
        if constexpr (is_complex<T>) {
          const auto yi = static_cast<W>(std::imag(A(i, p)));
          re[at] -= yi * xi;
          im[at] += yr * xi + yi * xr;
        }
        size[at] += size_of(A(i, p)) * x;
      }
    }
    for (Index i = 0; i < g.m; ++i) {
      const auto at = static_cast<std::size_t>(i);
      W r = ar * re[at] - ai * im[at], s = ar * im[at] + ai * re[at], t = size_of(g.alpha) * size[at];
      if (g.beta != T(0)) {
        const auto cr = static_cast<W>(std::real(C(i, j))), ci = static_cast<W>(std::imag(C(i, j)));
        r += br * cr - bi * ci;
        s += br * ci + bi * cr;
        t += size_of(g.beta) * size_of(C(i, j));
      }
      e.re.push_back(r);
      e.im.push_back(s);
      e.terms.push_back(t);
    }
  }
  return e;
}

/// NaN is above all.
template <class W>
void raise(double& most, W x) {
  if (!(x <= most)) most = std::isnan(x) ? HUGE_VAL : static_cast<double>(x);
}

/// The testers report the ratios of each call's last column only; a ratio that leaves less than half of the digits
/// stops them in whatever column.
struct Judgement {
  double bound = 0, ratio = 0, ratio_anywhere = 0;
};

/// @param spread  the part of the bound that all elements share
template <class T>
Judgement judge(const Call<T>& g, const Expected<T>& e, Wide<T> spread, const T* C, Index ldc) {
  using W = Wide<T>;
  constexpr W eps = std::numeric_limits<Real<T>>::epsilon();
  // A classical product's own errors, of what is left over at the edges, and those of alpha and beta (3.5 there).
  const W own = static_cast<W>(g.k + 3) * eps * (is_complex<T> ? 2 : 1);
  Judgement worst;
  std::size_t at = 0;
  for (Index j = 0; j < g.n; ++j)
    for (Index i = 0; i < g.m; ++i, ++at) {
      const T x = C[i + j * ldc];
      const W error =
          std::fabs(static_cast<W>(std::real(x)) - e.re[at]) + std::fabs(static_cast<W>(std::imag(x)) - e.im[at]);
      if (error == 0) continue;
      raise(worst.bound, error / (spread + own * e.terms[at]));
      const W ratio = error / eps / (e.terms[at] != 0 ? e.terms[at] : 1);
      raise(worst.ratio_anywhere, ratio);
      if (g.transposed ? i == g.m - 1 : j == g.n - 1) raise(worst.ratio, ratio);
    }
  return worst;
}

template <class T>
std::string describe(const Call<T>& g) {
  char text[160];
  std::snprintf(text, sizeof text, "%c%c m=%lld n=%lld k=%lld alpha=%g beta=%g", g.transa, g.transb,
                static_cast<long long>(g.m), static_cast<long long>(g.n), static_cast<long long>(g.k),
                static_cast<double>(std::real(g.alpha)), static_cast<double>(std::real(g.beta)));
  return text;
}

/// Whether a call is under way: what the BLAS underneath calls in its turn (its CBLAS, its Fortran routines) is part
/// of that call.
bool inside = false;

template <class Forward>
void forwarding(Forward forward) {
  inside = true;
  forward();
  inside = false;
}

template <class T, class Forward>
void check(const char* name, const Call<T>& g, Forward forward) {
  using W = Wide<T>;
  if (!g.valid()) return forwarding(forward);
  Account& account = accounts()[name];
  ++account.calls;
  if (g.m == 0 || g.n == 0 || g.k == 0 || g.alpha == T(0)) return forwarding(forward);

  const Dense<T> A = copy_of(g.A, g.lda, g.transa, g.m, g.k), B = copy_of(g.B, g.ldb, g.transb, g.k, g.n);
  const Dense<T> C = g.beta == T(0) ? Dense<T>(g.m, g.n) : copy_of<T>(g.C, g.ldc, 'N', g.m, g.n);
  forwarding(forward);
  if (!A.finite() || !B.finite() || !C.finite()) return;

  ++account.checked;
  const Index smallest = std::min({g.m, g.n, g.k});
  const int levels = levels_of(smallest);
  if (levels > 0) ++account.with_levels;
  const Expected<T> expected = expect(g, A, B, C);
  // What underflows is lost beside the rounding errors; alpha may be applied to an operand.
  const W a = A.largest(), b = B.largest(), alpha = size_of(g.alpha);
  const W underflow = std::pow(W(18), static_cast<W>(levels)) * static_cast<W>(4 * (g.k + 3)) * (1 + alpha) *
                      (1 + a + b) * static_cast<W>(std::numeric_limits<Real<T>>::denorm_min());
  const W unit = static_cast<W>(std::numeric_limits<Real<T>>::epsilon()) / 2 * alpha * a * b;
  // The library cuts squares, as large as the smallest size allows, and multiplies as many as k holds.
  const Index tile = smallest >> levels << levels;
  const W ours = strassen_bound<T>(levels, tile >> levels) * static_cast<W>(g.k / tile) * unit + underflow;
  const W theirs = strassen_bound<T>(levels, ((g.k - 1) >> levels) + 1) * unit + underflow;

  const Judgement library = judge(g, expected, ours, g.C, g.ldc);
  const Dense<T> other = textbook(g, A, B, C, levels);
  const Judgement book = judge(g, expected, theirs, other.values.data(), g.m);
  if (library.bound > 1 && account.violations++ == 0) account.first = describe(g);
  if (book.bound > 1) ++account.textbook_violations;
  raise(account.bound, library.bound);
  raise(account.ratio, library.ratio);
  raise(account.ratio_anywhere, library.ratio_anywhere);
  raise(account.textbook_bound, book.bound);
  raise(account.textbook_ratio, book.ratio);
  raise(account.textbook_ratio_anywhere, book.ratio_anywhere);
  if (answers_by_textbook())
    for (Index j = 0; j < g.n; ++j) std::copy_n(&other(0, j), g.m, g.C + j * g.ldc);
}

struct Report {
  ~Report() {
    const char* path = std::getenv("LEVELS_CHECK_REPORT");
    if (!path || accounts().empty()) return;
    std::FILE* file = std::fopen(path, "a");
    if (!file) return;
    const char* separator = "{";
    for (const auto& [name, a] : accounts()) {
      std::fprintf(file, "%s\"%s\": {\"first\": \"%s\"", separator, name.c_str(), a.first.c_str());
      const std::pair<const char*, std::uint64_t> counts[] = {{"calls", a.calls},
                                                              {"checked", a.checked},
                                                              {"with_levels", a.with_levels},
                                                              {"violations", a.violations},
                                                              {"textbook_violations", a.textbook_violations}};
      for (const auto& [what, count] : counts)
        std::fprintf(file, ", \"%s\": %llu", what, static_cast<unsigned long long>(count));
      const std::pair<const char*, double> sizes[] = {{"bound", a.bound},
                                                      {"ratio", a.ratio},
                                                      {"ratio_anywhere", a.ratio_anywhere},
                                                      {"textbook_bound", a.textbook_bound},
                                                      {"textbook_ratio", a.textbook_ratio},
                                                      {"textbook_ratio_anywhere", a.textbook_ratio_anywhere}};
      // JSON has no infinity.
      for (const auto& [what, size] : sizes)
        std::fprintf(file, ", \"%s\": %.6g", what, std::min(size, std::numeric_limits<double>::max()));
      std::fprintf(file, "}");
      separator = ", ";
    }
    std::fprintf(file, "}\n");
    std::fclose(file);
  }
} report;

/// The function behind us: blaslift's, or, for what a call under way calls, that of the BLAS underneath, which without
/// us would have been blaslift's to pass on uncounted.
template <class Function>
class Behind {
 public:
  explicit Behind(const char* name)
      : blaslift_(look(RTLD_NEXT, name)), underneath_(look(dlopen("libblas.so.3", RTLD_LAZY | RTLD_NOLOAD), name)) {}
  Function* next() const { return inside ? underneath_ : blaslift_; }

 private:
  static Function* look(void* library, const char* name) {
    void* function = dlsym(library, name);
    if (!function) {
      std::fprintf(stderr, "levels_check: no %s behind\n", name);
      std::abort();
    }
    return reinterpret_cast<Function*>(function);
  }
  Function *blaslift_, *underneath_;
};

using Int = std::int32_t;

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
char op_of(int code) { return code == 111 ? 'N' : code == 112 ? 'T' : code == 113 ? 'C' : '?'; }

template <class T>
T scalar(T x) {
  return x;
}
template <class T>
T scalar(const void* x) {
  return *static_cast<const T*>(x);
}

/// Row by row, the arrays hold the transposes: C' := alpha * op(B)' * op(A)' + beta * C'.
template <class T>
Call<T> column_major(bool rows, const Call<T>& g) {
  return rows ? Call<T>{g.transb, g.transa, g.n, g.m, g.k, g.alpha, g.B, g.ldb, g.A, g.lda, g.beta, g.C, g.ldc, true}
              : g;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

#define FORTRAN(routine, T)                                                                                           \
  EXPORT void routine##_(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k,            \
                         const T* alpha, const T* A, const Int* lda, const T* B, const Int* ldb, const T* beta, T* C, \
                         const Int* ldc, std::size_t la, std::size_t lb) {                                            \
    static const Behind<decltype(routine##_)> behind(#routine "_");                                                   \
    auto* next = behind.next();                                                                                       \
    const auto forward = [&] { next(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, la, lb); };         \
    if (inside) return forward();                                                                                     \
    check(#routine, Call<T>{upper(*transa), upper(*transb), *m, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc},    \
          forward);                                                                                                   \
  }

#define CBLAS(routine, T, Scalar)                                                                                \
  EXPORT void cblas_##routine(int layout, int transa, int transb, Int m, Int n, Int k, Scalar alpha, const T* A, \
                              Int lda, const T* B, Int ldb, Scalar beta, T* C, Int ldc) {                        \
    static const Behind<decltype(cblas_##routine)> behind("cblas_" #routine);                                    \
    auto* next = behind.next();                                                                                  \
    const auto forward = [&] { next(layout, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc); };    \
    const bool rows = layout == 101;                                                                             \
    if (inside || (!rows && layout != 102)) return forward();                                                    \
    check(rows ? "cblas_" #routine " ROW-MAJOR" : "cblas_" #routine " COLUMN-MAJOR",                             \
          column_major(rows, Call<T>{op_of(transa), op_of(transb), m, n, k, scalar<T>(alpha), A, lda, B, ldb,    \
                                     scalar<T>(beta), C, ldc}),                                                  \
          forward);                                                                                              \
  }

FORTRAN(sgemm, float)
FORTRAN(dgemm, double)
FORTRAN(cgemm, std::complex<float>)
FORTRAN(zgemm, std::complex<double>)
CBLAS(sgemm, float, float)
CBLAS(dgemm, double, double)
CBLAS(cgemm, std::complex<float>, const void*)
CBLAS(zgemm, std::complex<double>, const void*)
