// [sd]symv and [cz]hemv in every family.  No route yet: every call is forwarded.
#include "api/entry.hpp"
#include "kernels/types.hpp"

namespace blaslift {
namespace {

template <class T>
double flops(std::int64_t n) {
  return (is_complex(precision_of<T>) ? 8.0 : 2.0) * static_cast<double>(n) * static_cast<double>(n);
}

constexpr auto no_size = [] { return 0.0; };

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_fortran(const void* caller, const char* uplo, const void* n, const T* alpha,
                                                   const T* A, const void* lda, const T* x, const void* incx,
                                                   const T* beta, T* y, const void* incy) {
  const Site& site = site_of(known_site(symbol, caller), symbol, caller);
  auto original = [&] {
    using Function = void (*)(const char*, const void*, const T*, const T*, const void*, const T*, const void*, const T*,
                              T*, const void*, std::size_t);
    reinterpret_cast<Function>(site.function)(uplo, n, alpha, A, lda, x, incx, beta, y, incy, 1);
  };
  pass_through(site, flops<T>(integer<symbol>(&site, n)), replay_of(original));
}

template <class T, Symbol symbol>
[[gnu::always_inline]] inline void symv_fortran(const char* uplo, const void* n, const T* alpha, const T* A,
                                                const void* lda, const T* x, const void* incx, const T* beta, T* y,
                                                const void* incy) {
  const void* caller = __builtin_return_address(0);
  const Site* site = known_site(symbol, caller);
  if (forwards(site, no_size)) [[likely]] {
    using Function = void (*)(const char*, const void*, const T*, const T*, const void*, const T*, const void*, const T*,
                              T*, const void*);
    return reinterpret_cast<Function>(site->function)(uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  }
  return long_way_fortran<T, symbol>(caller, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_cblas(const void* caller, int layout, int uplo, std::int64_t n,
                                                 Scalar<T> alpha, const T* A, std::int64_t lda, const T* x,
                                                 std::int64_t incx, Scalar<T> beta, T* y, std::int64_t incy) {
  const Site& site = site_of(known_site(symbol, caller), symbol, caller);
  auto original = [&] {
    using Function = void (*)(int, int, std::int64_t, Scalar<T>, const T*, std::int64_t, const T*, std::int64_t,
                              Scalar<T>, T*, std::int64_t);
    reinterpret_cast<Function>(site.function)(layout, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  };
  pass_through(site, flops<T>(integer<symbol>(&site, n)), replay_of(original));
}

template <class T, Symbol symbol>
[[gnu::always_inline]] inline void symv_cblas(int layout, int uplo, std::int64_t n, Scalar<T> alpha, const T* A,
                                              std::int64_t lda, const T* x, std::int64_t incx, Scalar<T> beta, T* y,
                                              std::int64_t incy) {
  const void* caller = __builtin_return_address(0);
  const Site* site = known_site(symbol, caller);
  if (forwards(site, no_size)) [[likely]] {
    using Function = void (*)(int, int, std::int64_t, Scalar<T>, const T*, std::int64_t, const T*, std::int64_t,
                              Scalar<T>, T*, std::int64_t);
    return reinterpret_cast<Function>(site->function)(layout, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  }
  return long_way_cblas<T, symbol>(caller, layout, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

#define FORTRAN(symbol, name, T, interface, width, prefix)                                                          \
  BLASLIFT_EXPORT void symbol(const char* uplo, const void* n, const T* alpha, const T* A, const void* lda,         \
                              const T* x, const void* incx, const T* beta, T* y, const void* incy) {                \
    return symv_fortran<T, Symbol::symbol>(uplo, n, alpha, A, lda, x, incx, beta, y, incy);                         \
  }
#define CBLAS(symbol, name, T, interface, width, prefix)                                                            \
  BLASLIFT_EXPORT void symbol(int layout, int uplo, std::int64_t n, Scalar<T> alpha, const T* A, std::int64_t lda,  \
                              const T* x, std::int64_t incx, Scalar<T> beta, T* y, std::int64_t incy) {             \
    return symv_cblas<T, Symbol::symbol>(layout, uplo, n, alpha, A, lda, x, incx, beta, y, incy);                   \
  }
#define SYMBOLS(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type) BLASLIFT_CBLAS_SYMBOLS(CBLAS, name, type)
#define SYMV(name, type) SYMBOLS(name, type)
#define HEMV(name, type) SYMBOLS(name, type)
#include "api/routines.def"
