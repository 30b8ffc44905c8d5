// Device memory that is kept between calls.
#include "kernels/engine/spare_memory.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace blaslift::spare_memory_tests {
namespace {

void* piece(int number) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(4096) * (number + 1)); }

TEST(SpareMemory, KeepsNothingUntilItIsToldHowMuch) {
  SpareMemory spare;
  EXPECT_EQ(spare.note(piece(0), 100), nullptr);
  EXPECT_FALSE(spare.keep(piece(0)));
}

TEST(SpareMemory, GivesAPieceOfTheSameSizeOnce) {
  SpareMemory spare;
  spare.set_largest(1000);
  void* memory = nullptr;
  EXPECT_FALSE(spare.take(100, memory));
  EXPECT_EQ(spare.note(piece(0), 100), nullptr);
  EXPECT_FALSE(spare.take(100, memory)) << "it is in use";
  EXPECT_TRUE(spare.keep(piece(0)));
  EXPECT_FALSE(spare.take(99, memory));
  ASSERT_TRUE(spare.take(100, memory));
  EXPECT_EQ(memory, piece(0));
  EXPECT_FALSE(spare.take(100, memory));
  EXPECT_EQ(spare.note(piece(1), 1001), nullptr);
  EXPECT_FALSE(spare.keep(piece(1))) << "too large";
}

TEST(SpareMemory, MakesWayForNewSizesAndLosesNothing) {
  SpareMemory spare;
  spare.set_largest(1 << 20);
  std::set<void*> with_the_driver, noted;
  for (int i = 0; i < 1000; ++i) {
    void* memory = piece(i);
    noted.insert(memory);
    if (void* other = spare.note(memory, static_cast<std::size_t>(i) + 1)) {
      EXPECT_TRUE(with_the_driver.insert(other).second);
    }
    if (i % 3 && !spare.keep(memory)) with_the_driver.insert(memory);
  }
  for (int i = 0; i < 1000; i += 3)
    if (!spare.keep(piece(i))) with_the_driver.insert(piece(i));
  std::size_t kept = 0;
  for (void* memory; spare.give_up(memory); ++kept) EXPECT_TRUE(with_the_driver.insert(memory).second);
  EXPECT_EQ(with_the_driver, noted);
  EXPECT_EQ(kept, SpareMemory::most_pieces);
}

}  // namespace
}  // namespace blaslift::spare_memory_tests
