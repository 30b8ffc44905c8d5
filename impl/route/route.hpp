// A call's way from its decision to its end, whatever the routine: take_route, with on_device on it, and what is
// counted and learned.
#pragma once
#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
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

/// A part of a call at a place, which is open.
/// @param number  of the deal
/// @param seat    of a gang: then it is the place's part of what is the whole call
template <class Part>
Ending compute_part(Runtime& r, Place& place, const Site& site, Routine routine, const Part& part,
                    const Decision& whole, const Way<Part>& way, bool ephemeral, std::uint64_t number,
                    Seat* seat = nullptr) {
  try {
    Backend* backend = open_place(r, place);
    if (!backend) return {Reason::no_device};
    const Problem problem = way.problem(routine, part);
    if (!place.device.can(family_of(routine).needs, problem.element)) return {Reason::no_route};
    Operands operands = way.operands(place, part, ephemeral);
    operands.deal = number;
    operands.seat = seat;
    Decision decision = decide_part(place, policy_for(r, routine), problem, whole);
    if (way.refine) way.refine(r.options, problem, part, decision);
    return way.compute(place, site, *backend, problem, part, operands, decision);
  } catch (const std::exception&) {  // nothing has happened yet
    return {Reason::no_room};
  }
}

/// A call dealt out, as its decision says.  What no place has computed is computed at the first one, or else by the
/// library underneath.  If nothing has been computed anywhere, the result's memory is what it was.
template <class Args, class Part>
Ending compute_dealt(Runtime& r, const Site& site, Routine routine, const Args& args, Operands& operands,
                     const Decision& decision, const Dealing<Args, Part>& dealing) {
  struct Shared {
    const std::vector<Part> parts;
    const Decision decision;
    std::vector<Ending> endings{};
    std::vector<char> has_computed{};  ///< by place
  };
  const auto call = std::make_shared<Shared>(Shared{dealing.parts(args, decision.places), decision});
  const std::vector<Part>& parts = call->parts;
  std::vector<Ending>& endings = call->endings;
  endings.assign(parts.size(), Ending{Reason::no_room});
  call->has_computed.resize(static_cast<std::size_t>(decision.places));
  HostBlas blas(site);
  if (dealing.prepare)
    for (const Part& part : parts) dealing.prepare(blas, part);
  const bool ephemeral = operands[0].ephemeral;
  const std::uint64_t deal = r.deals.fetch_add(1, std::memory_order_relaxed) + 1;
  operands.forget();
  at_places(r, decision.places, static_cast<int>(parts.size()),
            [call, &r, &site, routine, &way = dealing.way, ephemeral, deal](Place& place, int number) {
              const auto i = static_cast<std::size_t>(number);
              Ending& ending = call->endings[i];
              ending = compute_part(r, place, site, routine, call->parts[i], call->decision, way, ephemeral, deal);
              if (ending.computed) call->has_computed[static_cast<std::size_t>(place.number)] = 1;
              if (ending.computed)
                place.refused.store(0, std::memory_order_relaxed);
              else if (ending.reason == Reason::no_room)
                place.refused.fetch_add(1, std::memory_order_relaxed);
              return ending.computed;
            });
  // From here on nothing throws.
  if (std::none_of(endings.begin(), endings.end(), [](const Ending& x) { return x.computed; })) return endings.front();
  bool all_at_once = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (endings[i].computed) continue;
    all_at_once = false;
    if (i > 0 && endings[i].reason != Reason::not_finite)
      endings[i] = compute_part(r, r.first, site, routine, parts[i], decision, dealing.way, ephemeral, deal);
    if (endings[i].computed) continue;
    dealing.on_cpu(site, blas, parts[i]);
    endings[i].reason = Reason::failed;
  }
  Ending all = combined(decision, endings);
  all.as_predicted = all.as_predicted && all_at_once;
  all.places = static_cast<int>(std::count(call->has_computed.begin(), call->has_computed.end(), 1));
  return all;
}

/// A call that places compute together (Gang), as its decision says; or where that does not come to an end, the first
/// one alone.  If it has not been computed, the result's memory is what it was.
/// @param part  computes what belongs to the seat at this place, or with a null seat all of it; owns what it needs, as
///              the job of at_places does
Ending compute_together(Runtime& r, const Decision& decision, std::function<Ending(Place&, Seat*)> part);

/// Of calls that places compute together: their Family says when, and their operands which seat is whose.
struct Together {};

/// The way of a call that the forwarding path did not settle: computed on the device, or by the library underneath.
/// @param args     its arguments, for which there is checkable() (impl/judge/judge.hpp); null: the reference would
///                 refuse them
/// @param dealing  Together, or a const Dealing<Args, Part>*; null, of whatever type: it is computed at one place
template <class Args, class How = std::nullptr_t>
Computed take_route(const Site& site, const Args* args, Replay replay, const Way<Args>& way, How dealing = nullptr) {
  constexpr bool together = std::is_same_v<How, Together>, apart = std::is_pointer_v<How>;
  if (!enter(site)) return replay(), Computed::no;
  if (!args) return refuse(site, replay), Computed::no;
  const Problem problem = way.problem(info(site.symbol).routine, *args);
  if (way.stays)
    if (const auto reason = way.stays(*args)) return stay_here(site, *reason, problem.flops, replay), Computed::no;
  Runtime& r = runtime();
  Learned& learned = way.learned(*args);
  Call call{site, learned, problem, way.timed};
  bool device_memory = false;
  index info = 0;
  const auto compute = [&](Backend& backend, const Args& its, Operands& operands, const Decision& decision) {
    if constexpr (apart)
      if (decision.places > 1) return compute_dealt(r, site, problem.routine, its, operands, decision, *dealing);
    if constexpr (together)
      if (decision.places > 1) {
        const bool ephemeral = operands[0].ephemeral;
        operands.forget();
        // What that needs besides is opened here: this thread may hold the loader's lock, and then places wait for it.
        for (int i = 0; i < decision.places; ++i)
          (void)r.place(i).device.can(family_of(problem.routine).needs, problem.element);
        return compute_together(
            r, decision,
            [&r, &site, routine = problem.routine, its, decision, way, ephemeral](Place& place, Seat* seat) {
              return compute_part(r, place, site, routine, its, decision, way, ephemeral, 0, seat);
            });
      }
    return way.compute(r.first, site, backend, problem, its, operands, decision);
  };
  const auto try_device = [&](Decision& decision) {
    Operands operands = way.operands(r.first, *args, false);  // lets go of its copies while we are still inside
    decision = decide_now(r, learned, problem, operands);
    if (way.refine) way.refine(r.options, problem, *args, decision);
    // Where there is but one place, a small call is to cost no more than itself.
    if constexpr (apart)
      if (dealing && r.places() > 1) {
        const auto parts = [&](int places) {
          std::vector<Problem> problems;
          for (const auto& part : dealing->parts(*args, places))
            problems.push_back(dealing->way.problem(problem.routine, part));
          return problems;
        };
        const Policy policy = policy_for(r, problem.routine);
        deal(r, learned, policy, problem, operands, decision, dealing->keeps_result,
             seconds_apart(r, policy, problem, parts));
      }
    // Fixed decisions may not depend on whether another thread's call has the devices.
    if constexpr (together)
      if (const Policy policy = policy_for(r, problem.routine); !policy.fixed && r.places() > 1)
        deal(r, learned, policy, problem, operands, decision, true, seconds_together(r, problem));
    const bool done = on_device(r, call, decision, [&](Backend& backend) {
      const Ending ending = compute(backend, *args, operands, decision);
      info = ending.info;
      return ending;
    });
    device_memory = decision.reason == Reason::device_memory;
    return done;
  };
  const auto describe = [&]() -> std::unique_ptr<Checkable> {
    const auto repeat = [&](const Args& other, const Decision& decision) {
      Operands operands = way.operands(r.first, other, true);
      return compute(r.first.device.backend(), other, operands, decision);
    };
    return checkable(*args, problem.overlaps, replay, way.judging, repeat);
  };
  if (!take_route(r, call, replay, try_device, describe)) return Computed::no;
  return {device_memory ? Computed::in_device_memory : Computed::yes, info};
}

}  // namespace blaslift
