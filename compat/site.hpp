// Call sites: what one call instruction's calls reach.  The library underneath is a property of the caller (a plugin
// may bring its own), so the answer of find_target is kept per return address, in a lock-free hash table read on every
// call.
#pragma once
#include <atomic>
#include <cstdint>

#include "compat/symbols.hpp"

namespace blaslift {

struct Site {
  std::atomic<const void*> caller;  ///< return address of the call; null once the calling object is being unloaded
  Symbol symbol;
  bool wide;             ///< 64-bit integers
  bool twin;             ///< the call comes from inside a CBLAS function that we forwarded to: counted there
  std::uint8_t counter;  ///< slot in the per-thread counters: the routine's, or a waste slot for twins
  void* function;        ///< what to call, with the arguments as they came
  const char* library;   ///< path, for reports; null where there is none
  const char* found_by;
  Site* next;
  std::atomic<std::int64_t> free_since;  ///< in milliseconds; 0: it is not free
};

inline constexpr int site_buckets = 1024;
extern std::atomic<Site*> sites[site_buckets];

/// Slow path: resolves and remembers.  Without a library underneath it says so once, and the call reaches the
/// reference's loops (compat/builtin.hpp).
/// @param fallback  path of a library for callers that bring none, or empty.
/// @param ephemeral  what is returned if it is not to be remembered
const Site* resolve_site(Symbol symbol, const void* caller, const char* fallback, Site& ephemeral);

/// What the library that `of` has led to would reach by another routine in the same set of names; null if there is
/// none.
const Site* site_beside(const Site& of, Routine routine, const char* fallback);

/// The same, but the reference's loops if there is none.
const Site& any_site_beside(const Site& of, Routine routine, const char* fallback);

/// The next call from where calls have reached this function is resolved anew.
void forget_sites_of(const void* function);

/// In a forked child: whoever was resolving a call is not there.  Only stores.
void forget_resolving();

inline std::size_t site_bucket(Symbol symbol, const void* caller) {
  return (reinterpret_cast<std::uintptr_t>(caller) ^ (static_cast<std::uintptr_t>(symbol) << 4)) % site_buckets;
}

/// The site of a call, or null if it is not known yet.
[[gnu::always_inline]] inline const Site* known_site(Symbol symbol, const void* caller) {
  const Site* s = sites[site_bucket(symbol, caller)].load(std::memory_order_acquire);
  // What is found free is used again, for this symbol or another.
  while (s && (s->caller.load(std::memory_order_acquire) != caller || s->symbol != symbol)) s = s->next;
  return s;
}

}  // namespace blaslift
