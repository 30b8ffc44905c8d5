// Memory that waits to be used again.
#include "impl/core/own_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/support/temporary.hpp"

namespace blaslift::own_memory_tests {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

class OwnMemories : public testing::Test {
 protected:
  void SetUp() override { OwnMemory::trim(); }
  void TearDown() override { OwnMemory::trim(); }

  /// Where memory of that size was, which has been given back.
  static char* used(std::size_t bytes) {
    const OwnMemory memory(bytes);
    std::memset(memory.at(), 1, bytes);
    return memory.at();
  }
};

TEST_F(OwnMemories, LargeOnesAreUsedAgainAndSmallOnesAreNot) {
  char* const first = used(16 * mib);
  EXPECT_EQ(used(16 * mib), first);
  EXPECT_EQ(used(12 * mib), first);
  EXPECT_NE(used(mib), first);
  EXPECT_NE(used(2 * mib), first);  // of which it would be many times as much
}

TEST_F(OwnMemories, AreOneCallersAtATimeAndTheSmallestThatWillDo) {
  char *large = nullptr, *small = nullptr;
  {
    const OwnMemory a(48 * mib), b(20 * mib);
    large = a.at(), small = b.at();
    ASSERT_NE(large, small);
  }
  {
    const OwnMemory a(16 * mib), b(16 * mib), c(16 * mib);
    EXPECT_EQ(a.at(), small);
    EXPECT_EQ(b.at(), large);
    EXPECT_TRUE(c.at() != small && c.at() != large);
    std::memset(a.at(), 1, 16 * mib);
    std::memset(b.at(), 2, 16 * mib);
    std::memset(c.at(), 3, 16 * mib);
    EXPECT_TRUE(a.at()[16 * mib - 1] == 1 && b.at()[0] == 2 && b.at()[16 * mib - 1] == 2 && c.at()[0] == 3);
  }
}

TEST_F(OwnMemories, BeginWhereLargePagesDo) {
  for (const std::size_t bytes : {2 * mib, 9 * mib + 1, 33 * mib})
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(OwnMemory(bytes).at()) % (2 * mib), 0u) << bytes;
}

TEST_F(OwnMemories, FewWaitAndTheLargestOfThem) {
  std::vector<OwnMemory> many;
  for (std::size_t i = 0; i < 8; ++i) many.emplace_back((16 + 8 * i) * mib);
  char* const largest = many.back().at();
  many.clear();
  EXPECT_EQ(used(72 * mib), largest);
  std::vector<OwnMemory> again;
  std::size_t same = 0;
  for (int i = 0; i < 8; ++i) {
    again.emplace_back(40 * mib);
    std::memset(again.back().at(), i, 40 * mib);
  }
  for (std::size_t i = 0; i < 8; ++i) same += again[i].at()[0] == static_cast<char>(i);
  EXPECT_EQ(same, 8u);
}

TEST_F(OwnMemories, NothingWaitsWhereAddressesAreLimited) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more addresses than that";
#endif
  EXPECT_EQ(temporary::in_child([] {
              const rlimit limit{std::size_t{8} << 30, RLIM_INFINITY};
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              for (int i = 0; i < 40; ++i) {  // all of them together would not fit
                std::vector<OwnMemory> some;
                for (int k = 0; k < 4; ++k) some.emplace_back(static_cast<std::size_t>(1000 + 20 * i) * mib);
              }
              return 0;
            }),
            0);
}

TEST_F(OwnMemories, ThreadsDoNotShareOne) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < 50; ++i) {
        const OwnMemory memory(static_cast<std::size_t>(8 + (i + t) % 3) * mib);
        for (std::size_t at = 0; at < 8 * mib; at += mib) memory.at()[at] = static_cast<char>(t);
        if (i % 7 == 0) OwnMemory::trim();
        for (std::size_t at = 0; at < 8 * mib; at += mib) wrong += memory.at()[at] != static_cast<char>(t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace blaslift::own_memory_tests
