// Where a call went, and why.
#pragma once
#include <cstdint>

namespace blaslift {

enum class Route : std::uint8_t { cpu, device };

/// Why a call went where it went.  The texts appear in summaries.
#define BLASLIFT_REASONS(X)                          \
  X(faster, "faster on the device")                  \
  X(forced, "forced")                                \
  X(reuse, "copied for later calls")                 \
  X(trial, "tried on the device again")              \
  X(eager, "sent by BLASLIFT_LEVEL")                 \
  X(device_memory, "operands in device memory")      \
  X(small, "too small")                              \
  X(no_route, "not supported on this backend")       \
  X(off, "switched off")                             \
  X(measuring, "only measuring")                     \
  X(invalid, "invalid arguments")                    \
  X(query, "workspace query")                        \
  X(nothing, "nothing to multiply")                  \
  X(overlap, "output overlaps an input")             \
  X(no_device, "no usable device")                   \
  X(transfers, "transfers cost more than they save") \
  X(startup, "device start-up not yet earned")       \
  X(modest, "gain too small for BLASLIFT_LEVEL")     \
  X(busy, "device busy for other processes")         \
  X(no_room, "no room on the device")                \
  X(failed, "device failed, finished on the CPU")    \
  X(forked, "in a forked child")                     \
  X(exiting, "process is exiting")                   \
  X(helped, "copied by several threads")             \
  X(of_library, "format of the library underneath")  \
  X(of_interval, "eigenvalues of an interval")       \
  X(of_left, "left eigenvectors")                    \
  X(of_columns, "pivots of more columns than rows")  \
  X(of_batch, "matrices of a batch with gaps")       \
  X(scaled, "norms that LAPACK would scale")         \
  X(not_definite, "matrix is not positive definite") \
  X(singular, "matrix is singular, or not finite")   \
  X(not_converged, "no convergence, or not finite")  \
  X(not_finite, "B is not finite")                   \
  X(rounding, "rounding mode is not to nearest")     \
  X(alpha, "alpha is not finite")                    \
  X(traps, "floating-point traps are on")            \
  X(in_handler, "called by a signal handler")

enum class Reason : std::uint8_t {
#define X(name, text) name,
  BLASLIFT_REASONS(X)
#undef X
      count
};
inline constexpr int reason_count = static_cast<int>(Reason::count);
const char* text_of(Reason reason);

}  // namespace blaslift
