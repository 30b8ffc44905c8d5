// The caller's call, as it came, on the library underneath; and the common way of calls that stay there.
#pragma once
#include <cerrno>

#include "compat/site.hpp"
#include "impl/decision.hpp"

namespace blaslift {

/// The original call.  `context` lives as long as the call.
struct Replay {
  void (*call)(const void* context);
  const void* context;
  void operator()() const { call(context); }
};

/// errno is the caller's: BLAS does not touch it, and neither do we around it.
class ErrnoKept {
 public:
  ErrnoKept() : errno_(errno) {}
  ~ErrnoKept() { errno = errno_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int errno_;
};

/// Lets the calling thread count.  Returns false for calls that must be replayed without being counted or routed: those
/// from inside a route of ours, and Fortran twins of CBLAS calls.
bool enter(const Site& site);

/// Replays a call that stays on the CPU and counts it with its reason.  From `timed_flops` on it is timed, and the time
/// returned in seconds (else 0).
double stay(const Site& site, Reason reason, double flops, Replay replay);

/// A call of a routine that has no route yet: counted, timed only while measuring.
void pass_through(const Site& site, double flops, Replay replay);

inline constexpr double timed_flops = 1e6;  ///< below, reading the clock costs a noticeable part of the call

}  // namespace blaslift
