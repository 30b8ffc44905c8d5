// Counters: mapped files that outlive their process, one for each image of each process.
#include "impl/observe/counters.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <thread>
#include <vector>

#include "impl/route/runtime.hpp"
#include "tests/unit/observe/counters_child.hpp"
#include "tests/unit/support/temporary.hpp"

namespace blaslift {

int make_counters(const char* directory) {
  set_counters_up(directory, Reason::small);
  claim_slot()->forwarded[static_cast<int>(Routine::dgemm)] = 2;
  return 0;
}

namespace counters_tests {
namespace {

using namespace blaslift::temporary;

/// A counters file, mapped as its readers map it.
class File {
 public:
  explicit File(const std::filesystem::path& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && std::filesystem::file_size(path) == sizeof(Counters))
      memory_ = mmap(nullptr, sizeof(Counters), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (memory_ == MAP_FAILED) throw std::runtime_error(path.string() + " is not a counters file");
  }
  ~File() { munmap(memory_, sizeof(Counters)); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const Counters& operator*() const { return *static_cast<const Counters*>(memory_); }
  const Counters* operator->() const { return &**this; }

 private:
  void* memory_ = MAP_FAILED;
};

std::vector<std::string> names_in(const Directory& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// As the forwarding path counts (api/entry.hpp): without locked instructions.
void forward(ThreadCounters* slot, Routine routine, int times) {
  for (int i = 0; i < times; ++i) {
    std::uint64_t& count = slot->forwarded[static_cast<int>(routine)];
    __atomic_store_n(&count, __atomic_load_n(&count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
  }
}

// The library's state is the process's: each test that touches it does so in a child, which ends with 0 if all is well.

TEST(Counters, AMappedFileSurvivesItsProcess) {
  const Directory directory;
  const int status = in_child([&] {
    set_counters_up(directory.path().c_str(), Reason::off);
    if (counters_exist()) return 1;
    Counters& c = counters();
    if (!counters_exist() || &counters() != &c) return 2;
    forward(claim_slot(), Routine::zgemm, 7);
    c.routines[static_cast<int>(Routine::dgemm)].routed = 3;
    kill(getpid(), SIGKILL);
    return 3;
  });
  EXPECT_EQ(status, -SIGKILL);
  const auto names = names_in(directory);
  ASSERT_EQ(names.size(), 1u);
  const File file(directory.path() / names[0]);
  EXPECT_EQ(names[0], std::to_string(file->pid) + ".0");
  EXPECT_EQ(file->layout, Counters::this_layout);
  EXPECT_EQ(file->parent, getpid());
  EXPECT_EQ(std::string(file->command), "blaslift_unit");
  EXPECT_EQ(file->forwarded_reason, Reason::off);
  EXPECT_EQ(forwarded_calls(*file, Routine::zgemm), 7u);
  EXPECT_EQ(forwarded_calls(*file, Routine::dgemm), 0u);
  EXPECT_EQ(file->routines[static_cast<int>(Routine::dgemm)].routed, 3u);
  const auto seconds_ago = static_cast<double>(time(nullptr)) - 1e-9 * static_cast<double>(file->started_ns);
  EXPECT_LT(std::abs(seconds_ago), 60);
  EXPECT_LE(file->now_ns, now_ns());
}

TEST(Counters, AFileThatCannotBeHadIsSaidAndEndsNothing) {
  const Directory directory;
  // Over its limit, a process that writes to a file is ended by SIGXFSZ.
  const int status = in_child([&] {
    const rlimit limit{sizeof(Counters) - 1, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    set_counters_up(directory.path().c_str(), Reason::small);
    forward(claim_slot(), Routine::dgemm, 2);
    return forwarded_calls(counters(), Routine::dgemm) == 2 ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  const auto names = names_in(directory);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_TRUE(names[0].ends_with(uncounted_suffix)) << names[0];
  EXPECT_EQ(std::filesystem::read_symlink(directory.path() / names[0]).string(), std::to_string(EFBIG));
  EXPECT_NE(std::string(why_uncounted(EFBIG)).find("ulimit -f"), std::string::npos);
}

TEST(Counters, AForkedChildGetsItsOwn) {
  // Through the runtime, whose fork handler sees to it.
  const Directory directory;
  const Variable variable("BLASLIFT_INTERNAL_COUNTERS", directory.path().c_str());
  const int status = in_child([&] {
    runtime();
    forward(thread_state.slot = claim_slot(), Routine::sgemm, 5);
    const int child = in_child([] {
      if (thread_state.slot || counters_exist()) return 11;  // the parent's
      forward(claim_slot(), Routine::sgemm, 3);
      return 0;
    });
    if (child != 0) return child;
    if (!thread_state.slot) return 12;
    forward(thread_state.slot, Routine::sgemm, 100);
    return 0;
  });
  ASSERT_EQ(status, 0);
  std::map<std::uint64_t, int> parents;
  int parent_of_three = 0, pid_of_many = -1;
  for (const auto& name : names_in(directory)) {
    const File file(directory.path() / name);
    const std::uint64_t calls = forwarded_calls(*file, Routine::sgemm);
    ++parents[calls];
    if (calls == 3) parent_of_three = file->parent;
    if (calls == 105) pid_of_many = file->pid;
  }
  EXPECT_EQ(parents, (std::map<std::uint64_t, int>{{3, 1}, {105, 1}}));
  EXPECT_EQ(parent_of_three, pid_of_many);
}

TEST(Counters, ExecKeepsThePidAndLosesNothing) {
  const Directory directory;
  const int status = in_child([&] {
    make_counters(directory.path().c_str());
    execl("/proc/self/exe", "blaslift_unit", "--make-counters", directory.path().c_str(), nullptr);
    return 1;
  });
  ASSERT_EQ(status, 0);
  const auto names = names_in(directory);
  ASSERT_EQ(names.size(), 2u);
  const File first(directory.path() / names[0]), second(directory.path() / names[1]);
  EXPECT_EQ(first->pid, second->pid);
  EXPECT_EQ(names[1], std::to_string(first->pid) + ".1");
  EXPECT_EQ(forwarded_calls(*first, Routine::dgemm), 2u);
  EXPECT_EQ(forwarded_calls(*second, Routine::dgemm), 2u);
}

TEST(Counters, ArePrivateWhereNoFileCanBeMade) {
  const Directory directory;
  const std::string missing = directory.path() / "missing", too_long = "/" + std::string(5000, 'x');
  for (const char* path : {static_cast<const char*>(nullptr), missing.c_str(), too_long.c_str()})
    EXPECT_EQ(in_child([&] {
                set_counters_up(path, Reason::small);
                forward(claim_slot(), Routine::cgemm, 4);
                return forwarded_calls(counters(), Routine::cgemm) == 4 && counters().pid == getpid() ? 0 : 1;
              }),
              0);
  EXPECT_TRUE(names_in(directory).empty());
}

TEST(Counters, ThreadsThatCallFirstAtOnceShareOne) {
  const Directory directory;
  const int status = in_child([&] {
    set_counters_up(directory.path().c_str(), Reason::small);
    std::atomic<int> ready{0};
    std::vector<Counters*> seen(16);
    std::vector<std::thread> threads;
    for (auto& mine : seen)
      threads.emplace_back([&] {
        ready.fetch_add(1);
        while (ready.load() < 16) std::this_thread::yield();
        forward(claim_slot(), Routine::dgemm, 10);
        mine = &counters();
      });
    for (auto& t : threads) t.join();
    for (const Counters* c : seen)
      if (c != seen[0]) return 1;
    return forwarded_calls(*seen[0], Routine::dgemm) == 160 ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  // Files of those who came second stay, empty.
  std::uint64_t calls = 0;
  for (const auto& name : names_in(directory)) calls += forwarded_calls(*File(directory.path() / name), Routine::dgemm);
  EXPECT_EQ(calls, 160u);
}

TEST(Counters, MoreThreadsThanSlotsAreStillCounted) {
  // As many threads as there are slots have one to themselves: exact.  The others share one, without locked
  // instructions: what is lost is theirs, never more than they counted, and at least what one of them counted last is
  // there.
  constexpr int threads = 600, calls = 1000, late = threads - thread_slots;
  const int status = in_child([] {
    set_counters_up(nullptr, Reason::small);
    std::atomic<int> claimed{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        ThreadCounters* slot = claim_slot();
        claimed.fetch_add(1);
        while (claimed.load() < threads)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));  // all alive at once
        forward(slot, Routine::dgemm, calls);
      });
    for (auto& t : all) t.join();
    const std::uint64_t sum = forwarded_calls(counters(), Routine::dgemm);
    std::printf("%llu of %d counted\n", static_cast<unsigned long long>(sum), threads * calls);
    if (sum < thread_slots * calls + 1 || sum > threads * calls) return 1;
    for (int slot = 0; slot < thread_slots; ++slot)
      if (counters().slots[slot].forwarded[static_cast<int>(Routine::dgemm)] != calls) return 2;
    return counters().threads == threads && late > 0 ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
}

TEST(Counters, ForwardedCallsAddUpSlotsAndRoutinesApart) {
  auto c = std::make_unique<Counters>();
  std::uint64_t expected[routine_count] = {};
  for (int slot = 0; slot <= thread_slots; ++slot)
    for (int r = 0; r <= routine_count; ++r) {  // the last entry, of Fortran twins, belongs to no routine
      const auto calls = static_cast<std::uint64_t>(slot * 31 + r * 7);
      c->slots[slot].forwarded[r] = calls;
      if (r < routine_count) expected[r] += calls;
    }
  c->threads = thread_slots + 3;
  for (int r = 0; r < routine_count; ++r) EXPECT_EQ(forwarded_calls(*c, static_cast<Routine>(r)), expected[r]) << r;
  // Slots that were not given out are not looked at, but for the one of all that come late.
  c->threads = 2;
  for (int r = 0; r < routine_count; ++r)
    EXPECT_EQ(forwarded_calls(*c, static_cast<Routine>(r)),
              static_cast<std::uint64_t>(31 + (thread_slots * 31) + 3 * 7 * r))
        << r;
}

TEST(Note, TheFirstOneStays) {
  auto note = std::make_unique<Note<8>>();  // zeroed, as in a fresh mapping
  EXPECT_STREQ(note->get(), "");
  note->set("");
  EXPECT_STREQ(note->get(), "") << "nothing to say leaves it free";
  ASSERT_TRUE(note->claim());
  EXPECT_STREQ(note->get(), "") << "half written is not there";
  EXPECT_FALSE(note->claim()) << "two writers at once";
  note->publish("first, and too long");
  EXPECT_STREQ(note->get(), "first, ");
  note->set("second");
  EXPECT_STREQ(note->get(), "first, ") << "a second one wiped it out";
  EXPECT_FALSE(note->claim());
  EXPECT_STREQ(note->get(), "first, ") << "a claim in vain wiped it out";
}

TEST(Note, OfManyThreadsIsOneWhole) {
  for (int time = 0; time < 200; ++time) {
    auto note = std::make_unique<Note<256>>();
    std::vector<std::thread> threads;
    std::atomic<int> torn{0};
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        note->set(std::string(200, static_cast<char>('a' + t)).c_str());
        const std::string seen = note->get();
        if (!seen.empty() && seen != std::string(200, seen[0])) ++torn;
      });
    for (auto& t : threads) t.join();
    ASSERT_EQ(torn, 0);
    ASSERT_EQ(std::string(note->get()).size(), 200u);
  }
}

TEST(Counters, SlotsOfThreadsShareNoCacheLine) {
  EXPECT_EQ(sizeof(ThreadCounters) % 64, 0u);
  EXPECT_EQ(offsetof(Counters, slots) % 64, 0u);
}

}  // namespace
}  // namespace counters_tests
}  // namespace blaslift
