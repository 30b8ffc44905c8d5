#include "impl/product/plan_cache.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace blaslift::plan_cache_tests {
namespace {

PlanKey key_of(index n) {
  return {.precision = Precision::d,
          .m = n,
          .n = n,
          .k = n,
          .transposed_a = false,
          .transposed_b = false,
          .reads_c = false,
          .whole = {},
          .in_place = {},
          .list = nullptr,
          .levels = 1,
          .tile = n,
          .head = 0,
          .room = 1000,
          .piece = 10};
}

struct Maker {
  int made = 0;
  std::size_t steps = 3;
  Plans::Plan operator()() {
    ++made;
    GemmSchedule s;
    s.steps.resize(steps);
    return std::make_shared<const GemmSchedule>(std::move(s));
  }
};

TEST(Plans, AreMadeOnce) {
  Plans plans;
  Maker maker;
  const auto first = plans.get(key_of(5), std::ref(maker));
  EXPECT_EQ(plans.get(key_of(5), std::ref(maker)), first);
  EXPECT_EQ(maker.made, 1);
}

TEST(Plans, OfOtherProductsAreOthers) {
  const PlanKey key = key_of(5);
  std::vector<PlanKey> others(13, key);
  others[0].precision = Precision::s;
  others[1].m = 6;
  others[2].n = 6;
  others[3].k = 6;
  others[4].transposed_a = true;
  others[5].transposed_b = true;
  others[6].reads_c = true;
  others[7].whole[1] = true;
  others[8].in_place[2] = true;
  others[9].levels = 2;
  others[10].room = 999;
  others[11].list = &strassen::rum();
  others[12].head = 64;
  for (const PlanKey& other : others) {
    Plans plans;
    Maker maker;
    const auto first = plans.get(key, std::ref(maker)), second = plans.get(other, std::ref(maker));
    EXPECT_NE(first, second);
    EXPECT_EQ(maker.made, 2);
  }
}

TEST(Plans, TheLeastRecentlyUsedIsForgotten) {
  Plans plans;
  Maker maker;
  for (index n = 1; n <= 8; ++n) plans.get(key_of(n), std::ref(maker));
  plans.get(key_of(1), std::ref(maker));  // used again
  plans.get(key_of(9), std::ref(maker));
  EXPECT_EQ(maker.made, 9);
  plans.get(key_of(1), std::ref(maker));
  EXPECT_EQ(maker.made, 9);
  plans.get(key_of(2), std::ref(maker));
  EXPECT_EQ(maker.made, 10);
}

TEST(Plans, NoneAndHugeOnesAreNotKept) {
  Plans plans;
  int asked = 0;
  const auto none = [&]() -> Plans::Plan { return ++asked, nullptr; };
  EXPECT_EQ(plans.get(key_of(1), none), nullptr);
  EXPECT_EQ(plans.get(key_of(1), none), nullptr);
  EXPECT_EQ(asked, 2);
  Maker huge{.made = 0, .steps = 100000};
  plans.get(key_of(2), std::ref(huge));
  plans.get(key_of(2), std::ref(huge));
  EXPECT_EQ(huge.made, 2);
}

TEST(Plans, AreSharedByThreads) {
  Plans plans;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (index i = 0; i < 200; ++i) {
        Maker maker;
        const auto plan = plans.get(key_of(1 + i % 12), std::ref(maker));
        ASSERT_EQ(plan->steps.size(), 3u);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace blaslift::plan_cache_tests
