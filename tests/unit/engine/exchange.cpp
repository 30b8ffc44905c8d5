// What several devices bring of the same memory: each has all of it, whoever sent what, and nobody waits for ever.
#include "kernels/engine/exchange.hpp"
#include "kernels/engine/lane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "kernels/host/host.hpp"

namespace blaslift::exchange_tests {
namespace {

constexpr After at_once{nullptr, 0};
constexpr std::size_t much = std::size_t{1} << 30;
const UnderlyingBlas nothing{[](const void*, const Operation&) {}, nullptr};

/// Backends live as long as the process, and so do their fault plans: kept where a leak checker finds them.
Backend& new_backend(FaultPlan* faults = nullptr) {
  static auto& all = *new std::deque<Backend*>;
  return *all.emplace_back(make_host_backend({.memory_limit = std::size_t{1} << 20}, faults));
}
FaultPlan& new_faults(long at) {
  static auto& all = *new std::deque<FaultPlan>;
  FaultPlan& faults = all.emplace_back();
  faults.at = at;
  return faults;
}

constexpr index rows = 300, cols = 400, ld = 311;

/// The program's: no two elements are the same.
const std::vector<double>& matrix() {
  static const std::vector<double> all = [] {
    std::vector<double> x(static_cast<std::size_t>(ld * cols));
    std::iota(x.begin(), x.end(), 1.0);
    return x;
  }();
  return all;
}

void until_started(Lane& lane, Ticket upload) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!lane.started(upload)) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "an upload never begins";
    std::this_thread::yield();
  }
}

/// A call on a device that brings blocks of columns of the matrix.
class Call {
 public:
  Call(Backend& backend, std::uint64_t deal) : backend_(backend), there_(matrix().size(), -1.0) {
    Status status = Status::lost;
    lane_ = backend.acquire(nothing, much, status);
    if (lane_ && deal) lane_->join(deal);
  }
  ~Call() {
    if (lane_) backend_.release(lane_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  explicit operator bool() const { return lane_ != nullptr; }
  Lane& lane() { return *lane_; }

  Status bring(index first, index count, bool stays = true, After after = at_once) {
    Transfer t{&there_[static_cast<std::size_t>(first * rows)],
               rows,
               const_cast<double*>(&matrix()[static_cast<std::size_t>(first * ld)]),
               ld,
               rows,
               count,
               sizeof(double)};
    t.stays = stays;
    return lane_->upload(t, after);
  }
  Status bring_all(index each = 100) {
    for (index j = 0; j < cols; j += each)
      if (const Status status = bring(j, std::min(each, cols - j)); status != Status::done) return status;
    return Status::done;
  }
  /// Until all of so many have been started.
  void await(Ticket uploads) {
    for (Ticket t = 0; t < uploads; ++t) until_started(*lane_, t);
  }
  bool has_all() const {
    for (index j = 0; j < cols; ++j)
      if (!std::equal(&matrix()[static_cast<std::size_t>(j * ld)], &matrix()[static_cast<std::size_t>(j * ld + rows)],
                      &there_[static_cast<std::size_t>(j * rows)]))
        return false;
    return true;
  }

 private:
  Backend& backend_;
  Lane* lane_ = nullptr;
  std::vector<double> there_;
};

constexpr std::uint64_t all_bytes = static_cast<std::uint64_t>(rows * cols) * sizeof(double);

TEST(Exchange, WhatOneDeviceHasIsCopiedFromThere) {
  Call first(new_backend(), 1), second(new_backend(), 1);
  EXPECT_EQ(first.bring_all(), Status::done);
  first.await(4);
  EXPECT_EQ(second.bring_all(), Status::done);
  EXPECT_EQ(second.lane().drain(), Status::done);
  EXPECT_EQ(first.lane().drain(), Status::done);
  EXPECT_TRUE(first.has_all());
  EXPECT_TRUE(second.has_all());
  EXPECT_EQ(first.lane().exchanged_bytes(), 0u);
  EXPECT_EQ(second.lane().exchanged_bytes(), all_bytes);
}

TEST(Exchange, OnlyWhatStaysOfTheSameDealAndWaitsForNothing) {
  Call first(new_backend(), 2), another_deal(new_backend(), 3), changes(new_backend(), 2), waits(new_backend(), 2),
      alone(new_backend(), 0);
  EXPECT_EQ(first.bring_all(), Status::done);
  first.await(4);
  EXPECT_EQ(another_deal.bring_all(), Status::done);
  EXPECT_EQ(alone.bring_all(), Status::done);
  EXPECT_EQ(changes.bring(0, cols, false), Status::done);
  EXPECT_EQ(waits.bring(0, 100, false), Status::done);
  const Ticket before = 0;
  for (index j = 0; j < cols; j += 100) EXPECT_EQ(waits.bring(j, 100, true, {&before, 1}), Status::done);
  for (Call* call : {&another_deal, &alone, &changes, &waits, &first}) {
    EXPECT_EQ(call->lane().drain(), Status::done);
    EXPECT_TRUE(call->has_all());
    EXPECT_EQ(call->lane().exchanged_bytes(), 0u);
  }
}

TEST(Exchange, NobodyCopiesFromWhoHasLeft) {
  Backend &here = new_backend(), &there = new_backend();
  for (int i = 0; i < 3; ++i) {
    Call first(here, 4);
    EXPECT_EQ(first.bring_all(), Status::done);
    EXPECT_EQ(first.lane().drain(), Status::done);
    Call second(there, 4);
    EXPECT_EQ(second.bring_all(), Status::done);
    EXPECT_EQ(second.lane().drain(), Status::done);
    EXPECT_TRUE(second.has_all());
    EXPECT_EQ(second.lane().exchanged_bytes(), 0u);
  }
}

/// A device whose copies of other devices' memory take until they are let go.
class Slow final : public EngineLane {
 public:
  explicit Slow(Engine& engine) : EngineLane(engine, much) {}

  static inline std::atomic<bool> let_go{false};
  int noted() const { return static_cast<int>(marks_.size()); }
  /// The number of the mark that was last waited for; -1: none was.
  int settled() const { return settled_; }

 private:
  Status wait(Queue, Ticket) override { return Status::done; }
  Status mark(Queue, Ticket) override { return Status::done; }
  Status compute(Queue, const Operation&) override { return Status::done; }
  Status send(Queue, Slot&, const Transfer&) override { return Status::done; }
  Status receive(Queue, Slot&, const Transfer&) override { return Status::done; }
  Status settle(Slot&) override { return Status::done; }
  Status idle(Queue) override { return Status::done; }
  bool has_peers() const override { return true; }
  Status note_there(Queue, void*& mark) override {
    mark = &marks_.emplace_back(noted());
    return Status::done;
  }
  Status fetch(Queue, const OnDevice&, const Transfer&) override { return Status::done; }
  Status settle_there(void* mark) override {
    while (!let_go) std::this_thread::yield();
    settled_ = *static_cast<int*>(mark);
    return Status::done;
  }

  std::deque<int> marks_;
  int settled_ = -1;
};

TEST(Exchange, WhoIsCopiedFromStaysUntilThatHasEndedOnTheDevice) {
  const auto new_engine = []() -> Engine& {
    static auto& all = *new std::deque<Engine*>;
    return *all.emplace_back(new Engine({std::size_t{1} << 14, std::size_t{1} << 14}, {4, 1},
                                        {nullptr, [](void*) { return true; },
                                         [](void*, Slot* slots, int count, std::size_t bytes) {
                                           static auto& memory = *new std::deque<std::vector<char>>;
                                           static std::mutex mutex;
                                           const std::lock_guard lock(mutex);
                                           for (int i = 0; i < count; ++i)
                                             slots[i].memory = memory.emplace_back(bytes).data();
                                           return true;
                                         },
                                         [](void*) {}}));
  };
  static Engine &here = new_engine(), &there = new_engine();
  static auto& lanes = *new std::deque<Slow>;  // each at an address of its own
  std::vector<double> memory(matrix().size());
  Transfer t{memory.data(), rows, const_cast<double*>(matrix().data()), ld, rows, cols, sizeof(double)};
  t.stays = true;
  Slow::let_go = false;
  for (int round = 0; round < 20; ++round) {
    Slow &first = lanes.emplace_back(here), &second = lanes.emplace_back(there);
    for (Slow* lane : {&first, &second}) {
      lane->join(5);
      EXPECT_EQ(lane->upload(t, at_once), Status::done);
      until_started(*lane, 0);
    }
    const bool reader_first = round % 4 == 3;
    if (reader_first) {
      EXPECT_EQ(second.drain(), Status::done);
    }
    std::atomic<bool> left{false};
    std::thread leaving([&] {
      EXPECT_EQ(first.drain(), Status::done);
      left = true;
    });
    if (round == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_FALSE(left);
      Slow::let_go = true;
    }
    leaving.join();
    EXPECT_GT(second.noted(), 10);
    // The marks of one that has drained are its next call's.
    EXPECT_EQ(first.settled(), reader_first ? -1 : second.noted() - 1) << "not the last copy was waited for";
    if (!reader_first) {
      EXPECT_EQ(second.drain(), Status::done);
    }
    EXPECT_EQ(second.exchanged_bytes(), all_bytes);
  }
}

TEST(Exchange, TwoUploadsOfOnePieceByTheSameLaneAreNoExchange) {
  Call twice(new_backend(), 6);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(twice.bring_all(), Status::done);
  EXPECT_EQ(twice.lane().drain(), Status::done);
  EXPECT_TRUE(twice.has_all());
  EXPECT_EQ(twice.lane().exchanged_bytes(), 0u);
}

TEST(Exchange, SideBySideInAnyOrder) {
  Backend* const backends[] = {&new_backend(), &new_backend(), &new_backend(), &new_backend()};
  std::uint64_t exchanged = 0;
  for (int round = 0; round < 30; ++round) {
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; ++i)
      threads.emplace_back([&, i] {
        std::mt19937 random(i + static_cast<unsigned>(round));
        Call call(*backends[i % 4], 100 + i / 4);  // two deals at once
        std::vector<index> blocks{0, 50, 100, 150, 200, 250, 300, 350};
        if (round % 2) std::shuffle(blocks.begin(), blocks.end(), random);
        for (const index j : blocks) EXPECT_EQ(call.bring(j, 50), Status::done);
        EXPECT_EQ(call.lane().drain(), Status::done);
        EXPECT_TRUE(call.has_all());
        sum += call.lane().exchanged_bytes();
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(sum, 6 * all_bytes);  // of each deal somebody has sent each piece
    exchanged += sum;
  }
  EXPECT_GT(exchanged, 0u);
}

TEST(Exchange, ACopyThatCannotBeBegunIsSent) {
  Backend& sound = new_backend();
  int instead = 0;
  for (long at = 2; at < 12; ++at) {  // the first is acquiring
    Call first(sound, 8), second(new_backend(&new_faults(at)), 8);
    EXPECT_EQ(first.bring_all(), Status::done);
    first.await(4);
    const Status asked = second.bring_all(), drained = second.lane().drain();
    EXPECT_EQ(first.lane().drain(), Status::done);
    const std::uint64_t copied = second.lane().exchanged_bytes();
    if (asked != Status::done || drained != Status::done) continue;  // a mark has failed
    EXPECT_TRUE(second.has_all()) << at;
    EXPECT_GT(copied, 0u);
    instead += copied < all_bytes;
  }
  EXPECT_GT(instead, 3);
}

TEST(Exchange, WhateverFailsOnOneTheOthersHaveAll) {
  int failed = 0;
  Backend& sound = new_backend();
  for (long at = 1; at < 60; at += 2) {
    Backend& faulty = new_backend(&new_faults(at));
    std::thread fails([&] {
      Call call(faulty, 7);
      if (!call) return void(++failed);
      const Status asked = call.bring_all(), drained = call.lane().drain();
      if (asked != Status::done || drained != Status::done)
        ++failed;
      else
        EXPECT_TRUE(call.has_all());
    });
    Call call(sound, 7);
    EXPECT_EQ(call.bring_all(), Status::done);
    EXPECT_EQ(call.lane().drain(), Status::done);
    EXPECT_TRUE(call.has_all()) << at;
    fails.join();
  }
  EXPECT_GT(failed, 4);
}

}  // namespace
}  // namespace blaslift::exchange_tests
