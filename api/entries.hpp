// The exported functions of a kind of routines, made from its signature (impl/core/signatures.hpp).
//
// A kind's source, such as api/gemm.cpp, says which signature and which route a symbol has, and by which sets of names
// (api/names.hpp) the routine is called.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "api/entry.hpp"
#include "compat/call.hpp"
#include "impl/core/signatures.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// A call's integers and letters where the caller has put them, for the gate: the first six words are in registers, the
/// others on the stack.  Everything here is known when it is compiled but for what is read.
template <class Signature, Symbol symbol>
class AtTheGate {
 public:
  /// @param stack  what lies above the return address
  [[gnu::always_inline]] AtTheGate(const Site* site, const std::uint64_t* stack, std::uint64_t a, std::uint64_t b,
                                   std::uint64_t c, std::uint64_t d, std::uint64_t e, std::uint64_t f)
      : site_(site), stack_(stack), registers_{a, b, c, d, e, f} {}

  /// The i-th integer of the signature.
  [[gnu::always_inline]] double integer(int i) const {
    const std::uint64_t x = word(places.integers[i]);
    if constexpr (info(symbol).interface == Interface::cblas)
      return static_cast<double>(blaslift::integer<symbol>(site_, static_cast<std::int64_t>(x)));
    else
      return static_cast<double>(blaslift::integer<symbol>(site_, reinterpret_cast<const void*>(x)));
  }
  /// The array that is in this word of the call.
  [[gnu::always_inline]] Integers integers(int word_number) const {
    return {reinterpret_cast<void*>(word(word_number)), info(symbol).width == Width::wide || site_->wide};
  }
  /// Whether the i-th letter is this one of its choices.
  [[gnu::always_inline]] bool letter(int i, const Choice& choice) const {
    const std::uint64_t x = word(places.letters[i]);
    if constexpr (info(symbol).interface == Interface::cblas) return static_cast<int>(x) == choice.number;
    constexpr char upper = static_cast<char>(~('a' - 'A'));
    return (*reinterpret_cast<const char*>(x) & upper) == choice.letter;
  }
  template <class T>
  [[gnu::always_inline]] T* address(int word_number) const {
    return reinterpret_cast<T*>(word(word_number));
  }

  static constexpr Places places = places_of<Signature>(info(symbol).interface);

 private:
  [[gnu::always_inline]] std::uint64_t word(int i) const { return i < 6 ? registers_[i] : stack_[i - 6]; }

  const Site* site_;
  const std::uint64_t* stack_;
  const std::uint64_t registers_[6];
};

/// Finds all arguments where the caller has put them.  The reals come first here: they have registers of their own.
/// @tparam Call  how calls of the kind are made, such as BlasCall
template <class Call, Symbol symbol, class Words>
struct LongWay;

template <class Call, Symbol symbol, std::size_t... I>
struct LongWay<Call, symbol, std::index_sequence<I...>> {
  [[gnu::noinline, gnu::cold, gnu::flatten]] static void go(double real, double second, WordOf<I>... words) {
    Site ephemeral;
    const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
    CallWords all(words...);
    all.real[0] = real;
    all.real[1] = second;
    Call::template make<symbol>(site, all);
  }
};

template <class Call, Symbol symbol>
using LongWayOf = LongWay<Call, symbol,
                          std::make_index_sequence<static_cast<std::size_t>(
                              places_of<typename Call::Signature>(info(symbol).interface).words())>>;

/// Where a call goes that its entry does not forward: the long way, unless the kind has a way of its own before that.
template <class Call, Symbol symbol>
constexpr auto way_beyond() {
  if constexpr (requires { Call::template beyond<symbol>; })
    return Call::template beyond<symbol>;
  else
    return LongWayOf<Call, symbol>::go;
}

/// What it is called by, and how wide its integers are.
template <Symbol symbol>
bool is_wide(const Site& site) {
  return info(symbol).width == Width::wide || site.wide;
}

/// A routine of BLAS.
/// @tparam route  called with (const Site&, const Args*, Replay): Args are null if invalid
template <class S, auto route>
struct BlasCall {
  using Signature = S;
  template <Symbol symbol>
  static void make(const Site& site, CallWords& words) {
    constexpr Interface interface = info(symbol).interface;
    typename S::Args args{};
    const bool valid = parse<S, interface>(is_wide<symbol>(site), words, args);
    const auto original = [&] { call_words<S, interface>(site.function, words); };
    const auto elsewhere = [&](void* const* x) {
      CallWords other = readdressed<S, interface>(words, with_operands_of<S>(args, x));
      call_words<S, interface>(site.function, other);
    };
    (void)route(site, valid ? &args : nullptr, replay_of(original, elsewhere));
  }
};

/// LAPACK's way of telling a size: as a number of the routine's own, not too small for being rounded.
template <class T>
auto told_size(std::int64_t size) {
  using R = decltype(std::real(T()));
  const R told = static_cast<R>(size);
  return static_cast<double>(told) < static_cast<double>(size) ? std::nextafter(told, std::numeric_limits<R>::max())
                                                               : told;
}

/// The size that a workspace query tells is at least this one.
template <class T>
void raise_told(T& told, std::int64_t size) {
  const auto least = told_size<T>(size);
  if (std::real(told) < least) told = least;
}
inline void raise_told(const Integers& told, std::int64_t size) { told.set(0, std::max(told.get(0), size)); }

struct RaiseTold : signatures::Nothing {
  template <class T>
  void workspace(const char*, T* at, const index&, const auto& least) {
    raise_told(*at, least());
  }
  void workspace(const char*, const Integers& at, const index&, const auto& least) { raise_told(at, least()); }
};

/// An integer that the routine returns, of the width that the caller's have.
template <Symbol symbol>
void set_integer(const Site& site, void* to, std::int64_t value) {
  if (is_wide<symbol>(site))
    *static_cast<std::int64_t*>(to) = value;
  else
    *static_cast<std::int32_t*>(to) = static_cast<std::int32_t>(value);
}

/// One of LAPACK, with workspaces or none: asked for with a length of -1, when the answer is the library's, or what
/// LAPACK promises to be enough if that is more; or used by the library underneath if the call stays.  A call that the
/// device computes leaves in each what LAPACK does, the best size.
/// @tparam route  Computed(const Site&, const Args*, Replay): Args are null if invalid
template <class S, auto route>
struct LapackCall {
  using Signature = S;
  template <Symbol symbol>
  static void make(const Site& site, CallWords& words) {
    constexpr Places places = places_of<S>(Interface::fortran);
    typename S::Args args{};
    const bool valid = parse<S, Interface::fortran>(is_wide<symbol>(site), words, args);
    const auto original = [&] { call_words<S, Interface::fortran>(site.function, words); };
    const auto elsewhere = [&](void* const* x) {
      std::int64_t nobodys_status = 0;
      CallWords other = readdressed<S, Interface::fortran>(words, with_operands_of<S>(args, x));
      other.set(places.status, &nobodys_status);
      call_words<S, Interface::fortran>(site.function, other);
    };
    const Replay replay = replay_of(original, elsewhere);
    signatures::Workspaces workspaces;
    if (valid) workspaces = workspaces_of<S>(args);
    if (workspaces.asked) {
      answer_query(site, replay);
      RaiseTold raise;
      return S::describe(args, raise);
    }
    const Computed computed = route(site, valid && workspaces.suffice ? &args : nullptr, replay);
    if (computed == Computed::no) return;
    // Workspaces may be in device memory, too.
    if (places.workspace_count > 0 && computed == Computed::yes) {
      static constexpr std::int64_t asks = -1;  // in 32 bits, too
      CallWords query = words;
      for (int i = 0; i < places.workspace_count; ++i) query.set(places.workspaces[i].size, &asks);
      call_words<S, Interface::fortran>(site.function, query);
    }
    set_integer<symbol>(site, words.address<void>(places.status), computed.info);
  }
};

}  // namespace blaslift

/// On the stack is what follows the sixth word.  A float's register passes as a double's: nothing looks at its value
/// here.
#define BLASLIFT_ENTRY(symbol, ...)                                                                                    \
  BLASLIFT_EXPORT void symbol(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t e,     \
                              std::uint64_t f, double real, double second) {                                           \
    using Call = __VA_ARGS__;                                                                                          \
    const Site* site = known_site(Symbol::symbol, __builtin_return_address(0));                                        \
    const AtTheGate<Call::Signature, Symbol::symbol> at(                                                               \
        site, static_cast<const std::uint64_t*>(__builtin_dwarf_cfa()), a, b, c, d, e, f);                             \
    return next_function(                                                                                              \
        site, way_beyond<Call, Symbol::symbol>(), [&] { return Call::Signature::volume(at); }, a, b, c, d, e, f, real, \
        second);                                                                                                       \
  }
