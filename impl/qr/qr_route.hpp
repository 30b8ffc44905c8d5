// What the routes of QR's routines have in common.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "impl/judge/judge.hpp"
#include "impl/qr/qr_decision.hpp"
#include "impl/qr/qr_execute.hpp"
#include "impl/route/host_blas.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// What became of a call of LAPACK's.
enum class Computed : std::uint8_t {
  no,               ///< not here: the library underneath has had the call
  yes,              ///< on the device; info and work are not written yet
  in_device_memory  ///< likewise, and the operands are there
};

/// Gives a lease back at the end.
class Leased {
 public:
  Leased(Arena& arena, void* lease, std::size_t bytes) : arena_(arena), lease_(lease), bytes_(bytes) {}
  ~Leased() { arena_.give_back(lease_, bytes_); }
  Leased(const Leased&) = delete;
  Leased& operator=(const Leased&) = delete;

 private:
  Arena& arena_;
  void* lease_;
  std::size_t bytes_;
};

/// And a lane.
class Acquired {
 public:
  Acquired(Backend& backend, Lane* lane) : backend_(backend), lane_(lane) {}
  ~Acquired() { backend_.release(lane_); }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

 private:
  Backend& backend_;
  Lane* lane_;
};

/// Where an operand is on the device, if not in a lease.
QrOperand operand_on_device(const Operand& x);

/// Of a download at most: pieces of small results are small, so that several threads share them.
std::size_t piece_bytes(const Backend& backend, double result_bytes);

/// Whether the host has memory for what the result overwrites, which is kept until all of it is there.
bool can_keep(const Operand& result);

/// take_route, for LAPACK.
template <class Try, class Describe>
Computed computed_by(Runtime& r, Call& call, Replay replay, const Try& try_device, const Describe& describe) {
  bool device_memory = false;
  const auto try_it = [&](Decision& decision) {
    const bool done = try_device(decision);
    device_memory = decision.reason == Reason::device_memory;
    return done;
  };
  const bool computed = take_route(r, call, replay, try_it, describe);
  return !computed ? Computed::no : device_memory ? Computed::in_device_memory : Computed::yes;
}

/// A call's operands; lets go of their copies at the end.
template <std::size_t count>
class QrOperands {
 public:
  QrOperands(Runtime& r, const std::array<Operand, count>& operands) : all(operands), runtime_(r) {}
  ~QrOperands() { close(false); }
  QrOperands(const QrOperands&) = delete;
  QrOperands& operator=(const QrOperands&) = delete;

  /// Once, as soon as the device is open.
  void locate(Backend& backend) {
    if (std::exchange(located_, true)) return;
    for (Operand& x : all)
      if (x.stored.rows > 0 && x.stored.cols > 0) x.locate(backend);
  }
  /// Once, after locate: takes hold of the copies that there are.
  void look(const std::array<bool, count>& which) {
    if (std::exchange(looked_, true)) return;
    for (std::size_t i = 0; i < count; ++i)
      if (which[i]) all[i].look(runtime_.residency, glance_);
  }
  /// After look.
  void keep(Operand& x) { x.keep(runtime_.residency, glance_); }
  /// `good`: what was uploaded and computed is there.
  void close(bool good) {
    for (Operand& x : all) runtime_.residency.close(x.known.hold, good);
  }
  void forget() {
    close(false);
    for (Operand& x : all) x.known = {};
  }

  bool any_hold() const {
    return std::any_of(all.begin(), all.end(), [](const Operand& x) { return static_cast<bool>(x.known.hold); });
  }
  bool in_device_memory() const {
    return std::any_of(all.begin(), all.end(), [](const Operand& x) { return x.out_of_reach(); });
  }
  double spared() const {
    double bytes = 0;
    for (const Operand& x : all) bytes += x.known.spared;
    return bytes;
  }
  /// How many have copies that spare bytes.
  int reused() const {
    return static_cast<int>(std::count_if(all.begin(), all.end(), [](const Operand& x) { return x.known.spared > 0; }));
  }
  /// Bytes that are read where they are, in device memory of the program's.
  double in_place() const {
    double bytes = 0;
    for (const Operand& x : all)
      if (x.reads && x.place == Place::on_a_device) bytes += x.stored.bytes();
    return bytes;
  }

  std::array<Operand, count> all;

 private:
  Runtime& runtime_;
  Residency::Glance glance_;
  bool located_ = false, looked_ = false;
};

/// Computes on the device with the copies that the operands have, or without where there is no room beside them.
/// @param again    whether a second attempt would find the result's memory as the first one did
/// @param attempt  QrOutcome(bool wait): `wait` for room, or no_memory if there is none now
template <std::size_t count, class Attempt>
Ending in_attempts(Runtime& r, const Backend& backend, const Decision& decision, QrOperands<count>& operands,
                   const Operand& result, bool again, const Attempt& attempt) {
  if (!can_keep(result)) return {Reason::no_room};
  r.residency.before_writing(result.stored);
  double spared = operands.spared();
  int reused = operands.reused();
  // Whoever holds copies may not wait for room: others may hold copies and wait, too.
  QrOutcome outcome = attempt(!operands.any_hold());
  if (outcome.status == Status::no_memory && operands.any_hold() && again) {
    operands.forget();
    spared = 0;
    reused = 0;
    const QrOutcome first = outcome;
    outcome = attempt(true);
    outcome.bytes_in += first.bytes_in;
    outcome.transfers.add(first.transfers);
  }
  // From here on nothing throws.
  Ending ending{.reason = decision.reason,
                .bytes_in = outcome.bytes_in,
                .bytes_out = outcome.bytes_out,
                .transfers = outcome.transfers};
  if (outcome.status != Status::done) {
    ending.reason = give_up(r, backend, outcome.status);
    return ending;
  }
  operands.close(true);
  if (result.cared_for) r.residency.note_result(result.stored);
  ending.computed = ending.as_predicted = true;
  ending.bytes_spared = spared;
  ending.reused = reused;
  return ending;
}

/// The decision on a QR or a product with its Q, with a look at the operands where they matter.
/// @param large   enough for a device
/// @param able    what the device must be able to compute
/// @param copied  which operands may have copies
/// @param result  which of them is the result
/// @param again   std::optional<double>(): bytes that an open device is sent more than once, if the call is cut, which
/// uses no copies
template <class P, std::size_t count, class Again>
Decision decide_qr(Runtime& r, const Learned& learned, const P& p, bool large, Operation::Kind able,
                   QrOperands<count>& operands, const std::array<bool, count>& copied, std::size_t result,
                   const Again& again) {
  const Policy policy = policy_for(r, p.routine);
  bool cut = false;
  const auto now = [&] {
    Facts facts =
        facts_now(r, learned, p.precision, p.flops(), r.device.profile().cpu_rate[static_cast<int>(p.precision)]);
    if (facts.device == DeviceState::ready) {
      const DeviceFacts& device = r.device.backend().facts();
      facts.able = device.computes.can(able, p.precision);
      const std::optional<double> bytes = again();
      cut = bytes.has_value();
      facts.sent_again = bytes.value_or(0);
    }
    return facts;
  };
  if (!p.overlaps) open_for_fixed(r, policy, large);
  Facts facts = now();
  if (not_open_yet(facts.device)) {
    const Decision guess = decide(p, facts, policy);
    if (!opens(guess, policy) || !open_device(r)) return guess;
    facts = now();  // by the device's own profile
  }
  if (!may_ask(facts, policy)) return decide(p, facts, policy);
  operands.locate(r.device.backend());
  facts.device_memory = operands.in_device_memory();
  if (facts.device_memory) {
    facts.sent_again = 0;
    facts.spared = operands.in_place();
    facts.result_stays = operands.all[result].place == Place::on_a_device;
    return decide(p, facts, policy);
  }
  Decision decision = decide(p, facts, policy);
  if (cut || !copies_matter(p, facts, policy, decision)) return decision;
  operands.look(copied);
  facts.spared = operands.spared();
  // What the call overwrites is of no use to later ones.
  const auto reusable = [](const Operand& x) { return x.reads && !x.writes && !x.known.hold && x.known.unchanged; };
  for (const Operand& x : operands.all)
    if (reusable(x)) {
      facts.reusable += x.stored.bytes();
      facts.missed_reuse = std::max(facts.missed_reuse, x.known.missed);
    }
  decision = decide(p, facts, policy);
  if (decision.route == Route::cpu && decision.reuse_seconds > 0)
    for (const Operand& x : operands.all)
      if (reusable(x)) r.residency.note_missed(x.stored, decision.reuse_seconds);
  return decision;
}

}  // namespace blaslift
