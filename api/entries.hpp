// The exported functions of a kind of routines, made from its signature (impl/core/signatures.hpp).
//
// A kind's source, such as api/gemm.cpp, says which signature and which route a symbol has, and by which sets of names
// (api/names.hpp) the routine is called.
#pragma once
#include <cstdint>
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
  [[gnu::noinline, gnu::cold]] static void go(double real, double second, WordOf<I>... words) {
    Site ephemeral;
    const Site& site = site_of(symbol, __builtin_return_address(0), ephemeral);
    CallWords all(words...);
    all.real[0] = real;
    all.real[1] = second;
    Call::template make<info(symbol).interface>(site, all);
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

/// Whether the caller's integers have 64 bits.
inline bool is_wide(const Site& site) { return info(site.symbol).width == Width::wide || site.wide; }

/// The call's words, with its operands at these addresses.
template <class S, Interface interface>
CallWords moved(const CallWords& words, const typename S::Args& args, void* const* to) {
  return readdressed<S, interface>(words, with_operands_of<S>(args, to));
}

/// A routine of BLAS.
/// @tparam route  called with (const Site&, const Args*, Replay): Args are null if invalid
template <class S, auto route>
struct BlasCall {
  using Signature = S;
  template <Interface interface>
  [[gnu::noinline]] static void make(const Site& site, CallWords& words) {
    typename S::Args args{};
    const bool valid = parse<S, interface>(is_wide(site), words, args);
    const auto original = [&] { call_words<S, interface>(site.function, words); };
    const auto elsewhere = [&](void* const* x) {
      CallWords other = moved<S, interface>(words, args, x);
      call_words<S, interface>(site.function, other);
    };
    (void)route(site, valid ? &args : nullptr, replay_of(original, elsewhere));
  }
};

/// The size that a workspace query tells is at least this one, as LAPACK tells sizes: by a number of the routine's own,
/// which is not too small for being rounded.
void raise_told(signatures::Scalar told, std::int64_t size);
template <class T>
void raise_told(T& told, std::int64_t size) {
  raise_told(signatures::Scalar{&told, precision_of<T>}, size);
}
/// The same of all sizes that a call has asked for.
void raise_told(signatures::Described call);

/// An integer that the routine returns, of the width that the caller's have.
inline void set_integer(const Site& site, void* to, std::int64_t value) { Integers{to, is_wide(site)}.set(0, value); }

/// Of a call that the device has computed: sets info and, unless they may be in device memory, the best sizes that
/// LAPACK leaves in the workspaces.
void finish(const Site& site, const signatures::Description& description, const CallWords& words,
            const Computed& computed);

/// One of LAPACK, with workspaces or none: asked for with a length of -1, when the answer is the library's, or what
/// LAPACK promises to be enough if that is more; or used by the library underneath if the call stays.  A call that the
/// device computes leaves in each what LAPACK does, the best size.
/// @tparam route  Computed(const Site&, const Args*, Replay): Args are null if invalid
template <class S, auto route>
struct LapackCall {
  using Signature = S;
  template <Interface>
  [[gnu::noinline]] static void make(const Site& site, CallWords& words) {
    constexpr Interface fortran = Interface::fortran;
    typename S::Args args{};
    const bool valid = parse<S, fortran>(is_wide(site), words, args);
    const auto original = [&] { call_words<S, fortran>(site.function, words); };
    const auto elsewhere = [&](void* const* x) {
      std::int64_t nobodys_status = 0;
      CallWords other = moved<S, fortran>(words, args, x);
      other.set(signatures::description_of<S>().fortran.status, &nobodys_status);
      call_words<S, fortran>(site.function, other);
    };
    const Replay replay = replay_of(original, elsewhere);
    signatures::Workspaces workspaces;
    if (valid) workspaces = workspaces_of<S>(args);
    if (workspaces.asked) {
      answer_query(site, replay);
      return raise_told(signatures::described<S>(args));
    }
    const Computed computed = route(site, valid && workspaces.suffice ? &args : nullptr, replay);
    if (computed != Computed::no) finish(site, signatures::description_of<S>(), words, computed);
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
