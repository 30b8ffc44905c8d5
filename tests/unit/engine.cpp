// The engine's own life: when it says that nothing moves any more, and what becomes of transfers without slots.
#include "kernels/transfer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/copy.hpp"

namespace blaslift {
namespace {

/// A device whose queues have run as soon as something is started in them.
class Immediate final : public EngineLane {
 public:
  using EngineLane::EngineLane;

  /// In the order in which they were sent; only once everything has been.
  std::vector<std::size_t> sent;

 private:
  Status wait(Queue, Ticket) override { return Status::done; }
  Status mark(Queue, Ticket) override { return Status::done; }
  Status multiply(Queue, const Gemm&) override { return Status::done; }
  Status sum(Queue, const Combination&) override { return Status::done; }
  Status measure(Queue, const Survey&) override { return Status::done; }
  Status multiply_vector(Queue, const Symv&) override { return Status::done; }
  Status send(Slot& slot, const Transfer& p) override {
    sent.push_back(static_cast<std::size_t>(p.rows * p.cols) * p.element);
    p.direct ? copy_block(p.device, p.ldd, p.host, p.ldh, p.rows, p.cols, p.element)
             : copy_block(p.device, p.ldd, slot.memory, p.rows, p.rows, p.cols, p.element);
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
  const int most = Engine::Sizes{}.slots_in + 2 * Engine::slots_out;
  for (int i = 0; i < 20; ++i) ASSERT_EQ(move(engine), Status::done);
  EXPECT_LE(seen.slots.load(), most);
}

/// A block of numbers that all differ, uploaded and compared with what came; what lies between the columns stays.
void upload_and_compare(Engine& engine, index rows, index cols, index ldh, index ldd, int times, bool direct = false) {
  SCOPED_TRACE(testing::Message() << rows << " x " << cols << ", ld " << ldh << " to " << ldd << ", direct " << direct);
  const auto size = [cols](index ld) { return static_cast<std::size_t>(ld * cols); };
  std::vector<float> from(size(ldh));
  std::iota(from.begin(), from.end(), 1.0f);
  Immediate lane(engine, much);
  for (int i = 0; i < times; ++i) {
    std::vector<float> device(size(ldd), -1);
    ASSERT_EQ(lane.upload({device.data(), ldd, from.data(), ldh, rows, cols, sizeof(float), direct}, {nullptr, 0}),
              Status::done);
    ASSERT_EQ(lane.drain(), Status::done);
    std::vector<float> expected(device.size(), -1);
    copy_block(expected.data(), ldd, from.data(), ldh, rows, cols, sizeof(float));
    ASSERT_EQ(device, expected);
  }
}

TEST(Engine, BringsEveryByteWhoeverFillsWhichShare) {
  for (const int slots_in : {1, 2, Engine::most_slots_in}) {
    Seen& seen = *new Seen;
    Engine& engine =
        *new Engine({.in = slot_bytes, .out = slot_bytes, .slots_in = slots_in, .share = 1000, .first = 3000}, {4, 1},
                    seen.hooks());
    const index slot = slot_bytes / sizeof(float);
    for (const index rows : {index{1}, index{7}, slot / 3, slot, slot + 1, 5 * slot / 2})
      for (const index cols : {1, 5, 64}) {
        upload_and_compare(engine, rows, cols, rows, rows, 5);
        upload_and_compare(engine, rows, cols, rows + 3, rows + 1, 5);
      }
    EXPECT_LE(seen.slots.load(), slots_in);
  }
}

TEST(Engine, BeginsWithSmallPieces) {
  Seen& seen = *new Seen;
  constexpr std::size_t kib = std::size_t{1} << 10;
  // By one thread, which sends in order.
  Engine& engine = *new Engine({.in = 64 * kib, .out = 64 * kib, .first = 8 * kib}, {1, 1}, seen.hooks());
  Immediate lane(engine, much);
  std::vector<char> from(256 * kib), device(from.size());
  ASSERT_EQ(lane.upload({device.data(), 1, from.data(), 1, 1, static_cast<index>(from.size()), 1}, {nullptr, 0}),
            Status::done);
  ASSERT_EQ(lane.drain(), Status::done);
  EXPECT_EQ(lane.sent, (std::vector<std::size_t>{8 * kib, 16 * kib, 32 * kib, 64 * kib, 64 * kib, 64 * kib, 8 * kib}));
}

TEST(Engine, CopiesDirectlyWithoutSlots) {
  Seen& seen = *new Seen;
  seen.no_slots = true;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {2, 1}, seen.hooks());
  upload_and_compare(engine, 1000, 100, 1100, 1000, 3, true);
}

TEST(Engine, ManyLanesShareTheRing) {
  Seen& seen = *new Seen;
  Engine& engine =
      *new Engine({.in = slot_bytes, .out = slot_bytes, .slots_in = 2, .share = slot_bytes / 8}, {4, 1}, seen.hooks());
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i)
    callers.emplace_back([&engine, i] { upload_and_compare(engine, 300 + i, 500, 301 + i, 300 + i, 20, i % 3 == 0); });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace blaslift
