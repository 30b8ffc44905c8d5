// What all routes have in common.
#include "impl/route/route.hpp"

#include <gtest/gtest.h>

#include "tests/unit/support/temporary.hpp"

namespace blaslift::route_tests {
namespace {

Learned learned;

using temporary::in_child;

TEST(Route, WhatTheCpuCannotReadIsNotReplayedButSaidAloud) {
  testing::internal::CaptureStderr();
  const int status = in_child([] {
    Runtime& r = runtime();
    Site site{};
    site.symbol = Symbol::dgemm_;
    const Problem problem{.routine = Routine::dgemm, .element = Element::d, .flops = 1};
    const Call call{site, learned, problem, timed_flops};
    int replays = 0;
    const Replay replay{[](const void* count) { ++*static_cast<int*>(const_cast<void*>(count)); }, &replays};
    const auto route = [&](Reason reason) {
      take_route(r, call, replay, [&](Decision& decision) {
        decision = {Route::device, reason};
        return on_device(r, call, decision, [](Backend&) { return Ending{Reason::failed}; });
      });
    };
    route(Reason::forced);
    if (replays != 1) return 11;
    route(Reason::device_memory);
    return replays == 1 ? 0 : 12;
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 0);
  EXPECT_NE(said.find("blaslift: dgemm_ was not computed, its operands are in device memory: "), std::string::npos)
      << said;
}

}  // namespace
}  // namespace blaslift::route_tests
