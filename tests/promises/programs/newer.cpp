// What newer libraries have and many that are installed lack: gemmt, by its other name gemmtr, gemm3m, gemm_batch and
// gemm_batch_strided, in the reference's plainest loops.  Opened beside a library, it is the library underneath for
// these.
//
// WIDE: with integers of 64 bits.  How wide they are an object says by isamax.
#include <algorithm>
#include <cctype>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#ifdef WIDE
using Int = std::int64_t;
#else
using Int = std::int32_t;
#endif

extern "C" {
// The program's, if it has them: a replay's has none.
[[gnu::weak]] void xerbla_(const char* routine, const int* argument, std::size_t length);
[[gnu::weak]] void cblas_xerbla(int argument, const char* routine, const char* form, ...);
Int isamax_(const Int* n, const float* x, const Int*) {
  Int most = 0;
  for (Int i = 0; i < *n; ++i)
    if (most == 0 || std::abs(x[i]) > std::abs(x[most - 1])) most = i + 1;
  return most;
}
}

namespace {

enum class Part { all, upper, lower };

template <class T>
struct Call {
  Part part;
  char ta, tb;
  Int m, n, k;
  T alpha;
  const T* A;
  Int lda;
  const T* B;
  Int ldb;
  T beta;
  T* C;
  Int ldc;
  bool batch = false;  ///< of products, so many elements apart
  Int stride_a = 0, stride_b = 0, stride_c = 0, count = 1;
};

template <class T>
T op(const T* x, Int ld, char trans, Int i, Int j) {
  const T value = trans == 'N' ? x[i + std::ptrdiff_t{j} * ld] : x[j + std::ptrdiff_t{i} * ld];
  if constexpr (!std::is_floating_point_v<T>)
    if (trans == 'C') return std::conj(value);
  return value;
}

template <class T>
Call<T> batch_of(Call<T> x, Int stride_a, Int stride_b, Int stride_c, Int count) {
  x.batch = true;
  x.stride_a = stride_a, x.stride_b = stride_b, x.stride_c = stride_c, x.count = count;
  return x;
}

template <class T>
void compute_one(const Call<T>& x) {
  if (x.m == 0 || x.n == 0 || ((x.alpha == T(0) || x.k == 0) && x.beta == T(1))) return;
  for (Int j = 0; j < x.n; ++j)
    for (Int i = x.part == Part::lower ? j : 0; i < (x.part == Part::upper ? j + 1 : x.m); ++i) {
      T& c = x.C[i + std::ptrdiff_t{j} * x.ldc];
      T sum(0);
      for (Int p = 0; x.alpha != T(0) && p < x.k; ++p) sum += op(x.A, x.lda, x.ta, i, p) * op(x.B, x.ldb, x.tb, p, j);
      if (x.alpha != T(0)) sum *= x.alpha;
      c = x.beta == T(0) ? sum : sum + x.beta * c;
    }
}

template <class T>
void compute(Call<T> x) {
  for (Int i = 0; i < x.count; ++i) {
    compute_one(x);
    x.A += x.stride_a, x.B += x.stride_b, x.C += x.stride_c;
  }
}

bool is_op(char x) { return x == 'N' || x == 'T' || x == 'C'; }

/// The first wrong argument of those behind the letters, counted from m or n; 0: none.
template <class T>
int wrong_size(const Call<T>& x, bool triangle) {
  const Int least[] = {x.ta == 'N' ? x.m : x.k, x.tb == 'N' ? x.k : x.n, x.m};
  const int sizes = triangle ? 2 : 3;
  if (!triangle && x.m < 0) return 1;
  if (x.n < 0) return sizes - 1;
  if (x.k < 0) return sizes;
  if (x.lda < std::max<Int>(1, least[0])) return sizes + 3;
  if (x.ldb < std::max<Int>(1, least[1])) return sizes + 5 + x.batch;
  if (x.ldc < std::max<Int>(1, least[2])) return sizes + 8 + 2 * x.batch;
  return x.count < 0 ? sizes + 12 : 0;
}

template <class T>
void fortran(const char* name, const char* uplo, const char* transa, const char* transb, Call<T> x) {
  const auto upper = [](const char* letter) { return static_cast<char>(std::toupper(*letter)); };
  const bool triangle = uplo;
  x.ta = upper(transa), x.tb = upper(transb);
  const int letters = triangle ? 3 : 2;
  int wrong = wrong_size(x, triangle);
  if (wrong) wrong += letters;
  if (!is_op(x.tb)) wrong = letters;
  if (!is_op(x.ta)) wrong = letters - 1;
  if (triangle) {
    const char part = upper(uplo);
    x.part = part == 'U' ? Part::upper : Part::lower;
    if (part != 'U' && part != 'L') wrong = 1;
  }
  wrong ? xerbla_(name, &wrong, std::strlen(name)) : compute(x);
}

/// @param part  null, or 121 or 122
template <class T>
void cblas(const char* name, int layout, const int* part, int transa, int transb, Call<T> x) {
  const auto letter = [](int code) { return code == 111 ? 'N' : code == 112 ? 'T' : code == 113 ? 'C' : '?'; };
  x.ta = letter(transa), x.tb = letter(transb);
  x.part = !part ? Part::all : *part == 121 ? Part::upper : Part::lower;
  const int letters = part ? 4 : 3;
  if (layout == 101) {
    std::swap(x.ta, x.tb), std::swap(x.m, x.n), std::swap(x.A, x.B), std::swap(x.lda, x.ldb);
    std::swap(x.stride_a, x.stride_b);
    if (part) x.part = *part == 121 ? Part::lower : Part::upper;
  }
  int wrong = wrong_size(x, part);
  if (wrong) wrong += letters;
  if (!is_op(letter(transb))) wrong = letters;
  if (!is_op(letter(transa))) wrong = letters - 1;
  if (part && *part != 121 && *part != 122) wrong = 2;
  if (layout != 101 && layout != 102) wrong = 1;
  wrong ? cblas_xerbla(wrong, name, "") : compute(x);
}

/// Groups of products, of matrices that begin where arrays say.
/// @param ta, tb  char(Int group)
/// @param wrong   void(int argument), from 1 on
template <class T, class Letter, class Wrong>
void groups(const Letter& ta, const Letter& tb, const Int* m, const Int* n, const Int* k, const T* alpha,
            const T* const* A, const Int* lda, const T* const* B, const Int* ldb, const T* beta, T* const* C,
            const Int* ldc, Int count, const Int* sizes, const Wrong& wrong) {
  if (count < 0) return wrong(14);
  const auto group = [&](Int g) -> Call<T> {
    return {{}, ta(g), tb(g), m[g], n[g], k[g], alpha[g], nullptr, lda[g], nullptr, ldb[g], beta[g], nullptr, ldc[g]};
  };
  for (Int g = 0; g < count; ++g) {
    const Call<T> x = group(g);
    int argument = wrong_size(x, false);
    if (argument) argument += 2;
    if (!argument && sizes[g] < 0) argument = 15;
    if (!is_op(x.tb)) argument = 2;
    if (!is_op(x.ta)) argument = 1;
    if (argument) return wrong(argument);
  }
  for (Int g = 0; g < count; ++g)
    for (Int i = 0; i < sizes[g]; ++i) {
      Call<T> x = group(g);
      x.A = *A++, x.B = *B++, x.C = *C++;
      compute_one(x);
    }
}

template <class T>
struct ByValue {
  using type = T;
  static T get(T x) { return x; }
};
template <class R>
struct ByValue<std::complex<R>> {
  using type = const void*;
  static std::complex<R> get(const void* x) { return *static_cast<const std::complex<R>*>(x); }
};

}  // namespace

// Names alone are made by macros.
#define GEMMT(name, NAME, T)                                                                                           \
  extern "C" void name##_(const char* uplo, const char* ta, const char* tb, const Int* n, const Int* k,                \
                          const T* alpha, const T* A, const Int* lda, const T* B, const Int* ldb, const T* beta, T* C, \
                          const Int* ldc) {                                                                            \
    fortran<T>(NAME, uplo, ta, tb, {{}, 0, 0, *n, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc});                  \
  }                                                                                                                    \
  extern "C" void cblas_##name(int layout, int uplo, int ta, int tb, Int n, Int k, ByValue<T>::type alpha, const T* A, \
                               Int lda, const T* B, Int ldb, ByValue<T>::type beta, T* C, Int ldc) {                   \
    cblas<T>("cblas_" #name, layout, &uplo, ta, tb,                                                                    \
             {{}, 0, 0, n, n, k, ByValue<T>::get(alpha), A, lda, B, ldb, ByValue<T>::get(beta), C, ldc});              \
  }
#define GEMM3M(name, NAME, T)                                                                                       \
  extern "C" void name##_(const char* ta, const char* tb, const Int* m, const Int* n, const Int* k, const T* alpha, \
                          const T* A, const Int* lda, const T* B, const Int* ldb, const T* beta, T* C,              \
                          const Int* ldc) {                                                                         \
    fortran<T>(NAME, nullptr, ta, tb, {{}, 0, 0, *m, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc});            \
  }                                                                                                                 \
  extern "C" void cblas_##name(int layout, int ta, int tb, Int m, Int n, Int k, const void* alpha, const T* A,      \
                               Int lda, const T* B, Int ldb, const void* beta, T* C, Int ldc) {                     \
    cblas<T>("cblas_" #name, layout, nullptr, ta, tb,                                                               \
             {{}, 0, 0, m, n, k, ByValue<T>::get(alpha), A, lda, B, ldb, ByValue<T>::get(beta), C, ldc});           \
  }
#define BATCH(name, NAME, T)                                                                                          \
  extern "C" void name##_(const char* ta, const char* tb, const Int* m, const Int* n, const Int* k, const T* alpha,   \
                          const T* A, const Int* lda, const Int* sa, const T* B, const Int* ldb, const Int* sb,       \
                          const T* beta, T* C, const Int* ldc, const Int* sc, const Int* count) {                     \
    fortran<T>(NAME, nullptr, ta, tb,                                                                                 \
               batch_of<T>({{}, 0, 0, *m, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc}, *sa, *sb, *sc, *count)); \
  }                                                                                                                   \
  extern "C" void cblas_##name(int layout, int ta, int tb, Int m, Int n, Int k, ByValue<T>::type alpha, const T* A,   \
                               Int lda, Int sa, const T* B, Int ldb, Int sb, ByValue<T>::type beta, T* C, Int ldc,    \
                               Int sc, Int count) {                                                                   \
    const T a = ByValue<T>::get(alpha), b = ByValue<T>::get(beta);                                                    \
    cblas<T>("cblas_" #name, layout, nullptr, ta, tb,                                                                 \
             batch_of<T>({{}, 0, 0, m, n, k, a, A, lda, B, ldb, b, C, ldc}, sa, sb, sc, count));                      \
  }
#define GROUPS(name, NAME, T)                                                                                         \
  extern "C" void name##_(const char* ta, const char* tb, const Int* m, const Int* n, const Int* k, const T* alpha,   \
                          const T* const* A, const Int* lda, const T* const* B, const Int* ldb, const T* beta,        \
                          T* const* C, const Int* ldc, const Int* count, const Int* sizes) {                          \
    const auto of = [](const char* all) { return [all](Int g) { return static_cast<char>(std::toupper(all[g])); }; }; \
    groups<T>(of(ta), of(tb), m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, *count, sizes,                            \
              [](int argument) { xerbla_(NAME, &argument, std::strlen(NAME)); });                                     \
  }                                                                                                                   \
  extern "C" void cblas_##name(int layout, const int* ta, const int* tb, const Int* m, const Int* n, const Int* k,    \
                               const T* alpha, const T* const* A, const Int* lda, const T* const* B, const Int* ldb,  \
                               const T* beta, T* const* C, const Int* ldc, Int count, const Int* sizes) {             \
    const auto of = [](const int* all) {                                                                              \
      return [all](Int g) { return all[g] == 111 ? 'N' : all[g] == 112 ? 'T' : all[g] == 113 ? 'C' : '?'; };          \
    };                                                                                                                \
    if (layout == 101) std::swap(ta, tb), std::swap(m, n), std::swap(A, B), std::swap(lda, ldb);                      \
    groups<T>(of(ta), of(tb), m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, count, sizes,                             \
              [](int argument) { cblas_xerbla(argument + 1, "cblas_" #name, ""); });                                  \
  }
GROUPS(sgemm_batch, "SGEMM_BATCH", float)
GROUPS(dgemm_batch, "DGEMM_BATCH", double)
GROUPS(cgemm_batch, "CGEMM_BATCH", std::complex<float>)
GROUPS(zgemm_batch, "ZGEMM_BATCH", std::complex<double>)
BATCH(sgemm_batch_strided, "SGEMM_BATCH_STRIDED", float)
BATCH(dgemm_batch_strided, "DGEMM_BATCH_STRIDED", double)
BATCH(cgemm_batch_strided, "CGEMM_BATCH_STRIDED", std::complex<float>)
BATCH(zgemm_batch_strided, "ZGEMM_BATCH_STRIDED", std::complex<double>)
GEMMT(sgemmt, "SGEMMT", float)
GEMMT(dgemmt, "DGEMMT", double)
GEMMT(cgemmt, "CGEMMT", std::complex<float>)
GEMMT(zgemmt, "ZGEMMT", std::complex<double>)
GEMMT(sgemmtr, "SGEMMTR", float)
GEMMT(dgemmtr, "DGEMMTR", double)
GEMMT(cgemmtr, "CGEMMTR", std::complex<float>)
GEMMT(zgemmtr, "ZGEMMTR", std::complex<double>)
GEMM3M(cgemm3m, "CGEMM3M", std::complex<float>)
GEMM3M(zgemm3m, "ZGEMM3M", std::complex<double>)
