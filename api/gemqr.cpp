// [sdcz]gemqr in every set of names: an ormqr where our geqr has left tau in T, and otherwise the library's.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "api/entries.hpp"
#include "compat/undisturbed.hpp"
#include "impl/core/library_call.hpp"
#include "impl/qr/compact_qr.hpp"
#include "impl/qr/ormqr.hpp"
#include "impl/qr/qr_family.hpp"

namespace blaslift {
namespace {

/// As ormqr's, with T instead of tau, and T's size.
template <class T>
struct GemqrArgs {
  OrmqrArgs<T> q;
  const T* t;
  index tsize;
};
enum { word_of_t = 7 };

template <class T>
struct GemqrSignature : LapackSignature<GemqrArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    auto& p = x.q.product;
    see.letter("side", sides, p.left, 'L');
    see.letter("trans", adjoints<T>(), p.adjoint, adjoint_letter<T>);
    see.integer("m", p.m);
    see.integer("n", p.n);
    see.integer("k", p.k);
    see.operand("A", x.q.A, nullptr);
    see.integer("lda", x.q.lda);
    see.operand("T", x.t, nullptr);
    see.integer("tsize", x.tsize);
    see.operand("C", x.q.C, nullptr);
    see.integer("ldc", x.q.ldc);
    see.workspace("work", x.q.work, x.q.lwork, nullptr);
    see.info();
  }
  /// Above every gate where the library's gemqr would not know what T is.
  static constexpr double volume(const auto& at) {
    if (holds_tau(at.template address<const T>(word_of_t))) return std::numeric_limits<double>::infinity();
    return OrmqrSignature<T>::volume(at);
  }
};

/// The ormqr of the same library.
template <class T>
const Site& ormqr_beside(const Site& site) {
  Routine routine{};
#define ORMQR(name, type) \
  if (std::is_same_v<T, type>) routine = Routine::name;
#include "api/routines.def"
  return any_site_beside(site, routine, runtime().options.fallback.c_str());
}

/// A column behind the other; null without memory.
template <class T>
std::unique_ptr<T[]> reflectors_of(const OrmqrArgs<T>& x) {
  const auto column = static_cast<std::size_t>(x.product.order());
  std::unique_ptr<T[]> copy(new (std::nothrow) T[column * static_cast<std::size_t>(x.product.k)]);
  for (index j = 0; copy && j < x.product.k; ++j)
    std::memcpy(copy.get() + static_cast<std::size_t>(j) * column, x.A + j * x.lda, column * sizeof(T));
  return copy;
}

/// On the library underneath, in a workspace of our own if the caller's is less than what is best.
template <class T>
void apply(const Site& ormqr, OrmqrArgs<T> whole) {
  // LAPACK's ormqr may write A's diagonal and restore it.  Its gemqr does not: A may be read-only, and is shared by
  // threads.  Without memory there is no other way.
  const std::unique_ptr<T[]> reflectors = reflectors_of(whole);
  if (reflectors) {
    whole.A = reflectors.get();
    whole.lda = std::max<index>(1, whole.product.order());
  }
  // Where the best size is more than an int holds, LAPACK answers anything.
  const index length = whole.product.length(), best = std::max(length, with_best_lengths(ormqr, whole).lwork);
  std::unique_ptr<T[]> own;
  if (whole.lwork < best) own.reset(new (std::nothrow) T[static_cast<std::size_t>(best)]);
  if (own) {
    whole.work = own.get();
    whole.lwork = best;
    return (void)call<OrmqrSignature<T>>(ormqr.function, Interface::fortran, whole);
  }
  // Without memory: as much of C at a time as the caller's is enough for.
  const index part = std::min(length, whole.lwork);
  for (index start = 0; start < length; start += part) {
    OrmqrArgs<T> x = whole;
    (x.product.left ? x.product.n : x.product.m) = std::min(part, length - start);
    x.C = whole.C + start * (x.product.left ? x.ldc : 1);
    call<OrmqrSignature<T>>(ormqr.function, Interface::fortran, x);
  }
}

template <class T>
struct GemqrCall {
  using Signature = GemqrSignature<T>;

  template <Interface>
  static void make(const Site& site, CallWords& words) {
    constexpr Places places = places_of<Signature>(Interface::fortran);
    GemqrArgs<T> x{};
    signatures::Parse parse(Interface::fortran, false, is_wide(site), words);
    signatures::described<Signature>(x).show(parse);
    OrmqrArgs<T>& args = x.q;
    args.tau = x.t + compact_head;
    const index size = args.lwork;
    const bool valid = parse.good && args.valid() && x.tsize >= compact_head;
    const bool query = valid && size == -1, callable = valid && (query || size >= 1);
    const index least = args.least_workspace();
    const auto refuse_it = [&](const auto& refused) { enter(site) ? refuse(site, replay_of(refused)) : refused(); };

    if (!holds_tau(x.t)) {
      const auto original = [&] { call_words<Signature, Interface::fortran>(site.function, words); };
      if (!callable) return refuse_it(original);
      if (!query)
        return stay_here(site, Reason::of_library, problem_of(info(site.symbol).routine, args).flops,
                         replay_of(original));
      answer_query(site, replay_of(original));
      return raise_told(*args.work, least);  // T may be of another query, and ours when it counts
    }
    // From here on the library must not see T.  What it refuses, it refuses with blocks of one element, too.
    if (!callable)
      return refuse_it([&] {
        const T unblocked[compact_head] = {T(compact_head + 1), T(1), T(1)};
        CallWords other = words;
        other.set(word_of_t, unblocked);
        call_words<Signature, Interface::fortran>(site.function, other);
      });
    const Site& ormqr_site = ormqr_beside<T>(site);
    const auto report_success = [&] { set_integer(site, words.address<void>(places.status), 0); };
    const auto succeed = [&] {
      *args.work = T(0);
      raise_told(*args.work, std::max(least, with_best_lengths(ormqr_site, args).lwork));
      report_success();
    };
    if (query) return answer_query(site, replay_of(succeed));

    const OrmqrArgs<T> with_callers_workspace = args;
    const auto original = [&] {
      undisturbed([&] { apply(ormqr_site, with_callers_workspace); });  // which has memory of its own
      succeed();
    };
    args.lwork = least;  // of a call of ormqr that does the same, for verification
    const auto elsewhere = [&](void* const* at) { call_with_own_workspaces(ormqr_site, with_operands(args, at)); };
    switch (ormqr<T>(site, &args, replay_of(original, elsewhere))) {
      case Computed::no: return;
      case Computed::yes: return succeed();
      case Computed::in_device_memory: report_success();  // work may be there, too
    }
  }
};

}  // namespace
}  // namespace blaslift

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, GemqrCall<T>)
#define GEMQR(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
