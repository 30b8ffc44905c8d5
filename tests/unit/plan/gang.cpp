// Places that compute one call together: who waits for what, and that all have the same end.
#include "impl/plan/gang.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace blaslift::gang_tests {
namespace {

bool always() { return true; }

/// Whatever two threads of a gang do, one of them late.
template <class First, class Second>
void both(const First& first, const Second& second) {
  for (const bool other_way : {false, true}) {
    std::thread thread([&] {
      if (other_way) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      first(other_way);
    });
    if (!other_way) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    second(other_way);
    thread.join();
  }
}

TEST(Gang, APieceIsThereOnceItHasBeenPublished) {
  Gang gangs[2]{Gang(2), Gang(2)};
  const double number = 0;
  both(
      [&](int i) {
        Seat seat(gangs[i], 0);
        gangs[i].publish(3, {{.memory = &number, .ld = 5}});
        EXPECT_TRUE(seat.agree(true));
      },
      [&](int i) {
        Seat seat(gangs[i], 1);
        const auto* parts = gangs[i].await(3, always);
        ASSERT_TRUE(parts && parts->size() == 1);
        EXPECT_EQ(parts->front().memory, &number);
        EXPECT_EQ(parts->front().ld, 5);
        EXPECT_TRUE(seat.agree(true));
      });
}

TEST(Gang, WhoWaitsLearnsThatAnotherHasFailed) {
  Gang gangs[2]{Gang(2), Gang(2)};
  both(
      [&](int i) {
        Seat seat(gangs[i], 0);
        gangs[i].fail();
        EXPECT_FALSE(seat.agree(true));
      },
      [&](int i) {
        Seat seat(gangs[i], 1);
        EXPECT_EQ(gangs[i].await(0, always), nullptr);
        EXPECT_TRUE(gangs[i].failed());
        EXPECT_FALSE(seat.agree(true));
      });
}

TEST(Gang, WhoLeavesWithoutAWordFailsTheOthers) {
  Gang gangs[2]{Gang(2), Gang(2)};
  both([&](int i) { Seat seat(gangs[i], 0); },
       [&](int i) {
         Seat seat(gangs[i], 1);
         EXPECT_EQ(gangs[i].await(0, always), nullptr);
         EXPECT_FALSE(seat.agree(true));
       });
}

TEST(Gang, WhatItsOwnerHasNotPublishedByItsEndWillNeverBeThere) {
  Gang gangs[2]{Gang(2), Gang(2)};
  both(
      [&](int i) {
        Seat seat(gangs[i], 0);
        EXPECT_FALSE(seat.agree(true));
      },
      [&](int i) {
        Seat seat(gangs[i], 1);
        EXPECT_EQ(gangs[i].await(4, always), nullptr);
        EXPECT_FALSE(seat.agree(true));
      });
}

TEST(Gang, WhoGoesAnotherWayFailsAll) {
  Gang gang(3);
  EXPECT_TRUE(gang.same(5));
  EXPECT_TRUE(gang.same(5));
  EXPECT_FALSE(gang.failed());
  EXPECT_FALSE(gang.same(6));
  EXPECT_TRUE(gang.failed());
}

TEST(Gang, WaitingEndsWithTheProcess) {
  Gang gang(2);
  EXPECT_EQ(gang.await(0, [] { return false; }), nullptr);
  EXPECT_FALSE(gang.failed());
}

TEST(Gang, NobodyIsWellUnlessAllAre) {
  for (int unwell = -1; unwell < 5; ++unwell) {
    Gang gang(5);
    std::vector<std::thread> threads;
    std::atomic<int> well{0}, arrived{0};
    for (int place = 0; place < 5; ++place)
      threads.emplace_back([&, place] {
        Seat seat(gang, place);
        ++arrived;
        if (seat.agree(place != unwell)) ++well;
        EXPECT_EQ(arrived, 5);  // nobody goes on before all have come
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(well, unwell < 0 ? 5 : 0);
  }
}

TEST(Gang, PiecesAreDealtOutInTurns) {
  EXPECT_EQ(owner_of(0, 3), 0);
  EXPECT_EQ(owner_of(5, 3), 2);
  EXPECT_EQ(owner_of(6, 3), 0);
}

}  // namespace
}  // namespace blaslift::gang_tests
