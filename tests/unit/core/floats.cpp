// The caller's floating-point environment: what is seen of it, and what our own arithmetic does in it.
#include "impl/core/floats.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <csignal>
#include <limits>

#include "impl/route/route.hpp"
#include "tests/unit/support/temporary.hpp"

namespace blaslift::floats_tests {
namespace {

Learned learned;

using temporary::in_child;

constexpr int most_traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;

/// Puts everything back.
struct Kept {
  Kept() { std::fegetenv(&environment); }
  ~Kept() { std::fesetenv(&environment); }
  std::fenv_t environment;
};

void invalid_operation() {
  volatile double infinite = std::numeric_limits<double>::infinity();
  infinite = infinite - infinite;
}

TEST(Floats, EitherUnitsRoundingIsSeen) {
  const Kept kept;
  EXPECT_FALSE(rounds_otherwise());
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    EXPECT_TRUE(rounds_otherwise());
    std::fesetround(FE_TONEAREST);
    EXPECT_FALSE(rounds_otherwise());
  }
  _mm_setcsr(_mm_getcsr() | _MM_ROUND_UP);
  EXPECT_TRUE(rounds_otherwise());
  std::fesetround(FE_TONEAREST);
  const std::uint16_t usual = x87_control(), down = static_cast<std::uint16_t>(usual | 0x0400);
  asm volatile("fldcw %0" ::"m"(down));
  EXPECT_TRUE(rounds_otherwise());
  asm volatile("fldcw %0" ::"m"(usual));
  _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON);
  EXPECT_FALSE(rounds_otherwise()) << "flushing is no rounding mode";
}

TEST(Floats, UntrappedRaisesNoSignalAndLeavesNoFlag) {
  const int status = in_child([] {
    std::feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(most_traps);
    {
      const Untrapped untrapped;
      if (!untrapped.traps()) return 1;
      invalid_operation();
      if (!std::fetestexcept(FE_INVALID)) return 2;
    }
    return std::fetestexcept(FE_ALL_EXCEPT) == 0 && fegetexcept() == most_traps ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
}

TEST(Floats, WhereNothingIsTrappedFlagsAreLeftAlone) {
  const Kept kept;
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const Untrapped untrapped;
    EXPECT_FALSE(untrapped.traps());
    invalid_operation();
  }
  EXPECT_TRUE(std::fetestexcept(FE_INVALID));
}

TEST(Floats, TrapsOfTheX87AloneAreSeen) {
  const Kept kept;
  std::feclearexcept(FE_ALL_EXCEPT);  // a flag that is up would raise its signal now
  const std::uint16_t usual = x87_control(), trapping = static_cast<std::uint16_t>(usual & ~1);
  asm volatile("fldcw %0" ::"m"(trapping));
  EXPECT_TRUE(Untrapped().traps());
  asm volatile("fldcw %0" ::"m"(usual));
  EXPECT_FALSE(Untrapped().traps());
}

TEST(Floats, PairsAreRoundedToNearestWhateverTheCallerDoes) {
  const Kept kept;
  std::fesetround(FE_UPWARD);
  _mm_setcsr(_mm_getcsr() | 0x8040);
  const unsigned before = _mm_getcsr();
  {
    const ToNearest to_nearest;
    EXPECT_EQ(_mm_getcsr() & 0xe040, 0u);
  }
  EXPECT_EQ(_mm_getcsr() & 0xffc0, before & 0xffc0);
}

TEST(Floats, ARouteIsDecidedWithoutTrapsAndReplayedWithThem) {
  const int status = in_child([] {
    std::feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(most_traps);
    Runtime& r = runtime();
    Site site{};
    site.symbol = Symbol::dgemm_;
    const Problem problem{.routine = Routine::dgemm, .element = Element::d, .flops = 1};
    const Call call{site, learned, problem, timed_flops};
    int masks = -1;
    const Replay told{[](const void* at) { *static_cast<int*>(const_cast<void*>(at)) = fegetexcept(); }, &masks};
    bool seen = false;
    take_route(r, call, told, [&](Decision& decision) {
      invalid_operation();  // which is ours
      seen = facts_now(r, learned, problem).traps;
      decision = {Route::cpu, Reason::traps};
      return false;
    });
    if (!seen) return 1;
    if (masks != most_traps || fegetexcept() != most_traps) return 2;
    return std::fetestexcept(FE_INVALID) ? 3 : 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Floats, WhatAnyTrapDoesToACallOfTheProgramsOwnStaysSo) {
  // The library underneath computes with the program's traps on: its faults are the program's.
  const int status = in_child([] {
    feenableexcept(most_traps);
    std::signal(SIGFPE, [](int) { _exit(0); });
    Runtime& r = runtime();
    Site site{};
    site.symbol = Symbol::dgemm_;
    const Problem problem{.routine = Routine::dgemm, .element = Element::d, .flops = 1};
    const Call call{site, learned, problem, timed_flops};
    const Replay replay{[](const void*) { invalid_operation(); }, nullptr};
    take_route(r, call, replay, [&](Decision& decision) {
      decision = {Route::cpu, Reason::traps};
      return false;
    });
    return 1;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace blaslift::floats_tests
