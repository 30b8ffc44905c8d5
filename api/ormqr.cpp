// [sd]ormqr and [cz]unmqr in every family: from the ABI to OrmqrArgs.
#include "impl/qr/ormqr.hpp"

#include "api/lapack.hpp"
#include "impl/qr/qr_family.hpp"

namespace blaslift {
namespace {

template <Symbol symbol>
[[gnu::always_inline]] inline auto volume(const Site* site, const void* m, const void* n, const void* k) {
  return [=] {
    return reflectors_volume(static_cast<double>(integer<symbol>(site, m)),
                             static_cast<double>(integer<symbol>(site, n)),
                             static_cast<double>(integer<symbol>(site, k)));
  };
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way(const char* side, const char* trans, const void* m, const void* n,
                                           const void* k, const T* A, const void* lda, const T* tau, T* C,
                                           const void* ldc, T* work, const void* lwork, void* status) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  const auto with = [&](const void* a, const void* t, void* c, void* w, const void* size, void* info) {
    // The two hidden string lengths are supplied, whether or not the caller did.
    using Function = void (*)(const char*, const char*, const void*, const void*, const void*, const void*, const void*,
                              const void*, void*, const void*, void*, const void*, void*, std::size_t, std::size_t);
    reinterpret_cast<Function>(site.function)(side, trans, m, n, k, a, lda, t, c, ldc, w, size, info, 1, 1);
  };
  const auto call = [&](const void* size) { with(A, tau, C, work, size, status); };
  const auto elsewhere = [&](void* const* x, void* info) { with(x[0], x[1], x[2], x[3], lwork, info); };
  const auto at = [&site](const void* argument) { return integer<symbol>(&site, argument); };
  OrmqrArgs<T> args{{false, false, at(m), at(n), at(k)}, A, at(lda), tau, C, at(ldc), work, at(lwork)};
  const bool valid = parse_q<T>(*side, *trans, args.product) && args.valid();
  with_workspace<T, symbol>(site, valid ? &args : nullptr, lwork, work, status, call, elsewhere,
                            [&](const OrmqrArgs<T>* good, Replay replay) { return ormqr<T>(site, good, replay); });
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: lda, tau, C, ldc, work, lwork, info.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                            \
  BLASLIFT_EXPORT void symbol(const char* side, const char* trans, const void* m, const void* n, const void* k,       \
                              const void* A) {                                                                        \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                       \
    return next_function(site, long_way<T, Symbol::symbol>, volume<Symbol::symbol>(site, m, n, k), side, trans, m, n, \
                         k, A);                                                                                       \
  }
#define ORMQR(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type)
#include "api/routines.def"
