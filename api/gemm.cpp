// [sdcz]gemm in every family: from the ABI to GemmArgs.
#include "impl/product/gemm.hpp"

#include "api/entry.hpp"
#include "api/letters.hpp"

namespace blaslift {
namespace {

/// m * n * k, from addresses or values, once the site says how wide they are.
template <Symbol symbol, class Integer>
[[gnu::always_inline]] inline auto volume(const Site* site, Integer m, Integer n, Integer k) {
  return [=] {
    return static_cast<double>(integer<symbol>(site, m)) * static_cast<double>(integer<symbol>(site, n)) *
           static_cast<double>(integer<symbol>(site, k));
  };
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_fortran(const char* transa, const char* transb, const void* m, const void* n,
                                                   const void* k, const T* alpha, const T* A, const void* lda,
                                                   const T* B, const void* ldb, const T* beta, T* C, const void* ldc) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  auto with = [&](const T* a, const T* b, T* c) {
    // The two hidden string lengths are supplied, whether or not the caller did.
    using Function = void (*)(const char*, const char*, const void*, const void*, const void*, const T*, const T*,
                              const void*, const T*, const void*, const T*, T*, const void*, std::size_t, std::size_t);
    reinterpret_cast<Function>(site.function)(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  };
  auto original = [&] { with(A, B, C); };
  auto elsewhere = [&](void* const* x) {
    with(static_cast<const T*>(x[0]), static_cast<const T*>(x[1]), static_cast<T*>(x[2]));
  };
  const auto at = [&site](const void* argument) { return integer<symbol>(&site, argument); };
  GemmArgs<T> args{Op::none, Op::none, at(m), at(n), at(k), *alpha, A, at(lda), B, at(ldb), *beta, C, at(ldc)};
  const bool valid = parse_op(*transa, args.transa) && parse_op(*transb, args.transb) && args.valid();
  gemm<T>(site, valid ? &args : nullptr, replay_of(original, elsewhere));
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way_cblas(int layout, int transa, int transb, std::int64_t m, std::int64_t n,
                                                 std::int64_t k, Scalar<T> alpha, const T* A, std::int64_t lda,
                                                 const T* B, std::int64_t ldb, Scalar<T> beta, T* C, std::int64_t ldc) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  auto with = [&](const T* a, const T* b, T* c) {
    using Function = void (*)(int, int, int, std::int64_t, std::int64_t, std::int64_t, Scalar<T>, const T*,
                              std::int64_t, const T*, std::int64_t, Scalar<T>, T*, std::int64_t);
    reinterpret_cast<Function>(site.function)(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  };
  auto original = [&] { with(A, B, C); };
  const auto at = [&site](std::int64_t argument) { return integer<symbol>(&site, argument); };
  auto elsewhere = [&](void* const* x) {
    const int a = layout == row_major ? 1 : 0;
    with(static_cast<const T*>(x[a]), static_cast<const T*>(x[1 - a]), static_cast<T*>(x[2]));
  };
  Op opa{}, opb{};
  bool valid = (layout == row_major || layout == column_major) && parse_op(transa, opa) && parse_op(transb, opb);
  GemmArgs<T> args{};
  if (valid) {
    const T a = ByValue<T>::get(alpha), b = ByValue<T>::get(beta);
    // Row-major C = op(A) op(B) is column-major C' = op(B)' op(A)' over the same storage.
    args = layout == column_major
               ? GemmArgs<T>{opa, opb, at(m), at(n), at(k), a, A, at(lda), B, at(ldb), b, C, at(ldc)}
               : GemmArgs<T>{opb, opa, at(n), at(m), at(k), a, B, at(ldb), A, at(lda), b, C, at(ldc)};
    valid = args.valid();
  }
  gemm<T>(site, valid ? &args : nullptr, replay_of(original, elsewhere));
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: A, lda, B, ldb, beta, C, ldc.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                         \
  BLASLIFT_EXPORT void symbol(const char* transa, const char* transb, const void* m, const void* n, const void* k, \
                              const void* alpha) {                                                                 \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                    \
    return next_function(site, long_way_fortran<T, Symbol::symbol>, volume<Symbol::symbol>(site, m, n, k), transa, \
                         transb, m, n, k, alpha);                                                                  \
  }
// On the stack: A, lda, B, ldb, C, ldc, and complex scalars' addresses.  A float's register passes as a double's:
// nothing looks at its value here.
#define CBLAS(symbol, name, T, interface, width, prefix)                                                          \
  BLASLIFT_EXPORT void symbol(int layout, int transa, int transb, std::int64_t m, std::int64_t n, std::int64_t k, \
                              double alpha, double beta) {                                                        \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                   \
    return next_function(site, long_way_cblas<T, Symbol::symbol>, volume<Symbol::symbol>(site, m, n, k), layout,  \
                         transa, transb, m, n, k, alpha, beta);                                                   \
  }
#define GEMM(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type) BLASLIFT_CBLAS_SYMBOLS(CBLAS, name, type)
#include "api/routines.def"
