// A call's way from its decision to its end, whatever the routine: take_route, with on_device on it, and what is
// counted and learned.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "compat/site.hpp"
#include "compat/undisturbed.hpp"
#include "impl/core/errno_kept.hpp"
#include "impl/core/floats.hpp"
#include "impl/core/outcome.hpp"
#include "impl/observe/trace.hpp"
#include "impl/route/dealing.hpp"
#include "impl/route/family.hpp"
#include "impl/route/host_blas.hpp"
#include "impl/route/learned.hpp"
#include "impl/route/operands.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/runtime.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// While this thread decides on a call and runs it on the device: what is called underneath, or by a handler of the
/// program's meanwhile, is not ours to count or route; the process's exit waits; exceptions of our arithmetic raise no
/// signals; and errno is the caller's again afterwards.  In own time (compat/undisturbed.hpp), of which what follows in
/// here is outside.
class RouteScope {
 public:
  RouteScope(Runtime& runtime, double flops)
      : runtime_(runtime), slot_(thread_state.slot), outer_(thread_state.inside) {
    thread_state.slot = nullptr;
    thread_state.inside = this;
    runtime_.in_flight.fetch_add(1, std::memory_order_seq_cst);
    constexpr double may_last = 1e8;  // some milliseconds
    if (flops >= may_last || runtime_.first.device.state() == DeviceState::unopened) admit_unhandled_signals();
  }
  ~RouteScope() {
    runtime_.in_flight.fetch_sub(1, std::memory_order_seq_cst);
    thread_state.inside = outer_;
    thread_state.slot = slot_;
  }
  RouteScope(const RouteScope&) = delete;
  RouteScope& operator=(const RouteScope&) = delete;

  /// Whether this thread is in a route of a caller whose arithmetic raises signals.
  static bool traps() {
    const void* route = thread_state.inside;
    return route && route != &thread_state && !is_lifted(route) &&
           static_cast<const RouteScope*>(route)->untrapped_.traps();
  }

  /// While it lives, what the library underneath calls for this thread's route is routed, and counted, like calls of
  /// the program's, and exit does not wait.  In own time still; by a route that holds nothing that others wait for.
  class Lifted {
   public:
    Lifted() : route_(static_cast<const RouteScope*>(thread_state.inside)) {
      route_->runtime_.in_flight.fetch_sub(1, std::memory_order_seq_cst);
      thread_state.inside = reinterpret_cast<const char*>(route_) + 1;  // is_lifted
      thread_state.slot = route_->slot_;
    }
    ~Lifted() {
      thread_state.slot = nullptr;
      thread_state.inside = route_;
      route_->runtime_.in_flight.fetch_add(1, std::memory_order_seq_cst);
    }
    Lifted(const Lifted&) = delete;
    Lifted& operator=(const Lifted&) = delete;

   private:
    const RouteScope* const route_;
  };

 private:
  Runtime& runtime_;
  ThreadCounters* slot_;
  const void* outer_;  ///< a lifted one, or none
  ErrnoKept errno_kept_;
  Untrapped untrapped_;
};

/// A call that may be routed.
struct Call {
  const Site& site;
  Learned& learned;  ///< from calls of its kind
  const Problem& problem;
  double timed;            ///< from so many flops on its time on the CPU is taken
  Check* check = nullptr;  ///< of its result; null: none
};

Policy policy_for(const Runtime& r, Routine routine);

/// Without a look at the operands.
Facts facts_now(Runtime& r, const Learned& learned, const Problem& problem);

/// Of an open device: whether it can compute the problem, and what of it would be sent more than once.
/// @return whether it would be cut into parts, or has room for none
bool ask_device(Runtime& r, const Problem& problem, Facts& facts);

/// The decision on a call, with a look at its operands where they matter; opens the device for it.
Decision decide_now(Runtime& r, const Learned& learned, const Problem& problem, Operands& operands);

/// Why a call stays whose run on the device has ended with `status`, not `done`.  No further call uses a lost device.
Reason give_up(Place& place, const Backend& backend, Status status);

/// How a call has ended.  Where its result is there, lets go of the operands' copies, which are good.
Ending ended(Place& place, const Backend& backend, const Decision& decision, Operands& operands,
             const Outcome& outcome);

/// While a call is on the device: tools that watch the device are told.
class NamedRange {
 public:
  NamedRange(Backend& backend, const Call& call) : backend_(backend) {
    backend_.begin_range(routine_names[call.site.counter], call.problem.m, call.problem.n, call.problem.k);
  }
  ~NamedRange() { backend_.end_range(); }
  NamedRange(const NamedRange&) = delete;
  NamedRange& operator=(const NamedRange&) = delete;

 private:
  Backend& backend_;
};

/// For a call that goes to the device, opened if need be.  Null if there is none to be had; the decision says why.
Backend* backend_for(Runtime& r, Decision& decision);

/// Counts a call that was on the device from `start` (now_ns) on, and learns from it.
void note_ending(const Call& call, const Decision& decision, const Ending& ending, std::uint64_t start);

/// Computes a call on the device if that is the decision.  True: the result is there.  False: its memory is what it
/// was, and `decision.reason` says why.
/// @param compute  Ending(Backend&); throws only as long as the result is untouched, when the host has no memory
template <class Compute>
bool on_device(Runtime& r, const Call& call, Decision& decision, const Compute& compute) {
  if (decision.route != Route::device) return false;
  if (decision.reason == Reason::trial && !call.learned.trials.take(-decision.gain())) {
    decision.route = Route::cpu;  // another call tries
    decision.reason = Reason::transfers;
    return false;
  }
  decision.infeasible = decision.reason == Reason::device_memory;  // unless it ends well
  Backend* backend = backend_for(r, decision);
  if (!backend) return false;
  if (call.check) call.check->before(backend);
  const std::uint64_t start = now_ns();
  Ending ending{Reason::no_room};
  try {
    const NamedRange range(*backend, call);
    ending = compute(*backend);
  } catch (const std::exception&) {  // nothing has happened yet
  }
  note_ending(call, decision, ending, start);
  if (call.check) call.check->computed(decision, ending);
  decision.reason = ending.reason;
  return ending.computed;
}

/// Records a call that the CPU has computed, if there is a trace.
void note_replayed(const Call& call, const Decision& decision, const Replayed& replayed);

/// For a call that neither side can compute: counts it as failed and says so.
void leave_undone(const Call& call, const Decision& decision);

/// Replays a call that stays, counts it with its reason, and learns from it.
void stay(Runtime& r, const Call& call, const Decision& decision, Replay replay);

/// What `try_device` says; a call about which nothing can be decided, since the host has no memory, stays.
template <class Try>
bool tried(const Try& try_device, Decision& decision) {
  try {
    return try_device(decision);
  } catch (const std::exception&) {  // before anything has happened: see on_device
    decision.route = Route::cpu;
    decision.reason = Reason::no_room;
    return false;
  }
}

/// Of a call from a signal handler: it may have interrupted malloc.
inline bool leave_to_handler(Decision& decision) {
  decision.route = Route::cpu;
  decision.reason = Reason::in_handler;
  return false;
}

template <class Try>
bool tried_inside(Runtime& r, const Call& call, const Try& try_device, Decision& decision) {
  const RouteScope scope(r, call.problem.flops);
  return tried(try_device, decision);
}

/// The whole way of a call with valid arguments: on the device, or else on the library underneath.
/// @param try_device  bool(Decision&): decides, and computes the call if that says so, as on_device does
/// @return whether the device has computed it
template <class Try>
bool take_route(Runtime& r, const Call& call, Replay replay, const Try& try_device) {
  Decision decision;
  bool done = false;
  undisturbed([&] { done = in_handler() ? leave_to_handler(decision) : tried_inside(r, call, try_device, decision); });
  if (done) return true;
  decision.infeasible ? leave_undone(call, decision) : stay(r, call, decision, replay);
  return false;
}

/// The same for a call that verification looks at.
template <class Try, class Describe>
bool take_verified_route(Runtime& r, Call& call, Replay replay, const Try& try_device, const Describe& describe) {
  Check check(r, call.site, call.problem.element, call.problem.flops, describe);
  call.check = &check;
  // Of what the library underneath has computed: by another one, unless they have formats of their own.
  const bool whoever_computes =
      !r.options.oracle.empty() && replay.call_elsewhere && thread_state.agreed == ThreadState::nothing;
  Decision decision;
  {
    const RouteScope scope(r, call.problem.flops);
    if (tried(try_device, decision)) return check.look(), true;
    if (whoever_computes && !decision.infeasible) check.before(nullptr);
  }
  disturbed([&] { decision.infeasible ? leave_undone(call, decision) : stay(r, call, decision, replay); });
  if (decision.infeasible || !whoever_computes) return false;
  const RouteScope scope(r, call.problem.flops);
  check.look();
  return false;
}

/// The same for a call that verification may look at.
/// @param describe  std::unique_ptr<Checkable>(): the call for that; may throw, and be null if there is nothing to see
template <class Try, class Describe>
bool take_route(Runtime& r, Call& call, Replay replay, const Try& try_device, const Describe& describe) {
  if (r.options.verify == 0) [[likely]]
    return take_route(r, call, replay, try_device);
  bool done = false;
  undisturbed([&] { done = take_verified_route(r, call, replay, try_device, describe); });
  return done;
}

/// What the way of calls with such Args takes of their family.
template <class Args>
struct Way {
  /// What has been learned from calls of this one's kind.
  Learned& (*learned)(const Args&);
  Problem (*problem)(Routine, const Args&);
  /// @param ephemeral  in what verification computes again
  Operands (*operands)(Place&, const Args&, bool ephemeral);
  /// As on_device has it.
  Ending (*compute)(Place&, const Site&, Backend&, const Problem&, const Args&, Operands&, const Decision&);
  Judging<Args> judging{};
  /// Why a call stays, whatever its size; if it does.
  std::optional<Reason> (*stays)(const Args&) = nullptr;
  /// What the family has to say to a decision.
  void (*refine)(const Options&, const Problem&, const Args&, Decision&) = nullptr;
  double timed = timed_flops;  ///< flops from which on the call's time on the CPU is taken
};

/// For a Way whose calls all learn from each other.
template <auto& known, class Args>
Learned& together(const Args&) {
  return known.value;
}

/// How calls with such Args are dealt out over places.
template <class Args, class Part = Args>
struct Dealing {
  /// Calls that together are the call: none reads what another one writes, and the largest come first.  Empty, or the
  /// one: the call does not fall into so many.
  std::vector<Part> (*parts)(const Args&, int places);
  const Way<Part>& way;  ///< theirs
  /// Computes one by the library underneath.
  void (*on_cpu)(const Site&, HostBlas&, const Part&);
  /// Before anything is computed: finds what that needs; may throw.
  void (*prepare)(HostBlas&, const Part&) = nullptr;
  bool keeps_result = true;  ///< what it overwrites is kept until all of it is there
};

/// A call with its family's Way: what take_route asks of both, whatever the routine.  It lies on the stack below a call
/// that other code may leave by a jump, or by unwinding: there is nothing to destroy.
class Routed {
 public:
  /// How several places compute it, if its decision says so: parts of it by themselves, or all of it together.
  enum class Over : std::uint8_t { nothing, apart, together };

  Routed(const Routed&) = delete;
  Routed& operator=(const Routed&) = delete;

  // As Way has it.
  virtual Learned& learned() const = 0;
  virtual Problem problem(Routine routine) const = 0;
  virtual Operands operands(Place& place, bool ephemeral) const = 0;
  virtual Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, Operands& operands,
                         const Decision& decision) const = 0;
  virtual std::optional<Reason> stays() const = 0;
  virtual void refine(const Options& options, const Problem& problem, Decision& decision) const = 0;
  virtual double timed() const = 0;

  /// For verification.
  /// @param repeat  the call on the device, with other operands, as decided before
  using Repeat = std::function<Ending(const Routed& other, const Decision& decision)>;
  virtual std::unique_ptr<Checkable> describe(bool overlaps, Replay replay, Repeat repeat) const = 0;

  // As Dealing has it: of a call,
  virtual Over over() const { return Over::nothing; }
  virtual std::shared_ptr<const Routed> copy() const { return nullptr; }  ///< that owns what it needs; if together
  virtual bool keeps_result() const { return true; }
  virtual std::vector<std::shared_ptr<const Routed>> parts(int /*places*/) const { return {}; }
  // and of its parts.
  virtual void on_cpu(const Site&, HostBlas&) const {}
  virtual void prepare(HostBlas&) const {}

 protected:
  Routed() = default;
  ~Routed() = default;
};

template <class Args>
class RoutedCall : public Routed {
 public:
  RoutedCall(const Args& args, const Way<Args>& way) : args_(args), way_(way) {}

  Learned& learned() const final { return way_.learned(args_); }
  Problem problem(Routine routine) const final { return way_.problem(routine, args_); }
  Operands operands(Place& place, bool ephemeral) const final { return way_.operands(place, args_, ephemeral); }
  Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, Operands& operands,
                 const Decision& decision) const final {
    return way_.compute(place, site, backend, problem, args_, operands, decision);
  }
  std::optional<Reason> stays() const final { return way_.stays ? way_.stays(args_) : std::nullopt; }
  void refine(const Options& options, const Problem& problem, Decision& decision) const final {
    if (way_.refine) way_.refine(options, problem, args_, decision);
  }
  double timed() const final { return way_.timed; }
  std::unique_ptr<Checkable> describe(bool overlaps, Replay replay, Repeat repeat) const final {
    const auto again = [this, repeat = std::move(repeat)](const Args& other, const Decision& decision) {
      return repeat(*with(other), decision);
    };
    return checkable(args_, overlaps, replay, way_.judging, again);
  }

 protected:
  /// The same of other Args.
  virtual std::shared_ptr<const Routed> with(const Args& other) const {
    return std::make_shared<RoutedCall>(other, way_);
  }

  const Args args_;
  const Way<Args>& way_;
};

template <class Args>
class CallTogether final : public RoutedCall<Args> {
 public:
  /// The base refers to what is its own, since workers may outlive the call.
  CallTogether(const Args& args, const Way<Args>& way) : RoutedCall<Args>(args, own_way_), own_way_(way) {}

  Routed::Over over() const override { return Routed::Over::together; }
  std::shared_ptr<const Routed> copy() const override { return with(this->args_); }

 private:
  std::shared_ptr<const Routed> with(const Args& other) const override {
    return std::make_shared<CallTogether>(other, own_way_);
  }

  const Way<Args> own_way_;
};

template <class Args, class Part>
class CallApart final : public RoutedCall<Args> {
 public:
  CallApart(const Args& args, const Way<Args>& way, const Dealing<Args, Part>& dealing)
      : RoutedCall<Args>(args, way), dealing_(dealing) {}

  Routed::Over over() const override { return Routed::Over::apart; }
  bool keeps_result() const override { return dealing_.keeps_result; }
  std::vector<std::shared_ptr<const Routed>> parts(int places) const override {
    std::vector<std::shared_ptr<const Routed>> all;
    for (const Part& part : dealing_.parts(this->args_, places)) all.push_back(std::make_shared<One>(part, dealing_));
    return all;
  }

 private:
  class One final : public RoutedCall<Part> {
   public:
    One(const Part& part, const Dealing<Args, Part>& dealing)
        : RoutedCall<Part>(part, dealing.way), dealing_(dealing) {}
    void on_cpu(const Site& site, HostBlas& blas) const override { dealing_.on_cpu(site, blas, this->args_); }
    void prepare(HostBlas& blas) const override {
      if (dealing_.prepare) dealing_.prepare(blas, this->args_);
    }

   private:
    const Dealing<Args, Part>& dealing_;
  };

  std::shared_ptr<const Routed> with(const Args& other) const override {
    return std::make_shared<CallApart>(other, this->way_, dealing_);
  }

  const Dealing<Args, Part>& dealing_;
};

/// A call that places compute together (Gang), as its decision says; or where that does not come to an end, the first
/// one alone.  If it has not been computed, the result's memory is what it was.
/// @param part  computes what belongs to the seat at this place, or with a null seat all of it; owns what it needs, as
///              the job of at_places does
Ending compute_together(Runtime& r, const Decision& decision, std::function<Ending(Place&, Seat*)> part);

/// Of calls that places compute together: their Family says when, and their operands which seat is whose.
struct Together {};

/// The way of a call that the forwarding path did not settle: computed on the device, or by the library underneath.
/// @param call  null: the reference would refuse its arguments
Computed take_route(const Site& site, const Routed* call, Replay replay);

/// The same by Args.
/// @param args     its arguments, for which there is checkable() (impl/judge/judge.hpp); null: the reference would
///                 refuse them
/// @param dealing  Together, or a const Dealing<Args, Part>*; null, of whatever type: it is computed at one place
template <class Args>
Computed take_route(const Site& site, const Args* args, Replay replay, const Way<Args>& way, std::nullptr_t = nullptr) {
  if (!args) return take_route(site, nullptr, replay);
  const RoutedCall<Args> call(*args, way);
  static_assert(std::is_trivially_destructible_v<RoutedCall<Args>>);
  return take_route(site, &call, replay);
}
template <class Args>
Computed take_route(const Site& site, const Args* args, Replay replay, const Way<Args>& way, Together) {
  if (!args) return take_route(site, nullptr, replay);
  const CallTogether<Args> call(*args, way);
  return take_route(site, &call, replay);
}
template <class Args, class Part>
Computed take_route(const Site& site, const Args* args, Replay replay, const Way<Args>& way,
                    const Dealing<Args, Part>* dealing) {
  if (!args || !dealing) return take_route(site, args, replay, way);
  const CallApart<Args, Part> call(*args, way, *dealing);
  return take_route(site, &call, replay);
}

}  // namespace blaslift
