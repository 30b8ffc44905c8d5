// The kernel's write tracking, as it is here: that nothing that programs do to their memory goes unnoticed, that what
// cannot be tracked is refused, and that covering costs a program few of its mappings.
#include "impl/residency/tracker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/support/mapped.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/temporary.hpp"

namespace blaslift::tracker_tests {
namespace {

using namespace temporary;

class KernelTracker : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    tracker_ = open_tracker(why);
    if (!tracker_) GTEST_SKIP() << "no write tracking here: " << why;
  }
  Tracker& tracker() { return *tracker_; }

  /// Page by page, whether it is positively unwritten.
  std::vector<bool> unwritten(Range pages) {
    std::vector<Range> runs;
    EXPECT_TRUE(tracker().scan(pages, runs));
    std::vector<bool> all(pages.size() / page_bytes);
    Address last = pages.begin;
    for (const Range& r : runs) {
      EXPECT_TRUE(r.begin >= last && r.begin < r.end && r.end <= pages.end) << "in order, and within";
      last = r.end;
      for (Address at = r.begin; at < r.end; at += page_bytes) all[(at - pages.begin) / page_bytes] = true;
    }
    return all;
  }
  /// Covers and protects: nothing of it has been written when this returns.
  void protect(const Mapped& memory) {
    ASSERT_EQ(tracker().cover(memory.pages()), "");
    unwritten(memory.pages());
    for (const bool page : unwritten(memory.pages())) ASSERT_TRUE(page);
  }

 private:
  Tracker* tracker_ = nullptr;
};

/// Children share the parent's memory until one of them writes.
bool in_child_that(void (*work)(char*), char* page) {
  return in_child([=] { return work(page), 0; }) == 0;
}

struct Way {
  const char* name;
  bool (*write)(char* page);  ///< changes one page of several, already covered; false: not possible here
  std::size_t pages = 1;      ///< that are changed
  bool once = false;          ///< not a second time: what is there afterwards is not covered
};

bool read_from(int (*open_pair)(int*), char* page, ssize_t (*take)(int, void*, std::size_t)) {
  int ends[2];
  if (open_pair(ends) != 0) return false;
  const bool done = write(ends[1], "abc", 3) == 3 && take(ends[0], page + 100, 3) == 3;
  return close(ends[0]), close(ends[1]), done;
}

const Way ways[] = {
    {"a store", [](char* p) { return p[17] = static_cast<char>(p[17] + 1), true; }},
    {"a store of what is there", [](char* p) { return *static_cast<volatile char*>(p) = *p, true; }},
    {"an atomic operation", [](char* p) { return __atomic_fetch_add(p + 4, 1, __ATOMIC_SEQ_CST), true; }},
    {"memset over three pages", [](char* p) { return std::memset(p, 7, 3 * page_bytes), true; }, 3},
    {"a store across two pages",
     [](char* p) {
       const std::uint64_t x = 0x0102030405060708;
       return std::memcpy(p + page_bytes - 4, &x, sizeof x), true;
     },
     2},
    {"another thread", [](char* p) { return std::thread([p] { p[5] ^= 1; }).join(), true; }},
    {"read(2)",
     [](char* p) {
       return read_from([](int* ends) { return pipe(ends); }, p,
                        [](int f, void* to, std::size_t n) { return read(f, to, n); });
     }},
    {"recv(2)",
     [](char* p) {
       return read_from([](int* ends) { return socketpair(AF_UNIX, SOCK_STREAM, 0, ends); }, p,
                        [](int f, void* to, std::size_t n) { return recv(f, to, n, 0); });
     }},
    {"readv of parts",
     [](char* p) {
       int ends[2];
       const iovec parts[] = {{p + 10, 2}, {p + 3000, 3}};
       if (pipe(ends) != 0) return false;
       const bool done = write(ends[1], "abcde", 5) == 5 && readv(ends[0], parts, 2) == 5;
       return close(ends[0]), close(ends[1]), done;
     }},
    {"read(2) of a file with O_DIRECT",
     [](char* p) {
       const Directory directory;
       const std::string path = directory.file("data", std::string(page_bytes, 'x'));
       const int file = open(path.c_str(), O_RDONLY | O_DIRECT);
       const bool done = file >= 0 && read(file, p, page_bytes) == static_cast<ssize_t>(page_bytes);
       return close(file), done;
     }},
    {"process_vm_writev",
     [](char* p) {
       char x = 'x';
       const iovec from{&x, 1}, to{p + 9, 1};
       return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 1;
     }},
    {"/proc/self/mem",
     [](char* p) {
       const int self = open("/proc/self/mem", O_RDWR);
       const bool done = self >= 0 && pwrite(self, "x", 1, reinterpret_cast<off_t>(p + 9)) == 1;
       return close(self), done;
     }},
    {"getrandom", [](char* p) { return syscall(SYS_getrandom, p, 8, 0) == 8; }},
    {"the parent after a fork", [](char* p) { return in_child_that([](char*) {}, p) && (p[3] ^= 1, true); }},
    {"the parent while a child lives",
     [](char* p) {
       int ends[2];
       char x;
       if (pipe(ends) != 0) return false;
       const pid_t child = fork();
       if (child == 0) {
         close(ends[1]);
         _exit(static_cast<int>(read(ends[0], &x, 1)));
       }
       p[3] ^= 1;
       close(ends[1]), close(ends[0]);
       return child > 0 && waitpid(child, nullptr, 0) == child;
     }},
    {"the parent after its child has written",
     [](char* p) { return in_child_that([](char* page) { page[3] ^= 1; }, p) && (p[3] ^= 1, true); }},
    {"a child that shares all memory",
     [](char* p) {
       alignas(16) static char stack[1 << 16];
       const auto work = [](void* page) { return *static_cast<volatile char*>(page) = 'v', 0; };
       const pid_t child = clone(work, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, p);
       return child > 0 && waitpid(child, nullptr, 0) == child;
     }},
    {"MADV_DONTNEED", [](char* p) { return madvise(p, page_bytes, MADV_DONTNEED) == 0; }},
    {"MADV_DONTNEED and a read", [](char* p) { return madvise(p, page_bytes, MADV_DONTNEED) == 0 && *p == 0; }},
    {"MADV_DONTNEED and a store", [](char* p) { return madvise(p, page_bytes, MADV_DONTNEED) == 0 && (*p = 1, true); }},
    {"MADV_FREE and a store", [](char* p) { return madvise(p, page_bytes, MADV_FREE) == 0 && (*p = 1, true); }},
    {"without access for a while",
     [](char* p) {
       return mprotect(p, page_bytes, PROT_NONE) == 0 && mprotect(p, page_bytes, PROT_READ | PROT_WRITE) == 0 &&
              (*p = 1, true);
     }},
    {"read-only for a while",
     [](char* p) {
       return mprotect(p, page_bytes, PROT_READ) == 0 && mprotect(p, page_bytes, PROT_READ | PROT_WRITE) == 0 &&
              (*p = 1, true);
     }},
    {"a store to what is locked",
     [](char* p) { return mlock(p, page_bytes) == 0 && (*p = 1, munlock(p, page_bytes) == 0); }},
    {"a store, and then collapsed into huge pages",
     [](char* p) {
       *p = 1;
       (void)madvise(p - reinterpret_cast<Address>(p) % huge_page, huge_page, 25 /* MADV_COLLAPSE */);
       return true;
     }},
    {"a store, and then paged out", [](char* p) { return *p = 1, madvise(p, page_bytes, MADV_PAGEOUT) == 0; }},
    {"a new mapping",
     [](char* p) {
       return mmap(p, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p;
     },
     1, true},
    {"a new mapping that is filled",
     [](char* p) {
       return mmap(p, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1,
                   0) == p;
     },
     1, true},
    {"unmapped", [](char* p) { return munmap(p, page_bytes) == 0; }, 1, true},
    {"a file's mapping",
     [](char* p) {
       const int file = memfd_create("file", MFD_CLOEXEC);
       const bool done = ftruncate(file, page_bytes) == 0 && mmap(p, page_bytes, PROT_READ | PROT_WRITE,
                                                                  MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, file, 0) == p;
       return close(file), done;
     },
     1, true},
    {"mremap to here",
     [](char* p) {
       void* other = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       std::memset(other, 9, page_bytes);
       return mremap(other, page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p;
     },
     1, true},
    {"mremap away, keeping the mapping",
     [](char* p) {
       void* other = mremap(p, page_bytes, page_bytes, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */, nullptr);
       return other != MAP_FAILED && munmap(other, page_bytes) == 0;
     },
     1, true},
    {"mremap away and back",
     [](char* p) {
       void* other = mremap(p, page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                            mmap(nullptr, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
       if (other == MAP_FAILED) return false;
       *static_cast<char*>(other) = 1;
       return mremap(other, page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p;
     },
     1, true},
    {"brought from another place that is covered, too",
     [](char* p) {
       const Mapped other(1);
       std::string why;
       Tracker& tracker = *open_tracker(why);
       std::vector<Range> runs;
       if (!tracker.cover(other.pages()).empty() || !tracker.scan(other.pages(), runs)) return false;
       return mremap(other.at(0), page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p;
     },
     1, true},
};

TEST_F(KernelTracker, NoticesEveryWayToChangeMemory) {
  // On small pages, on huge ones, and on huge ones that have been split.
  for (const char* kind : {"small", "huge"})
    for (const Way& way : ways) {
      SCOPED_TRACE(testing::Message() << way.name << ", " << kind << " pages");
      const bool huge = *kind == 'h';
      const Mapped memory(huge ? 1024 : 16, huge);
      protect(memory);
      const std::size_t at = huge ? 700 : 6;
      for (int time = 0; time < (way.once ? 1 : 3); ++time) {
        if (!way.write(memory.at(at))) {
          std::printf("not possible here: %s, %s pages\n", way.name, kind);
          break;
        }
        const auto pages = unwritten(memory.pages());
        for (std::size_t p = 0; p < way.pages; ++p) EXPECT_FALSE(pages[at + p]) << "page " << p << ", time " << time;
        if (std::string_view(way.name).find("collapse") == std::string_view::npos) {  // that touches them all
          EXPECT_TRUE(pages[at - 1]) << "not written";
          EXPECT_TRUE(pages[at + way.pages]) << "not written";
        }
        if (HasFailure()) break;
      }
    }
}

TEST_F(KernelTracker, NoticesWhatChangesHugePagesAsAWhole) {
  const struct {
    const char* name;
    bool (*change)(char* begin);
  } changes[] = {
      {"MADV_DONTNEED", [](char* b) { return madvise(b, huge_page, MADV_DONTNEED) == 0; }},
      {"MADV_DONTNEED and reading", [](char* b) { return madvise(b, huge_page, MADV_DONTNEED) == 0 && b[5] == 0; }},
      {"MADV_DONTNEED and one store", [](char* b) { return madvise(b, huge_page, MADV_DONTNEED) == 0 && (b[5] = 1); }},
      {"MADV_DONTNEED of it and its neighbour's beginning",
       [](char* b) { return madvise(b, huge_page + page_bytes, MADV_DONTNEED) == 0; }},
      {"a new mapping",
       [](char* b) {
         return mmap(b, huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == b;
       }},
      {"mremap to here",
       [](char* b) {
         const Mapped other(512, true);
         return mremap(other.at(0), huge_page, huge_page, MREMAP_MAYMOVE | MREMAP_FIXED, b) == b;
       }},
      {"unmapped", [](char* b) { return munmap(b, huge_page) == 0; }},
  };
  for (const auto& c : changes)
    for (const bool again : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.name << (again ? ", covered again" : ""));
      const Mapped memory(3 * 512, true);
      protect(memory);
      ASSERT_TRUE(c.change(memory.at(512)));
      if (again && tracker().cover(memory.pages()) != "") continue;
      const auto pages = unwritten(memory.pages());
      for (std::size_t p = 512; p < 1024; ++p) ASSERT_FALSE(pages[p]) << p;
      for (std::size_t p = 0; p < 512; ++p) ASSERT_TRUE(pages[p]) << p;
      for (std::size_t p = 1025; p < 1536; ++p) ASSERT_TRUE(pages[p]) << p;
    }
}

TEST_F(KernelTracker, HolesAreNeverUnwrittenUntilFilled) {
  const Mapped memory(16, false, false);
  ASSERT_EQ(tracker().cover(memory.pages()), "");
  for (int time = 0; time < 3; ++time)
    for (const bool page : unwritten(memory.pages())) EXPECT_FALSE(page);
  EXPECT_EQ(*static_cast<volatile char*>(memory.at(3)), 0);  // the kernel's page of zeros
  (void)unwritten(memory.pages());
  memory.at(3)[0] = 1;
  memory.at(4)[0] = 1;
  auto pages = unwritten(memory.pages());
  EXPECT_FALSE(pages[3] || pages[4]);
  pages = unwritten(memory.pages());
  EXPECT_TRUE(pages[3] && pages[4]);
  EXPECT_FALSE(pages[2] || pages[5]);
}

TEST_F(KernelTracker, LooksAtNothingBeyondWhatItIsAsked) {
  const Mapped memory(64);
  protect(memory);
  for (std::size_t p : {9, 10, 19, 20}) memory.at(p)[0] = 1;
  const auto middle = unwritten(memory.range(10, 20));
  EXPECT_FALSE(middle[0] || middle[9]);
  EXPECT_TRUE(middle[1] && middle[8]);
  const auto all = unwritten(memory.pages());  // the evidence outside is still there, inside it is consumed
  EXPECT_FALSE(all[9] || all[20]);
  EXPECT_TRUE(all[10] && all[19]);
}

TEST_F(KernelTracker, TellsMoreRunsThanFitOneAnswer) {
  const Mapped memory(4096);
  protect(memory);
  for (std::size_t p = 0; p < 4096; p += 2) memory.at(p)[0] = 1;
  const auto pages = unwritten(memory.pages());
  for (std::size_t p = 0; p < 4096; ++p) ASSERT_EQ(pages[p], p % 2 == 1) << p;
  for (const bool page : unwritten(memory.pages())) ASSERT_TRUE(page);
}

TEST_F(KernelTracker, LargeMemoryIsLookedAtInPartsByMany) {
  for (const bool huge : {false, true}) {
    // Five parts of 8 MiB, or six, of which the first and the last are not whole.
    const Mapped memory(5 * 2048 - 100, huge);
    protect(memory);
    Random random(huge ? 2 : 1);
    for (int time = 0; time < 20; ++time) {
      std::vector<bool> written(memory.size() / page_bytes);
      for (int i = 0; i < 1 << random.below(8); ++i) {
        const std::size_t page =
            time % 5 == 0 ? 2048 * random.below(5) + random.below(2) : random.below(written.size());
        memory.at(page)[random.below(page_bytes)] ^= 1;
        written[page] = true;
      }
      const auto pages = unwritten(memory.pages());
      for (std::size_t p = 0; p < pages.size(); ++p) ASSERT_EQ(pages[p], !written[p]) << p << ", time " << time;
    }
    for (const bool page : unwritten(memory.pages())) ASSERT_TRUE(page);
  }
}

TEST_F(KernelTracker, WhatIsUncoveredIsFoundWrittenAndCoveredAgain) {
  const Mapped memory(16);
  protect(memory);
  tracker().uncover(memory.range(4, 8));
  auto pages = unwritten(memory.pages());
  for (std::size_t p = 0; p < 16; ++p) EXPECT_EQ(pages[p], p < 4 || p >= 8) << p;
  protect(memory);
  tracker().uncover(memory.range(0, 1));
  // Gone since: nothing happens.
  Range gone;
  {
    const Mapped other(4);
    protect(other);
    gone = other.pages();
  }
  tracker().uncover(gone);
}

/// Whether the mapping that begins here is under write tracking, by what the kernel says about it.
bool is_tracked(const char* begin) {
  std::ifstream smaps("/proc/self/smaps");
  char start[32];
  std::snprintf(start, sizeof start, "%lx-", reinterpret_cast<Address>(begin));
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find(start) == 0) here = true;
    if (here && line.starts_with("VmFlags:")) return (line + " ").find(" uw ") != std::string::npos;
  }
  ADD_FAILURE() << "no mapping begins there";
  return false;
}

TEST_F(KernelTracker, AMappingThatNobodyNeedsIsTheProgramsAgain) {
  const Mapped memory(16);
  EXPECT_FALSE(is_tracked(memory.at(0)));
  ASSERT_EQ(tracker().cover(memory.range(0, 8)), "");
  ASSERT_EQ(tracker().cover(memory.range(4, 12)), "");
  EXPECT_TRUE(is_tracked(memory.at(0)));
  unwritten(memory.pages());
  tracker().release(memory.range(0, 8));
  EXPECT_TRUE(is_tracked(memory.at(0))) << "somebody still needs it";
  auto pages = unwritten(memory.pages());
  for (std::size_t p = 0; p < 16; ++p) EXPECT_EQ(pages[p], p >= 8) << p;
  memory.at(9)[0] = 1;
  pages = unwritten(memory.pages());
  EXPECT_FALSE(pages[9]);
  EXPECT_TRUE(pages[5] && pages[10]) << "protected again, and still";
  tracker().release(memory.range(4, 12));
  EXPECT_FALSE(is_tracked(memory.at(0)));
  for (int time = 0; time < 2; ++time)
    for (const bool page : unwritten(memory.pages())) EXPECT_FALSE(page);
  // And everything again.
  protect(memory);
  memory.at(3)[0] = 1;
  pages = unwritten(memory.pages());
  EXPECT_TRUE(!pages[3] && pages[4]);
  tracker().release(memory.pages());
}

TEST_F(KernelTracker, WhatIsRefusedIsNotLeftCovered) {
  const Mapped memory(12);
  ASSERT_NE(mmap(memory.at(4), 4 * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
  EXPECT_NE(tracker().cover(memory.pages()), "");
  for (const std::size_t p : {0, 4, 8}) EXPECT_FALSE(is_tracked(memory.at(p))) << p;
}

TEST_F(KernelTracker, ReleasingWhatIsNoLongerThereHidesNothing) {
  // The program has put another mapping where a covered one was; that is covered, too, and then the first is released.
  const Mapped memory(16);
  protect(memory);
  ASSERT_EQ(mmap(memory.at(0), memory.size(), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0),
            memory.at(0));
  protect(memory);
  tracker().release(memory.pages());
  for (int time = 0; time < 3; ++time) {
    memory.at(6)[0] = 1;
    memory.at(11)[0] = 1;
    const auto pages = unwritten(memory.pages());
    EXPECT_FALSE(pages[6] || pages[11]);
  }
  tracker().release(memory.pages());
  EXPECT_FALSE(is_tracked(memory.at(0)));
}

TEST_F(KernelTracker, WhatIsMappedAnewMustBeCoveredAnew) {
  const Mapped memory(16);
  protect(memory);
  ASSERT_EQ(mmap(memory.at(4), 4 * page_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0),
            memory.at(4));
  for (int time = 0; time < 2; ++time) {  // however often it is looked at
    const auto pages = unwritten(memory.pages());
    for (std::size_t p = 0; p < 16; ++p) EXPECT_EQ(pages[p], p < 4 || p >= 8) << p;
  }
  std::memset(memory.at(4), 1, 4 * page_bytes);
  protect(memory);
}

TEST_F(KernelTracker, RefusesWhatItCannotTrack) {
  auto why = [this](void* at, std::size_t bytes) {
    const auto begin = reinterpret_cast<Address>(at);
    return tracker().cover(pages_of({begin, begin + bytes}));
  };
  const Directory directory;
  const std::string path = directory.file("data", std::string(4 * page_bytes, 'x'));
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC), anonymous = memfd_create("m", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(anonymous, 4 * page_bytes), 0);
  const struct {
    const char* name;
    int flags, fd;
  } kinds[] = {
      {"shared", MAP_SHARED | MAP_ANONYMOUS, -1},
      {"a file, privately", MAP_PRIVATE, file},
      {"a file, shared", MAP_SHARED, file},
      {"a memory file, privately", MAP_PRIVATE, anonymous},
      {"a memory file, shared", MAP_SHARED, anonymous},
  };
  for (const auto& kind : kinds) {
    void* at = mmap(nullptr, 4 * page_bytes, PROT_READ | PROT_WRITE, kind.flags, kind.fd, 0);
    ASSERT_NE(at, MAP_FAILED) << kind.name;
    std::memset(at, 1, 4 * page_bytes);
    EXPECT_EQ(why(at, 4 * page_bytes), "not private anonymous memory") << kind.name;
    munmap(at, 4 * page_bytes);
    // And where only a part of it is of that kind.
    const Mapped memory(12);
    ASSERT_NE(mmap(memory.at(4), 4 * page_bytes, PROT_READ | PROT_WRITE, kind.flags | MAP_FIXED, kind.fd, 0),
              MAP_FAILED);
    EXPECT_NE(tracker().cover(memory.pages()), "") << kind.name;
    EXPECT_EQ(tracker().cover(memory.range(0, 4)), "") << kind.name;
    EXPECT_EQ(tracker().cover(memory.range(8, 12)), "") << kind.name;
  }
  close(file), close(anonymous);
  static char global[3 * page_bytes] = {1};
  EXPECT_EQ(why(global, sizeof global), "not private anonymous memory") << "of the program's file";
  char local[16];
  EXPECT_NE(why(local, sizeof local), "") << "the stack";
  const Mapped memory(4);
  munmap(memory.at(1), page_bytes);
  EXPECT_EQ(tracker().cover(memory.pages()), "not mapped") << "a gap";
  EXPECT_EQ(tracker().cover(memory.range(1, 2)), "not mapped");
  EXPECT_EQ(why(reinterpret_cast<void*>(4 * page_bytes), 100), "not mapped");
}

/// In these addresses: elsewhere the allocator maps, too.
std::size_t mappings(Range within) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    Range m{};
    if (std::sscanf(line.c_str(), "%lx-%lx", &m.begin, &m.end) == 2)
      count += m.begin < within.end && within.begin < m.end;
  }
  return count;
}

/// So many mappings of two pages, which nothing merges, since what lies between them cannot be accessed.
class Islands {
 public:
  explicit Islands(std::size_t count) : size_(4 * count * page_bytes) {
    begin_ = static_cast<char*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t i = 0; i < count; ++i)
      if (mprotect(at(i), 2 * page_bytes, PROT_READ | PROT_WRITE) == 0) std::memset(at(i), 1, 2 * page_bytes);
  }
  ~Islands() { munmap(begin_, size_); }
  Islands(const Islands&) = delete;
  Islands& operator=(const Islands&) = delete;
  char* at(std::size_t i) const { return begin_ + (4 * i + 1) * page_bytes; }
  Range range(std::size_t i) const {
    const auto begin = reinterpret_cast<Address>(at(i));
    return {begin, begin + 2 * page_bytes};
  }
  Range all() const { return {reinterpret_cast<Address>(begin_), reinterpret_cast<Address>(begin_) + size_}; }

 private:
  std::size_t size_;
  char* begin_;
};

TEST_F(KernelTracker, CostsTheProgramFewMappings) {
  const Islands islands(200);
  const std::size_t before = mappings(islands.all());
  ASSERT_GE(before, 400u);
  for (std::size_t i = 0; i < 200; ++i) {
    ASSERT_EQ(tracker().cover(islands.range(i)), "");
    (void)unwritten(islands.range(i));
  }
  EXPECT_EQ(mappings(islands.all()), before) << "whole mappings need not be split";
  // Nor does it cost any to cover parts of one.
  const Mapped large(4096);
  const std::size_t then = mappings(large.range(0, 4096));
  for (std::size_t p = 0; p < 4096; p += 100) ASSERT_EQ(tracker().cover(large.range(p, p + 10)), "");
  EXPECT_LE(mappings(large.range(0, 4096)), then);
}

TEST_F(KernelTracker, CoversAtMostAThousandMappings) {
  std::size_t covered = 0;
  {
    const Islands islands(1100);
    std::string why;
    while (covered < 1100 && (why = tracker().cover(islands.range(covered))).empty()) ++covered;
    EXPECT_EQ(why, "too many mappings");
    EXPECT_GT(covered, 700u) << "others of this process count, too";
    EXPECT_LE(covered, 1000u);
    // What is covered already is still welcome.
    EXPECT_EQ(tracker().cover(islands.range(0)), "");
  }
  // Those are gone: there is room again.
  const Mapped memory(16);
  protect(memory);
}

TEST_F(KernelTracker, IsNotBlindWithoutReason) {
  const Mapped memory(16);
  protect(memory);
  ASSERT_EQ(mlock(memory.at(0), page_bytes), 0);
  EXPECT_EQ(tracker().blind(), "") << "locked memory is not pinned";
  munlock(memory.at(0), page_bytes);
}

TEST_F(KernelTracker, IsBlindWhileADeviceThatWritesMemoryIsOpen) {
  const Directory directory;
  for (const char* device : {"infiniband/uverbs0", "vfio/vfio", "hfi1_0", "cxi0", "xpmem", "knem"}) {
    const auto path = directory.path() / "dev" / device;
    std::filesystem::create_directories(path.parent_path());
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0) << path;
    EXPECT_NE(tracker().blind().find(device), std::string::npos) << tracker().blind();
    close(file);
    EXPECT_EQ(tracker().blind(), "");
  }
}

TEST_F(KernelTracker, IsBlindWhileThereIsAnIoUring) {
  alignas(16) unsigned char parameters[256] = {};
  const auto ring = static_cast<int>(syscall(425 /* io_uring_setup */, 4, parameters));
  if (ring < 0) GTEST_SKIP() << "no io_uring here: " << std::strerror(errno);
  EXPECT_NE(tracker().blind().find("io_uring"), std::string::npos) << tracker().blind();
  close(ring);
  EXPECT_EQ(tracker().blind(), "");
}

TEST_F(KernelTracker, AnswersNothingOnceItsDescriptorIsSomebodyElses) {
  // In a child, because it is not to be undone: the program closes what it has not opened.
  const Mapped memory(4);
  protect(memory);
  int found = 0;
  for (int fd = 3; fd < 1100; ++fd) {
    char target[64] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), target, sizeof target - 1) > 0 && std::strstr(target, "/pagemap")) {
      ++found;
      const int status = in_child([&] {
        std::vector<Range> runs;
        close(fd);
        if (tracker().scan(memory.pages(), runs) || !runs.empty()) return 1;
        if (dup2(0, fd) != fd) return 2;
        return tracker().scan(memory.pages(), runs) || !runs.empty() ? 3 : 0;
      });
      EXPECT_EQ(status, 0);
    }
  }
  EXPECT_EQ(found, 1);
}

TEST_F(KernelTracker, IsOneAndTheSame) {
  std::string why = "left";
  EXPECT_EQ(open_tracker(why), &tracker());
  EXPECT_EQ(why, "");
}

}  // namespace
}  // namespace blaslift::tracker_tests
