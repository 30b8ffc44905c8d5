// The engine's own life: when it says that nothing moves any more, and what becomes of transfers without slots.
#include "kernels/transfer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/copy.hpp"

namespace blaslift {
namespace {

/// A device whose queues have run as soon as something is started in them.
class Immediate final : public EngineLane {
 public:
  using EngineLane::EngineLane;

 private:
  Status wait(Queue, Ticket) override { return Status::done; }
  Status mark(Queue, Ticket) override { return Status::done; }
  Status multiply(Queue, const Gemm&) override { return Status::done; }
  Status sum(Queue, const Combination&) override { return Status::done; }
  Status measure(Queue, const Survey&) override { return Status::done; }
  Status send(Slot& slot, const Transfer& p) override {
    copy_block(p.device, p.ldd, slot.memory, p.rows, p.rows, p.cols, p.element);
    return Status::done;
  }
  Status receive(Slot& slot, const Transfer& p) override {
    copy_block(slot.memory, p.rows, p.device, p.ldd, p.rows, p.cols, p.element);
    return Status::done;
  }
  Status settle(Slot&) override { return Status::done; }
  Status idle(Queue) override { return Status::done; }
};

constexpr std::size_t slot_bytes = std::size_t{64} << 10, much = std::size_t{1} << 30;

/// What the hooks of an engine see; lives as long as its threads, which is for ever.
struct Seen {
  std::atomic<int> idle{0}, slots{0};
  std::atomic<bool> no_slots{false};

  Engine::Hooks hooks() {
    return {this, [](void*) { return true; },
            [](void* self, Slot& slot, std::size_t bytes) {
              auto* seen = static_cast<Seen*>(self);
              if (seen->no_slots.load()) return false;
              seen->slots.fetch_add(1);
              return (slot.memory = std::malloc(bytes)) != nullptr;
            },
            [](void* self) { static_cast<Seen*>(self)->idle.fetch_add(1); }};
  }
};

/// Moves 1 MiB there and back through the engine's threads.
Status move(Engine& engine) {
  const index rows = 1 << 10, cols = 128;
  std::vector<double> from(static_cast<std::size_t>(rows * cols), 1.5), device(from.size()), to(from.size());
  Immediate lane(engine, much);
  Status status = lane.upload({device.data(), rows, from.data(), rows, rows, cols, 8}, {nullptr, 0});
  const Ticket uploaded = 0;
  std::vector<std::atomic<bool>> landed(static_cast<std::size_t>(cols));
  for (index j = 0; j < cols && status == Status::done; ++j)
    status = lane.download(
        {&device[static_cast<std::size_t>(j * rows)], rows, &to[static_cast<std::size_t>(j * rows)], rows, rows, 1, 8},
        {&uploaded, 1}, landed[static_cast<std::size_t>(j)]);
  const Status drained = lane.drain();
  if (drained == Status::done && status == Status::done) {
    EXPECT_EQ(to, from);
  }
  return drained;
}

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

TEST(Engine, SaysOnceThatNothingMovesAnyMore) {
  Seen& seen = *new Seen;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {2, 2}, seen.hooks(), 0.05);
  for (int round = 1; round <= 3; ++round) {
    ASSERT_EQ(move(engine), Status::done);
    ASSERT_TRUE(comes_true([&] { return seen.idle.load() == round; })) << seen.idle.load();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ASSERT_EQ(seen.idle.load(), round);  // not again while nothing moves
  }
}

TEST(Engine, IsNotIdleWhileSomethingMovesNowAndThen) {
  Seen& seen = *new Seen;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {1, 1}, seen.hooks(), 0.5);
  for (int i = 0; i < 15; ++i) {
    ASSERT_EQ(move(engine), Status::done);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ASSERT_EQ(seen.idle.load(), 0);
  }
}

TEST(Engine, FailsWhatFindsNoSlotsAndGoesOn) {
  Seen& seen = *new Seen;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {2, 2}, seen.hooks());
  seen.no_slots = true;
  EXPECT_EQ(move(engine), Status::no_memory);
  seen.no_slots = false;
  EXPECT_EQ(move(engine), Status::done);
  const int most = 2 * (Engine::slots_in + Engine::slots_out);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(move(engine), Status::done);
  EXPECT_LE(seen.slots.load(), most);
}

}  // namespace
}  // namespace blaslift
