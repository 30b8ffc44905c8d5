// [sd]symv and [cz]hemv in every family: from the ABI to SymvArgs.
#include "impl/symv/symv.hpp"
#include "impl/symv/symv_family.hpp"

#include "api/entry.hpp"
#include "api/letters.hpp"

namespace blaslift {
namespace {

/// What the gate compares, from n's address or value, once the site says how wide it is.
template <Symbol symbol, class Integer>
[[gnu::always_inline]] inline auto volume(const Site* site, Integer n) {
  return [=] { return symmetric_volume(static_cast<double>(integer<symbol>(site, n))); };
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_fortran(const char* uplo, const void* n, const T* alpha, const T* A,
                                                   const void* lda, const T* x, const void* incx, const T* beta, T* y,
                                                   const void* incy) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  auto with = [&](const T* a, const T* from, T* to) {
    using Function = void (*)(const char*, const void*, const T*, const T*, const void*, const T*, const void*,
                              const T*, T*, const void*, std::size_t);
    reinterpret_cast<Function>(site.function)(uplo, n, alpha, a, lda, from, incx, beta, to, incy, 1);
  };
  auto original = [&] { with(A, x, y); };
  auto elsewhere = [&](void* const* operands) {
    with(static_cast<const T*>(operands[0]), static_cast<const T*>(operands[1]), static_cast<T*>(operands[2]));
  };
  const auto at = [&site](const void* argument) { return integer<symbol>(&site, argument); };
  SymvArgs<T> args{Uplo::upper, at(n), *alpha, A, at(lda), x, at(incx), *beta, y, at(incy)};
  const bool valid = parse_uplo(*uplo, args.uplo) && args.valid();
  symv<T>(site, valid ? &args : nullptr, replay_of(original, elsewhere));
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_cblas(int layout, int uplo, std::int64_t n, Scalar<T> alpha, const T* A,
                                                 std::int64_t lda, const T* x, std::int64_t incx, Scalar<T> beta, T* y,
                                                 std::int64_t incy) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  auto with = [&](const T* a, const T* from, T* to) {
    using Function = void (*)(int, int, std::int64_t, Scalar<T>, const T*, std::int64_t, const T*, std::int64_t,
                              Scalar<T>, T*, std::int64_t);
    reinterpret_cast<Function>(site.function)(layout, uplo, n, alpha, a, lda, from, incx, beta, to, incy);
  };
  auto original = [&] { with(A, x, y); };
  auto elsewhere = [&](void* const* operands) {
    with(static_cast<const T*>(operands[0]), static_cast<const T*>(operands[1]), static_cast<T*>(operands[2]));
  };
  const auto at = [&site](std::int64_t argument) { return integer<symbol>(&site, argument); };
  Uplo stored{};
  bool valid = (layout == row_major || layout == column_major) && parse_uplo(uplo, stored);
  SymvArgs<T> args{};
  if (valid) {
    // Row-major storage is the transposed matrix's in column-major: the same if symmetric, conjugated if Hermitian.
    const bool transposed = layout == row_major;
    if (transposed) stored = other(stored);
    args = {stored,
            at(n),
            ByValue<T>::get(alpha),
            A,
            at(lda),
            x,
            at(incx),
            ByValue<T>::get(beta),
            y,
            at(incy),
            transposed && is_complex(precision_of<T>)};
    valid = args.valid();
  }
  symv<T>(site, valid ? &args : nullptr, replay_of(original, elsewhere));
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: incx, beta, y, incy.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                           \
  BLASLIFT_EXPORT void symbol(const char* uplo, const void* n, const void* alpha, const void* A, const void* lda,    \
                              const void* x) {                                                                       \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                      \
    return next_function(site, long_way_fortran<T, Symbol::symbol>, volume<Symbol::symbol>(site, n), uplo, n, alpha, \
                         A, lda, x);                                                                                 \
  }
// In registers: layout, uplo, n and the next three integers or addresses; real scalars.  A float's register passes as a
// double's: nothing looks at its value here.
#define CBLAS(symbol, name, T, interface, width, prefix)                                                            \
  BLASLIFT_EXPORT void symbol(int layout, int uplo, std::int64_t n, std::int64_t fourth, std::int64_t fifth,        \
                              std::int64_t sixth, double alpha, double beta) {                                      \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                     \
    return next_function(site, long_way_cblas<T, Symbol::symbol>, volume<Symbol::symbol>(site, n), layout, uplo, n, \
                         fourth, fifth, sixth, alpha, beta);                                                        \
  }
#define SYMBOLS(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type) BLASLIFT_CBLAS_SYMBOLS(CBLAS, name, type)
#define SYMV(name, type) SYMBOLS(name, type)
#define HEMV(name, type) SYMBOLS(name, type)
#include "api/routines.def"
