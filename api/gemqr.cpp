// [sdcz]gemqr in every family: an ormqr where our geqr has left tau in T, and otherwise the library's.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "api/lapack.hpp"
#include "compat/call.hpp"
#include "compat/undisturbed.hpp"
#include "impl/judge/judge.hpp"
#include "impl/qr/compact_qr.hpp"
#include "impl/qr/ormqr.hpp"
#include "impl/qr/qr_family.hpp"

namespace blaslift {
namespace {

/// Above every gate where the library's gemqr would not know what T is.
template <Symbol symbol, class T>
[[gnu::always_inline]] inline auto volume(const Site* site, const void* m, const void* n, const void* k, const T* t) {
  return [=] {
    if (holds_tau(t)) return std::numeric_limits<double>::infinity();
    return reflectors_volume(static_cast<double>(integer<symbol>(site, m)),
                             static_cast<double>(integer<symbol>(site, n)),
                             static_cast<double>(integer<symbol>(site, k)));
  };
}

/// The ormqr of the same library.
template <class T>
const Site& ormqr_beside(const Site& site) {
  Routine routine{};
#define ORMQR(name, type) \
  if (std::is_same_v<T, type>) routine = Routine::name;
#include "api/routines.def"
  return any_site_beside(site, routine, runtime().options.fallback.c_str());
}

template <class T>
ProductWithQ product_of(const OrmqrArgs<T>& x) {
  const QProduct& p = x.product;
  return {precision_of<T>, p.left, p.adjoint, p.m, p.n, p.k, x.A, x.lda, x.tau, x.C, x.ldc};
}

/// A column behind the other; null without memory.
std::unique_ptr<char[]> reflectors_of(const ProductWithQ& p) {
  const std::size_t element = element_size(p.precision),
                    column = static_cast<std::size_t>(p.left ? p.m : p.n) * element;
  std::unique_ptr<char[]> copy(new (std::nothrow) char[column * static_cast<std::size_t>(p.k)]);
  for (index j = 0; copy && j < p.k; ++j)
    std::memcpy(copy.get() + static_cast<std::size_t>(j) * column,
                static_cast<const char*>(p.A) + static_cast<std::size_t>(j * p.lda) * element, column);
  return copy;
}

/// On the library underneath, in a workspace of our own if the caller's is less than what is best.
void apply(const Site& ormqr, ProductWithQ whole, void* work, index lwork) {
  // LAPACK's ormqr may write A's diagonal and restore it.  Its gemqr does not: A may be read-only, and is shared by
  // threads.  Without memory there is no other way.
  const std::unique_ptr<char[]> reflectors = reflectors_of(whole);
  if (reflectors) {
    whole.A = reflectors.get();
    whole.lda = std::max<index>(1, whole.left ? whole.m : whole.n);
  }
  // Where the best size is more than an int holds, LAPACK answers anything.
  const index length = whole.left ? whole.n : whole.m, best = std::max(length, ormqr_workspace(ormqr, whole));
  const std::size_t element = element_size(whole.precision);
  std::unique_ptr<char[]> own;
  if (lwork < best) own.reset(new (std::nothrow) char[static_cast<std::size_t>(best) * element]);
  if (own) return call_ormqr(ormqr, whole, own.get(), best);
  // Without memory: as much of C at a time as the caller's is enough for.
  const index part = std::min(length, lwork);
  for (index start = 0; start < length; start += part) {
    ProductWithQ p = whole;
    (p.left ? p.n : p.m) = std::min(part, length - start);
    p.C = static_cast<char*>(whole.C) + static_cast<std::size_t>(start * (p.left ? p.ldc : 1)) * element;
    call_ormqr(ormqr, p, work, lwork);
  }
}

template <class T, Symbol symbol>
[[gnu::noinline, gnu::cold]] void long_way(const char* side, const char* trans, const void* m, const void* n,
                                           const void* k, const T* A, const void* lda, const T* t, const void* tsize,
                                           T* C, const void* ldc, T* work, const void* lwork, void* status) {
  Site ephemeral;
  const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
  const auto with = [&](const T* table) {
    // The two hidden string lengths are supplied, whether or not the caller did.
    using Function =
        void (*)(const char*, const char*, const void*, const void*, const void*, const void*, const void*, const void*,
                 const void*, void*, const void*, void*, const void*, void*, std::size_t, std::size_t);
    reinterpret_cast<Function>(site.function)(side, trans, m, n, k, A, lda, table, tsize, C, ldc, work, lwork, status,
                                              1, 1);
  };
  const auto at = [&site](const void* argument) { return integer<symbol>(&site, argument); };
  OrmqrArgs<T> args{{false, false, at(m), at(n), at(k)}, A, at(lda), t + compact_head, C, at(ldc)};
  const std::int64_t size = at(lwork);
  const bool valid = parse_q<T>(*side, *trans, args.product) && args.valid() && at(tsize) >= compact_head;
  const bool query = valid && size == -1, callable = valid && (query || size >= 1);
  const index least = args.least_workspace();
  const auto refuse_it = [&](const auto& call) { enter(site) ? refuse(site, replay_of(call)) : call(); };

  if (!holds_tau(t)) {
    const auto original = [&] { with(t); };
    if (!callable) return refuse_it(original);
    if (!query)
      return stay_here(site, Reason::of_library, problem_of(info(symbol).routine, args).flops, replay_of(original));
    answer_query(site, replay_of(original));
    return raise_told(*work, least);  // T may be of another query, and ours when it counts
  }
  // From here on the library must not see T.  What it refuses, it refuses with blocks of one element, too.
  if (!callable)
    return refuse_it([&] {
      const T unblocked[compact_head] = {T(compact_head + 1), T(1), T(1)};
      with(unblocked);
    });
  const Site& ormqr_site = ormqr_beside<T>(site);
  const auto succeed = [&] {
    *work = T(0);
    raise_told(*work, std::max(least, ormqr_workspace(ormqr_site, product_of(args))));
    report_success<symbol>(site, status);
  };
  if (query) return answer_query(site, replay_of(succeed));

  const auto original = [&] {
    undisturbed([&] { apply(ormqr_site, product_of(args), work, size); });  // which has memory of its own
    succeed();
  };
  args.lwork = least;  // of a call of ormqr that does the same, for verification
  const auto elsewhere = [&](void* const* x) { call_ormqr(ormqr_site, product_of(with_operands(args, x))); };
  switch (ormqr<T>(site, &args, replay_of(original, elsewhere))) {
    case Computed::no: return;
    case Computed::yes: return succeed();
    case Computed::in_device_memory: report_success<symbol>(site, status);  // work may be there, too
  }
}

}  // namespace
}  // namespace blaslift

using namespace blaslift;

// On the stack: lda, T, of which the entry has to know whose it is, tsize, C, ldc, work, lwork, info.
#define FORTRAN(symbol, name, T, interface, width, prefix)                                                            \
  BLASLIFT_EXPORT void symbol(const char* side, const char* trans, const void* m, const void* n, const void* k,       \
                              const void* A) {                                                                        \
    const T* t = static_cast<const T* const*>(__builtin_dwarf_cfa())[1];                                              \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                       \
    return next_function(site, long_way<T, Symbol::symbol>, volume<Symbol::symbol>(site, m, n, k, t), side, trans, m, \
                         n, k, A);                                                                                    \
  }
#define GEMQR(name, type) BLASLIFT_FORTRAN_SYMBOLS(FORTRAN, name, type)
#include "api/routines.def"
