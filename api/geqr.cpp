// [sdcz]geqr in every set of names: a geqrf whose tau goes where LAPACK's compact format has its T.
#include <algorithm>

#include "api/entries.hpp"
#include "impl/qr/compact_qr.hpp"
#include "impl/qr/geqrf.hpp"

namespace blaslift {
namespace {

/// As geqrf's, with T instead of tau, and T's size.
template <class T>
struct GeqrArgs {
  GeqrfArgs<T> qr;
  T* t;
  index tsize;
};

template <class T>
struct GeqrSignature : LapackSignature<GeqrArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("m", x.qr.m);
    see.integer("n", x.qr.n);
    see.operand("A", x.qr.A, nullptr);
    see.integer("lda", x.qr.lda);
    see.operand("T", x.t, nullptr);
    see.integer("tsize", x.tsize);
    see.workspace("work", x.qr.work, x.qr.lwork, nullptr);
    see.info();
  }
  static constexpr double volume(const auto& at) { return GeqrfSignature<T>::volume(at); }
};
enum { word_t = 4, word_tsize };

/// Whether gemqr could do without the device, too.
template <class T>
bool applicable(const Site& site) {
#define ORMQR(name, type) \
  if (std::is_same_v<T, type>) return site_beside(site, Routine::name, runtime().options.fallback.c_str());
#include "api/routines.def"
  return false;
}

template <class T>
struct GeqrCall {
  using Signature = GeqrSignature<T>;

  template <Interface>
  static void make(const Site& site, CallWords& words) {
    GeqrArgs<T> x{};
    signatures::described<Signature>(x).show(signatures::Parse(Interface::fortran, false, is_wide(site), words));
    const auto at_once = [&] { call_words<Signature, Interface::fortran>(site.function, words); };
    // With operands elsewhere it would not leave tau there: only what the device computes is verified.
    const Replay original = replay_of(at_once);
    GeqrfArgs<T>& args = x.qr;
    args.tau = x.t + compact_head;
    const bool valid = args.valid();
    const auto asks_for = [](index size) { return size == -1 || size == -2; };
    if (valid && (asks_for(x.tsize) || asks_for(args.lwork))) {
      // LAPACK's own answer leaves what it needs of factors that are in T; ours has to be put back.
      const bool ours = holds_tau(x.t);
      answer_query(site, original);
      raise_told(x.t[0], compact_least(args.n));
      raise_told(*args.work, args.least_workspace());
      if (ours) mark_tau(x.t);
      return;
    }
    const bool enough = valid && x.tsize >= compact_least(args.n) && args.lwork >= args.least_workspace();
    if (enough && !applicable<T>(site)) return stay_here(site, Reason::no_route, 0, original);
    const Computed computed = geqrf<T>(site, enough ? &args : nullptr, original);
    if (computed == Computed::no) return;
    // The best sizes, which LAPACK leaves in T(1) and in work, if that is not in device memory.
    constexpr Places places = places_of<Signature>(Interface::fortran);
    T best{};
    std::int64_t nobodys_status = 0;
    static constexpr std::int64_t asks = -1;  // in 32 bits, too
    CallWords query = words;
    query.set(word_tsize, &asks);
    query.set(places.workspaces[0].at, &best);
    query.set(places.workspaces[0].size, &asks);
    query.set(places.status, &nobodys_status);
    call_words<Signature, Interface::fortran>(site.function, query);
    raise_told(x.t[0], compact_least(args.n));
    mark_tau(x.t);
    if (computed == Computed::yes) *args.work = best;
    set_integer(site, words.address<void>(places.status), 0);
  }
};

}  // namespace
}  // namespace blaslift

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, GeqrCall<T>)
#define GEQR(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
