// What every exported function does first: find its call site, and either forward at once or go the long way.
//
// Forwarding is a tail call with the registers and the stack as they came: hidden string lengths pass through unread,
// and no frame of ours is there when the library's xerbla does not return.
#pragma once
#include <atomic>
#include <complex>

#include "compat/site.hpp"
#include "impl/counters.hpp"
#include "impl/replay.hpp"
#include "impl/runtime.hpp"

#define BLASLIFT_EXPORT extern "C" __attribute__((visibility("default")))

namespace blaslift {

/// An integer argument passed by address, in the width that the site's library has.
template <Symbol symbol>
[[gnu::always_inline]] inline std::int64_t integer(const Site* site, const void* argument) {
  if (info(symbol).width == Width::wide || site->wide) return *static_cast<const std::int64_t*>(argument);
  return *static_cast<const std::int32_t*>(argument);
}

/// An integer argument passed by value: in 32-bit interfaces the upper half of its register is undefined.
template <Symbol symbol>
[[gnu::always_inline]] inline std::int64_t integer(const Site* site, std::int64_t argument) {
  if (info(symbol).width == Width::wide || site->wide) return argument;
  return static_cast<std::int32_t>(argument);
}

/// Whether the call is settled by forwarding it: its site and thread are known and it is below the gate.  Counts it.
/// `size` is asked only where the site is known, since integers have no width before.
template <class Size>
[[gnu::always_inline]] inline bool forwards(const Site* site, Size size) {
  ThreadCounters* slot = thread_state.slot;
  if (!site || !slot || !(size() < gate.product.load(std::memory_order_relaxed))) return false;
  std::uint64_t& count = slot->forwarded[site->counter];
  __atomic_store_n(&count, __atomic_load_n(&count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
  return true;
}

/// The site of a call on the long way, resolved if it is new.
inline const Site& site_of(const Site* known, Symbol symbol, const void* caller) {
  return known ? *known : *resolve_site(symbol, caller, runtime().options.fallback.c_str());
}

/// CBLAS scalars: by value where they are real, by address where they are complex.
template <class T>
struct ByValue {
  using type = T;
  static T get(T x) { return x; }
};
template <class R>
struct ByValue<std::complex<R>> {
  using type = const std::complex<R>*;
  static std::complex<R> get(type x) { return *x; }
};
template <class T>
using Scalar = typename ByValue<T>::type;

/// A Replay of `call`, which must outlive it.
template <class Call>
Replay replay_of(const Call& call) {
  return {[](const void* context) { (*static_cast<const Call*>(context))(); }, &call};
}

}  // namespace blaslift
