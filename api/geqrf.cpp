// [sdcz]geqrf.  No route yet: every call is forwarded, workspace queries (lwork = -1) too.
#include <algorithm>

#include "api/entry.hpp"
#include "kernels/types.hpp"

namespace blaslift {
namespace {

template <class T>
double flops(std::int64_t m, std::int64_t n) {
  const double k = static_cast<double>(std::min(m, n)), l = static_cast<double>(std::max(m, n));
  return (is_complex(precision_of<T>) ? 4.0 : 1.0) * (2 * l * k * k - 2.0 / 3.0 * k * k * k);
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way(const void* m, const void* n, T* A, const void* lda, T* tau, T* work,
                                           const void* lwork, void* info) {
  const Site& site = site_of(symbol, __builtin_return_address(0));
  using Function = void (*)(const void*, const void*, T*, const void*, T*, T*, const void*, void*);
  auto original = [&] { reinterpret_cast<Function>(site.function)(m, n, A, lda, tau, work, lwork, info); };
  const bool query = integer<symbol>(&site, lwork) == -1;
  pass_through(site, query ? 0.0 : flops<T>(integer<symbol>(&site, m), integer<symbol>(&site, n)), replay_of(original));
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: lwork, info.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                     \
  BLASLIFT_EXPORT void symbol(const void* m, const void* n, void* A, const void* lda, void* tau, void* work) { \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                \
    return next_function(                                                                                      \
        site, long_way<T, Symbol::symbol>, [] { return 0.0; }, m, n, A, lda, tau, work);                       \
  }
#define GEQRF(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type)
#include "api/routines.def"
