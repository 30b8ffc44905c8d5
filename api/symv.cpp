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
[[gnu::noinline, gnu::cold]] void long_way_fortran(const char* uplo, const void* n, const T* alpha, const T* A,
                                                   const void* lda, const T* x, const void* incx, const T* beta, T* y,
                                                   const void* incy) {
  const Site& site = site_of(symbol, __builtin_return_address(0));
  auto original = [&] {
    using Function = void (*)(const char*, const void*, const T*, const T*, const void*, const T*, const void*,
                              const T*, T*, const void*, std::size_t);
    reinterpret_cast<Function>(site.function)(uplo, n, alpha, A, lda, x, incx, beta, y, incy, 1);
  };
  pass_through(site, flops<T>(integer<symbol>(&site, n)), replay_of(original));
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_cblas(int layout, int uplo, std::int64_t n, Scalar<T> alpha, const T* A,
                                                 std::int64_t lda, const T* x, std::int64_t incx, Scalar<T> beta, T* y,
                                                 std::int64_t incy) {
  const Site& site = site_of(symbol, __builtin_return_address(0));
  auto original = [&] {
    using Function = void (*)(int, int, std::int64_t, Scalar<T>, const T*, std::int64_t, const T*, std::int64_t,
                              Scalar<T>, T*, std::int64_t);
    reinterpret_cast<Function>(site.function)(layout, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  };
  pass_through(site, flops<T>(integer<symbol>(&site, n)), replay_of(original));
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: incx, beta, y, incy.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                        \
  BLASLIFT_EXPORT void symbol(const char* uplo, const void* n, const void* alpha, const void* A, const void* lda, \
                              const void* x) {                                                                    \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                   \
    return next_function(site, long_way_fortran<T, Symbol::symbol>, no_size, uplo, n, alpha, A, lda, x);          \
  }
// In registers: layout, uplo, n and the next three integers or addresses; real scalars.  A float's register passes as a
// double's: nothing looks at its value here.
#define CBLAS(symbol, name, T, interface, width, prefix)                                                          \
  BLASLIFT_EXPORT void symbol(int layout, int uplo, std::int64_t n, std::int64_t fourth, std::int64_t fifth,      \
                              std::int64_t sixth, double alpha, double beta) {                                    \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                   \
    return next_function(site, long_way_cblas<T, Symbol::symbol>, no_size, layout, uplo, n, fourth, fifth, sixth, \
                         alpha, beta);                                                                            \
  }
#define SYMBOLS(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type) BLASLIFT_CBLAS_SYMBOLS(CBLAS, name, type)
#define SYMV(name, type) SYMBOLS(name, type)
#define HEMV(name, type) SYMBOLS(name, type)
#include "api/routines.def"
