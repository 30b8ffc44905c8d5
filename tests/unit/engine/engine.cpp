// The engine's own life: when it says that nothing moves any more, and what becomes of transfers without slots.
#include "kernels/engine/lane.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/copy.hpp"

namespace blaslift::engine_tests {
namespace {

/// A device whose queues have run as soon as something is started in them.
class Immediate : public EngineLane {
 public:
  using EngineLane::EngineLane;

  /// In the order in which they were sent; only once everything has been.
  std::vector<std::size_t> sent;

 protected:
  Status wait(Queue, Ticket) override { return Status::done; }
  Status mark(Queue, Ticket) override { return Status::done; }
  Status compute(Queue, const Operation&) override { return Status::done; }
  Status send(Queue, Slot& slot, const Transfer& p) override {
    sent.push_back(static_cast<std::size_t>(p.rows * p.cols) * p.element);
    p.direct ? copy_block(p.device, p.ldd, p.host, p.ldh, p.rows, p.cols, p.element)
             : copy_block(p.device, p.ldd, slot.memory, p.rows, p.rows, p.cols, p.element);
    return Status::done;
  }
  Status receive(Queue, Slot& slot, const Transfer& p) override {
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
            [](void* self, Slot* made, int count, std::size_t bytes) {
              auto* seen = static_cast<Seen*>(self);
              if (seen->no_slots.load()) return false;
              seen->slots.fetch_add(count);
              auto* memory = static_cast<char*>(std::malloc(static_cast<std::size_t>(count) * bytes));
              for (int i = 0; memory && i < count; ++i) made[i].memory = memory + static_cast<std::size_t>(i) * bytes;
              return memory != nullptr;
            },
            [](void* self) { static_cast<Seen*>(self)->idle.fetch_add(1); }};
  }
};

/// At an address that no other lane ever has: the thread sanitizer tells mutexes apart by theirs.
Immediate& new_lane(Engine& engine) {
  static std::mutex mutex;
  static std::deque<Immediate> lanes;
  const std::lock_guard lock(mutex);
  return lanes.emplace_back(engine, much);
}

/// Moves 1 MiB there and back through the engine's threads.
Status move(Engine& engine) {
  const index rows = 1 << 10, cols = 128;
  std::vector<double> from(static_cast<std::size_t>(rows * cols), 1.5), device(from.size()), to(from.size());
  Immediate& lane = new_lane(engine);
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
  for (int round = 0; round < 3; ++round) {
    const int before = seen.idle.load();
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(move(engine), Status::done);
    const bool swift = std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(40);
    ASSERT_TRUE(comes_true([&] { return seen.idle.load() > before; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const int once = seen.idle.load();
    if (swift) {  // else a busy machine may have kept it waiting in the middle
      ASSERT_EQ(once, before + 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ASSERT_EQ(seen.idle.load(), once);  // not again while nothing moves
  }
}

TEST(Engine, IsNotIdleWhileSomethingMovesNowAndThen) {
  Seen& seen = *new Seen;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {1, 1}, seen.hooks(), 0.5);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  auto last = now();
  ASSERT_EQ(move(engine), Status::done);
  int swift = 0;
  for (int i = 0; i < 100 && swift < 10; ++i) {
    const int before = seen.idle.load();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto begin = now();
    ASSERT_EQ(move(engine), Status::done);
    const bool in_time = now() - last < std::chrono::milliseconds(400);  // a busy machine may have kept it waiting
    last = begin;
    if (!in_time) continue;
    ++swift;
    ASSERT_EQ(seen.idle.load(), before);
  }
  EXPECT_EQ(swift, 10);
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

TEST(Engine, InACrowdNoThreadButTheCallersMovesAnything) {
  static Seen& seen = *new Seen;
  // Without threads of its own nothing of a large transfer would ever move, and nobody else knows it.
  static Engine& engine = *new Engine({slot_bytes, slot_bytes}, {0, 0}, seen.hooks());
  const index rows = 1 << 10, cols = 1 << 10;
  std::vector<double> from(static_cast<std::size_t>(rows * cols)), device(from.size()), to(from.size());
  std::iota(from.begin(), from.end(), 1.0);
  constexpr int crowd = 16;
  ASSERT_TRUE(caller_moves(2 * 8 * from.size(), crowd));
  Immediate lane(engine, 2 * 8 * from.size(), crowd);
  for (int round = 0; round < 3; ++round) {
    std::fill(to.begin(), to.end(), 0.0);
    ASSERT_EQ(lane.upload({device.data(), rows, from.data(), rows, rows, cols, 8}, {nullptr, 0}), Status::done);
    const Ticket uploaded = 0;
    std::vector<std::atomic<bool>> landed(static_cast<std::size_t>(cols));
    for (std::size_t j = 0; j < landed.size(); ++j) {
      const std::size_t at = j * static_cast<std::size_t>(rows);
      ASSERT_EQ(lane.download({&device[at], rows, &to[at], rows, rows, 1, 8}, {&uploaded, 1}, landed[j]), Status::done);
      if (j == 7) {
        ASSERT_EQ(lane.await(landed[j]), Status::done);
        EXPECT_TRUE(landed[j]);
      }
    }
    ASSERT_EQ(lane.drain(), Status::done);
    EXPECT_TRUE(std::all_of(landed.begin(), landed.end(), [](const auto& x) { return x.load(); }));
    EXPECT_TRUE(to == from);
  }
  EXPECT_LE(seen.slots.load(), 2) << "two for each lane, which go back when it is drained";
}

TEST(Engine, CallersMoveWhatIsLittleAndInACrowdWhatIsNotMuch) {
  EXPECT_TRUE(caller_moves(little_moves, 1));
  EXPECT_FALSE(caller_moves(little_moves + 1, 1));
  EXPECT_FALSE(caller_moves(little_moves + 1, 3));
  EXPECT_TRUE(caller_moves(little_moves + 1, 4));
  EXPECT_FALSE(caller_moves(much, 1000));
}

/// A block of numbers that all differ, uploaded and compared with what came; what lies between the columns stays.
void upload_and_compare(Engine& engine, index rows, index cols, index ldh, index ldd, int times, bool direct = false) {
  SCOPED_TRACE(testing::Message() << rows << " x " << cols << ", ld " << ldh << " to " << ldd << ", direct " << direct);
  const auto size = [cols](index ld) { return static_cast<std::size_t>(ld * cols); };
  std::vector<float> from(size(ldh));
  std::iota(from.begin(), from.end(), 1.0f);
  Immediate& lane = new_lane(engine);
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
  Immediate& lane = new_lane(engine);
  std::vector<char> from(256 * kib), device(from.size());
  ASSERT_EQ(lane.upload({device.data(), 1, from.data(), 1, 1, static_cast<index>(from.size()), 1}, {nullptr, 0}),
            Status::done);
  ASSERT_EQ(lane.drain(), Status::done);
  EXPECT_EQ(lane.sent, (std::vector<std::size_t>{8 * kib, 16 * kib, 32 * kib, 64 * kib, 64 * kib, 64 * kib, 8 * kib}));
}

TEST(Engine, VeryLargeTransfersPassThroughNeighbouringSlotsAtOnce) {
  constexpr std::size_t slot = 4096;
  const auto sent = [](std::size_t bytes, int slots_in) {
    Engine& engine = *new Engine({.in = slot, .out = slot, .slots_in = slots_in, .share = 1000, .first = slot}, {1, 1},
                                 (new Seen)->hooks());
    Immediate& lane = new_lane(engine);
    std::vector<char> from(bytes), device(bytes);
    std::iota(from.begin(), from.end(), char{0});
    EXPECT_EQ(lane.upload({device.data(), 1, from.data(), 1, 1, static_cast<index>(bytes), 1}, {nullptr, 0}),
              Status::done);
    EXPECT_EQ(lane.drain(), Status::done);
    EXPECT_EQ(device, from);
    return lane.sent;
  };
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sent(31 * slot, 4), Sizes(31, slot));
  Sizes large(17, 2 * slot);
  large.front() = slot;  // the first is small
  EXPECT_EQ(sent(33 * slot, 4), large);
  EXPECT_EQ(sent(33 * slot, 1), Sizes(33, slot)) << "halves, where there is no neighbour";
  const std::size_t some = sent(33 * slot, 3).size();  // the third has none
  EXPECT_TRUE(17 < some && some < 33) << some;
}

TEST(Engine, CopiesDirectlyWithoutSlots) {
  Seen& seen = *new Seen;
  seen.no_slots = true;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {2, 1}, seen.hooks());
  upload_and_compare(engine, 1000, 100, 1100, 1000, 3, true);
}

TEST(Engine, ManyLanesShareTheSlots) {
  Seen& seen = *new Seen;
  Engine& engine =
      *new Engine({.in = slot_bytes, .out = slot_bytes, .slots_in = 2, .share = slot_bytes / 8}, {4, 1}, seen.hooks());
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i)
    callers.emplace_back([&engine, i] { upload_and_compare(engine, 300 + i, 500, 301 + i, 300 + i, 20, i % 3 == 0); });
  for (std::thread& caller : callers) caller.join();
}

/// Sends nothing before it is told to, and notes which threads receive.
class Gated final : public Immediate {
 public:
  using Immediate::Immediate;
  std::atomic<bool> open{false};
  std::set<std::thread::id> receivers;  // one receives at a time

 private:
  Status send(Queue queue, Slot& slot, const Transfer& p) override {
    open.wait(false);
    return Immediate::send(queue, slot, p);
  }
  Status receive(Queue queue, Slot& slot, const Transfer& p) override {
    receivers.insert(std::this_thread::get_id());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Immediate::receive(queue, slot, p);
  }
};

/// Likewise.
Gated& gated_lane(Engine& engine) {
  static std::deque<Gated> lanes;
  return lanes.emplace_back(engine, much);
}

TEST(Engine, SpareThreadsRestWhileSomethingIsOnTheWayIn) {
  Seen& seen = *new Seen;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {.in = 2, .out = 3, .spare = 2}, seen.hooks());
  constexpr std::size_t pieces = 12;
  const index rows = 1000;
  std::vector<double> from(rows, 1.0), device(rows), there(rows, 2.0), to(pieces * rows);
  std::size_t most = 0;
  for (int round = 0; round < 20; ++round) {
    Gated& lane = gated_lane(engine);
    ASSERT_EQ(lane.upload({device.data(), rows, from.data(), rows, rows, 1, 8}, {nullptr, 0}), Status::done);
    const auto receive = [&] {
      lane.receivers.clear();
      std::vector<std::atomic<bool>> landed(pieces);
      for (std::size_t i = 0; i < pieces; ++i)
        EXPECT_EQ(lane.download({there.data(), rows, &to[i * rows], rows, rows, 1, 8}, {nullptr, 0}, landed[i]),
                  Status::done);
      for (const std::atomic<bool>& x : landed) EXPECT_EQ(lane.await(x), Status::done);
      return lane.receivers.size();
    };
    EXPECT_EQ(receive(), 1u);
    lane.open = true;
    lane.open.notify_all();
    most = std::max(most, receive());
    ASSERT_EQ(lane.drain(), Status::done);
  }
  EXPECT_GT(most, 1u) << "spare threads never help";
}

/// Downloads, whose old contents are kept in columns that are farther apart.
class Overwriting {
 public:
  static constexpr index rows = 700, cols = 60, ldh = 720, ldk = 710;

  /// @return the first failure
  Status ask(EngineLane& lane, double old, const std::vector<double>& result) {
    to_.assign(static_cast<std::size_t>(ldh * cols), old);
    kept_.assign(static_cast<std::size_t>(ldk * cols), -1.0);
    landed_ = std::vector<std::atomic<bool>>(cols);
    for (index j = 0; j < cols; ++j) {
      const Transfer x{.device = const_cast<double*>(&result[static_cast<std::size_t>(j * rows)]),
                       .ldd = rows,
                       .host = &to_[static_cast<std::size_t>(j * ldh)],
                       .ldh = ldh,
                       .rows = rows,
                       .cols = 1,
                       .element = sizeof(double),
                       .keep = &kept_[static_cast<std::size_t>(j * ldk)],
                       .ldk = ldk};
      const Status status = lane.download(x, {nullptr, 0}, landed_[static_cast<std::size_t>(j)]);
      if (status != Status::done) return status;
    }
    return Status::done;
  }
  void expect(double old, const std::vector<double>& result) const {
    for (index j = 0; j < cols; ++j) {
      for (index i = 0; i < ldh; ++i)
        ASSERT_EQ(to_[static_cast<std::size_t>(i + j * ldh)],
                  i < rows ? result[static_cast<std::size_t>(i + j * rows)] : old);
      for (index i = 0; i < ldk; ++i) ASSERT_EQ(kept_[static_cast<std::size_t>(i + j * ldk)], i < rows ? old : -1.0);
    }
  }

 private:
  std::vector<double> to_, kept_;
  std::vector<std::atomic<bool>> landed_;
};

TEST(Engine, KeepsWhatDownloadsOverwriteWhateverElseMoves) {
  Seen& seen = *new Seen;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {.in = 3, .out = 4, .spare = 2}, seen.hooks());
  std::vector<double> result(static_cast<std::size_t>(Overwriting::rows * Overwriting::cols));
  std::iota(result.begin(), result.end(), 1.0);
  std::atomic<bool> stop{false};
  Immediate& lane = new_lane(engine);
  // So that spare threads have reason to rest and to come back.
  Immediate& second = new_lane(engine);
  std::thread other([&] {
    std::vector<double> from(2000, 1.0), device(2000);
    while (!stop.load()) {
      EXPECT_EQ(second.upload({device.data(), 2000, from.data(), 2000, 2000, 1, 8}, {nullptr, 0}), Status::done);
      EXPECT_EQ(second.drain(), Status::done);
    }
  });
  for (int round = 0; round < 200 && !testing::Test::HasFailure(); ++round) {
    Overwriting x;
    EXPECT_EQ(x.ask(lane, -round, result), Status::done);
    EXPECT_EQ(lane.drain(), Status::done);
    x.expect(-round, result);
  }
  stop = true;
  other.join();
}

TEST(Engine, WhatIsToBeKeptWaitsForNobodysUploads) {
  Seen& seen = *new Seen;
  Engine& engine = *new Engine({slot_bytes, slot_bytes}, {.in = 2, .out = 2}, seen.hooks());
  std::vector<double> from(1 << 17, 1.0), device(from.size()),
      result(static_cast<std::size_t>(Overwriting::rows * Overwriting::cols), 3.0);
  const auto all = static_cast<index>(from.size());
  Gated& other = gated_lane(engine);
  ASSERT_EQ(other.upload({device.data(), all, from.data(), all, all, 1, 8}, {nullptr, 0}), Status::done);
  Immediate& lane = new_lane(engine);
  Overwriting x;
  ASSERT_EQ(x.ask(lane, 2.0, result), Status::done);
  ASSERT_EQ(lane.drain(), Status::done);
  x.expect(2.0, result);
  other.open = true;
  other.open.notify_all();
  ASSERT_EQ(other.drain(), Status::done);
}

TEST(Engine, ASlotThatIsHeldUpHoldsUpNoOther) {
  Seen& seen = *new Seen;
  Engine& engine = *new Engine({.in = slot_bytes, .out = slot_bytes, .slots_in = 2}, {3, 1}, seen.hooks());
  const index rows = 1000;
  std::vector<double> from(rows, 1.0), device(rows);
  Gated& lane = gated_lane(engine);
  ASSERT_EQ(lane.upload({device.data(), rows, from.data(), rows, rows, 1, 8}, {nullptr, 0}), Status::done);
  EXPECT_EQ(move(engine), Status::done);  // by the other slot, sixteen times and more
  lane.open = true;
  lane.open.notify_all();
  ASSERT_EQ(lane.drain(), Status::done);
  EXPECT_EQ(device, from);
}

/// A device that reads slots no sooner than it is let.
class Patient final : public Immediate {
 public:
  using Immediate::Immediate;

  int asked() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(copies_.size());
  }
  /// The first `count` of all that are asked for are read as soon as they are.
  void let(int count) {
    const std::lock_guard lock(mutex_);
    let_ = count;
    read();
  }

  static bool make_slots(void*, Slot* slots, int count, std::size_t bytes) {
    auto* memory = static_cast<char*>(std::malloc(static_cast<std::size_t>(count) * bytes));
    for (int i = 0; i < count; ++i) slots[i] = {memory + static_cast<std::size_t>(i) * bytes, new Mark};
    return true;
  }

 private:
  struct Copy {
    Transfer transfer;
    const void* memory;
    std::atomic<bool> read{false};
  };
  using Mark = std::atomic<Copy*>;

  void read() {
    for (; read_ < copies_.size() && read_ < static_cast<std::size_t>(let_); ++read_) {
      Copy& copy = copies_[read_];
      const Transfer& p = copy.transfer;
      copy_block(p.device, p.ldd, copy.memory, p.rows, p.rows, p.cols, p.element);
      copy.read = true;
      copy.read.notify_all();
    }
  }
  Status send(Queue, Slot& slot, const Transfer& p) override {
    const std::lock_guard lock(mutex_);
    Copy& copy = copies_.emplace_back(p, slot.memory);
    *static_cast<Mark*>(slot.mark) = &copy;
    read();
    return Status::done;
  }
  Status settle(Slot& slot) override {
    if (Copy* copy = *static_cast<Mark*>(slot.mark)) copy->read.wait(false);
    return Status::done;
  }

  std::mutex mutex_;
  std::deque<Copy> copies_;
  std::size_t read_ = 0;
  int let_ = 0;
};

TEST(Engine, WhatAFailedLaneDoesNotSendMayStillBeReadForAnother) {
  constexpr std::size_t slot = 4096;
  constexpr index in_a_slot = slot / 8, doubles = 16;
  Engine& engine = *new Engine({.in = slot, .out = slot, .slots_in = 2, .share = slot, .first = 2 * slot}, {1, 1},
                               {nullptr, [](void*) { return true; }, Patient::make_slots, [](void*) {}});
  static std::deque<Patient> lanes;
  Patient &healthy = lanes.emplace_back(engine, much), &failed = lanes.emplace_back(engine, much),
          &other = lanes.emplace_back(engine, much);
  std::vector<double> from(static_cast<std::size_t>(2 * doubles * in_a_slot)), device(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i);
  const std::vector<double> from_other(in_a_slot, -1.0);
  std::vector<double> device_other(from_other.size());
  const auto upload = [](Patient& lane, std::vector<double>& to, const std::vector<double>& data, index rows) {
    return lane.upload({to.data(), rows, const_cast<double*>(data.data()), rows, rows, 1, 8}, {nullptr, 0});
  };
  // Pieces of two slots, of which the last waits for the slots: so that what comes after it can be asked for.
  healthy.let(doubles - 2);
  ASSERT_EQ(upload(healthy, device, from, 2 * doubles * in_a_slot), Status::done);
  ASSERT_TRUE(comes_true([&] { return healthy.asked() == doubles - 1; })) << healthy.asked();
  // One slot after the other is had for nothing, and the first again, so that the second is the next one's.
  std::vector<double> nowhere(3 * in_a_slot);
  ASSERT_EQ(upload(failed, nowhere, from, 3 * in_a_slot), Status::done);
  failed.abandon();
  other.let(1);
  ASSERT_EQ(upload(other, device_other, from_other, in_a_slot), Status::done);
  healthy.let(doubles - 1);
  ASSERT_TRUE(comes_true([&] { return healthy.asked() == doubles; }));
  EXPECT_NE(failed.drain(), Status::done);
  for (int i = 0; i < 30 && other.asked() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  healthy.let(doubles);
  EXPECT_EQ(healthy.drain(), Status::done);
  EXPECT_EQ(other.drain(), Status::done);
  EXPECT_EQ(failed.asked(), 0);
  EXPECT_TRUE(device == from) << "overwritten before it was read";
  EXPECT_EQ(device_other, from_other);
}

/// A device whose queues run on threads of their own, now and then late, and read a slot only then; any one of its
/// operations may fail.  A product is a sum here: C := A + B + beta * C, without gaps.
class Busy final : public EngineLane {
 public:
  Busy(Engine& engine, std::size_t moves, unsigned seed, long fails_at, int lanes = 1)
      : EngineLane(engine, moves, lanes), fails_at_(fails_at) {
    for (int q = 0; q < queues; ++q) lines_[q].thread = std::thread([this, q, seed] { run(lines_[q], 4 * seed + q); });
  }
  ~Busy() {
    (void)drain();
    for (Line& line : lines_) {
      add(line, nullptr);
      line.thread.join();
    }
  }
  long operations() const { return seen_.load(); }

  static bool make_slots(void*, Slot* slots, int count, std::size_t bytes) {
    auto* memory = static_cast<char*>(std::malloc(static_cast<std::size_t>(count) * bytes));
    for (int i = 0; i < count; ++i) slots[i] = {memory + static_cast<std::size_t>(i) * bytes, new Marked};
    return true;
  }

 private:
  struct Event {
    std::atomic<bool> happened{false};
  };
  using Mark = std::shared_ptr<Event>;
  struct Marked {
    std::mutex mutex;
    Mark last;
  };
  struct Line {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> actions;
    std::size_t done = 0, asked = 0;
    std::thread thread;
  };

  static void run(Line& line, unsigned seed) {
    std::mt19937 random(seed);
    for (;;) {
      std::unique_lock lock(line.mutex);
      line.changed.wait(lock, [&line] { return !line.actions.empty(); });
      const auto action = std::move(line.actions.front());
      line.actions.pop_front();
      lock.unlock();
      if (!action) return;
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
      action();
      lock.lock();
      ++line.done;
      line.changed.notify_all();
    }
  }
  static void add(Line& line, std::function<void()> action) {
    const std::lock_guard lock(line.mutex);
    line.actions.push_back(std::move(action));
    ++line.asked;
    line.changed.notify_all();
  }
  Line& line(Queue queue) { return lines_[static_cast<int>(queue)]; }
  bool fails() { return seen_.fetch_add(1) + 1 == fails_at_; }
  Mark event_in(Queue queue) {
    Mark event = std::make_shared<Event>();
    add(line(queue), [event] {
      event->happened = true;
      event->happened.notify_all();
    });
    return event;
  }

  Status wait(Queue queue, Ticket ticket) override {
    if (fails()) return Status::no_memory;
    const std::lock_guard lock(marks_mutex_);
    add(line(queue), [event = marks_.at(static_cast<std::size_t>(ticket))] { event->happened.wait(false); });
    return Status::done;
  }
  Status mark(Queue queue, Ticket ticket) override {
    if (fails()) return Status::no_memory;
    std::this_thread::yield();
    const std::lock_guard lock(marks_mutex_);
    if (marks_.size() <= static_cast<std::size_t>(ticket)) marks_.resize(static_cast<std::size_t>(ticket) + 1);
    marks_[static_cast<std::size_t>(ticket)] = event_in(queue);
    return Status::done;
  }
  Status compute(Queue queue, const Operation& operation) override {
    if (operation.kind != Operation::Kind::gemm) return Status::done;
    if (fails()) return Status::no_memory;
    add(line(queue), [g = *operation.get<Gemm>()] {
      const auto *a = static_cast<const double*>(g.A), *b = static_cast<const double*>(g.B);
      auto* c = static_cast<double*>(g.C);
      for (index i = 0; i < g.m * g.n; ++i) c[i] += a[i] + b[i];
    });
    return Status::done;
  }
  Status send(Queue queue, Slot& slot, const Transfer& p) override {
    if (fails()) return Status::no_memory;
    add(line(queue), [p, memory = slot.memory] {
      p.direct ? copy_block(p.device, p.ldd, p.host, p.ldh, p.rows, p.cols, p.element)
               : copy_block(p.device, p.ldd, memory, p.rows, p.rows, p.cols, p.element);
    });
    return p.direct ? Status::done : mark_slot(slot, queue);
  }
  Status receive(Queue queue, Slot& slot, const Transfer& p) override {
    if (fails()) return Status::no_memory;
    add(line(queue),
        [p, memory = slot.memory] { copy_block(memory, p.rows, p.device, p.ldd, p.rows, p.cols, p.element); });
    return mark_slot(slot, queue);
  }
  Status mark_slot(Slot& slot, Queue queue) {
    auto& marked = *static_cast<Marked*>(slot.mark);
    const Mark event = event_in(queue);
    const std::lock_guard lock(marked.mutex);
    marked.last = event;
    return Status::done;
  }
  Status settle(Slot& slot) override {
    if (fails()) return Status::no_memory;
    auto& marked = *static_cast<Marked*>(slot.mark);
    Mark last;
    {
      const std::lock_guard lock(marked.mutex);
      last = marked.last;
    }
    if (last) last->happened.wait(false);
    return Status::done;
  }
  Status idle(Queue queue) override {
    Line& x = line(queue);
    std::unique_lock lock(x.mutex);
    x.changed.wait(lock, [&x] { return x.done == x.asked; });
    return fails() ? Status::no_memory : Status::done;
  }

  const long fails_at_;
  std::atomic<long> seen_{0};
  Line lines_[queues];
  std::mutex marks_mutex_;
  std::vector<Mark> marks_;
};

struct Work {
  index rows, cols;
  std::size_t moves = much;
  bool direct = false;         ///< every third upload
  long fails_at = 0;           ///< which of the device's operations
  int abandoned_at = INT_MAX;  ///< before which step
  unsigned seed = 0;
  int lanes = 1;  ///< that serve calls
};

/// In a crowd its own thread moves these.
constexpr std::size_t some = std::size_t{8} << 20;

/// Streams sums of three matrices a step through two sets of buffers, as products are streamed whose operands do not
/// fit: uploads come after the sums and downloads that used their buffers last.  What landed is right, the rest
/// untouched.
Status stream(Engine& engine, const Work& w, long* operations = nullptr) {
  constexpr int steps = 6, sets = 2, pieces = 3;
  const index ldh = w.rows + 3, device_size = w.rows * w.cols;
  std::vector<double> host[3], result(static_cast<std::size_t>(steps * ldh * w.cols), -1);
  for (int x = 0; x < 3; ++x) {
    host[x].resize(result.size());
    for (std::size_t i = 0; i < result.size(); ++i) host[x][i] = static_cast<double>((x + 1) * i + w.seed);
  }
  std::vector<double> device[3];
  for (auto& x : device) x.resize(static_cast<std::size_t>(sets * device_size), -2);
  std::atomic<bool> landed[steps * pieces] = {};
  Status drained;
  {
    Busy lane(engine, w.moves, w.seed, w.fails_at, w.lanes);
    Status status = Status::done;
    Ticket next = 0, summed[steps], brought[steps][pieces];
    const auto ask = [&](Status asked) { return status = asked, next++; };
    const auto at = [&](std::vector<double>& x, int step, index col) {
      return &x[static_cast<std::size_t>(step % sets * device_size + col * w.rows)];
    };
    const auto host_at = [&](std::vector<double>& x, int step, index col) {
      return &x[static_cast<std::size_t>((step * w.cols + col) * ldh)];
    };
    Ticket ready[steps][3];
    for (int step = 0; step < steps + 1 && status == Status::done; ++step) {
      if (step >= w.abandoned_at) {
        lane.abandon();
        break;
      }
      for (int x = 0; x < 3 && step < steps && status == Status::done; ++x) {
        std::vector<Ticket> after;
        if (step >= sets) after.push_back(summed[step - sets]);
        if (step >= sets && x == 2) after.insert(after.end(), brought[step - sets], brought[step - sets] + pieces);
        ready[step][x] = ask(lane.upload({at(device[x], step, 0), w.rows, host_at(host[x], step, 0), ldh, w.rows,
                                          w.cols, 8, w.direct && (step + x) % 3 == 0},
                                         {after.data(), static_cast<int>(after.size())}));
      }
      if (step == 0 || status != Status::done) continue;
      const int now = step - 1;
      summed[now] = ask(lane.ask(Gemm{.precision = Precision::d,
                                      .transa = Op::none,
                                      .transb = Op::none,
                                      .m = w.rows,
                                      .n = w.cols,
                                      .k = 1,
                                      .alpha = nullptr,
                                      .A = at(device[0], now, 0),
                                      .lda = w.rows,
                                      .B = at(device[1], now, 0),
                                      .ldb = w.rows,
                                      .beta = nullptr,
                                      .C = at(device[2], now, 0),
                                      .ldc = w.rows,
                                      .stream = static_cast<std::int8_t>(now % 2)},
                                 {ready[now], 3}));
      for (int p = 0; p < pieces && status == Status::done; ++p) {
        const index col = w.cols * p / pieces, end = w.cols * (p + 1) / pieces;
        brought[now][p] =
            ask(lane.download({at(device[2], now, col), w.rows, host_at(result, now, col), ldh, w.rows, end - col, 8},
                              {&summed[now], 1}, landed[now * pieces + p]));
      }
    }
    if (status != Status::done) lane.abandon();
    drained = lane.drain();
    if (operations) *operations = lane.operations();
  }
  int wrong = 0;
  for (int step = 0; step < steps; ++step)
    for (int p = 0; p < pieces; ++p)
      for (index col = w.cols * p / pieces; col < w.cols * (p + 1) / pieces; ++col)
        for (index row = 0; row < ldh; ++row) {
          const auto i = static_cast<std::size_t>((step * w.cols + col) * ldh + row);
          if (row < w.rows && drained == Status::done && !landed[step * pieces + p]) ++wrong;
          const double sum = host[0][i] + host[1][i] + host[2][i];
          wrong += result[i] != (row < w.rows && landed[step * pieces + p] ? sum : -1);
        }
  EXPECT_EQ(wrong, 0) << w.rows << " x " << w.cols << ", seed " << w.seed;
  return drained;
}

Engine& busy_engine(const Engine::Sizes& sizes, Engine::Threads threads) {
  return *new Engine(sizes, threads, {nullptr, [](void*) { return true; }, Busy::make_slots, [](void*) {}}, 0.1);
}

TEST(Engine, StreamsThroughSlotsOfAnyNumberAndSize) {
  for (const int slots_in : {1, 2, 3, 6})
    for (const std::size_t slot : {std::size_t{64}, std::size_t{256}, std::size_t{2048}, std::size_t{16384}}) {
#ifdef BLASLIFT_BRIEF_TESTS  // a sanitizer, with which each takes a second
      if (slots_in % 2 == 0 || slot == 256 || slot == 16384) continue;
#endif
      for (const Engine::Threads threads : {Engine::Threads{1, 1}, {2, 2}, {5, 3, 2}}) {
        SCOPED_TRACE(testing::Message() << slots_in << " slots of " << slot << ", threads " << threads.in);
        Engine& engine = busy_engine(
            {.in = slot, .out = 65536, .slots_in = slots_in, .share = slot / 8, .first = slot / 2}, threads);
        std::vector<std::thread> callers;
        for (unsigned i = 0; i < 6; ++i)
          callers.emplace_back([&engine, slot, i] {
            const Work work{.rows = slot == 64 ? 5 : 61 + index{i},
                            .cols = slot == 64 ? 6 : 25,
                            .moves = i == 3  ? 1
                                     : i > 3 ? some
                                             : much,
                            .direct = i == 2 || i == 5,
                            .seed = i,
                            .lanes = i > 3 ? 16 : 1};
            for (int round = 0; round < 3; ++round) EXPECT_EQ(stream(engine, work), Status::done);
          });
        for (std::thread& caller : callers) caller.join();
        if (testing::Test::HasFailure()) return;
      }
    }
}

TEST(Engine, OneLanesFailureLeavesTheOthersWhole) {
  for (const int slots_in : {1, 3}) {
    Engine& engine = busy_engine({.in = 2048, .out = 65536, .slots_in = slots_in, .share = 256, .first = 512}, {4, 2});
    std::atomic<bool> over{false};
    std::vector<std::thread> others;
    for (unsigned i = 0; i < 3; ++i)
      others.emplace_back([&, i] {
        for (unsigned round = 0; !over; ++round)
          EXPECT_EQ(stream(engine, {.rows = 40 + index{i}, .cols = 20, .direct = i == 1, .seed = 3 * round + i}),
                    Status::done);
      });
    for (const Work& work : {Work{.rows = 37, .cols = 20, .direct = true},
                             Work{.rows = 37, .cols = 20, .moves = some, .direct = true, .lanes = 16}}) {
      long operations = 0;
      EXPECT_EQ(stream(engine, work, &operations), Status::done);
      for (long at = 1; at <= operations; at += 1 + at / 40) {
        Work failing = work;
        failing.fails_at = at;
        failing.seed = static_cast<unsigned>(at);
        long seen = 0;  // how many pieces there are depends on what the others do
        const Status status = stream(engine, failing, &seen);
        EXPECT_EQ(status, seen < at ? Status::done : Status::no_memory) << "operation " << at << " of " << operations;
      }
      for (int at = 0; at < 7; ++at) {
        Work abandoned = work;
        abandoned.abandoned_at = at;
        EXPECT_EQ(stream(engine, abandoned), Status::lost);
      }
    }
    over = true;
    for (std::thread& other : others) other.join();
  }
}

TEST(Engine, ManyPiecesComeAfterWhatWasNotToBeAwaited) {
  Engine& engine = busy_engine({.in = 64, .out = 65536, .share = 64, .first = 64}, {6, 1});
  for (unsigned round = 0; round < 300; ++round) {
    std::vector<double> a(64, 1), b(64, 2), c(64, 3), host(64, 4);
    Busy lane(engine, much, round, 0);
    Status status = lane.ask(Gemm{.precision = Precision::d,
                                  .transa = Op::none,
                                  .transb = Op::none,
                                  .m = 64,
                                  .n = 1,
                                  .k = 1,
                                  .alpha = nullptr,
                                  .A = a.data(),
                                  .lda = 64,
                                  .B = b.data(),
                                  .ldb = 64,
                                  .beta = nullptr,
                                  .C = c.data(),
                                  .ldc = 64,
                                  .awaited = false},
                             {nullptr, 0});
    ASSERT_EQ(status, Status::done);
    const Ticket summed = 0;
    ASSERT_EQ(lane.upload({a.data(), 64, host.data(), 64, 64, 1, 8}, {&summed, 1}), Status::done);
    ASSERT_EQ(lane.drain(), Status::done);
    ASSERT_EQ(c, std::vector<double>(64, 6));
    ASSERT_EQ(a, host);
  }
}

TEST(Engine, ThreadsAndSlotsThatAreNotToBeHadNowAndThenFailWhatTheyServeAndNoMore) {
  static std::atomic<unsigned> tried;
  const Engine::Hooks hooks{nullptr, [](void*) { return true; },
                            [](void* self, Slot* slots, int count, std::size_t bytes) {
                              return tried.fetch_add(1) % 16 == 15 && Busy::make_slots(self, slots, count, bytes);
                            },
                            [](void*) {}};
  for (int round = 0; round < 5; ++round) {
    Engine& engine = *new Engine({.in = 2048, .out = 65536, .slots_in = 3, .share = 256, .first = 512}, {4, 2}, hooks);
    std::atomic<int> failures{0};
    std::vector<std::thread> callers;
    for (unsigned i = 0; i < 4; ++i)
      callers.emplace_back([&, i] {
        Status status = Status::lost;
        for (int tries = 0; tries < 200 && status != Status::done; ++tries) {
          status = stream(engine, {.rows = 40, .cols = 20, .direct = i == 1, .seed = i});
          failures += status != Status::done;
        }
        EXPECT_EQ(status, Status::done);
      });
    for (std::thread& caller : callers) caller.join();
    EXPECT_GT(failures.load(), 0);
  }
  // Two of the threads never get to the device; no lane hangs, whether they served it or not.
  static std::atomic<int> started;
  started = 0;
  Engine& engine =
      *new Engine({.in = 2048, .out = 65536, .slots_in = 3, .share = 256, .first = 512}, {4, 2},
                  {nullptr, [](void*) { return started.fetch_add(1) % 3 != 1; }, Busy::make_slots, [](void*) {}});
  std::vector<std::thread> callers;
  for (unsigned i = 0; i < 4; ++i)
    callers.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round)
        EXPECT_NE(stream(engine, {.rows = 40, .cols = 20, .seed = i}), Status::no_memory);
    });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace blaslift::engine_tests
