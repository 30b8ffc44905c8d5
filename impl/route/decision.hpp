// Decision: where a call is computed, and why.  A pure function of the product, what is known about the machine, and
// the policy, so that it can be printed and tested without a device.
#pragma once
#include <string>

#include "impl/core/args.hpp"
#include "impl/product/estimator.hpp"
#include "impl/route/profile.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

enum class Route : std::uint8_t { cpu, device };

/// Why a call went where it went.  The texts appear in summaries.
#define BLASLIFT_REASONS(X)                          \
  X(faster, "faster on the device")                  \
  X(forced, "forced")                                \
  X(reuse, "copied for later calls")                 \
  X(trial, "tried on the device again")              \
  X(device_memory, "operands in device memory")      \
  X(small, "too small")                              \
  X(no_route, "no route yet")                        \
  X(off, "switched off")                             \
  X(measuring, "only measuring")                     \
  X(invalid, "invalid arguments")                    \
  X(query, "workspace query")                        \
  X(nothing, "nothing to multiply")                  \
  X(overlap, "output overlaps an input")             \
  X(no_device, "no usable device")                   \
  X(transfers, "transfers cost more than they save") \
  X(startup, "device start-up not yet earned")       \
  X(no_room, "no room on the device")                \
  X(failed, "device failed, finished on the CPU")    \
  X(forked, "in a forked child")                     \
  X(exiting, "process is exiting")                   \
  X(of_library, "format of the library underneath")  \
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

enum class DeviceState : std::uint8_t {
  unopened,  ///< there may be one; opening it costs the start-up
  opening,   ///< another thread is opening it
  ready,
  absent  ///< none, or given up
};

/// What a decision knows about the machine.
struct Facts {
  DeviceState device;
  const Profile* profile;
  double cpu_rate;        ///< flop/s expected of the CPU for this product
  double slowdown;        ///< measured over predicted time of recent device calls
  double missed_seconds;  ///< what staying on the CPU has cost so far, by prediction
  bool forked, exiting;
  bool device_memory = false;  ///< the CPU cannot read the operands
  double spared = 0;           ///< bytes in that need not move: they, or valid copies, are on the device
  double sent_again = 0;       ///< bytes in that move more than once, while others are computed with
  bool result_stays = false;   ///< C is the program's own device memory: nothing moves out
  bool factors = true;         ///< an open device has what a QR takes
  double reusable = 0;         ///< further bytes that could be kept there for later calls, as far as is known
  double missed_reuse = 0;     ///< seconds that keeping these would have saved so far
  const strassen::Estimator* estimator = nullptr;  ///< of levels; null: none is known to pay
  double trial = 0;                                ///< seconds that trying the device again may lose now
  int calls = 1;                                   ///< on the device, this one among them, if it goes there
  bool rounds_otherwise = false;                   ///< the caller's arithmetic, than to nearest
  bool traps = false;                              ///< the caller's arithmetic raises signals
};

struct Policy {
  bool on;
  bool measuring;
  bool forced;
  bool fixed;
  int levels = 0;  ///< Strassen-like ones: so many, as far as they fit; -1: as many as are estimated to be best
};

struct Decision {
  Route route;
  Reason reason;
  double cpu_seconds = 0, device_seconds = 0;  ///< predictions; zero where none was needed
  double reuse_seconds = 0;                    ///< what copies of the reusable operands would have saved
  int levels = 0;                              ///< on the device
  index tile = 0;                              ///< their tiles' edge
  index head = 0;                              ///< of k, in front of the rest, if not by levels (plan_gemm)
  bool for_the_cpu = false;                    ///< which would do, unless the operands are in device memory
  bool nowhere = false;                        ///< the device cannot, and the CPU cannot read the operands
  bool repeats = false;                        ///< verification's: to be done as it has been before
  double slowdown = 1;                         ///< in device_seconds: over the profile's prediction
  int calls = 1;                               ///< as in Facts

  /// What the device would save by prediction; negative if it loses.
  double saving() const { return cpu_seconds - device_seconds; }
};

/// What came of a call on the device.
struct Ending {
  Reason reason;  ///< the decision's; why the call stays; `failed` where the library underneath finished the result
  bool computed = false;      ///< the result is there; otherwise it is untouched, and the call stays
  bool as_predicted = false;  ///< what was done is what the decision predicts: its time is learned from
  double bytes_in = 0, bytes_out = 0, bytes_spared = 0;
  TransferTimes transfers{};  ///< of all attempts
  int reused = 0;             ///< operands whose copies spared bytes
  int levels = 0;             ///< by so many
  index tile = 0;             ///< with levels: the edge of what they were applied to
  bool distrusted = false;    ///< the guard has sent it back to no level
  std::uint64_t way = 0;      ///< calls of equal arguments that went the same way have the same bits
};

/// A way with these numbers, too.
template <class... Numbers>
std::uint64_t with_numbers(std::uint64_t way, Numbers... numbers) {
  ((way = (way ^ static_cast<std::uint64_t>(numbers)) * 0x100000001b3U + (way >> 29)), ...);
  return way;
}

/// Steps of a schedule by levels, about: beyond, planning would take longer than it could save.
inline constexpr double most_leaves = 50000;
double leaves_of(const Product& product, int level, index tile);

/// Products of m * n * k below this stay on the CPU unseen: even a CPU of 2 Tflop/s needs no longer for them than a
/// device call's latency.  Power of two: n = 256.
inline constexpr double small_product = 16777216.0;

/// What the gate compares for a triangle of an n x n product.
constexpr double triangle_volume(double n, double k) { return n * n * k / 2; }

/// Matrices below n = 512 stay on the CPU unseen, whose caches hold them: here this is below small_product, with which
/// the gate compares.
constexpr double symmetric_volume(double n) { return 64 * n * n; }

/// What the gate compares for the QR of an m x n matrix, and for products with Q of k reflectors: about half of the
/// flops, as m * n * k of a product.
constexpr double reflectors_volume(double m, double n, double k) { return m * n * k; }

/// Bytes/s that products with vectors read on the CPU, until measured.
inline constexpr double cpu_reading_rate = 5e10;

/// Pairs of doubles a second that our own loops multiply (kernels/host/symv.cpp), until measured.
inline constexpr double cpu_pair_rate = 1e8;

constexpr bool not_open_yet(DeviceState state) {
  return state == DeviceState::unopened || state == DeviceState::opening;
}

/// Whether the device is to be opened for a call that was decided without.
inline bool opens(const Decision& guess, const Policy& policy) {
  return guess.route == Route::device || (policy.forced && guess.for_the_cpu);
}

/// Whether the device may be asked where operands are.
inline bool may_ask(const Facts& facts, const Policy& policy) {
  return facts.device == DeviceState::ready && policy.on && !policy.measuring && !facts.forked && !facts.exiting;
}

Decision decide(const Product& product, const Facts& facts, const Policy& policy);

/// The matrix moves for a product that reads it once, so the device gains only with a copy, or in device memory.  While
/// no device is open, `facts.reusable` are the bytes of a matrix that earlier calls have used, too.
Decision decide(const SymmetricProduct& product, const Facts& facts, const Policy& policy);

Decision decide(const Factorisation& factorisation, const Facts& facts, const Policy& policy);
Decision decide(const Application& application, const Facts& facts, const Policy& policy);

/// flop/s of the CPU that follow from cpu_reading_rate.
double cpu_rate_until_measured(const SymmetricProduct& product);

/// Whether copies on the device could change what becomes of a call that was decided without a look at them.
bool copies_matter(const Product& product, Facts facts, const Policy& policy, const Decision& decision);
bool copies_matter(const SymmetricProduct& product, Facts facts, const Policy& policy, const Decision& decision);
bool copies_matter(const Factorisation& factorisation, Facts facts, const Policy& policy, const Decision& decision);
bool copies_matter(const Application& application, Facts facts, const Policy& policy, const Decision& decision);

/// "dgemm m=.. n=.. k=.. -> cpu: too small (cpu 0.1 ms, device 0.2 ms)"
std::string to_string(const Product& product, const Decision& decision);
std::string to_string(const SymmetricProduct& product, const Decision& decision);
std::string to_string(const Factorisation& factorisation, const Decision& decision);
std::string to_string(const Application& application, const Decision& decision);

}  // namespace blaslift
