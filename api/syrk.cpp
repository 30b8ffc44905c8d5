// [sdcz]syrk and [cz]herk in every family: from the ABI to SyrkArgs.
#include "api/entry.hpp"
#include "api/letters.hpp"
#include "impl/product/gemm.hpp"
#include "impl/product/product_family.hpp"

namespace blaslift {
namespace {

/// What the gate compares, from addresses or values, once the site says how wide they are.
template <Symbol symbol, class Integer>
[[gnu::always_inline]] inline auto volume(const Site* site, Integer n, Integer k) {
  return [=] {
    return triangle_volume(static_cast<double>(integer<symbol>(site, n)),
                           static_cast<double>(integer<symbol>(site, k)));
  };
}

/// Whether the reference takes this op(A); of real matrices a conjugate transpose is a transpose.
template <class T>
bool takes(bool hermitian, Op& trans) {
  if (!is_complex(precision_of<T>) && trans == Op::conjugate) trans = Op::transpose;
  return trans == Op::none || trans == (hermitian ? Op::conjugate : Op::transpose);
}

/// @tparam S  of alpha and beta: T, or of xHERK its real type
template <class T, class S, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_fortran(const char* uplo, const char* trans, const void* n, const void* k,
                                                   const S* alpha, const T* A, const void* lda, const S* beta, T* C,
                                                   const void* ldc) {
  constexpr bool hermitian = !std::is_same_v<S, T>;
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  auto with = [&](const T* a, T* c) {
    using Function = void (*)(const char*, const char*, const void*, const void*, const S*, const T*, const void*,
                              const S*, T*, const void*, std::size_t, std::size_t);
    reinterpret_cast<Function>(site.function)(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, 1, 1);
  };
  auto original = [&] { with(A, C); };
  auto elsewhere = [&](void* const* x) { with(static_cast<const T*>(x[0]), static_cast<T*>(x[1])); };
  const auto at = [&site](const void* argument) { return integer<symbol>(&site, argument); };
  SyrkArgs<T> args{hermitian, {}, {}, at(n), at(k), T(*alpha), A, at(lda), T(*beta), C, at(ldc)};
  const bool valid =
      parse_uplo(*uplo, args.uplo) && parse_op(*trans, args.trans) && takes<T>(hermitian, args.trans) && args.valid();
  syrk<T>(site, valid ? &args : nullptr, replay_of(original, elsewhere));
}

template <class T, class S, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_cblas(int layout, int uplo, int trans, std::int64_t n, std::int64_t k,
                                                 Scalar<S> alpha, const T* A, std::int64_t lda, Scalar<S> beta, T* C,
                                                 std::int64_t ldc) {
  constexpr bool hermitian = !std::is_same_v<S, T>;
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  auto with = [&](const T* a, T* c) {
    using Function = void (*)(int, int, int, std::int64_t, std::int64_t, Scalar<S>, const T*, std::int64_t, Scalar<S>,
                              T*, std::int64_t);
    reinterpret_cast<Function>(site.function)(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  };
  auto original = [&] { with(A, C); };
  auto elsewhere = [&](void* const* x) { with(static_cast<const T*>(x[0]), static_cast<T*>(x[1])); };
  const auto at = [&site](std::int64_t argument) { return integer<symbol>(&site, argument); };
  Uplo stored{};
  Op op{};
  bool valid = (layout == row_major || layout == column_major) && parse_uplo(uplo, stored) && parse_op(trans, op) &&
               takes<T>(hermitian, op);
  SyrkArgs<T> args{};
  if (valid) {
    // Row-major storage is the transposed matrix's in column-major: op(A) op(A)' of it is that of the other op.
    if (layout == row_major) {
      stored = other(stored);
      op = op != Op::none ? Op::none : hermitian ? Op::conjugate : Op::transpose;
    }
    args = {hermitian, stored, op, at(n), at(k), T(ByValue<S>::get(alpha)), A, at(lda), T(ByValue<S>::get(beta)),
            C,         at(ldc)};
    valid = args.valid();
  }
  syrk<T>(site, valid ? &args : nullptr, replay_of(original, elsewhere));
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: lda, beta, C, ldc.
#define FORTRAN_ENTRY(symbol, T, S)                                                                                 \
  BLASLIFT_EXPORT void symbol(const char* uplo, const char* trans, const void* n, const void* k, const void* alpha, \
                              const void* A) {                                                                      \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                     \
    return next_function(site, long_way_fortran<T, S, Symbol::symbol>, volume<Symbol::symbol>(site, n, k), uplo,    \
                         trans, n, k, alpha, A);                                                                    \
  }
// In registers: layout, uplo, trans, n, k and A's or alpha's address; real scalars.  A float's register passes as a
// double's: nothing looks at its value here.
#define CBLAS_ENTRY(symbol, T, S)                                                                                      \
  BLASLIFT_EXPORT void symbol(int layout, int uplo, int trans, std::int64_t n, std::int64_t k, std::int64_t sixth,     \
                              double alpha, double beta) {                                                             \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                        \
    return next_function(site, long_way_cblas<T, S, Symbol::symbol>, volume<Symbol::symbol>(site, n, k), layout, uplo, \
                         trans, n, k, sixth, alpha, beta);                                                             \
  }
#define FORTRAN_SYRK(symbol, name, T, interface, width, prefix) FORTRAN_ENTRY(symbol, T, T)
#define FORTRAN_HERK(symbol, name, T, interface, width, prefix) FORTRAN_ENTRY(symbol, T, Real<T>)
#define CBLAS_SYRK(symbol, name, T, interface, width, prefix) CBLAS_ENTRY(symbol, T, T)
#define CBLAS_HERK(symbol, name, T, interface, width, prefix) CBLAS_ENTRY(symbol, T, Real<T>)
#define SYRK(name, type) \
  BLASLIFT_FORTRAN_SYMBOLS(FORTRAN_SYRK, name, type) BLASLIFT_CBLAS_SYMBOLS(CBLAS_SYRK, name, type)
#define HERK(name, type) \
  BLASLIFT_FORTRAN_SYMBOLS(FORTRAN_HERK, name, type) BLASLIFT_CBLAS_SYMBOLS(CBLAS_HERK, name, type)
#include "api/routines.def"
