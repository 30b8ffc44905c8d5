// The self-test of trackers: that one which misses any kind of write, or which is of no use, is refused for that.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "impl/residency/tracker.hpp"
#include "tests/unit/support/mapped.hpp"

namespace blaslift::self_test_tests {
namespace {

/// A tracker that passes everything on, and then spoils the answer.
class Spoiled final : public Tracker {
 public:
  explicit Spoiled(Tracker& tracker) : tracker_(tracker) {}

  std::function<void(Range, std::vector<Range>&)> spoil;
  std::string refusal;
  bool silent = false;
  int covers = 0, releases = 0;  ///< one a kind of write

  std::string cover(Range pages) override { return ++covers, refusal.empty() ? tracker_.cover(pages) : refusal; }
  bool scan(Range pages, std::vector<Range>& unwritten) override {
    if (silent) return false;
    const bool known = tracker_.scan(pages, unwritten);
    if (spoil) spoil(pages, unwritten);
    return known;
  }
  void release(Range pages) noexcept override {
    ++releases;
    if (refusal.empty()) tracker_.release(pages);
  }
  void uncover(Range pages) override { tracker_.uncover(pages); }
  std::string blind() override { return {}; }

 private:
  Tracker& tracker_;
};

class SelfTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    tracker_ = open_tracker(why);
    if (!tracker_) GTEST_SKIP() << "no write tracking here to be spoiled: " << why;
  }
  Tracker& tracker() { return *tracker_; }

 private:
  Tracker* tracker_ = nullptr;
};

/// Whether the kernel has nothing there, neither in memory nor swapped out.
bool is_hole(Address page) {
  const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::uint64_t entry = 0;
  EXPECT_EQ(pread(pagemap, &entry, sizeof entry, static_cast<off_t>(page / page_bytes * sizeof entry)),
            static_cast<ssize_t>(sizeof entry));
  close(pagemap);
  return (entry >> 62) == 0;
}

TEST_F(SelfTest, PassesTheKernels) {
  Spoiled honest(tracker());
  EXPECT_EQ(self_test(honest), "");
  EXPECT_GE(honest.covers, 13) << "kinds of writes, on small and on huge pages";
  EXPECT_EQ(honest.releases, honest.covers) << "leaves nothing behind";
}

TEST_F(SelfTest, RefusesOneThatMissesAnyKindOfWrite) {
  constexpr const char* kinds[] = {"a store",           "read(2)",       "recv(2)",
                                   "process_vm_writev", "MADV_DONTNEED", "MADV_DONTNEED of a huge page",
                                   "a new mapping",     "mremap"};
  int refused = 0;
  for (int nth = 1; nth <= 15; ++nth) {
    Spoiled spoiled(tracker());
    spoiled.spoil = [&](Range pages, std::vector<Range>& unwritten) {
      if (spoiled.covers == nth) unwritten = {pages};
    };
    const std::string why = self_test(spoiled);
    // Seven kinds on small pages, eight on huge ones.
    const bool huge = nth > 7;
    const int kind = huge ? nth - 8 : nth <= 5 ? nth - 1 : nth;
    if (why.empty() && (kind == 2 || kind == 3)) continue;  // refused to this process
    EXPECT_EQ(why, std::string("it does not notice ") + kinds[kind] + (huge ? " in huge pages" : ""));
    EXPECT_EQ(spoiled.covers, nth) << "and looks no further";
    ++refused;
  }
  EXPECT_GE(refused, 11);
}

TEST_F(SelfTest, RefusesOneThatMissesTheSecondWrite) {
  // One that takes what it has protected once for protected for ever.
  Spoiled spoiled(tracker());
  int scans = 0;
  spoiled.spoil = [&](Range pages, std::vector<Range>& unwritten) {
    if (++scans == 4) unwritten = {pages};
  };
  EXPECT_EQ(self_test(spoiled), "it does not notice a store");
}

TEST_F(SelfTest, RefusesOneToWhichDiscardedHugePagesSeemUnwritten) {
  // As kernels do that forget to mark what they take away as a whole.
  Spoiled spoiled(tracker());
  spoiled.spoil = [](Range pages, std::vector<Range>& unwritten) {
    for (Address at = pages.begin; at + huge_page <= pages.end; at += huge_page)
      if (at % huge_page == 0 && is_hole(at) && is_hole(at + huge_page - page_bytes))
        unwritten.push_back({at, at + huge_page});
  };
  const std::string why = self_test(spoiled);
  EXPECT_EQ(why.find("it does not notice MADV_DONTNEED of a huge page"), 0u) << why;
}

TEST_F(SelfTest, RefusesOneToWhichHolesSeemUnwritten) {
  Spoiled spoiled(tracker());
  spoiled.spoil = [](Range pages, std::vector<Range>& unwritten) {
    for (Address at = pages.begin; at < pages.end; at += page_bytes)
      if (is_hole(at)) unwritten.push_back({at, at + page_bytes});
  };
  EXPECT_EQ(self_test(spoiled), "it does not notice MADV_DONTNEED");
}

TEST_F(SelfTest, RefusesOneToWhichEverythingSeemsWritten) {
  Spoiled spoiled(tracker());
  spoiled.spoil = [](Range, std::vector<Range>& unwritten) { unwritten.clear(); };
  EXPECT_EQ(self_test(spoiled), "unwritten pages seem written (a store)");
}

TEST_F(SelfTest, RefusesOneToWhichNeighboursSeemWritten) {
  // One that looks at huge pages as a whole, and so would send two megabytes for every byte.
  Spoiled spoiled(tracker());
  spoiled.spoil = [](Range pages, std::vector<Range>& unwritten) {
    if (pages.size() >= 2 * huge_page && unwritten.size() > 1) unwritten.pop_back();
  };
  const std::string why = self_test(spoiled);
  EXPECT_EQ(why, "unwritten pages seem written (a store) in huge pages");
}

TEST_F(SelfTest, RefusesOneThatDoesNotAnswer) {
  Spoiled silent(tracker()), refusing(tracker());
  silent.silent = true;
  EXPECT_EQ(self_test(silent), "no answer (a store)");
  refusing.refusal = "not today";
  EXPECT_EQ(self_test(refusing), "not today (a store)");
}

/// One that compares contents: it would never notice that a page was written with what it held before, and so cannot
/// know what was written while it compared.
class Comparing final : public Tracker {
 public:
  std::string cover(Range pages) override {
    if (!(pages == pages_)) before_.clear();
    pages_ = pages;
    return {};
  }
  bool scan(Range pages, std::vector<Range>& unwritten) override {
    std::vector<char> now(pages.size());
    std::memcpy(now.data(), reinterpret_cast<const char*>(pages.begin), now.size());
    for (std::size_t at = 0; at < now.size() && before_.size() == now.size(); at += page_bytes) {
      if (std::memcmp(&now[at], &before_[at], page_bytes) != 0) continue;
      const Range page{pages.begin + at, pages.begin + at + page_bytes};
      if (!unwritten.empty() && unwritten.back().end == page.begin)
        unwritten.back().end = page.end;
      else
        unwritten.push_back(page);
    }
    before_ = std::move(now);
    return true;
  }
  void release(Range) noexcept override {}
  void uncover(Range) override {}
  std::string blind() override { return {}; }

 private:
  Range pages_{};
  std::vector<char> before_;
};

TEST(SelfTestOfContents, RefusesOneThatComparesContents) {
  Comparing comparing;
  EXPECT_EQ(self_test(comparing), "it does not notice a store");
}

}  // namespace
}  // namespace blaslift::self_test_tests
