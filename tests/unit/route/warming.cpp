#include "impl/route/warming.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "tests/unit/support/shuffled.hpp"

namespace blaslift::warming_tests {
namespace {

using Kind = Operation::Kind;

/// Computes on the host what it is asked for, and says what that was: "d" and the kinds' numbers.
class Recorder final : public Backend, Lane {
 public:
  Recorder() { facts_.loads_when_used = true, facts_.memory = std::size_t{1} << 30, facts_.piece_bytes = 1000; }
  ~Recorder() {
    EXPECT_EQ(leases_.size(), 0u);
    EXPECT_EQ(lanes, 0);
  }

  const DeviceFacts& facts() const override { return facts_; }
  Lane* acquire(const UnderlyingBlas&, std::size_t, Status& status) override {
    status = fails_to_acquire ? Status::no_memory : Status::done;
    if (fails_to_acquire) return nullptr;
    ++lanes;
    return this;
  }
  void release(Lane*) override { --lanes; }
  Status allocate(std::size_t bytes, void*& memory) override {
    if (fails_to_allocate) return Status::no_memory;
    memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(memory, 0xff, bytes);
    leases_[memory] = bytes;
    return Status::done;
  }
  void free(void* memory) override {
    EXPECT_EQ(leases_.erase(memory), 1u);
    std::free(memory);
  }
  MemoryKind memory_kind(const void*, std::size_t, bool) override { return MemoryKind::pageable; }
  int candidates(const SquareProduct&, std::uint32_t, Candidate*, int) override { return 0; }
  void prefer(const Preference*, int) override {}

  Status upload(const Transfer& t, After after) override {
    EXPECT_TRUE(holds(t.device, static_cast<std::size_t>((t.cols - 1) * t.ldd + t.rows) * t.element));
    return lane_.upload(t, after);
  }
  Status ask(const Operation& x, After after) override {
    asked.insert({letter(x.element), x.kind});
    if (fails == asked.size()) return Status::lost;
    EXPECT_EQ(lane_.ask(x, after), Status::done);
    EXPECT_EQ(lane_.drain(), Status::done);
    x.visit([](const auto& o) {
      if constexpr (requires { o.failed; }) {
        const bool single = o.precision == Precision::s || o.precision == Precision::c;
        EXPECT_EQ(single ? *static_cast<const float*>(o.failed) : *static_cast<const double*>(o.failed), 0);
      }
    });
    return Status::done;
  }
  Status download(const Transfer& t, After after, std::atomic<bool>& landed) override {
    EXPECT_LE(static_cast<std::size_t>(t.rows * t.cols) * t.element, facts_.piece_bytes);
    downloaded = true;
    // What was asked for before has been done, and is not there to be waited for.
    (void)after;
    return lane_.download(t, {nullptr, 0}, landed);
  }
  Status await(const std::atomic<bool>&) override { return Status::lost; }
  void abandon() override {}
  Status drain() override { return lane_.drain(); }

  bool fails_to_acquire = false, fails_to_allocate = false;
  std::size_t fails = 0;  ///< the operation of that number, from 1
  int lanes = 0;
  bool downloaded = false;
  std::set<std::pair<char, Kind>> asked;
  DeviceFacts facts_{};

 private:
  bool holds(const void* at, std::size_t bytes) const {
    for (const auto& [memory, size] : leases_)
      if (at >= memory && static_cast<const char*>(at) + bytes <= static_cast<const char*>(memory) + size) return true;
    return false;
  }

  std::map<void*, std::size_t> leases_;
  Shuffled lane_{1};
};

Routines some(std::initializer_list<Routine> routines) {
  Routines all;
  for (const Routine routine : routines) all.set(static_cast<std::size_t>(routine));
  return all;
}

using Asked = std::set<std::pair<char, Kind>>;

/// What a device is asked for that is expected to be called so.
Asked asked(const Routines& expected, Recorder& backend, int steps = 1000, bool equipped = true) {
  Arena arena;
  arena.open(backend, {[](void*) { return false; }, nullptr});
  warm(
      backend, arena, expected, [&](Kind, Precision) { return equipped; }, [&] { return steps-- > 0; }, 24);
  return backend.asked;
}
Asked asked(const Routines& expected) {
  Recorder backend;
  return asked(expected, backend);
}

TEST(Warming, IsOfProductsIfNothingIsKnown) { EXPECT_EQ(asked({}), (Asked{{'d', Kind::gemm}})); }

TEST(Warming, IsOfWhatRoutinesAreComputedWith) {
  EXPECT_EQ(asked(some({Routine::dgemm})), (Asked{{'d', Kind::gemm}}));
  EXPECT_EQ(asked(some({Routine::zgetrf})), (Asked{{'z', Kind::gemm}, {'z', Kind::trsm}, {'z', Kind::getrf}}));
  EXPECT_EQ(asked(some({Routine::spotrf})), (Asked{{'s', Kind::gemm}, {'s', Kind::trsm}, {'s', Kind::potrf}}));
  EXPECT_EQ(asked(some({Routine::dsyevd, Routine::cgemm})),
            (Asked{{'c', Kind::gemm}, {'d', Kind::gemm}, {'d', Kind::syevd}}));
}

TEST(Warming, LeavesOutWhatAKernelOfOurOwnComputes) {
  EXPECT_EQ(asked(some({Routine::dgemv, Routine::dsymv})), Asked());
  EXPECT_EQ(asked(some({Routine::dgeqrf})), (Asked{{'d', Kind::gemm}}));
}

TEST(Warming, ComputesWhatHasAResult) {
  Routines all;
  all.set();
  const Asked seen = asked(all);  // the recorder looks whether it failed
  for (const char precision : {'s', 'd', 'c', 'z'})
    for (const Kind kind : {Kind::gemm, Kind::trsm, Kind::potrf, Kind::getrf, Kind::syevd, Kind::gebrd, Kind::svd,
                            Kind::geev, Kind::sytrd, Kind::gehrd, Kind::geqp3})
      EXPECT_TRUE(seen.contains({precision, kind})) << precision << static_cast<int>(kind);
}

TEST(Warming, MovesBytesBothWays) {
  Recorder backend;
  (void)asked(some({Routine::dgemm}), backend);
  EXPECT_TRUE(backend.downloaded);
}

TEST(Warming, EndsWhenItIsTold) {
  Recorder backend;
  EXPECT_EQ(asked(some({Routine::dgetrf}), backend, 1), (Asked{{'d', Kind::gemm}}));
  Recorder other;
  EXPECT_EQ(asked(some({Routine::dgetrf}), other, 0), Asked());
}

TEST(Warming, LeavesToCallsWhatTheDeviceCannotDo) {
  Recorder backend;
  backend.fails_to_allocate = true;
  EXPECT_EQ(asked(some({Routine::dgetrf}), backend), Asked());
  Recorder without_lanes;
  without_lanes.fails_to_acquire = true;
  EXPECT_EQ(asked(some({Routine::dgetrf}), without_lanes), Asked());
  Recorder without_library;
  EXPECT_EQ(asked(some({Routine::dgetrf}), without_library, 1000, false), Asked());
  Recorder lost;
  lost.fails = 1;
  EXPECT_EQ(asked(some({Routine::dgetrf}), lost), (Asked{{'d', Kind::gemm}}));
}

TEST(Warming, IsForDevicesThatLoadWhatTheyUse) {
  Recorder backend;
  backend.facts_.loads_when_used = false;
  EXPECT_EQ(asked(some({Routine::dgetrf}), backend), Asked());
}

}  // namespace
}  // namespace blaslift::warming_tests
