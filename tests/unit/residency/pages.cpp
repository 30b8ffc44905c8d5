// The table of pages: that whoever holds a copy learns of every write since it was made, whoever else has asked in
// between.
#include "impl/residency/pages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <ostream>

#include "tests/unit/support/random.hpp"
#include "tests/unit/support/scripted.hpp"

namespace blaslift {

void PrintTo(const Range& r, std::ostream* out) {
  *out << "pages " << r.begin / page_bytes << " to " << r.end / page_bytes;
}

namespace pages_tests {
namespace {

using Ranges = std::vector<Range>;

/// Pages [first, last), some way up in memory: the 512 pages of one chunk of the table end at 0.
constexpr Address origin = Address{1} << 40;
constexpr Range pages(long first, long last) {
  return {origin + static_cast<Address>(first) * page_bytes, origin + static_cast<Address>(last) * page_bytes};
}
constexpr Range page(long number) { return pages(number, number + 1); }

/// Somebody who has a copy of some pages.
struct Holder {
  Pages& table;
  Range of;
  std::vector<Stamp> since;

  Holder(Pages& t, Range r) : table(t), of(r) {
    Stamp now = 0;
    EXPECT_EQ(table.protect(of, now), "");
    since.assign(of.size() / page_bytes, now);
  }
  /// What may have been written; `renew`: and copies it again.
  Ranges dirty(bool renew = false) {
    Ranges found;
    Stamp now = 0;
    known = table.dirty(of, since.data(), *std::min_element(since.begin(), since.end()), found, now);
    for (const Range& r : found)
      for (Address at = r.begin; renew && at < r.end; at += page_bytes) since[(at - of.begin) / page_bytes] = now;
    return found;
  }
  bool known = true;
};

TEST(Pages, WhatIsNotWrittenIsNotDirty) {
  Scripted kernel;
  Pages table(kernel);
  Holder holder(table, pages(10, 20));
  for (int time = 0; time < 3; ++time) EXPECT_EQ(holder.dirty(), Ranges{});
  kernel.write(pages(13, 15));
  kernel.write(page(17));
  EXPECT_EQ(holder.dirty(), (Ranges{pages(13, 15), page(17)}));
  EXPECT_EQ(holder.dirty(), (Ranges{pages(13, 15), page(17)})) << "not copied again, so as dirty as before";
  EXPECT_EQ(holder.dirty(true), (Ranges{pages(13, 15), page(17)}));
  EXPECT_EQ(holder.dirty(), Ranges{});
  kernel.write(page(14));
  EXPECT_EQ(holder.dirty(), Ranges{page(14)});
}

TEST(Pages, EvidenceConsumedByOneIsSeenByAllOthers) {
  Scripted kernel;
  Pages table(kernel);
  Holder left(table, pages(0, 10)), right(table, pages(5, 15)), late(table, pages(0, 15));
  kernel.write(page(7));
  kernel.write(page(2));
  EXPECT_EQ(left.dirty(true), (Ranges{page(2), page(7)}));
  EXPECT_EQ(right.dirty(true), Ranges{page(7)}) << "written before somebody else's pass";
  EXPECT_EQ(late.dirty(), (Ranges{page(2), page(7)}));
  EXPECT_EQ(left.dirty(), Ranges{});
  EXPECT_EQ(right.dirty(), Ranges{});
  // Also by those who only protect.
  kernel.write(page(8));
  Holder newcomer(table, pages(8, 9));
  EXPECT_EQ(newcomer.dirty(), Ranges{});
  EXPECT_EQ(left.dirty(), Ranges{page(8)});
  kernel.write(page(9));
  Stamp now = 0;
  EXPECT_TRUE(table.protect_again(pages(9, 10), now));
  EXPECT_EQ(right.dirty(), (Ranges{pages(8, 10)}));
}

TEST(Pages, APassThatThrowsLeavesNothingKnown) {
  Scripted kernel;
  Pages table(kernel);
  Holder one(table, pages(0, 10)), other(table, pages(5, 15));
  kernel.write(page(7));
  kernel.throws = true;  // what it has seen is noted nowhere
  EXPECT_THROW(one.dirty(), std::bad_alloc);
  kernel.throws = false;
  Stamp now = 0;
  std::vector<Stamp> since(10, 1'000'000);
  Ranges dirty;
  for (int time = 0; time < 3; ++time) {
    EXPECT_FALSE(table.dirty(pages(5, 15), since.data(), 1'000'000, dirty, now)) << "page 7 has been written";
    EXPECT_FALSE(table.protect_again(pages(5, 15), now));
    EXPECT_NE(table.protect(pages(20, 30), now), "");
  }
}
TEST(Pages, HolesCountAsWrittenForEver) {
  Scripted kernel;
  Pages table(kernel);
  kernel.empty(pages(3, 5));
  Holder holder(table, pages(0, 10));
  for (int time = 0; time < 3; ++time) EXPECT_EQ(holder.dirty(true), (Ranges{pages(3, 5)}));
  kernel.empty(page(8));
  for (int time = 0; time < 3; ++time) EXPECT_EQ(holder.dirty(true), (Ranges{pages(3, 5), page(8)}));
  kernel.write(pages(3, 5));  // filled again
  EXPECT_EQ(holder.dirty(true), (Ranges{pages(3, 5), page(8)}));
  EXPECT_EQ(holder.dirty(true), Ranges{page(8)});
}

TEST(Pages, APassThatFailsMakesEverythingDirtyForEverybody) {
  Scripted kernel;
  Pages table(kernel);
  Holder holder(table, pages(0, 10)), other(table, pages(2, 6)), outside(table, pages(20, 30));
  kernel.write(page(3));
  kernel.failing = 1;  // after it has looked at half of the pages, and so consumed what it will not tell
  EXPECT_EQ(holder.dirty(), (Ranges{pages(0, 10)}));
  EXPECT_FALSE(holder.known);
  EXPECT_EQ(other.dirty(true), (Ranges{pages(2, 6)}));
  EXPECT_TRUE(other.known);
  EXPECT_EQ(other.dirty(), Ranges{});
  EXPECT_EQ(holder.dirty(true), (Ranges{pages(0, 10)})) << "known now, but too late";
  EXPECT_TRUE(holder.known);
  EXPECT_EQ(holder.dirty(), Ranges{});
  EXPECT_EQ(outside.dirty(), Ranges{});
  kernel.failing = 1;
  Stamp now = 0;
  EXPECT_FALSE(table.protect_again(pages(0, 10), now));
  EXPECT_EQ(holder.dirty(), (Ranges{pages(0, 10)}));
}

TEST(Pages, ProtectSaysWhyItCannot) {
  Scripted kernel;
  Pages table(kernel);
  Stamp now = 0;
  kernel.refusal = "made of straw";
  EXPECT_EQ(table.protect(pages(0, 5), now), "made of straw");
  EXPECT_EQ(kernel.scans, 0);
  kernel.refusal = "";
  kernel.failing = 1;
  EXPECT_NE(table.protect(pages(0, 5), now), "");
  EXPECT_TRUE(kernel.covered.empty()) << "what it does not use it does not leave covered";
  kernel.blindness = "eyes shut";
  EXPECT_EQ(table.blind(), "eyes shut");
}

TEST(Pages, WhatIsUncoveredIsFoundWritten) {
  Scripted kernel;
  Pages table(kernel);
  Holder holder(table, pages(0, 10)), other(table, pages(4, 6));
  table.uncover(pages(4, 7));
  EXPECT_FALSE(kernel.is_protected(page(5).begin));
  EXPECT_TRUE(kernel.is_protected(page(7).begin));
  EXPECT_EQ(other.dirty(), (Ranges{pages(4, 6)}));
  EXPECT_EQ(holder.dirty(), (Ranges{pages(4, 7)}));
}

TEST(Pages, WhatIsReleasedIsFoundWrittenByOthers) {
  Scripted kernel;
  Pages table(kernel);
  Holder holder(table, pages(0, 10)), other(table, pages(4, 12));
  table.release(holder.of);
  EXPECT_FALSE(kernel.released_too_often);
  EXPECT_EQ(kernel.covered.size(), 1u);
  EXPECT_EQ(other.dirty(true), (Ranges{pages(4, 10)}));
  EXPECT_EQ(other.dirty(), Ranges{});
}

TEST(Pages, FirstAndLastPageBelongAndTheirNeighboursDoNot) {
  Scripted kernel;
  Pages table(kernel);
  for (const long first : {0L, 511L, 512L, 100L})
    for (const long count : {1L, 2L, 3L}) {
      Holder before(table, pages(first - 1, first)), holder(table, pages(first, first + count));
      kernel.write(page(first - 1));
      kernel.write(page(first + count));
      EXPECT_EQ(holder.dirty(true), Ranges{});
      kernel.write(page(first));
      EXPECT_EQ(holder.dirty(true), Ranges{page(first)});
      kernel.write(page(first + count - 1));
      EXPECT_EQ(holder.dirty(true), Ranges{page(first + count - 1)});
      EXPECT_EQ(before.dirty(), Ranges{page(first - 1)});
    }
}

TEST(Pages, RangesMayCrossChunksOfTheTable) {
  Scripted kernel;
  Pages table(kernel);
  Holder holder(table, pages(500, 1700));  // chunks of 512: three borders
  EXPECT_EQ(holder.dirty(), Ranges{});
  kernel.write(pages(511, 513));
  kernel.write(page(1023));
  kernel.write(page(1024));
  kernel.write(page(1536));
  kernel.write(page(1699));
  EXPECT_EQ(holder.dirty(true), (Ranges{pages(511, 513), pages(1023, 1025), page(1536), page(1699)}))
      << "neighbours are one run, across a border, too";
  EXPECT_EQ(holder.dirty(), Ranges{});
  kernel.write(pages(0, 3000));
  EXPECT_EQ(holder.dirty(), (Ranges{pages(500, 1700)}));
  // Chunks in which nothing was ever found written are not there.
  Holder far(table, pages(1L << 20, (1L << 20) + 5000));
  EXPECT_EQ(far.dirty(), Ranges{});
}

TEST(Pages, RunsThatStickOutSayNothingAboutOtherPages) {
  Scripted kernel;
  Pages table(kernel);
  kernel.sticks_out = true;
  Holder wide(table, pages(0, 20)), narrow(table, pages(8, 12));
  kernel.write(pages(5, 15));
  kernel.write(page(9));
  EXPECT_EQ(narrow.dirty(true), (Ranges{pages(8, 12)}));
  EXPECT_EQ(narrow.dirty(true), Ranges{});
  EXPECT_EQ(wide.dirty(true), (Ranges{pages(5, 15)}));
  EXPECT_EQ(wide.dirty(), Ranges{});
}

TEST(Pages, RandomHoldersAndWritesAgreeWithAModel) {
  // The model: each holder notes by itself which of its pages are written.
  static constexpr long end = 1400;
  Random random(1);
  Scripted kernel;
  Pages table(kernel);
  struct Modelled {
    Holder holder;
    long first, last;
    std::vector<bool> written;
  };
  std::list<Modelled> all;
  std::vector<bool> hole(end);
  auto some_pages = [&random] {
    const long first = static_cast<long>(random.below(end - 1));
    const long length = random.below(3) ? random.up_to(6) : random.up_to(700);
    return std::pair(first, std::min(end, first + length));
  };
  auto any = [&] { return std::next(all.begin(), random.below(all.size())); };
  int checked = 0;
  for (int time = 0; time < 4000; ++time) {
    const auto [first, last] = some_pages();
    switch (random.below(6)) {
      case 0:
        if (all.size() < 12) {
          all.push_back({Holder(table, pages(first, last)), first, last, {}});
          all.back().written.resize(static_cast<std::size_t>(last - first));
        } else {
          all.erase(any());
        }
        break;
      case 1:
      case 2: {
        const bool empties = random.below(8) == 0;
        empties ? kernel.empty(pages(first, last)) : kernel.write(pages(first, last));
        for (long p = first; p < last; ++p) {
          hole[static_cast<std::size_t>(p)] = empties;
          for (Modelled& m : all)
            if (p >= m.first && p < m.last) m.written[static_cast<std::size_t>(p - m.first)] = true;
        }
        break;
      }
      default: {
        if (all.empty()) break;
        Modelled& m = *any();
        const bool renew = random.coin();
        Ranges expected;
        for (long p = m.first; p < m.last; ++p) {
          const auto i = static_cast<std::size_t>(p - m.first);
          if (!m.written[i] && !hole[static_cast<std::size_t>(p)]) continue;
          if (!expected.empty() && expected.back().end == page(p).begin)
            expected.back().end = page(p).end;
          else
            expected.push_back(page(p));
          if (renew) m.written[i] = false;
        }
        ASSERT_EQ(m.holder.dirty(renew), expected) << "step " << time;
        checked += !expected.empty();
      }
    }
  }
  EXPECT_GT(checked, 300);
}

}  // namespace
}  // namespace pages_tests
}  // namespace blaslift
