// [sd]orgqr and [cz]ungqr in every family: from the ABI to OrmqrArgs.
#include "api/lapack.hpp"
#include "impl/qr/ormqr.hpp"
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
[[gnu::noinline, gnu::cold]] void long_way(const void* m, const void* n, const void* k, T* A, const void* lda,
                                           const T* tau, T* work, const void* lwork, void* status) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  const auto with = [&](void* a, const void* t, void* w, const void* size, void* info) {
    using Function =
        void (*)(const void*, const void*, const void*, void*, const void*, const void*, void*, const void*, void*);
    reinterpret_cast<Function>(site.function)(m, n, k, a, lda, t, w, size, info);
  };
  const auto call = [&](const void* size) { with(A, tau, work, size, status); };
  const auto elsewhere = [&](void* const* x, void* info) { with(x[0], x[1], x[2], lwork, info); };
  const auto at = [&site](const void* argument) { return integer<symbol>(&site, argument); };
  const OrmqrArgs<T> args{{true, false, at(m), at(n), at(k), true}, A, at(lda), tau, A, at(lda), work, at(lwork)};
  with_workspace<T, symbol>(site, args.valid() ? &args : nullptr, lwork, work, status, call, elsewhere,
                            [&](const OrmqrArgs<T>* good, Replay replay) { return ormqr<T>(site, good, replay); });
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: work, lwork, info.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                          \
  BLASLIFT_EXPORT void symbol(const void* m, const void* n, const void* k, void* A, const void* lda,                \
                              const void* tau) {                                                                    \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                     \
    return next_function(site, long_way<T, Symbol::symbol>, volume<Symbol::symbol>(site, m, n, k), m, n, k, A, lda, \
                         tau);                                                                                      \
  }
#define ORGQR(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type)
#include "api/routines.def"
