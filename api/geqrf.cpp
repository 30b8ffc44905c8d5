// [sdcz]geqrf in every family: from the ABI to GeqrfArgs.
#include "impl/qr/geqrf.hpp"
#include "impl/qr/qr_family.hpp"

#include <algorithm>

#include "api/lapack.hpp"

namespace blaslift {
namespace {

template <Symbol symbol>
[[gnu::always_inline]] inline auto volume(const Site* site, const void* m, const void* n) {
  return [=] {
    const auto rows = static_cast<double>(integer<symbol>(site, m)),
               cols = static_cast<double>(integer<symbol>(site, n));
    return reflectors_volume(rows, cols, std::min(rows, cols));
  };
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way(const void* m, const void* n, T* A, const void* lda, T* tau, T* work,
                                           const void* lwork, void* status) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  const auto with = [&](void* a, void* t, void* w, const void* size, void* info) {
    using Function = void (*)(const void*, const void*, void*, const void*, void*, void*, const void*, void*);
    reinterpret_cast<Function>(site.function)(m, n, a, lda, t, w, size, info);
  };
  const auto call = [&](const void* size) { with(A, tau, work, size, status); };
  const auto elsewhere = [&](void* const* x, void* info) { with(x[0], x[1], x[2], lwork, info); };
  const auto at = [&site](const void* argument) { return integer<symbol>(&site, argument); };
  const GeqrfArgs<T> args{at(m), at(n), A, at(lda), tau, work, at(lwork)};
  with_workspace<T, symbol>(site, args.valid() ? &args : nullptr, lwork, work, status, call, elsewhere,
                            [&](const GeqrfArgs<T>* valid, Replay replay) { return geqrf<T>(site, valid, replay); });
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: lwork, info.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                         \
  BLASLIFT_EXPORT void symbol(const void* m, const void* n, void* A, const void* lda, void* tau, void* work) {     \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                    \
    return next_function(site, long_way<T, Symbol::symbol>, volume<Symbol::symbol>(site, m, n), m, n, A, lda, tau, \
                         work);                                                                                    \
  }
#define GEQRF(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type)
#include "api/routines.def"
