// [sdcz]geqr in every family: a geqrf whose tau goes where LAPACK's compact format has its T.
#include <algorithm>

#include "api/lapack.hpp"
#include "impl/qr/compact_qr.hpp"
#include "impl/qr/geqrf.hpp"
#include "impl/qr/qr_family.hpp"

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

/// Whether gemqr could do without the device, too.
template <class T>
bool applicable(const Site& site) {
#define ORMQR(name, type) \
  if (std::is_same_v<T, type>) return site_beside(site, Routine::name, runtime().options.fallback.c_str());
#include "api/routines.def"
  return false;
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way(const void* m, const void* n, T* A, const void* lda, T* t, const void* tsize,
                                           T* work, const void* lwork, void* status) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  const auto with = [&](const void* t_size, T* w, const void* w_size, void* info) {
    using Function =
        void (*)(const void*, const void*, void*, const void*, void*, const void*, void*, const void*, void*);
    reinterpret_cast<Function>(site.function)(m, n, A, lda, t, t_size, w, w_size, info);
  };
  const auto call = [&] { with(tsize, work, lwork, status); };
  // With operands elsewhere it would not leave tau there: only what the device computes is verified.
  const Replay original = replay_of(call);
  const auto at = [&site](const void* argument) { return integer<symbol>(&site, argument); };
  const GeqrfArgs<T> args{at(m), at(n), A, at(lda), t + compact_head, work, at(lwork)};
  const std::int64_t sizes[] = {at(tsize), at(lwork)};
  const bool valid = args.valid();
  if (valid && std::any_of(std::begin(sizes), std::end(sizes), [](auto size) { return size == -1 || size == -2; })) {
    // LAPACK's own answer leaves what it needs of factors that are in T; ours has to be put back.
    const bool ours = holds_tau(t);
    answer_query(site, original);
    raise_told(t[0], compact_least(args.n));
    raise_told(*work, args.least_workspace());
    if (ours) mark_tau(t);
    return;
  }
  const bool enough = valid && sizes[0] >= compact_least(args.n) && sizes[1] >= args.least_workspace();
  if (enough && !applicable<T>(site)) return stay_here(site, Reason::no_route, 0, original);
  const Computed computed = geqrf<T>(site, enough ? &args : nullptr, original);
  if (computed == Computed::no) return;
  // The best sizes, which LAPACK leaves in T(1) and in work, if that is not in device memory.
  T best{};
  std::int64_t nobodys_status = 0;
  constexpr std::int64_t asks = -1;  // in 32 bits, too
  with(&asks, &best, &asks, &nobodys_status);
  raise_told(t[0], compact_least(args.n));
  mark_tau(t);
  if (computed == Computed::yes) *work = best;
  report_success<symbol>(site, status);
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: work, lwork, info.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                          \
  BLASLIFT_EXPORT void symbol(const void* m, const void* n, void* A, const void* lda, void* t, const void* tsize) { \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                     \
    return next_function(site, long_way<T, Symbol::symbol>, volume<Symbol::symbol>(site, m, n), m, n, A, lda, t,    \
                         tsize);                                                                                    \
  }
#define GEQR(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type)
#include "api/routines.def"
