// Decision: where a call is computed, and why.  A pure function of the call, what is known about the machine, and the
// policy, so that it can be printed and tested without a device: decide(), in impl/route/family.hpp, with what differs
// between families.
#pragma once
#include "impl/core/hash.hpp"
#include "impl/core/options.hpp"
#include "impl/core/reason.hpp"
#include "impl/route/profile.hpp"
#include "impl/strassen/estimator.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

enum class DeviceState : std::uint8_t {
  unopened,  ///< there may be one; opening it costs the start-up
  opening,   ///< another thread, or one of ours, is opening it
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
  bool able = true;            ///< an open device computes what the call takes
  /// Further bytes that could be kept there for later calls, as far as is known; while no device is open, of a matrix
  /// that has come again.
  double reusable = 0;
  double missed_reuse = 0;                         ///< seconds that keeping these would have saved so far
  const strassen::Estimator* estimator = nullptr;  ///< of levels; null: none is known to pay
  double trial = 0;                                ///< seconds that trying the device again may lose now
  int calls = 1;                                   ///< on the device, this one among them, if it goes there
  bool rounds_otherwise = false;                   ///< the caller's arithmetic, than to nearest
  bool traps = false;                              ///< the caller's arithmetic raises signals
  bool busy = false;                               ///< with other processes' work, to which calls yield
  double until_open = 0;                           ///< seconds that a device being opened is expected to take yet
};

/// How eagerly calls go to the device (BLASLIFT_LEVEL): the cost model's predictions stay what they are, and what they
/// are compared with changes.  What goes at one level goes at every higher one.
struct Eagerness {
  double worth;     ///< a call goes if it takes so many times as long on the CPU
  double start_up;  ///< of its price, what has to be earned before the device is opened
};
inline constexpr Eagerness eagerness_levels[] = {{2, 2}, {1.4, 1.5}, {1, 1}, {1, 0.25}, {0.5, 0}};
constexpr Eagerness eagerness_of(int level) { return eagerness_levels[level - 1]; }

struct Policy {
  bool on;
  bool measuring;
  bool forced;
  bool fixed;
  Products products = Products::automatic;
  int levels = 0;  ///< Strassen-like ones: so many, as far as they fit; -1: as many as are estimated to be best
  Eagerness eagerness = eagerness_of(usual_eagerness);
};

struct Decision {
  Route route;
  Reason reason;
  double cpu_seconds = 0, device_seconds = 0;  ///< predictions; zero where none was needed
  double reuse_seconds = 0;                    ///< what copies of the reusable operands would have saved
  int levels = 0;                              ///< on the device
  index tile = 0;                              ///< their tiles' edge
  index head = 0;                              ///< of k, in front of the rest (plan_gemm, Tiling)
  bool residues = false;                       ///< computed by them, if their guard accepts the operands
  bool cpu_suffices = false;                   ///< which would do, unless the operands are in device memory
  bool infeasible = false;                     ///< the device cannot, and the CPU cannot read the operands
  bool opens_meanwhile = false;                ///< stays for want of the device, which is opened beside it
  bool repeats = false;                        ///< verification's: to be done as it has been before
  double slowdown = 1;                         ///< in device_seconds: over the profile's prediction
  int calls = 1;                               ///< as in Facts
  double worth = 1;                            ///< as in Eagerness
  int places = 1;                              ///< that it is dealt out over

  /// What the device would save by prediction; negative if it loses.
  double saving() const { return cpu_seconds - device_seconds; }
  /// By how much it is worth the device; negative if it is not.
  double gain() const { return cpu_seconds - worth * device_seconds; }
};

/// What came of a call on the device.
struct Ending {
  Reason reason;  ///< the decision's; why the call stays; `failed` where the library underneath finished the result
  bool computed = false;      ///< the result is there; otherwise it is untouched, and the call stays
  bool as_predicted = false;  ///< what was done is what the decision predicts: its time is learned from
  bool distrusted = false;    ///< a guard has sent it back to no level, or parts of it from residues
  double bytes_in = 0, bytes_out = 0, bytes_spared = 0, bytes_exchanged = 0;
  TransferTimes transfers{};  ///< of all attempts
  int reused = 0;             ///< operands whose copies spared bytes
  int levels = 0;             ///< by so many
  index tile = 0;             ///< with levels: the edge of what they were applied to
  bool residues = false;      ///< by these, or parts of it
  bool systolic = false;      ///< by systolic arrays, or parts of it
  int places = 1;             ///< that have computed parts of it
  std::uint64_t way = 0;  ///< with_numbers() of it: calls of equal arguments that went the same way have the same bits
  index info = 0;         ///< LAPACK's, of a result that is there: 0, or what it says of the caller's numbers
};

/// Products of m * n * k below this stay on the CPU unseen: even a CPU of 2 Tflop/s needs no longer for them than a
/// device call's latency.  Power of two: n = 256.
inline constexpr double small_product = 16777216.0;

constexpr bool not_open_yet(DeviceState state) {
  return state == DeviceState::unopened || state == DeviceState::opening;
}

/// Whether the device is to be opened for a call that was decided without.
inline bool opens(const Decision& guess, const Policy& policy) {
  return guess.route == Route::device || (policy.forced && guess.cpu_suffices);
}

/// Whether the device may be asked where operands are.
inline bool may_ask(const Facts& facts, const Policy& policy) {
  return facts.device == DeviceState::ready && policy.on && !policy.measuring && !facts.forked && !facts.exiting;
}

}  // namespace blaslift
