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
  const char* library;   ///< path, for reports; null for our own interface
  const char* found_by;
  Site* next;
};

inline constexpr int site_buckets = 1024;
extern std::atomic<Site*> sites[site_buckets];

/// Slow path: resolves and remembers.  Never returns null: without a library underneath it says what was looked for
/// and aborts, as the loader does for a missing symbol.
/// @param fallback  path of a library for callers that bring none, or empty.
const Site* resolve_site(Symbol symbol, const void* caller, const char* fallback);

/// What the library that `of` has led to would reach by another routine of the same family; null if there is none.
const Site* site_beside(const Site& of, Routine routine, const char* fallback);

inline std::size_t site_bucket(Symbol symbol, const void* caller) {
  return (reinterpret_cast<std::uintptr_t>(caller) ^ (static_cast<std::uintptr_t>(symbol) << 4)) % site_buckets;
}

/// The site of a call, or null if it is not known yet.
[[gnu::always_inline]] inline const Site* known_site(Symbol symbol, const void* caller) {
  const Site* s = sites[site_bucket(symbol, caller)].load(std::memory_order_acquire);
  while (s && (s->caller.load(std::memory_order_relaxed) != caller || s->symbol != symbol)) s = s->next;
  return s;
}

}  // namespace blaslift
