// The caller's call, as it came, on the library underneath; and the common way of calls that stay there.
#pragma once
#include "compat/site.hpp"
#include "impl/route/decision.hpp"

namespace blaslift {

/// The original call.  `context` lives as long as the call.
struct Replay {
  void (*call)(const void* context);
  const void* context;
  /// The same with its operands at other addresses, in the order in which Args has them: for verification.
  void (*call_elsewhere)(const void* context, void* const* operands) = nullptr;
  const void* context_elsewhere = nullptr;
  void operator()() const { call(context); }
  void elsewhere(void* const* operands) const { call_elsewhere(context_elsewhere, operands); }
};

/// What became of a call.
struct Computed {
  enum How : std::uint8_t {
    no,               ///< not here: the host BLAS has had the call
    yes,              ///< on the device
    in_device_memory  ///< likewise, and the operands are there
  };
  Computed(How what, index its_info = 0) : how(what), info(its_info) {}
  operator How() const { return how; }

  How how;
  index info;  ///< the ending's
};

/// The site of a call from a place that has none yet.
/// @param ephemeral  memory for one that is of this call only
const Site& new_site(Symbol symbol, const void* caller, Site& ephemeral);

/// Whether the route that `inside` (ThreadState) tells of lets what is called underneath be routed: RouteScope::Lifted
/// marks it so.
inline bool is_lifted(const void* inside) { return reinterpret_cast<std::uintptr_t>(inside) & 1; }

/// Lets the calling thread count.  Returns false for calls that must be replayed without being counted or routed: those
/// from inside a route of ours, Fortran twins of CBLAS calls, and a process's first ones where a signal handler makes
/// them.
bool enter(const Site& site);

inline constexpr double timed_flops = 1e6;  ///< below, reading the clock costs a noticeable part of the call
/// The same for products with vectors, which wait for memory.
inline constexpr double timed_vector_flops = 1e5;

/// Replays a call whose arguments the reference would refuse, and counts it.  Its xerbla may not return: no lock is
/// held, and nothing is left to undo.
void refuse(const Site& site, Replay replay);

/// When a call was replayed.
struct Replayed {
  std::uint64_t start_ns = 0, elapsed_ns = 0;  ///< now_ns; 0: its time was not taken
  std::uint64_t own_ns = 0;                    ///< without counted calls inside
  double seconds() const { return 1e-9 * static_cast<double>(elapsed_ns); }
};

/// Replays a call that stays on the CPU and counts it with its reason.  From `timed` flops on its time is taken.
Replayed stay(const Site& site, Reason reason, double flops, Replay replay, double timed = timed_flops);

/// A call whose way is settled without a decision: replayed, and counted with its reason.
void stay_here(const Site& site, Reason reason, double flops, Replay replay);

/// A call that only asks how much workspace it would need: replayed and counted.
void answer_query(const Site& site, Replay replay);

}  // namespace blaslift
