// The device's memory, and many lanes at once.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::memory_tests {
namespace {

// ---- memory and many lanes

/// Whether these bytes of the device hold what they are given.
void expect_usable(char* begin, std::size_t bytes, unsigned seed) {
  ASSERT_GE(bytes, 16 * 4 * sizeof(double));
  Matrix<double> x(16, 4), y(16, 4), back(16, 4);
  x.random(seed);
  y.random(seed + 1);
  auto* first = reinterpret_cast<double*>(begin);
  auto* last = reinterpret_cast<double*>(begin + bytes / 256 * 256 - 16 * 4 * sizeof(double));
  for (const std::size_t moves : {much, little}) {
    Call call(0, moves);
    const Ticket up = call.upload(first, 16, x.data(), 16, 16, 4),
                 second = call.upload(last, 16, y.data(), 16, 16, 4, {up});
    call.fetch(back.data(), 16, last, 16, 16, 4, {second});
    EXPECT_TRUE(back == y);
    if (last < first + 16 * 4) continue;
    call.fetch(back.data(), 16, first, 16, 16, 4, {});
    EXPECT_TRUE(back == x);
  }
}

TEST(Memory, IsAlignedAndWholeAndMayBeLarge) {
  const std::size_t large = backend->facts().memory / 4 * 3;
  for (const std::size_t bytes : {std::size_t{512}, std::size_t{513}, std::size_t{100001}, large}) {
    const Lease lease(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lease.memory()) % 256, 0u) << bytes;
    expect_usable(lease.memory(), bytes, 3);  // to its last bytes
  }
}

TEST(Memory, OfSeveralAllocationsIsNotShared) {
  std::deque<Lease> leases;
  std::vector<std::pair<char*, std::size_t>> parts;
  for (const std::size_t bytes : {1, 256, 255, 512, 4096, 100000, 3, 1 << 20})
    parts.emplace_back(leases.emplace_back(bytes).memory(), bytes);
  for (const auto& [x, x_bytes] : parts)
    for (const auto& [y, y_bytes] : parts) EXPECT_TRUE(x == y || x + x_bytes <= y || y + y_bytes <= x);
  for (const auto& [at, bytes] : parts) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 256, 0u) << bytes;
}

TEST(Memory, TooMuchOfItFailsAndTheDeviceStaysUsable) {
  for (const std::size_t bytes : {std::size_t{1} << 48, SIZE_MAX / 2, SIZE_MAX - 4096}) {
    void* memory = nullptr;
    EXPECT_EQ(backend->allocate(bytes, memory), Status::no_memory) << bytes;
    const Lease less(4096);
    expect_usable(less.memory(), 4096, 8);
    Problem<double>(Op::none, Op::none, 20, 30, 40, 1, 0).expect_right();
  }
}

TEST(Memory, ComesBack) {
  // More in all than there is; whatever leaked would show as no_memory.
  for (int time = 0; time < 20; ++time) Lease(backend->facts().memory / 4 * 3);
  for (int time = 0; time < 20; ++time) Call call(backend->facts().memory / 4 * 3);
}

TEST(Memory, StaysWhereLanesComeAndGo) {
  // Copies outlive calls: what one lane has left there the next ones find.
  Matrix<double> x(40, 30, 2), back(40, 30, 2);
  x.random(50);
  const Lease lease(room(x));
  auto* at = reinterpret_cast<double*>(lease.memory());
  Call(0).upload(at, x.ld(), x.data(), x.ld(), x.ld(), x.cols());  // released without a drain
  for (const std::size_t moves : {much, little, much}) {
    back.fill(-1);
    Call call(0, moves);
    call.get(back, at, {});
    EXPECT_TRUE(back == x);
  }
}

TEST(Memory, IsGivenToManyThreadsAtOnce) {
  const std::size_t most = backend->facts().memory / 32;
  on_threads([most](int t) {
    std::deque<Lease> kept;
    for (int time = 0; time < 20; ++time) {
      const Lease& mine = kept.emplace_back(most / static_cast<std::size_t>(1 + (t + time) % 5));
      expect_usable(mine.memory(), 4096, static_cast<unsigned>(100 * t + time));
      if (time % 3 == 2) kept.clear();  // allocated in the middle of what others do
    }
  });
}

TEST(Lanes, OfLittleDataAmongOthers) {
  on_threads([](int t) {
    Problem<double> p(ops[t % 3], ops[t / 3], 20 + t, 31, 17, 0.5, -2);
    p.A.random(static_cast<unsigned>(t));
    for (int time = 0; time < 20; ++time) p.expect_right(t % 2 ? much : little);
  });
}

TEST(Lanes, EightThreadsAtOnce) {
  using T = std::complex<float>;
  const auto problem = [](int t) {
    Problem<T> p(ops[t % 3], ops[t / 3], 60 + 7 * t, 90 - 5 * t, 40 + t, {1, -0.5f}, {0.25f, 1});
    p.A.random(static_cast<unsigned>(t) + 100);
    return p;
  };
  std::vector<Matrix<T>> alone;
  for (int t = 0; t < 8; ++t) {
    problem(t).expect_right();
    alone.push_back(problem(t).run());
  }
  std::atomic<int> wrong{0};
  on_threads([&](int t) {
    Problem<T> mine = problem(t);
    for (int time = 0; time < 10; ++time)
      if (!(mine.run() == alone[static_cast<std::size_t>(t)])) ++wrong;  // the same bits as alone
  });
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace blaslift::conformance::memory_tests
