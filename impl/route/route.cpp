#include "impl/route/route.hpp"

#include <xmmintrin.h>

#include <algorithm>
#include <cstdio>

#include "compat/loading.hpp"
#include "compat/say.hpp"
#include "impl/plan/gang.hpp"

namespace blaslift {

Policy policy_for(const Runtime& r, Routine routine) {
  return {.on = r.options.on,
          .measuring = r.options.measure,
          .forced = r.options.forced[static_cast<std::size_t>(routine)] || thread_state.agreed != ThreadState::nothing,
          .fixed = r.options.fixed,
          .products = r.options.products,
          .levels = r.options.products == Products::classical ? 0 : r.options.levels,
          .eagerness = eagerness_of(r.options.eagerness)};
}

namespace {

/// The device for a call, which waits for it if need be.
Backend* open_for_call(Runtime& r) {
  if (!not_open_yet(r.first.device.state())) return open_device(r);
  const std::uint64_t start = now_ns();
  Backend* backend = open_device(r);
  counters().opening_ns.fetch_add(now_ns() - start, std::memory_order_relaxed);
  return backend;
}

/// Fixed decisions may not depend on whether the device is open yet: its own profile is known only then.  So it is
/// opened for the first call that it could compute.
/// @param large  large enough for a device
void open_for_fixed(Runtime& r, const Policy& policy, bool large) {
  if (policy.fixed && policy.on && !policy.measuring && (large || policy.forced) &&
      !r.forked.load(std::memory_order_relaxed) && !too_late(r) && not_open_yet(r.first.device.state()))
    open_for_call(r);
}

/// Contention makes the device slower than predicted.
void learn_device(Learned& learned, const Decision& decision, double measured) {
  (decision.places > 1 ? learned.dealt : learned.device)
      .learn(decision.calls, decision.device_seconds / decision.slowdown, measured);
  if (decision.reason == Reason::trial) learned.trials.settle(decision.device_seconds, measured);
}

void learn_cpu(Runtime& r, Learned& learned, const Problem& p, const Decision& decision, double seconds, int calls) {
  if (seconds <= 0 || decision.reason == Reason::nothing) return;
  learned.cpu.learn(p.element, p.flops, seconds, calls);
  if (decision.reason == Reason::startup) {
    double missed = r.missed_seconds.load(std::memory_order_relaxed);
    const double on_device = decision.reuse_seconds > 0 ? decision.cpu_seconds - decision.reuse_seconds
                                                        : decision.worth * decision.device_seconds;
    const double more = std::max(0.0, seconds - on_device);
    while (!r.missed_seconds.compare_exchange_weak(missed, missed + more, std::memory_order_relaxed)) {
    }
  }
  if ((decision.reason == Reason::transfers || decision.reason == Reason::modest) &&
      decision.worth * decision.device_seconds < decision.slowdown * decision.cpu_seconds)
    learned.trials.earn(seconds);  // by the profile alone it would go
}

/// A call is on the CPU from here on, unless it is inside of one that is.  A call may be left by a jump: then the
/// thread's next one, which has the stack to itself again, counts in its place.
/// @return whether it counts
bool begins_on_cpu(Runtime& r, const void* frame) {
  const auto here = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(frame) >> 4) | 1;
  if (thread_state.on_cpu != 0 && static_cast<std::int32_t>(here - thread_state.on_cpu) < 0) return false;
  if (!thread_state.on_cpu) r.on_cpu.fetch_add(1, std::memory_order_relaxed);
  thread_state.on_cpu = here;
  return true;
}

void ends_on_cpu(Runtime& r) {
  thread_state.on_cpu = 0;
  r.on_cpu.fetch_sub(1, std::memory_order_relaxed);
}

/// What events of both sides have in common.
TraceEvent event_of(const Call& call, const Decision& decision) {
  return {.m = call.problem.m,
          .n = call.problem.n,
          .k = call.problem.k,
          .count = call.problem.count,
          .flops = call.problem.flops,
          .cpu_seconds = static_cast<float>(decision.cpu_seconds),
          .device_seconds = static_cast<float>(decision.device_seconds),
          .routine = static_cast<Routine>(call.site.counter),
          .beta_zero = call.problem.beta_zero,
          .left = call.problem.left};
}

/// On the device.
void trace(const Call& call, const Decision& decision, const Ending& ending, std::uint64_t start, std::uint64_t end) {
  TraceEvent event = event_of(call, decision);
  event.what = Traced::on_device;
  event.begin_ns = start;
  event.end_ns = end;
  event.own_ns = end - start;
  event.bytes_in = static_cast<std::uint64_t>(ending.bytes_in);
  event.bytes_out = static_cast<std::uint64_t>(ending.bytes_out);
  event.bytes_spared = static_cast<std::uint64_t>(ending.bytes_spared);
  event.transfers = ending.transfers;
  event.reason = ending.reason;
  event.levels = static_cast<std::uint8_t>(ending.levels);
  event.reused = static_cast<std::uint8_t>(ending.reused);
  event.computed = ending.computed;
  event.distrusted = ending.distrusted;
  event.residues = ending.residues;
  trace(event);
}

Offloadable nested() {
  return {std::int64_t{thread_state.nested.cpu} << 10, std::int64_t{thread_state.nested.device} << 10};
}
void set_nested(const Offloadable& x) {
  const auto ticks = [](std::int64_t ns) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>((ns + 512) >> 10, INT32_MIN, INT32_MAX));
  };
  thread_state.nested = {ticks(x.cpu_ns), ticks(x.device_ns)};
}

/// While measuring, after a call of which nested() says what the device would do of those inside it.
/// @param before  what it is to say besides, of calls beside this one
void note_offloadable(const Site& site, double flops, const Decision& decision, double seconds,
                      const Offloadable& before) {
  const Offloadable inside = nested();
  Offloadable best = inside;
  if (decision.device_seconds > 0 && seconds > decision.device_seconds) {
    const Offloadable whole{static_cast<std::int64_t>(seconds * 1e9),
                            static_cast<std::int64_t>(decision.device_seconds * 1e9)};
    SizeCounters& size = counters().sizes[site.counter][size_class(flops)];
    size.offloadable_ns.fetch_add(static_cast<std::uint64_t>(whole.cpu_ns), std::memory_order_relaxed);
    size.device_ns.fetch_add(static_cast<std::uint64_t>(whole.device_ns), std::memory_order_relaxed);
    if (whole.gain() > inside.gain()) best = whole;
  }
  // Those inside have been added already.
  counters().offloadable_ns.fetch_add(best.cpu_ns - inside.cpu_ns, std::memory_order_relaxed);
  counters().on_device_ns.fetch_add(best.device_ns - inside.device_ns, std::memory_order_relaxed);
  set_nested({before.cpu_ns + best.cpu_ns, before.device_ns + best.device_ns});
}

}  // namespace

Facts facts_now(Runtime& r, const Learned& learned, const Problem& p) {
  const double until_measured = family_of(p.routine).cpu_rate(p, r.first.device.profile());
  // With this call among them; inside of one that is on the CPU it is already.
  const int on_device = std::max(1, r.in_flight.load(std::memory_order_relaxed)),
            others = r.on_cpu.load(std::memory_order_relaxed),
            on_cpu = std::max(1, others + (thread_state.on_cpu ? 0 : 1));
  const bool forked = r.forked.load(std::memory_order_relaxed), exiting = too_late(r);
  return {.device = r.first.device.state(),
          .profile = &r.first.device.profile(),
          .cpu_rate = learned.cpu.rate(p.element, p.flops, until_measured / on_cpu, on_cpu),
          .slowdown = learned.device.at(on_device),
          .missed_seconds = r.missed_seconds.load(std::memory_order_relaxed),
          .forked = forked,
          .exiting = exiting,
          .estimator = p.element == Element::w ? nullptr : r.first.device.estimator(p.precision()),
          .trial = learned.trials.allowed(),
          .calls = on_device,
          .rounds_otherwise = rounds_otherwise(),
          .traps = RouteScope::traps(),
          .busy = !r.options.fixed && !forked && !exiting && r.first.device.yields(on_device == 1),
          .until_open = r.first.device.until_open()};
}

/// In every call's path.
[[gnu::always_inline]] inline bool asked(Runtime& r, const Family& family, const Problem& p, Facts& facts) {
  if (facts.device != DeviceState::ready) return false;
  const DeviceFacts& device = r.first.device.backend().facts();
  facts.able = device.computes.can(family.needs, p.element);
  if (!family.sent_again) return false;
  // Not the arena's limit, which the thread that opens the device may be about to set.
  const std::optional<double> bytes = family.sent_again(p, r.first.device.profile(), device.memory);
  facts.sent_again = bytes.value_or(0);
  return bytes.has_value();
}

bool ask_device(Runtime& r, const Problem& p, Facts& facts) { return asked(r, family_of(p.routine), p, facts); }

Decision decide_now(Runtime& r, const Learned& learned, const Problem& p, Operands& operands) {
  const Family& family = family_of(p.routine);
  const Policy policy = policy_for(r, p.routine);
  bool cut = false;
  const auto now = [&] {
    Facts facts = facts_now(r, learned, p);
    cut = asked(r, family, p, facts);
    return facts;
  };
  if (!p.alpha_zero && !p.overlaps) open_for_fixed(r, policy, p.volume >= small_product);
  Facts facts = now();
  if (not_open_yet(facts.device)) {
    Decision guess = decide(p, facts, policy);
    if (family.lives_on_copies && guess.reason == Reason::transfers && r.options.residency != ResidencyMode::off) {
      const Operand& matrix = operands[0];
      facts.reusable = matrix.counted(matrix.stored.bytes());
      const Decision with_copy = decide(p, facts, policy);
      if (with_copy.reuse_seconds > 0 && r.recurring.again(matrix.stored)) guess = with_copy;
    }
    if (guess.opens_meanwhile) open_device_meanwhile(r, p.routine);
    if (!opens(guess, policy) || !open_for_call(r)) return guess;
    facts = now();  // by the device's own profile
  }
  if (!may_ask(facts, policy)) return decide(p, facts, policy);
  operands.locate(r.first.device.backend());
  facts.device_memory = operands.in_device_memory();
  if (facts.device_memory) {
    facts.sent_again = 0;
    facts.spared = operands.in_place();
    facts.result_stays = operands.result().memory == MemoryKind::on_a_device;
    return decide(p, facts, policy);
  }
  Decision decision = decide(p, facts, policy);
  if (cut || !copies_matter(p, facts, policy, decision)) return decision;
  if (family.lives_on_copies) operands.peek();
  if (!operands.unconfirmed()) operands.look();
  facts.spared = operands.spared();
  for (const Operand& x : operands.all())
    if (x.reusable()) {
      facts.reusable += x.counted(x.stored.bytes());
      facts.missed_reuse = std::max(facts.missed_reuse, x.known.missed);
    }
  decision = decide(p, facts, policy);
  if (decision.route == Route::cpu && decision.reuse_seconds > 0)
    for (const Operand& x : operands.all())
      if (x.reusable()) r.first.residency.note_missed(x.stored, decision.reuse_seconds);
  return decision;
}

Reason give_up(Place& place, const Backend& backend, Status status) {
  if (!not_exiting()) return Reason::exiting;
  if (status == Status::lost) {
    char why[160];
    std::snprintf(why, sizeof why, "%s was lost: a device operation failed", backend.facts().name);
    place.device.lose(why);
  }
  return status == Status::no_memory ? Reason::no_room : Reason::failed;
}

Backend* backend_for(Runtime& r, Decision& decision) {
  Backend* backend = open_for_call(r);
  if (!backend) decision.reason = too_late(r) ? Reason::exiting : Reason::no_device;
  return backend;
}

void note_ending(const Call& call, const Decision& decision, const Ending& ending, std::uint64_t start) {
  const std::uint64_t elapsed = now_ns() - start;
  RoutineCounters& c = counters().routines[call.site.counter];
  const auto add = [](std::atomic<std::uint64_t>& sum, double bytes) {
    sum.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
  };
  add(c.bytes_in, ending.bytes_in);
  add(c.bytes_out, ending.bytes_out);
  add(c.bytes_spared, ending.bytes_spared);
  add(c.bytes_exchanged, ending.bytes_exchanged);
  if (ending.distrusted) c.distrusted.fetch_add(1, std::memory_order_relaxed);
  runtime().first.device.used(start + elapsed);
  if (tracing()) trace(call, decision, ending, start, start + elapsed);
  if (!ending.computed) return;
  if (ending.residues) c.residues.fetch_add(1, std::memory_order_relaxed);
  if (ending.systolic) c.systolic.fetch_add(1, std::memory_order_relaxed);
  if (ending.places > 1) c.dealt.fetch_add(1, std::memory_order_relaxed);
  if (ending.levels > 0) c.levels[ending.levels - 1].fetch_add(1, std::memory_order_relaxed);
  c.device_ns.fetch_add(elapsed, std::memory_order_relaxed);
  if (constexpr double centuries = 9e9; decision.cpu_seconds > 0 && decision.cpu_seconds < centuries)
    c.saved_ns.fetch_add(static_cast<std::int64_t>(1e9 * decision.cpu_seconds) - static_cast<std::int64_t>(elapsed),
                         std::memory_order_relaxed);
  counters().last_ns.store(start + elapsed, std::memory_order_relaxed);
  if (ending.as_predicted) learn_device(call.learned, decision, 1e-9 * static_cast<double>(elapsed));
  const bool failed = ending.reason == Reason::failed;
  (failed ? c.stayed[static_cast<int>(Reason::failed)] : c.routed).fetch_add(1, std::memory_order_relaxed);
}

Ending ended(Place& place, const Backend& backend, const Decision& decision, Operands& operands,
             const Outcome& outcome) {
  Ending ending{.reason = decision.reason,
                .bytes_in = outcome.bytes_in,
                .bytes_out = outcome.bytes_out,
                .bytes_exchanged = outcome.bytes_exchanged,
                .transfers = outcome.transfers};
  if (outcome.status != Status::done) {
    ending.reason = give_up(place, backend, outcome.status);
    return ending;
  }
  if (outcome.taken_back) return ending;
  ending.computed = ending.as_predicted = true;
  if (operands.any_hold()) {
    ending.bytes_spared = operands.spared();
    ending.reused = operands.reused();
    operands.close(true);
  }
  if (const Operand& result = operands.result(); result.cared_for) place.residency.note_result(result.stored);
  return ending;
}

namespace {

/// A part of a call at a place, which is open.
/// @param number  of the deal
/// @param seat    of a gang: then it is the place's part of what is the whole call
Ending compute_part(Runtime& r, Place& place, const Site& site, Routine routine, const Routed& part,
                    const Decision& whole, bool ephemeral, std::uint64_t number, Seat* seat = nullptr) {
  try {
    Backend* backend = open_place(r, place);
    if (!backend) return {Reason::no_device};
    const Problem problem = part.problem(routine);
    if (!place.device.can(family_of(routine).needs, problem.element)) return {Reason::no_route};
    Operands operands = part.operands(place, ephemeral);
    operands.deal = number;
    operands.seat = seat;
    Decision decision = decide_part(place, policy_for(r, routine), problem, whole);
    part.refine(r.options, problem, decision);
    return part.compute(place, site, *backend, problem, operands, decision);
  } catch (const std::exception&) {  // nothing has happened yet
    return {Reason::no_room};
  }
}

/// A call dealt out, as its decision says.  What no place has computed is computed at the first one, or else by the
/// library underneath.  If nothing has been computed anywhere, the result's memory is what it was.
/// (Not inlined, as what follows is not: threads with small stacks have no room for what they do not use.)
[[gnu::noinline]] Ending compute_dealt(Runtime& r, const Site& site, Routine routine, const Routed& whole,
                                       Operands& operands, const Decision& decision) {
  struct Shared {
    std::vector<std::shared_ptr<const Routed>> parts;
    Decision decision;
    std::vector<Ending> endings{};
    std::vector<char> has_computed{};  ///< by place
  };
  const auto call = std::make_shared<Shared>();
  call->parts = whole.parts(decision.places);
  call->decision = decision;
  const auto& parts = call->parts;
  std::vector<Ending>& endings = call->endings;
  endings.assign(parts.size(), Ending{Reason::no_room});
  call->has_computed.resize(static_cast<std::size_t>(decision.places));
  HostBlas blas(site);
  for (const auto& part : parts) part->prepare(blas);
  const bool ephemeral = operands[0].ephemeral;
  const std::uint64_t deal = r.deals.fetch_add(1, std::memory_order_relaxed) + 1;
  operands.forget();
  at_places(r, decision.places, static_cast<int>(parts.size()),
            [call, &r, &site, routine, ephemeral, deal](Place& place, int number) {
              const auto i = static_cast<std::size_t>(number);
              Ending& ending = call->endings[i];
              ending = compute_part(r, place, site, routine, *call->parts[i], call->decision, ephemeral, deal);
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
      endings[i] = compute_part(r, r.first, site, routine, *parts[i], decision, ephemeral, deal);
    if (endings[i].computed) continue;
    parts[i]->on_cpu(site, blas);
    endings[i].reason = Reason::failed;
  }
  Ending all = combined(decision, endings);
  all.as_predicted = all.as_predicted && all_at_once;
  all.places = static_cast<int>(std::count(call->has_computed.begin(), call->has_computed.end(), 1));
  return all;
}

/// Likewise a call that places compute together.
[[gnu::noinline]] Ending compute_in_gang(Runtime& r, const Site& site, const Problem& problem, const Routed& call,
                                         Operands& operands, const Decision& decision) {
  const bool ephemeral = operands[0].ephemeral;
  operands.forget();
  // What that needs besides is opened here: this thread may hold the loader's lock, and then places wait for it.
  for (int i = 0; i < decision.places; ++i)
    (void)r.place(i).device.can(family_of(problem.routine).needs, problem.element);
  return compute_together(
      r, decision,
      [&r, &site, routine = problem.routine, its = call.copy(), decision, ephemeral](Place& place, Seat* seat) {
        return compute_part(r, place, site, routine, *its, decision, ephemeral, 0, seat);
      });
}

/// A call at as many places as its decision says.
Ending compute_call(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const Routed& call,
                    Operands& operands, const Decision& decision) {
  if (decision.places > 1 && call.over() == Routed::Over::apart)
    return compute_dealt(r, site, problem.routine, call, operands, decision);
  if (decision.places > 1 && call.over() == Routed::Over::together)
    return compute_in_gang(r, site, problem, call, operands, decision);
  return call.compute(r.first, site, backend, problem, operands, decision);
}

/// Of a call that goes to the device, and may be computed at several places: at how many.
[[gnu::noinline]] void choose_places(Runtime& r, const Learned& learned, const Problem& problem, const Routed& call,
                                     const Operands& operands, Decision& decision) {
  const Policy policy = policy_for(r, problem.routine);
  if (call.over() == Routed::Over::together) {
    // Fixed decisions may not depend on whether another thread's call has the devices.
    if (!policy.fixed) deal(r, learned, policy, problem, operands, decision, true, seconds_together(r, problem));
    return;
  }
  const auto parts = [&](int places) {
    std::vector<Problem> problems;
    for (const auto& part : call.parts(places)) problems.push_back(part->problem(problem.routine));
    return problems;
  };
  deal(r, learned, policy, problem, operands, decision, call.keeps_result(), seconds_apart(r, policy, problem, parts));
}

}  // namespace

Computed take_route(const Site& site, const Routed* its, Replay replay) {
  if (!enter(site)) return replay(), Computed::no;
  if (!its) return refuse(site, replay), Computed::no;
  const Problem problem = its->problem(info(site.symbol).routine);
  if (const auto reason = its->stays()) return stay_here(site, *reason, problem.flops, replay), Computed::no;
  Runtime& r = runtime();
  Learned& learned = its->learned();
  Call call{site, learned, problem, its->timed()};
  bool device_memory = false;
  index info = 0;
  const auto try_device = [&](Decision& decision) {
    Operands operands = its->operands(r.first, false);  // lets go of its copies while we are still inside
    decision = decide_now(r, learned, problem, operands);
    its->refine(r.options, problem, decision);
    // Where there is but one place, a small call is to cost no more than itself.
    if (its->over() != Routed::Over::nothing && r.places() > 1)
      choose_places(r, learned, problem, *its, operands, decision);
    const bool done = on_device(r, call, decision, [&](Backend& backend) {
      const Ending ending = compute_call(r, site, backend, problem, *its, operands, decision);
      info = ending.info;
      return ending;
    });
    device_memory = decision.reason == Reason::device_memory;
    return done;
  };
  const auto describe = [&] {
    return its->describe(problem.overlaps, replay, [&](const Routed& other, const Decision& decision) {
      Operands operands = other.operands(r.first, true);
      return compute_call(r, site, r.first.device.backend(), problem, other, operands, decision);
    });
  };
  if (!take_route(r, call, replay, try_device, describe)) return Computed::no;
  return {device_memory ? Computed::in_device_memory : Computed::yes, info};
}

Ending compute_together(Runtime& r, const Decision& decision, std::function<Ending(Place&, Seat*)> part) {
  struct Shared {
    Shared(int places, std::function<Ending(Place&, Seat*)> its_part)
        : gang(places), endings(static_cast<std::size_t>(places), Ending{Reason::no_room}), part(std::move(its_part)) {}
    Gang gang;
    std::vector<Ending> endings;
    const std::function<Ending(Place&, Seat*)> part;
  };
  Ending all{Reason::no_room};
  if (!r.gang.exchange(true, std::memory_order_acquire)) {
    std::shared_ptr<Shared> call;
    try {
      call = std::make_shared<Shared>(decision.places, part);
      at_all_places(
          r, decision.places,
          [call](Place& place, int number) {
            Seat seat(call->gang, number);
            call->endings[static_cast<std::size_t>(number)] = call->part(place, &seat);
          },
          [&](int number) { call->gang.leave(number); });
    } catch (const std::exception&) {  // before anything has happened
      call = nullptr;
    }
    r.gang.store(false, std::memory_order_release);
    if (call) {
      const std::vector<Ending>& endings = call->endings;
      all = combined(decision, endings);
      all.computed = std::all_of(endings.begin(), endings.end(), [](const Ending& x) { return x.computed; });
      all.places = decision.places;
      bool all_came_to_an_end = true;
      for (std::size_t i = 0; i < endings.size(); ++i) {
        const Ending& x = endings[i];
        // The first fault of the caller's numbers is one; those behind it may be of what it has made of them.
        if (x.info > 0 && (all.info == 0 || x.info < all.info)) all.info = x.info, all.reason = x.reason;
        all_came_to_an_end = all_came_to_an_end && (x.computed || x.info > 0 || x.reason == decision.reason);
        std::atomic<int>& refused = r.place(static_cast<int>(i)).refused;
        if (x.computed) refused.store(0, std::memory_order_relaxed);
        if (!x.computed && x.reason == Reason::no_room) refused.fetch_add(1, std::memory_order_relaxed);
      }
      if (all.computed || (all.info > 0 && all_came_to_an_end)) return all;
    }
  }
  Ending alone = part(r.first, nullptr);
  alone.as_predicted = false;
  alone.bytes_in += all.bytes_in;
  alone.bytes_out += all.bytes_out;
  alone.bytes_exchanged += all.bytes_exchanged;
  alone.transfers.add(all.transfers);
  return alone;
}

void note_replayed(const Call& call, const Decision& decision, const Replayed& replayed) {
  if (!replayed.start_ns || !tracing()) return;
  TraceEvent event = event_of(call, decision);
  event.what = Traced::on_cpu;
  event.begin_ns = replayed.start_ns;
  event.end_ns = replayed.start_ns + replayed.elapsed_ns;
  event.own_ns = replayed.own_ns;
  event.reason = decision.reason;
  event.computed = true;
  trace(event);
}

void leave_undone(const Call& call, const Decision& decision) {
  counters().routines[call.site.counter].stayed[static_cast<int>(decision.reason)].fetch_add(1,
                                                                                             std::memory_order_relaxed);
  // As loud as xerbla: BLAS has no other way to say it, and the CPU would only crash on the addresses.
  const char* why = decision.reason == Reason::failed ? "the device failed" : text_of(decision.reason);
  say("blaslift: ", info(call.site.symbol).name, " was not computed, its operands are in device memory: ", why, "\n");
}

// Outside of own time: nothing here may need an exception table.
void stay(Runtime& r, const Call& call, const Decision& decision, Replay replay) {
  // Not by a call of the library underneath inside of it.
  if (thread_state.agreed != ThreadState::nothing && !thread_state.inside) {
    thread_state.agreed = ThreadState::unmade;
    counters().routines[call.site.counter].stayed[static_cast<int>(decision.reason)].fetch_add(
        1, std::memory_order_relaxed);
    return;
  }
  const Offloadable before = nested();
  set_nested({});
  const bool counts = begins_on_cpu(r, __builtin_frame_address(0));
  const int calls = std::max(1, r.on_cpu.load(std::memory_order_relaxed));
  const Replayed replayed = stay(call.site, decision.reason, call.problem.flops, replay, call.timed);
  if (counts) ends_on_cpu(r);
  // What we compute besides raises no signals (Untrapped, without its destructor).
  const unsigned floats = _mm_getcsr();
  if ((floats & _MM_MASK_MASK) != _MM_MASK_MASK) _mm_setcsr(floats | _MM_MASK_MASK);
  const double seconds = replayed.seconds();
  note_replayed(call, decision, replayed);
  learn_cpu(r, call.learned, call.problem, decision, seconds, calls);
  if (r.options.measure) note_offloadable(call.site, call.problem.flops, decision, seconds, before);
  if ((floats & _MM_MASK_MASK) != _MM_MASK_MASK) _mm_setcsr(floats);
}

}  // namespace blaslift
