// decide() over its whole table: pure, so every case is a line.
#include "impl/route/decision.hpp"
#include "impl/product/product_family.hpp"
#include "impl/qr/qr_family.hpp"
#include "impl/symv/symv_family.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <set>
#include <vector>

namespace blaslift::decision_tests {
namespace {

constexpr auto nothing_learned = 1.0;

/// Round numbers: the CPU 1 Gflop/s, the device 1 Tflop/s behind a bus of 10 GB/s.
constexpr Profile profile{.in_rate = 1e10,
                          .out_rate = 1e10,
                          .latency_seconds = 1e-4,
                          .startup_seconds = 0.5,
                          .gemm_rate = {1e12, 1e12, 1e12, 1e12},
                          .cpu_rate = {1e9, 1e9, 1e9, 1e9}};

constexpr Problem cube(index n) { return {Routine::dgemm, Precision::d, n, n, n}; }

/// A call, by what is unusual about it; as it stands here it is faster on an open device.
struct Call {
  Problem product = cube(1024);
  Facts facts{DeviceState::ready, &profile, 1e9, nothing_learned, 0, false, false};
  Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false};
  Decision decide() const { return blaslift::decide(counted(product), facts, policy); }
};

/// A CPU that needs 2.8 ms for the call above: less than the device with all of its transfers, more than without.
constexpr double rate_between = 0.7669e12;

/// Circumstances in the order of their precedence: each, where it holds, settles the call whatever comes behind it.
/// Four exceptions: a forced call is never too small; only where the device is open can it be known that operands are
/// in its memory, or be worth keeping them there; and in its memory the CPU cannot even do next to nothing.
struct Circumstance {
  Reason reason;
  Route route;
  void (*holds)(Call&);
};
constexpr Circumstance circumstances[] = {
    {Reason::off, Route::cpu, [](Call& c) { c.policy.on = false; }},
    {Reason::forked, Route::cpu, [](Call& c) { c.facts.forked = true; }},
    {Reason::exiting, Route::cpu, [](Call& c) { c.facts.exiting = true; }},
    {Reason::nothing, Route::cpu, [](Call& c) { c.product.alpha_zero = true; }},
    {Reason::overlap, Route::cpu, [](Call& c) { c.product.overlaps = true; }},
    {Reason::measuring, Route::cpu, [](Call& c) { c.policy.measuring = true; }},
    {Reason::device_memory, Route::device, [](Call& c) { c.facts.device_memory = true; }},
    {Reason::rounding, Route::cpu, [](Call& c) { c.facts.rounds_otherwise = true; }},
    {Reason::alpha, Route::cpu, [](Call& c) { c.product.alpha_finite = false; }},
    {Reason::small, Route::cpu, [](Call& c) { c.product.m = c.product.n = c.product.k = 255; }},
    {Reason::no_device, Route::cpu, [](Call& c) { c.facts.device = DeviceState::absent; }},
    {Reason::forced, Route::device, [](Call& c) { c.policy.forced = true; }},
    {Reason::traps, Route::cpu, [](Call& c) { c.facts.traps = true; }},
    {Reason::trial, Route::device,
     [](Call& c) {
       c.facts.slowdown = 1e6;
       c.facts.trial = 1e9;
     }},
    {Reason::reuse, Route::device,
     [](Call& c) {
       c.facts.cpu_rate = rate_between;
       c.facts.reusable = 1e9;
       c.facts.missed_reuse = 1;
     }},
    {Reason::transfers, Route::cpu, [](Call& c) { c.facts.cpu_rate = rate_between; }},
    // Saves 2.1 s a call: not yet worth a start-up of an hour.
    {Reason::startup, Route::cpu,
     [](Call& c) {
       static constexpr Profile slow_start = [] {
         Profile p = profile;
         p.startup_seconds = 3600;
         return p;
       }();
       c.facts.profile = &slow_start;
       if (c.facts.device == DeviceState::ready) c.facts.device = DeviceState::unopened;
     }},
    {Reason::busy, Route::cpu, [](Call& c) { c.facts.busy = true; }},
    {Reason::faster, Route::device, [](Call&) {}},
};

TEST(Decide, EveryCircumstanceAloneHasItsReason) {
  for (const Circumstance& x : circumstances) {
    Call call;
    x.holds(call);
    const Decision d = call.decide();
    EXPECT_EQ(d.reason, x.reason) << text_of(x.reason);
    EXPECT_EQ(d.route, x.route) << text_of(x.reason);
  }
}

TEST(Decide, TheFirstOfSeveralCircumstancesCounts) {
  // Every subset of them.
  constexpr unsigned count = std::size(circumstances) - 1;
  for (unsigned subset = 1; subset < 1u << count; ++subset) {
    Call call;
    for (unsigned i = 0; i < count; ++i)
      if (subset >> i & 1) circumstances[i].holds(call);
    const bool open = call.facts.device == DeviceState::ready;
    auto void_here = [&](const Circumstance& x) {
      const bool in_memory = open && call.facts.device_memory && !call.policy.measuring;
      return (x.reason == Reason::small && call.policy.forced) || (x.reason == Reason::device_memory && !open) ||
             ((x.reason == Reason::nothing || x.reason == Reason::overlap) && in_memory) ||
             (x.reason == Reason::trial && call.facts.cpu_rate == rate_between);  // it never was faster there
    };
    const Circumstance* first = circumstances;
    while (first < circumstances + count && (!(subset >> (first - circumstances) & 1) || void_here(*first))) ++first;
    Reason reason = first->reason;
    Route route = first->route;
    // Copies do not help where the device has become too slow.
    if (reason == Reason::reuse && (!open || call.facts.slowdown > 1)) reason = Reason::transfers, route = Route::cpu;
    // What has others' work to do is neither tried nor given copies.
    if (reason == Reason::reuse && call.facts.busy) reason = Reason::busy, route = Route::cpu;
    if (reason == Reason::trial && call.facts.busy) reason = Reason::transfers, route = Route::cpu;
    if (reason == Reason::trial && !open) reason = Reason::transfers, route = Route::cpu;
    const Decision d = call.decide();
    ASSERT_EQ(d.reason, reason) << "subset " << subset << ": " << text_of(d.reason) << ", not " << text_of(reason);
    ASSERT_EQ(d.route, route);
  }
}

TEST(Decide, ReasonsThatItNeverGivesAreThoseOfOthers) {
  // Found before (no_route, invalid, query, of_library, of_interval, of_left, of_columns, of_batch,
  // in_handler) or after (no_room, failed, not_definite, singular, not_converged, not_finite, scaled) a decision, at
  // other levels of eagerness than the usual one (modest, eager), or of what no device computes (helped): with them the
  // table above is complete.
  std::set<Reason> all{Reason::no_route, Reason::invalid,       Reason::query,      Reason::of_library,
                       Reason::no_room,  Reason::failed,        Reason::in_handler, Reason::not_definite,
                       Reason::singular, Reason::not_converged, Reason::not_finite, Reason::of_interval,
                       Reason::of_left,  Reason::of_columns,    Reason::scaled,     Reason::modest,
                       Reason::eager,    Reason::helped,        Reason::of_batch};
  for (const Circumstance& x : circumstances) all.insert(x.reason);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(reason_count));
}

Decision at_level(Call call, int level) {
  call.policy.eagerness = eagerness_of(level);
  return call.decide();
}

TEST(Eagerness, ThreeIsTheUsualOneAndComparesPredictionsAsTheyAre) {
  EXPECT_EQ(usual_eagerness, 3);
  EXPECT_EQ(eagerness_of(usual_eagerness).worth, 1);
  EXPECT_EQ(eagerness_of(usual_eagerness).start_up, 1);
  EXPECT_EQ(Policy{}.eagerness.worth, 1);
  EXPECT_EQ(Policy{}.eagerness.start_up, 1);
}

TEST(Eagerness, SaysHowMuchACallHasToGain) {
  // What the CPU takes, by what the device does: the first level at which the call goes, or 6.
  for (const auto& [times, first] :
       {std::pair{2.1, 1}, {1.9, 2}, {1.5, 2}, {1.3, 3}, {1.01, 3}, {0.99, 5}, {0.51, 5}, {0.49, 6}}) {
    Call call;
    call.facts.cpu_rate = counted(call.product).flops / (times * call.decide().device_seconds);
    for (int level = 1; level <= 5; ++level) {
      const Decision d = at_level(call, level);
      EXPECT_EQ(d.route, level < first ? Route::cpu : Route::device) << times << ", level " << level;
      EXPECT_EQ(d.reason, level >= first ? times > 1 ? Reason::faster : Reason::eager
                          : times > 1    ? Reason::modest
                                         : Reason::transfers);
    }
  }
}

TEST(Eagerness, SaysHowMuchOfTheStartUpHasToBeEarned) {
  Call call;
  call.facts.device = DeviceState::unopened;
  const auto missed = [&](double part) {
    Call c = call;
    c.facts.missed_seconds = part * profile.startup_seconds;
    return c;
  };
  call.facts.cpu_rate = counted(call.product).flops / (2.001 * call.decide().device_seconds);  // gains next to nothing
  for (const auto& [level, part] : {std::pair{1, 2.0}, {2, 1.5}, {3, 1.0}, {4, 0.25}}) {
    EXPECT_EQ(at_level(missed(0.95 * part), level).reason, Reason::startup) << level;
    EXPECT_TRUE(at_level(missed(0.3 * part), level).opens_meanwhile) << level;
    EXPECT_FALSE(at_level(missed(0.2 * part), level).opens_meanwhile) << level;
    EXPECT_EQ(at_level(missed(1.01 * part), level).reason, Reason::faster) << level;
  }
  EXPECT_EQ(at_level(call, 5).reason, Reason::faster) << "at once";
}

TEST(Eagerness, LeavesWhatPredictionsDoNotSettle) {
  for (const Circumstance& x : circumstances) {
    if (x.reason == Reason::trial) break;  // those behind it weigh predictions
    for (int level = 1; level <= 5; ++level) {
      Call call;
      x.holds(call);
      EXPECT_EQ(at_level(call, level).reason, x.reason) << level;
    }
  }
}

TEST(Eagerness, TheDeviceIsTriedAgainWhereTheLevelWouldSendTheCall) {
  Call call;
  const Decision alone = call.decide();
  call.facts.slowdown = 0.7 * alone.cpu_seconds / alone.device_seconds;  // the CPU still takes 1.4 times as long
  ASSERT_GT(call.facts.slowdown, 1);
  ASSERT_EQ(at_level(call, 3).reason, Reason::faster);
  const Decision stays = at_level(call, 1);
  EXPECT_EQ(stays.reason, Reason::modest);
  ASSERT_LT(stays.gain(), 0);
  call.facts.trial = -stays.gain() * 0.999;
  EXPECT_EQ(at_level(call, 1).reason, Reason::modest);
  call.facts.trial = -stays.gain() * 1.001;
  EXPECT_EQ(at_level(call, 1).reason, Reason::trial);
  // Even at its best it would not be twice as fast.
  call.facts.slowdown = 1.1;
  call.facts.cpu_rate = counted(call.product).flops / (1.5 * alone.device_seconds);
  call.facts.trial = 1e9;
  EXPECT_EQ(at_level(call, 1).reason, Reason::modest);
}

TEST(Eagerness, WhatGoesAtOneGoesAtEveryHigherOne) {
  std::mt19937 bits(7);
  int goes[6] = {}, reused = 0, tried = 0;
  for (int i = 0; i < 300000; ++i) {
    const auto uniform = [&bits](double low, double high) { return std::uniform_real_distribution(low, high)(bits); };
    const auto one_in = [&](int n) { return std::uniform_int_distribution(1, n)(bits) == 1; };
    const auto power = [&](double low, double high) { return std::pow(10.0, uniform(low, high)); };
    Call call;
    call.product = cube(static_cast<index>(power(2, 3.5)));
    if (one_in(2)) call.product = {.routine = Routine::dsymv, .element = Element::d, .n = call.product.n * 2};
    const Problem problem = counted(call.product);
    Profile rates = profile;
    rates.pass_rate = power(10, 12), rates.symv_latency_seconds = power(-6, -3), rates.startup_seconds = power(-3, 0);
    call.facts.profile = &rates;
    constexpr DeviceState states[] = {DeviceState::ready, DeviceState::unopened, DeviceState::opening};
    call.facts.device = states[std::uniform_int_distribution(0, 2)(bits)];
    call.facts.slowdown = one_in(2) ? 1 : power(-0.7, 1.5);
    // About as fast as the device, where it matters.
    const double seconds = call.decide().device_seconds;
    call.facts.cpu_rate = seconds > 0 ? problem.flops / (seconds * power(-1, 2)) : 1e9;
    if (one_in(2)) call.facts.missed_seconds = rates.startup_seconds * power(-2, 0.5);
    if (one_in(2)) call.facts.until_open = rates.startup_seconds * uniform(0, 1);
    if (one_in(3)) call.facts.spared = problem.bytes_in * uniform(0, 1);
    if (one_in(2)) call.facts.reusable = std::max(0.0, problem.bytes_in - call.facts.spared);
    if (one_in(2)) call.facts.missed_reuse = seconds * power(-2, 2);
    if (one_in(2)) call.facts.trial = seconds * power(-2, 1);
    call.policy.fixed = one_in(5);
    call.facts.busy = one_in(10);
    bool went = false;
    for (int level = 1; level <= 5; ++level) {
      const Decision d = at_level(call, level);
      const bool now = d.route == Route::device;
      ASSERT_TRUE(now || !went) << level << ": " << to_string(problem, d) << ", case " << i;
      went = now;
      goes[level] += now;
      reused += d.reason == Reason::reuse, tried += d.reason == Reason::trial;
    }
  }
  // And every level decides otherwise than the next one about some calls.
  for (int level = 1; level < 5; ++level) EXPECT_GT(goes[level + 1], goes[level] + 1000) << level;
  EXPECT_GT(reused, 1000);
  EXPECT_GT(tried, 1000);
}

/// The calls of the other routines that are like the one above.
Decision decide_like(const Problem& p, const Call& like) { return decide(counted(p), like.facts, like.policy); }

TEST(Decide, WhatACallersArithmeticAsksForHoldsForEveryRoutine) {
  Problem symv{.routine = Routine::dsymv, .element = Element::d, .n = 4096};
  const Problem qr{Routine::dgeqrf, Precision::d, 1024, 1024},
      q{.routine = Routine::dormqr, .element = Element::d, .m = 1024, .n = 1024, .k = 1024, .left = true};
  for (const bool forced : {false, true})
    for (const bool in_memory : {false, true})
      for (const bool open : {false, true}) {
        Call call;
        call.policy.forced = forced;
        call.facts.device = open ? DeviceState::ready : DeviceState::unopened;
        call.facts.device_memory = in_memory && open;
        const auto all = [&](Reason reason, Route route, bool opens_for_it) {
          for (const Decision& d :
               {call.decide(), decide_like(symv, call), decide_like(qr, call), decide_like(q, call)}) {
            EXPECT_EQ(d.reason, reason) << text_of(d.reason);
            EXPECT_EQ(d.route, route);
            EXPECT_EQ(opens(d, call.policy), opens_for_it);
          }
        };
        // Only the device reaches its memory; a forced call may have operands there.
        call.facts.rounds_otherwise = true;
        if (call.facts.device_memory)
          all(Reason::device_memory, Route::device, true);
        else
          all(Reason::rounding, Route::cpu, forced);
        call.facts.rounds_otherwise = false;
        call.facts.traps = true;
        if (call.facts.device_memory)
          all(Reason::device_memory, Route::device, true);
        else if (forced)
          all(Reason::forced, Route::device, true);
      }
  Call call;
  Profile reads_fast = profile;
  reads_fast.pass_rate = 1e12;
  call.facts.profile = &reads_fast;
  call.facts.spared = 1e12;
  EXPECT_EQ(decide_like(symv, call).route, Route::device);
  call.facts.traps = true;
  EXPECT_EQ(decide_like(symv, call).reason, Reason::traps);
  EXPECT_EQ(decide_like(qr, call).reason, Reason::traps);
  call.facts.traps = false;
  symv.alpha_finite = false;
  EXPECT_EQ(decide_like(symv, call).reason, Reason::alpha);
}

TEST(Decide, NoLevelsWhereTheCallerRoundsOtherwise) {
  Call call;
  call.policy.levels = 2;
  call.facts.device_memory = true;
  EXPECT_EQ(call.decide().levels, 2);
  call.facts.rounds_otherwise = true;
  EXPECT_EQ(call.decide().levels, 0);
  call.facts.rounds_otherwise = false;
  call.product.alpha_finite = false;
  EXPECT_EQ(call.decide().levels, 0);
}

TEST(Decide, EmptyProductsMultiplyNothing) {
  for (const int zero : {0, 1, 2}) {
    Call call;
    (zero == 0 ? call.product.m : zero == 1 ? call.product.n : call.product.k) = 0;
    call.policy.forced = true;
    EXPECT_EQ(call.decide().reason, Reason::nothing);
  }
}

TEST(Decide, EmptyProductsStayWhereverTheyAre) {
  for (const int zero : {0, 1}) {
    Call call;
    (zero == 0 ? call.product.m : call.product.n) = 0;
    call.facts.device_memory = true;
    EXPECT_EQ(call.decide().reason, Reason::nothing);
    EXPECT_EQ(call.decide().route, Route::cpu);
  }
}

TEST(Decide, DevicesAreOpenedForWhatIsForcedUnlessItIsEmpty) {
  const auto opened = [](auto change) {
    Call call;
    call.facts.device = DeviceState::unopened;
    call.policy.forced = true;
    change(call);
    return opens(call.decide(), call.policy);
  };
  EXPECT_TRUE(opened([](Call&) {}));
  EXPECT_TRUE(opened([](Call& c) { c.product.alpha_zero = true; }));
  EXPECT_TRUE(opened([](Call& c) { c.product.k = 0; }));
  EXPECT_TRUE(opened([](Call& c) { c.product.overlaps = true; }));
  EXPECT_FALSE(opened([](Call& c) { c.product.n = 0; }));
  for (const auto stays : {+[](Call& c) { c.policy.measuring = true; }, +[](Call& c) { c.policy.on = false; },
                           +[](Call& c) { c.facts.forked = true; }, +[](Call& c) { c.facts.exiting = true; }}) {
    EXPECT_FALSE(opened(stays));
    EXPECT_FALSE(opened([&](Call& c) { stays(c), c.product.alpha_zero = true; }));
    Call call;
    EXPECT_TRUE(may_ask(call.facts, call.policy));
    stays(call);
    EXPECT_FALSE(may_ask(call.facts, call.policy));
  }
  EXPECT_FALSE(opened([](Call& c) { c.policy.forced = false, c.product.alpha_zero = true; }));
}

TEST(Decide, ProductsWithoutKInDeviceMemoryScaleThere) {
  Call call;
  call.product.k = 0;
  call.facts.device_memory = true;
  call.policy.levels = 2;
  const Decision d = call.decide();
  EXPECT_EQ(d.reason, Reason::device_memory);
  EXPECT_EQ(d.route, Route::device);
  EXPECT_EQ(d.levels, 0);
  EXPECT_EQ(d.head, 0);
}

TEST(Decide, SmallEndsExactlyAtItsBound) {
  const Problem at{Routine::sgemm, Precision::s, 256, 256, 256, false, true};
  EXPECT_EQ(256.0 * 256 * 256, small_product);
  for (const auto& [k, reason] : {std::pair{index{256}, Reason::faster}, std::pair{index{255}, Reason::small}}) {
    Call call;
    call.product = at;
    call.product.k = k;
    EXPECT_EQ(call.decide().reason, reason) << k;
  }
  Call huge;  // m * n * k beyond 64 bits is not small
  huge.product.m = huge.product.n = huge.product.k = index{1} << 31;
  huge.facts.cpu_rate = 1;
  EXPECT_EQ(huge.decide().reason, Reason::faster);
}

/// Seconds of transfers and products without levels, as the schedule overlaps them, by looking at every fraction f of
/// the panels: after f of A and B, and f^2 of C, have arrived, 1 - f^2 of the products are left.
double streaming(const Problem& p, double in_ab, double in_c, double out, double computing) {
  double together = 0, at = 0;
  constexpr int steps = 1000000;
  for (int i = 0; i <= steps; ++i) {
    const double f = static_cast<double>(i) / steps;
    if (const double t = f * in_ab + f * f * in_c + (1 - f * f) * computing; t > together) together = t, at = f;
  }
  together += 0.1 * at * std::min(in_ab + in_c, out);
  const double panels = std::clamp(static_cast<double>(std::min(p.m, p.n)) / 256, 1.0, 32.0);
  return ((panels - 1) * std::max(together, out) + (in_ab + in_c + computing + out)) / panels;
}

TEST(Decide, PredictsFromFlopsBytesAndRates) {
  // dgemm 1000 x 2000 x 3000: 12 Gflop; in 8 (1000*3000 + 3000*2000 [+ 1000*2000]) bytes, out 8 * 1000*2000.
  Call call;
  call.product = {Routine::dgemm, Precision::d, 1000, 2000, 3000, false, true, false};
  call.facts.cpu_rate = 4e9;
  call.facts.slowdown = 2;
  Decision d = call.decide();
  EXPECT_DOUBLE_EQ(d.cpu_seconds, 3.0);
  EXPECT_NEAR(d.device_seconds, 2 * (1e-4 + streaming(call.product, 72e-4, 0, 16e-4, 12e-3)), 1e-9);
  EXPECT_DOUBLE_EQ(d.saving(), d.cpu_seconds - d.device_seconds);
  call.product.beta_zero = false;  // now C goes in, too
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-4 + streaming(call.product, 72e-4, 16e-4, 16e-4, 12e-3)), 1e-9);
  call.product.routine = Routine::zgemm;  // 8 flops, 16 bytes
  call.product.element = Precision::z;
  d = call.decide();
  EXPECT_DOUBLE_EQ(d.cpu_seconds, 12.0);
  EXPECT_NEAR(d.device_seconds, 2 * (1e-4 + streaming(call.product, 144e-4, 32e-4, 32e-4, 48e-3)), 1e-9);
  call.product = {Routine::dgemm, Precision::d, 5000, 4000, 20, false, true, false};  // all bytes, most of them out
  const double in = 8e-10 * (5000 + 4000) * 20, out = 8e-10 * 5000 * 4000;
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-4 + streaming(call.product, in, 0, out, 8e-4)), 1e-9);
  call.product = {Routine::dgemm, Precision::d, 100, 100, 100000, false, true, false};  // one panel: nothing overlaps
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-4 + 16e-3 + 2e-3 + 8e-6), 1e-9);
}

TEST(Decide, WhatIsThereNeedNotMove) {
  Call call;
  call.product = {Routine::dgemm, Precision::d, 1000, 2000, 3000, false, false, false};  // 88 MB in, 16 MB out
  call.facts.spared = 50e6;
  EXPECT_NEAR(call.decide().device_seconds, 1e-4 + streaming(call.product, 22e-4, 16e-4, 16e-4, 12e-3), 1e-9);
  for (const double all_and_more : {88e6, 100e6}) {
    call.facts.spared = all_and_more;
    EXPECT_NEAR(call.decide().device_seconds, 1e-4 + streaming(call.product, 0, 0, 16e-4, 12e-3), 1e-9);
  }
  // And so a call that would stay goes.
  Call between;
  between.facts.cpu_rate = rate_between;
  EXPECT_EQ(between.decide().reason, Reason::transfers);
  between.facts.spared = counted(between.product).bytes_in;
  EXPECT_EQ(between.decide().reason, Reason::faster);
}

TEST(Decide, OperandsInDeviceMemoryGoThereWhateverItCosts) {
  for (const index n : {1, 255, 1024})
    for (const double cpu_rate : {1e9, 1e15}) {
      Call call;
      call.product = cube(n);
      call.facts.cpu_rate = cpu_rate;
      call.facts.device_memory = true;
      EXPECT_EQ(call.decide().reason, Reason::device_memory);
      EXPECT_EQ(call.decide().route, Route::device);
      call.facts.device = DeviceState::absent;
      EXPECT_EQ(call.decide().route, Route::cpu);
    }
}

TEST(Decide, CopiesAreBoughtOnceTheSavingsMissedReachTheirPrice) {
  Call call;
  call.facts.cpu_rate = rate_between;
  const double loss = -call.decide().saving();
  ASSERT_GT(loss, 0);
  call.facts.reusable = counted(call.product).bytes_in;
  const Decision stays = call.decide();
  EXPECT_EQ(stays.reason, Reason::transfers);
  Call spared = call;
  spared.facts.spared = call.facts.reusable;
  EXPECT_DOUBLE_EQ(stays.reuse_seconds, spared.decide().saving());
  ASSERT_LT(stays.reuse_seconds, loss);
  call.facts.missed_reuse = loss - stays.reuse_seconds * 1.001;
  EXPECT_EQ(call.decide().reason, Reason::transfers);
  call.facts.missed_reuse = loss - stays.reuse_seconds * 0.999;
  EXPECT_EQ(call.decide().reason, Reason::reuse);
  EXPECT_EQ(call.decide().route, Route::device);
  // Never where the device is not open, where routes are fixed, or where copies would not help.
  call.facts.missed_reuse = 1e9;
  Call unopened = call, fixed = call, hopeless = call, absent = call;
  unopened.facts.device = DeviceState::unopened;
  absent.facts.device = DeviceState::absent;
  fixed.policy.fixed = true;
  static constexpr Profile as_fast_as_between = [] {
    Profile p = profile;
    p.cpu_rate[static_cast<int>(Precision::d)] = rate_between;
    return p;
  }();
  fixed.facts.profile = &as_fast_as_between;
  hopeless.facts.cpu_rate = 1e13;
  for (const Call* c : {&unopened, &fixed, &hopeless}) EXPECT_EQ(c->decide().reason, Reason::transfers);
  EXPECT_EQ(absent.decide().reason, Reason::no_device);
}

TEST(Decide, BuyingCopiesCostsAtMostTwiceTheBestChoiceInHindsight) {
  // The same operands again and again, as impl/product/gemm.cpp would count: at every moment the calls so far have cost
  // no more than twice what the CPU alone, or copies from the first call on, would have.
  std::mt19937 bits(6);
  double worst = 0;
  int bought = 0;
  for (int sequence = 0; sequence < 2000; ++sequence) {
    auto uniform = [&bits](double low, double high) { return std::uniform_real_distribution(low, high)(bits); };
    Call call;
    auto size = [&] { return static_cast<index>(uniform(256, 3000)); };
    call.product = {Routine::dgemm, Precision::d, size(), size(), size(), false, uniform(0, 1) < 0.5, false};
    const double reusable = uniform(0.1, 1) * counted(call.product).bytes_in, first = call.decide().device_seconds;
    call.facts.spared = reusable;
    const double later = call.decide().device_seconds;
    call.facts.spared = 0;
    const double cpu = later + uniform(0, 1.1) * (first - later);
    call.facts.cpu_rate = counted(call.product).flops / cpu;
    double online = 0, missed = 0;
    bool there = false;
    for (int calls = 1; calls < 300; ++calls) {
      call.facts.spared = there ? reusable : 0;
      call.facts.reusable = there ? 0 : reusable;
      call.facts.missed_reuse = missed;
      const Decision d = call.decide();
      online += d.route == Route::device ? d.device_seconds : d.cpu_seconds;
      there |= d.route == Route::device;
      if (d.route == Route::cpu) missed += d.reuse_seconds;
      const double best = std::min(calls * cpu, first + (calls - 1) * later);
      ASSERT_LE(online, 2 * best * (1 + 1e-9)) << "sequence " << sequence << ", call " << calls;
      worst = std::max(worst, online / best);
    }
    bought += there;
  }
  EXPECT_GT(bought, 1000);
  EXPECT_GT(worst, 1.2);  // the sequences are such that waiting and buying both have a price
}

TEST(Decide, CopiesAreLookedAtOnlyWhereTheyCouldMatter) {
  Call call;
  auto matter = [&call] { return copies_matter(counted(call.product), call.facts, call.policy, call.decide()); };
  EXPECT_TRUE(matter()) << "it goes to the device anyway";
  call.policy.forced = true;
  EXPECT_TRUE(matter());
  call.policy.fixed = true;
  EXPECT_FALSE(matter()) << "what was kept must not show in a fixed route";
  call = {};
  call.facts.cpu_rate = rate_between;
  EXPECT_EQ(call.decide().route, Route::cpu);
  EXPECT_TRUE(matter()) << "without transfers it would go";
  call.policy.fixed = true;
  EXPECT_FALSE(matter());
  call = {};
  call.facts.cpu_rate = 1e13;
  EXPECT_FALSE(matter()) << "the device loses even without transfers";
  for (const Circumstance& x : circumstances) {
    call = {};
    x.holds(call);
    if (x.route == Route::cpu && x.reason != Reason::transfers) {
      EXPECT_FALSE(matter()) << text_of(x.reason);
    }
  }
}

TEST(Decide, TriesADeviceAgainThatHasBecomeTooSlow) {
  Call call;
  const Decision faster = call.decide();
  call.facts.slowdown = 2 * faster.cpu_seconds / faster.device_seconds;
  call.facts.calls = 7;
  const Decision stays = call.decide();
  EXPECT_EQ(stays.reason, Reason::transfers);
  EXPECT_EQ(stays.slowdown, call.facts.slowdown);
  EXPECT_EQ(stays.calls, 7);
  const double loss = -stays.saving();
  call.facts.trial = loss * 0.999;
  EXPECT_EQ(call.decide().reason, Reason::transfers);
  call.facts.trial = loss * 1.001;
  EXPECT_EQ(call.decide().reason, Reason::trial);
  EXPECT_EQ(call.decide().route, Route::device);
  call.policy.fixed = true;
  EXPECT_EQ(call.decide().reason, Reason::faster) << "fixed decisions know of no slowdown";
  call.policy.fixed = false;
  call.facts.cpu_rate = 1e18;
  EXPECT_EQ(call.decide().reason, Reason::transfers) << "it never was faster";
}

TEST(Decide, WhileTheDeviceIsBeingOpenedWhoWouldWaitLongerThanTheCpuTakesStays) {
  Call call;
  call.facts.device = DeviceState::opening;
  const double gain = call.decide().saving();
  ASSERT_GT(gain, 0);
  call.facts.until_open = gain * 0.999;
  EXPECT_EQ(call.decide().route, Route::device) << "worth waiting for";
  call.facts.until_open = gain * 1.001;
  EXPECT_EQ(call.decide().reason, Reason::startup);
  EXPECT_FALSE(call.decide().opens_meanwhile) << "it is being done";
  call.facts.missed_seconds = 1e9;
  EXPECT_EQ(call.decide().reason, Reason::startup) << "it has been bought";
  call.policy.forced = true;
  EXPECT_EQ(call.decide().reason, Reason::forced);
  call.policy.forced = false;
  call.policy.fixed = true;
  EXPECT_EQ(call.decide().route, (call.facts.device = DeviceState::ready, call.decide().route));
}

TEST(Decide, EveryPrecisionHasItsOwnRate) {
  Profile rates = profile;
  for (int p = 0; p < precision_count; ++p) rates.gemm_rate[p] = 1e12 * (p + 1), rates.cpu_rate[p] = 1e9 * (p + 1);
  for (int p = 0; p < precision_count; ++p) {
    Call call;
    call.facts.profile = &rates;
    call.policy.fixed = true;
    call.product.element = static_cast<Precision>(p);
    const Decision d = call.decide();
    const double c = counted(call.product).bytes_out / profile.in_rate;
    const double computed = counted(call.product).flops / (1e12 * (p + 1));
    EXPECT_NEAR(d.device_seconds, profile.latency_seconds + streaming(call.product, 2 * c, c, c, computed), 1e-9);
    EXPECT_DOUBLE_EQ(d.cpu_seconds, counted(call.product).flops / (1e9 * (p + 1)));
  }
}

TEST(Decide, YieldsToOtherProcessesWhereItMay) {
  Call call;
  call.facts.busy = true;
  EXPECT_EQ(call.decide().reason, Reason::busy);
  EXPECT_EQ(call.decide().route, Route::cpu);
  Call forced = call, fixed = call, in_memory = call;
  forced.policy.forced = true;
  fixed.policy.fixed = true;
  in_memory.facts.device_memory = true;
  for (const Call* c : {&forced, &fixed, &in_memory}) EXPECT_EQ(c->decide().route, Route::device);
  call.facts.cpu_rate = 1e13;
  EXPECT_EQ(call.decide().reason, Reason::transfers) << "it would not have gone anyway";
}

TEST(Decide, NoSavingStaysForTheTransfers) {
  Call call;
  call.facts.cpu_rate =
      counted(call.product).flops / call.decide().device_seconds * (1 + 1e-12);  // as fast: no reason to go
  EXPECT_EQ(call.decide().reason, Reason::transfers);
  call.facts.cpu_rate *= 0.999;
  EXPECT_EQ(call.decide().reason, Reason::faster);
}

TEST(Decide, StartsOnceMissedSavingsReachTheStartup) {
  Call call;
  call.facts.device = DeviceState::unopened;
  call.facts.cpu_rate = 1e10;
  const double saving = call.decide().saving();
  ASSERT_GT(saving, 0.1);
  ASSERT_LT(saving, profile.startup_seconds);
  EXPECT_EQ(call.decide().reason, Reason::startup);
  call.facts.missed_seconds = profile.startup_seconds - saving * 1.001;
  EXPECT_EQ(call.decide().reason, Reason::startup);
  call.facts.missed_seconds = profile.startup_seconds - saving * 0.999;
  EXPECT_EQ(call.decide().reason, Reason::faster);
}

TEST(Decide, BeginsTheStartupBesideTheCallsThatMissAQuarterOfIt) {
  Call call;
  call.facts.device = DeviceState::unopened;
  call.product = cube(400);
  call.facts.cpu_rate = 1e10;
  const double saving = call.decide().saving(), quarter = profile.startup_seconds / 4;
  ASSERT_GT(saving, 0);
  ASSERT_LT(saving, quarter);
  EXPECT_FALSE(call.decide().opens_meanwhile);
  call.facts.missed_seconds = quarter - saving * 1.001;
  EXPECT_FALSE(call.decide().opens_meanwhile);
  call.facts.missed_seconds = quarter - saving * 0.999;
  EXPECT_TRUE(call.decide().opens_meanwhile);
  EXPECT_EQ(call.decide().reason, Reason::startup);
  call.facts.missed_seconds = profile.startup_seconds;
  EXPECT_FALSE(call.decide().opens_meanwhile) << "this one waits for it";
  EXPECT_EQ(call.decide().route, Route::device);
}

/// One process's calls in the model: predictions come true, as impl/product/gemm.cpp's learning would see them.
struct Rental {
  double cost = 0, missed = 0;
  bool open = false;
  double slowdown, cpu_rate;

  void call(const Problem& product) {
    const Facts facts{
        open ? DeviceState::ready : DeviceState::unopened, &profile, cpu_rate, slowdown, missed, false, false};
    const Decision d = decide(counted(product), facts, {true, false, false, false});
    if (d.route == Route::device) {
      if (!open) cost += profile.startup_seconds;
      open = true;
      cost += d.device_seconds;
      return;
    }
    cost += d.cpu_seconds;
    if (d.reason == Reason::startup) missed += std::max(0.0, d.saving());
  }
};

TEST(Decide, SkiRentalCostsAtMostTwiceTheBestChoiceInHindsight) {
  std::mt19937 bits(4);
  double worst = 0;
  int started = 0, never = 0;
  for (int sequence = 0; sequence < 3000; ++sequence) {
    auto uniform = [&bits](double low, double high) { return std::uniform_real_distribution(low, high)(bits); };
    const double cpu_rate = std::pow(10.0, uniform(9, 12.5)), slowdown = uniform(0.5, 3);
    const double largest = uniform(200, 3000);
    Rental online{.slowdown = slowdown, .cpu_rate = cpu_rate};
    Rental at_once{.slowdown = slowdown, .cpu_rate = cpu_rate};
    at_once.open = true;
    at_once.cost = profile.startup_seconds;
    double never_cost = 0;
    for (int calls = static_cast<int>(uniform(1, 400)); calls > 0; --calls) {
      const auto size = [&] { return static_cast<index>(uniform(1, largest)); };
      const Problem product{Routine::dgemm, Precision::d, size(), size(), size(), false, uniform(0, 1) < 0.5, false};
      online.call(product);
      at_once.call(product);
      never_cost += counted(product).flops / cpu_rate;
      // At every moment, since a program may end at any: the sequence so far is a sequence too.
      const double best = std::min(at_once.cost, never_cost);
      ASSERT_LE(online.cost, 2 * best * (1 + 1e-12)) << "sequence " << sequence;
      worst = std::max(worst, online.cost / best);
    }
    ++(online.open ? started : never);
  }
  // The sequences are such that the bound could have been broken: both endings occur, and it is nearly reached.
  EXPECT_GT(started, 100);
  EXPECT_GT(never, 100);
  EXPECT_GT(worst, 1.5);
}

TEST(Decide, SkiRentalStartsUnderAnUnendingLoad) {
  Rental rental{.slowdown = 1, .cpu_rate = 1e11};
  const Problem product = cube(600);
  const double saving = counted(product).flops / 1e11 - Call{.product = product}.decide().device_seconds;
  ASSERT_GT(saving, 0);
  const int enough = static_cast<int>(profile.startup_seconds / saving) + 1;
  for (int i = 0; i < enough; ++i) rental.call(product);
  EXPECT_TRUE(rental.open);
}

TEST(Decide, FixedDependsOnArgumentsAndProfileAlone) {
  int on_device = 0, on_cpu = 0;
  for (const index n : {100, 256, 300, 500, 1000, 4000})
    for (const index k : {index{1}, index{300}, n}) {
      Call plain;
      plain.policy.fixed = true;
      plain.product = {Routine::dgemm, Precision::d, n, n, k, false, false, false};
      const Decision first = plain.decide();
      ++(first.route == Route::device ? on_device : on_cpu);
      for (const DeviceState device : {DeviceState::unopened, DeviceState::ready})
        for (const double cpu_rate : {1.0, 1e9, 1e15})
          for (const double slowdown : {0.2, 1.0, 50.0})
            for (const double missed : {0.0, 0.4999, 1e6}) {
              Call call = plain;
              call.facts = {device, &profile, cpu_rate, slowdown, missed, false, false};
              const Decision d = call.decide();
              ASSERT_EQ(d.route, first.route) << to_string(call.product, d);
              ASSERT_EQ(d.reason, first.reason);
              ASSERT_EQ(d.cpu_seconds, first.cpu_seconds);
              ASSERT_EQ(d.device_seconds, first.device_seconds);
            }
    }
  EXPECT_GT(on_device, 3);  // both occur among the cases
  EXPECT_GT(on_cpu, 3);
  Call call;  // and the profile does matter
  call.policy.fixed = true;
  Profile slow = profile;
  slow.in_rate = 1e6;
  call.facts.profile = &slow;
  EXPECT_EQ(call.decide().reason, Reason::transfers);
}

/// An estimator that has levels for squares from 2048 on.
const strassen::Estimator& estimator() {
  static const strassen::Estimator e(strassen::Model::ours, Precision::d,
                                     {.rates = {{{64, 1e12}, {100000, 1e12}}, 2e12, 1e-6}});
  return e;
}

TEST(Decide, TilesAreSmallerWhereTransfersTakeAboutAsLongAsProducts) {
  Profile rates = profile;
  Call c{.product = cube(8192)};
  c.product.beta_zero = true;
  c.facts.profile = &rates;
  c.facts.estimator = &estimator();
  c.policy.levels = -1;
  const auto tile = [&](double bus) {
    rates.in_rate = rates.out_rate = bus;
    return c.decide().tile;
  };
  EXPECT_EQ(tile(1e12), 8192);
  EXPECT_EQ(tile(2e9), 4096);  // 0.5 s in, 0.3 s out, about 1 s of products
  EXPECT_EQ(tile(2e8), 0);     // the bus is all that counts
  c.facts.spared = counted(c.product).bytes_in;
  c.facts.result_stays = true;
  EXPECT_EQ(tile(2e9), 8192);  // nothing moves
}

TEST(Decide, LevelsFollowTheRatesOfWhatIsTransposed) {
  // With B transposed products are a hundred times as slow: levels pay where they do not otherwise.
  const strassen::Rates rates{{{64, 1e12}}, 1e11, 0, {{{{64, 1e10}}, {}, {}}}};
  const strassen::Estimator by_transposes(strassen::Model::ours, Precision::d, {.rates = rates});
  double A[4] = {}, B[4] = {}, C[4] = {};
  Call c{.product = cube(2048)};
  c.facts.estimator = &by_transposes;
  c.facts.spared = counted(c.product).bytes_in;
  c.facts.result_stays = true;
  c.policy.levels = -1;
  c.policy.forced = true;
  for (const Op a : {Op::none, Op::transpose, Op::conjugate})
    for (const Op b : {Op::none, Op::transpose, Op::conjugate}) {
      const GemmArgs<double> args{a, b, 2, 2, 2, 1.0, A, 2, B, 2, 0.0, C, 2};
      c.product.transposes = problem_of(Routine::dgemm, args).transposes;
      const Decision& decision = c.decide();
      EXPECT_EQ(decision.route, Route::device);
      EXPECT_EQ(decision.levels > 0, a == Op::none && b != Op::none) << static_cast<char>(a) << static_cast<char>(b);
    }
}

TEST(Decide, APartOfKComesFirstWhereProductsWouldWaitForOperands) {
  Profile rates = profile;
  Call c{.product = cube(8192)};
  c.facts.profile = &rates;
  const auto head = [&](double bus) {
    rates.in_rate = rates.out_rate = bus;
    return c.decide().head;
  };
  for (const bool beta_zero : {false, true}) {
    c.product.beta_zero = beta_zero;
    EXPECT_EQ(head(1e12), 0);    // there is no waiting
    EXPECT_EQ(head(2e9), 1792);  // 0.5 s in for A and B, 0.3 s out, about 1 s of products
    EXPECT_EQ(head(1e9), 0);     // 1.1 s in: products would wait for the rest, too
    EXPECT_EQ(head(2e8), 0);     // the bus is all that counts
  }
  EXPECT_NE(to_string(c.product, (head(2e9), c.decide())).find(", first 1792 of k"), std::string::npos);
  c.product = cube(4095);
  EXPECT_EQ(head(1e9), 0);
  c.product = cube(8192);
  c.facts.spared = counted(c.product).bytes_in;
  c.facts.result_stays = true;
  EXPECT_EQ(head(2e9), 0);  // nothing moves
}

TEST(Decide, LevelsAreForTheDeviceAsTheEstimatorSays) {
  Call c{.product = cube(8192)};
  c.facts.spared = counted(c.product).bytes_in;
  EXPECT_EQ(c.decide().levels, 0) << "not asked for";
  c.policy.levels = -1;
  EXPECT_EQ(c.decide().levels, 0) << "nothing known";
  c.facts.estimator = &estimator();
  const Decision d = c.decide();
  const strassen::Choice choice = estimator().estimate({8192, 8192, 8192});
  ASSERT_GT(choice.level, 0);
  EXPECT_EQ(d.route, Route::device);
  EXPECT_EQ(d.levels, choice.level);
  EXPECT_EQ(d.tile, choice.tile);
  Call without = c;
  without.facts.estimator = nullptr;
  EXPECT_LT(d.device_seconds, without.decide().device_seconds);
  EXPECT_NE(to_string(c.product, d).find(", levels " + std::to_string(choice.level) + " in tiles of 8192"),
            std::string::npos)
      << to_string(c.product, d);
  c.policy.levels = 0;
  EXPECT_EQ(c.decide().levels, 0) << "off";
  // Where moving the operands takes most of the time, levels would only delay it.
  c.policy.levels = -1;
  c.facts.spared = 0;
  Profile slow_bus = profile;
  slow_bus.in_rate = slow_bus.out_rate = 1e8;
  c.facts.profile = &slow_bus;
  EXPECT_EQ(c.decide().levels, 0);
  // Too small for any.
  c = {.product = cube(300)};
  c.policy.levels = -1;
  c.facts.estimator = &estimator();
  EXPECT_EQ(c.decide().levels, 0);
}

TEST(Decide, AsManyLevelsAsAskedForWhereTheyFit) {
  Call c;
  c.policy.forced = true;
  c.policy.levels = 3;
  for (const auto& [m, n, k, levels, tile] : {std::array<index, 5>{1024, 1024, 1024, 3, 1024},
                                              {1030, 2000, 1029, 3, 1024},
                                              {8, 9, 100, 3, 8},
                                              {7, 9, 100, 2, 4},
                                              {3, 3, 3, 1, 2},
                                              {100, 1, 100, 0, 0}}) {
    c.product.m = m, c.product.n = n, c.product.k = k;
    const Decision d = c.decide();
    EXPECT_EQ(d.levels, levels) << m << " " << n << " " << k;
    EXPECT_EQ(d.tile, tile) << m << " " << n << " " << k;
  }
}

TEST(Decide, IsPrintable) {
  Call call;
  call.product = {Routine::dgemm, Precision::d, 1000, 2000, 3000, false, true, false};
  call.facts.cpu_rate = 4e9;
  EXPECT_EQ(to_string(call.product, call.decide()),
            "dgemm m=1000 n=2000 k=3000 beta=0 -> device: faster on the device (cpu 3e+03 ms, device 15.2 ms)");
  call.product.alpha_zero = true;
  EXPECT_EQ(to_string(call.product, call.decide()),
            "dgemm m=1000 n=2000 k=3000 alpha=0 beta=0 -> cpu: nothing to multiply");
  std::set<std::string> texts;
  for (int r = 0; r < reason_count; ++r) texts.insert(text_of(static_cast<Reason>(r)));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(reason_count)) << "two reasons read alike";
  EXPECT_EQ(texts.count(""), 0u);
}

// ---- the products that decisions are made about

TEST(Product, ArgumentsAreCheckedAsTheReferenceDoes) {
  double x[1];
  const GemmArgs<double> good{Op::none, Op::transpose, 4, 5, 6, 1, x, 4, x, 5, 0, x, 4};
  EXPECT_TRUE(good.valid());
  struct {
    const char* what;
    void (*change)(GemmArgs<double>&);
    bool valid;
  } const cases[] = {
      {"m < 0", [](auto& g) { g.m = -1; }, false},
      {"n < 0", [](auto& g) { g.n = -1; }, false},
      {"k < 0", [](auto& g) { g.k = -1; }, false},
      {"lda < m", [](auto& g) { g.lda = 3; }, false},
      {"lda < k, transposed", [](auto& g) { g.transa = Op::conjugate, g.lda = 5; }, false},
      {"lda = k, transposed", [](auto& g) { g.transa = Op::conjugate, g.lda = 6; }, true},
      {"ldb < n, transposed", [](auto& g) { g.ldb = 4; }, false},
      {"ldb < k", [](auto& g) { g.transb = Op::none; }, false},
      {"ldc < m", [](auto& g) { g.ldc = 3; }, false},
      {"nothing, ld 1", [](auto& g) { g.m = g.n = g.k = 0, g.lda = g.ldb = g.ldc = 1; }, true},
      {"nothing, ldc 0", [](auto& g) { g.m = g.n = g.k = 0, g.lda = g.ldb = 1, g.ldc = 0; }, false},
  };
  for (const auto& c : cases) {
    GemmArgs<double> args = good;
    c.change(args);
    EXPECT_EQ(args.valid(), c.valid) << c.what;
  }
}

/// Whether two blocks share an element, by marking bytes.
bool share(index at_x, index rows_x, index cols_x, index ldx, index at_y, index rows_y, index cols_y, index ldy) {
  std::set<index> bytes;
  for (index j = 0; j < cols_x; ++j)
    for (index i = 0; i < rows_x; ++i) bytes.insert(at_x + i + j * ldx);
  for (index j = 0; j < cols_y; ++j)
    for (index i = 0; i < rows_y; ++i)
      if (bytes.count(at_y + i + j * ldy)) return true;
  return false;
}

TEST(Product, OverlapIsNeverMissedAndExactOnOneGrid) {
  static double x[400];
  std::mt19937 bits(5);
  auto below = [&bits](index n) { return static_cast<index>(bits() % static_cast<std::uint32_t>(n)); };
  int shared = 0, interleaved = 0;
  for (int time = 0; time < 100000; ++time) {
    const index rx = below(5), cx = below(5), ldx = std::max<index>(1, rx + below(4)), ax = below(60);
    const index ry = below(5), cy = below(5), ay = below(60);
    const bool one_grid = below(2) && ldx >= ry;
    const index ldy = one_grid ? ldx : std::max<index>(1, ry + below(4));
    const bool truth = share(ax, rx, cx, ldx, ay, ry, cy, ldy);
    const bool answer = overlap(x + ax, rx, cx, ldx, x + ay, ry, cy, ldy, sizeof(double));
    if (truth || one_grid) {
      ASSERT_EQ(answer, truth) << ax << ": " << rx << "x" << cx << " ld " << ldx << ", " << ay << ": " << ry << "x"
                               << cy << " ld " << ldy;
    }
    shared += truth;
    interleaved +=
        one_grid && !truth && rx && cx && ry && cy && ax < ay + (cy - 1) * ldx + ry && ay < ax + (cx - 1) * ldx + rx;
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(interleaved, 300);
  // Bytes shared by elements that do not line up.
  EXPECT_TRUE(overlap(x, 2, 2, 2, reinterpret_cast<char*>(x) + 4, 2, 2, 2, sizeof(double)));
}

/// Somewhere, for what is not looked at.
template <class T>
T* nowhere(std::uintptr_t at) {
  return reinterpret_cast<T*>(at);
}

TEST(Product, OperandsThatAreNotReadMayHaveAnySizeAndPlace) {
  constexpr index huge = INT64_MAX, large = index{1} << 61;
  static double C[16];
  for (const index ld : {large, large + 3, huge})
    for (const std::uintptr_t at : {std::uintptr_t{8}, std::uintptr_t{1} << 63, ~std::uintptr_t{7}}) {
      const GemmArgs<double> args{Op::transpose,
                                  Op::transpose,
                                  4,
                                  4,
                                  large,
                                  0,
                                  nowhere<const double>(at),
                                  ld,
                                  nowhere<const double>(16),
                                  ld,
                                  2,
                                  C,
                                  4};
      ASSERT_TRUE(args.valid());
      EXPECT_TRUE(problem_of(Routine::dgemm, args).trivial);
    }
  const auto as_far = [](index ld) { return overlap(C, 4, 4, 4, C + 16, large, large, ld, sizeof(double)); };
  EXPECT_FALSE(as_far(huge));
  EXPECT_FALSE(as_far(4));
  EXPECT_TRUE(overlap(C, 4, 4, huge, C + 1, 4, 4, huge, sizeof(double)));
  EXPECT_FALSE(overlap(C, 1, 4, huge, C + 1, 1, 4, huge, sizeof(double)));
  // Half of the address space in front of it, and as far behind.
  EXPECT_TRUE(overlap(C, 4, 4, 4, nowhere<double>(8), 4, large, large, sizeof(double)));
  EXPECT_FALSE(overlap(nowhere<double>(~std::uintptr_t{7}), 1, 1, huge, nowhere<double>(8), 1, 1, 1, sizeof(double)));
}

TEST(Product, VectorsOfOneElementMayHaveAnyIncrement) {
  static const double A[4] = {}, x[4] = {};
  static double y[4];
  for (const index incx : {index{INT64_MIN}, -index{INT64_MAX}, index{INT64_MAX}, index{1}})
    for (const index incy : {index{INT64_MIN}, index{INT64_MAX}, index{-1}}) {
      for (const index n : {0, 1}) {
        const SymvArgs<double> args{Uplo::upper, n, 1, A, std::max<index>(1, n), x, incx, 1, y, incy};
        EXPECT_TRUE(args.valid());
        EXPECT_FALSE(problem_of(Routine::dsymv, args).overlaps);
      }
      // x is not read, and longer than memory is.
      const SymvArgs<double> scaling{Uplo::upper, 5, 0, A, 5, x, incx, 1, y, 1};
      EXPECT_TRUE(problem_of(Routine::dsymv, scaling).alpha_zero);
    }
  const SymvArgs<double> itself{Uplo::upper, 1, 1, A, 1, y, INT64_MIN, 1, y, INT64_MIN};
  EXPECT_TRUE(problem_of(Routine::dsymv, itself).overlaps);
}

TEST(Product, AlphaIsFiniteWhereAllOfItIs) {
  using Z = std::complex<double>;
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  static const Z A[4] = {};
  static Z C[4];
  for (const auto& [alpha, finite] : {std::pair{Z(1, 2), true},
                                      {Z(0, 0), true},
                                      {Z(inf, 0), false},
                                      {Z(0, -inf), false},
                                      {Z(nan, 1), false},
                                      {Z(1, nan), false}}) {
    const GemmArgs<Z> gemm{Op::none, Op::none, 1, 1, 1, alpha, A, 1, A + 1, 1, 0, C, 1};
    EXPECT_EQ(problem_of(Routine::zgemm, gemm).alpha_finite, finite);
    const SymvArgs<Z> hemv{Uplo::lower, 1, alpha, A, 1, A + 1, 1, 0, C, 1};
    EXPECT_EQ(problem_of(Routine::zhemv, hemv).alpha_finite, finite);
  }
}

TEST(Product, OverlapOfWhatNoMemoryHolds) {
  // Operands that are not read may have any size.  Nothing overflows on the way.
  static double x[4];
  constexpr index most = std::numeric_limits<index>::max();
  EXPECT_TRUE(overlap(x, 2, 2, most, x, 2, 2, most, sizeof(double)));
  EXPECT_TRUE(overlap(x, most, most, most, x + 1, 1, 1, 1, sizeof(double)));
  EXPECT_TRUE(overlap(x + 1, 1, 1, 1, x, 1, most, most, sizeof(double)));
  EXPECT_FALSE(overlap(x, 1, 2, most, x + 1, 1, 2, most, sizeof(double)));
  constexpr index least = std::numeric_limits<index>::min();
  const StoredVector one = stored_vector(x, 1, least, 1);
  EXPECT_GT(one.ld, 0);
  EXPECT_FALSE(overlap(one.at, one.rows, one.cols, one.ld, x + 1, 1, 1, 1, sizeof(double)));
}

TEST(Product, BlocksOfOneMatrixThatShareNoElementDoNotOverlap) {
  // The trailing update of an LU or QR factorisation: A, B and C are blocks of one array, B above C in the same
  // columns.
  std::vector<double> x(100 * 100);
  auto at = [&x](index i, index j) { return x.data() + i + j * 100; };
  GemmArgs<double> update{Op::none, Op::none, 68, 68, 32, -1, at(32, 0), 100, at(0, 32), 100, 1, at(32, 32), 100};
  EXPECT_FALSE(problem_of(Routine::dgemm, update).overlaps);
  update.B = at(1, 32);  // one row of B is now C's first
  EXPECT_TRUE(problem_of(Routine::dgemm, update).overlaps);
}

}  // namespace
}  // namespace blaslift::decision_tests
