// The arena: that nobody gets more than there is, that whoever waits is woken, and what is given up for whom.
#include "impl/core/arena.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "tests/unit/support/heap.hpp"
#include "tests/unit/support/random.hpp"

namespace blaslift::arena_tests {
namespace {

using namespace std::chrono_literals;

/// An arena, and what may be reclaimed of it.
struct World {
  Heap heap;
  Arena arena;
  std::mutex mutex;
  std::vector<std::pair<void*, std::size_t>> kept;
  std::atomic<int> reclaimed{0};

  explicit World(std::size_t limit) : heap(limit) {
    arena.open(heap, {[](void* self) { return static_cast<World*>(self)->reclaim(); }, this});
  }
  ~World() {
    while (reclaim()) {
    }
    EXPECT_EQ(arena.taken(), 0u);
    EXPECT_EQ(heap.given, 0u);
    EXPECT_EQ(heap.allocations, 0);
  }

  void* take(std::size_t bytes, bool wait = false) {
    void* memory = nullptr;
    return arena.take(bytes, wait, memory) == Status::done ? memory : nullptr;
  }
  /// To be reclaimed.
  void keep(void* memory, std::size_t bytes) {
    {
      std::lock_guard lock(mutex);
      kept.emplace_back(memory, bytes);
    }
    arena.changed();
  }
  bool reclaim() {
    std::pair<void*, std::size_t> oldest;
    {
      std::lock_guard lock(mutex);
      if (kept.empty()) return false;
      oldest = kept.front();
      kept.erase(kept.begin());
    }
    ++reclaimed;
    arena.give_back(oldest.first, oldest.second);
    return true;
  }
};

/// A call that waits for room.
class Waiter {
 public:
  Waiter(World& world, std::size_t bytes)
      : thread_([this, &world, bytes] {
          memory = world.take(bytes, true);
          done = true;
        }) {}
  ~Waiter() { thread_.join(); }
  bool still_waits() const { return std::this_thread::sleep_for(30ms), !done; }
  void* join() {
    return thread_.join(), thread_ = std::thread([] {}), memory;
  }

 private:
  std::atomic<bool> done{false};
  void* memory = nullptr;
  std::thread thread_;
};

TEST(Arena, GivesNoMoreThanItsLimit) {
  World w(1000);
  EXPECT_EQ(w.arena.limit(), 1000u);
  void *first = w.take(600), *second = w.take(400);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(w.arena.taken(), 1000u);
  void* memory = nullptr;
  EXPECT_EQ(w.arena.take(1, false, memory), Status::no_memory);
  w.arena.give_back(first, 600);
  EXPECT_EQ(w.arena.taken(), 400u);
  EXPECT_EQ(w.arena.take(601, false, memory), Status::no_memory);
  first = w.take(600);
  EXPECT_TRUE(first);
  w.arena.give_back(first, 600);
  w.arena.give_back(second, 400);
}

TEST(Arena, WhatNeverFitsIsRefusedAtOnceAndCostsNobodyAnything) {
  World w(1000);
  void* kept = w.take(100);
  w.keep(kept, 100);
  void* memory = nullptr;
  for (const std::size_t bytes : {std::size_t{1001}, SIZE_MAX}) {
    EXPECT_EQ(w.arena.take(bytes, true, memory), Status::no_memory);
    EXPECT_EQ(w.arena.take(bytes, false, memory), Status::no_memory);
  }
  EXPECT_EQ(w.reclaimed, 0);
}

TEST(Arena, AWaiterWakesOnceThereIsEnough) {
  World w(1000);
  void *first = w.take(500), *second = w.take(500);
  Waiter waiter(w, 700);
  EXPECT_TRUE(waiter.still_waits());
  w.arena.give_back(first, 500);
  EXPECT_TRUE(waiter.still_waits()) << "there is not enough yet";
  w.arena.give_back(second, 500);
  void* memory = waiter.join();
  ASSERT_TRUE(memory);
  EXPECT_EQ(w.arena.taken(), 700u);
  w.arena.give_back(memory, 700);
}

TEST(Arena, ReclaimsBeforeItWaitsAndNoMoreThanItNeeds) {
  World w(1000);
  for (int i = 0; i < 5; ++i) w.keep(w.take(200), 200);
  void* memory = w.take(300, true);  // would wait for ever
  ASSERT_TRUE(memory);
  EXPECT_EQ(w.reclaimed, 2);
  void* more = w.take(100, false);
  EXPECT_TRUE(more);
  EXPECT_EQ(w.reclaimed, 2) << "there was room";
  w.arena.give_back(memory, 300);
  w.arena.give_back(more, 100);
}

TEST(Arena, WhoMayNotWaitReclaimsToo) {
  World w(1000);
  w.keep(w.take(900), 900);
  void* memory = w.take(500, false);
  ASSERT_TRUE(memory);
  EXPECT_EQ(w.take(600, false), nullptr);
  w.arena.give_back(memory, 500);
}

TEST(Arena, AWaiterTriesAgainWhenSomethingCanBeReclaimed) {
  World w(1000);
  void* busy = w.take(1000);
  Waiter waiter(w, 10);
  EXPECT_TRUE(waiter.still_waits());
  w.keep(busy, 1000);
  void* memory = waiter.join();
  ASSERT_TRUE(memory);
  EXPECT_EQ(w.reclaimed, 1);
  w.arena.give_back(memory, 10);
}

TEST(Arena, ReclaimsWhileTheDeviceHasLessThanItSaid) {
  World w(1000);
  for (int i = 0; i < 4; ++i) w.keep(w.take(100), 100);
  w.heap.refusals = 3;
  void* memory = w.take(200, false);
  ASSERT_TRUE(memory);
  EXPECT_EQ(w.reclaimed, 3);
  EXPECT_EQ(w.arena.taken(), 300u);
  w.arena.give_back(memory, 200);
}

TEST(Arena, AnAllocationThatFailsForGoodLeavesItsRoomToOthers) {
  for (const Status refusal : {Status::no_memory, Status::lost}) {
    World w(1000);
    w.keep(w.take(100), 100);
    w.heap.refusal = refusal;
    w.heap.refusals = 2;
    void* memory = nullptr;
    EXPECT_EQ(w.arena.take(500, true, memory), refusal);
    // What is lost is not brought back by giving something up.
    EXPECT_EQ(w.reclaimed, refusal == Status::lost ? 0 : 1);
    EXPECT_EQ(w.arena.taken(), refusal == Status::lost ? 100u : 0u);
    w.heap.refusals = 0;
    memory = w.take(1000, true);
    ASSERT_TRUE(memory);
    w.arena.give_back(memory, 1000);
  }
}

TEST(Arena, RoomThatTheDeviceRefusedWakesWaiters) {
  World w(1000);
  std::optional<Waiter> waiter;
  w.heap.refusals = 1;
  w.heap.while_refusing = [&] {  // the first call has counted its bytes in, so there is no room for the second
    waiter.emplace(w, 600);
    EXPECT_TRUE(waiter->still_waits());
  };
  EXPECT_EQ(w.take(600), nullptr);
  void* memory = waiter->join();
  ASSERT_TRUE(memory);
  w.arena.give_back(memory, 600);
}

TEST(Arena, ManyThreadsNeitherOverdrawNorHang) {
  constexpr int threads = 8, rounds = 2000;
  constexpr std::size_t limit = 10000;
  World w(limit);
  std::atomic<int> refused{0}, given{0};
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      Random random(t);
      for (int round = 0; round < rounds; ++round) {
        const std::size_t bytes = 1 + random.below(limit);
        const bool wait = random.coin();
        if (random.below(50) == 0) w.heap.refusals = 1;
        void* memory = w.take(bytes, wait);
        ++(memory ? given : refused);
        if (!memory) continue;
        if (random.coin()) std::this_thread::yield();
        random.below(3) == 0 ? w.keep(memory, bytes) : w.arena.give_back(memory, bytes);
      }
    });
  for (std::thread& thread : team) thread.join();
  EXPECT_LE(w.heap.most, limit);
  EXPECT_GT(given, threads * rounds / 2);
  EXPECT_GT(refused, 0);
  EXPECT_GT(w.reclaimed, 100);
}

}  // namespace
}  // namespace blaslift::arena_tests
