// What a tracker must notice before anything relies on it: every kind of write that programs make, on small pages and
// on huge ones.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "impl/residency/pages.hpp"

namespace blaslift {
namespace {

constexpr std::size_t huge_bytes = std::size_t{2} << 20;

bool store(char* page) { return *static_cast<volatile char*>(page) = 1, true; }

bool read_into(char* page) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool done = write(ends[1], "x", 1) == 1 && read(ends[0], page, 1) == 1;
  return close(ends[0]), close(ends[1]), done;
}

bool receive_into(char* page) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
  const bool done = send(ends[1], "x", 1, MSG_NOSIGNAL) == 1 && recv(ends[0], page, 1, 0) == 1;
  return close(ends[0]), close(ends[1]), done;
}

bool write_from_outside(char* page) {
  char from = 1;
  const iovec local{&from, 1}, remote{page, 1};
  return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == 1;
}

bool discard(char* page) { return madvise(page, page_bytes, MADV_DONTNEED) == 0; }

bool map_anew(char* page) {
  return mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page;
}

bool move_there(char* page) {
  void* other = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (other == MAP_FAILED) return false;
  std::memset(other, 1, page_bytes);
  return mremap(other, page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, page) == page;
}

bool discard_huge(char* page) {
  return madvise(page - reinterpret_cast<Address>(page) % huge_bytes, huge_bytes, MADV_DONTNEED) == 0;
}

struct Kind {
  const char* name;
  bool (*write)(char* page);  ///< changes a byte of the page; false: not possible in this process
  bool may_be_refused;        ///< by the sandbox that we run in: then the program cannot do it either
  bool ends_cover;            ///< that page is no longer covered then
};

constexpr Kind kinds[] = {
    {"a store", store, false, false},         {"read(2)", read_into, false, false},
    {"recv(2)", receive_into, true, false},   {"process_vm_writev", write_from_outside, true, false},
    {"MADV_DONTNEED", discard, false, false}, {"MADV_DONTNEED of a huge page", discard_huge, false, false},
    {"a new mapping", map_anew, false, true}, {"mremap", move_there, false, true},
};

/// Pages to write to: two huge ones, or some small ones in the middle of nowhere.
struct Ground {
  explicit Ground(bool huge) : size(huge ? 2 * huge_bytes : 16 * page_bytes) {
    mapping = mmap(nullptr, 3 * huge_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return;
    begin = static_cast<char*>(mapping) + huge_bytes - reinterpret_cast<Address>(mapping) % huge_bytes;
    (void)madvise(begin, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::memset(begin, 2, size);
  }
  ~Ground() {
    if (begin) (void)munmap(mapping, 3 * huge_bytes);
  }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  Range pages() const { return {reinterpret_cast<Address>(begin), reinterpret_cast<Address>(begin) + size}; }

  const std::size_t size;
  void* mapping;
  char* begin = nullptr;
};

bool contains(const std::vector<Range>& runs, Address page) {
  for (const Range& r : runs)
    if (r.begin <= page && page < r.end) return true;
  return false;
}

std::string noticed(Tracker& tracker, const Kind& kind, const Ground& ground) {
  const Range pages = ground.pages();
  const std::string where = std::string(" (") + kind.name + ")";
  if (std::string why = tracker.cover(pages); !why.empty()) return why + where;
  const struct Covered {
    Tracker& tracker;
    const Range pages;
    ~Covered() { tracker.release(pages); }
  } covered{tracker, pages};
  std::vector<Range> runs;
  if (!tracker.scan(pages, runs)) return "no answer" + where;
  runs.clear();
  if (!tracker.scan(pages, runs) || runs != std::vector<Range>{pages}) return "unwritten pages seem written" + where;
  char* page = ground.begin + ground.size / 2 + 5 * page_bytes;
  const auto written = reinterpret_cast<Address>(page);
  Range touched{written, written + page_bytes};
  if (kind.write == discard_huge) touched = {pages.begin + huge_bytes, pages.end};
  for (int time = 0; time < 2; ++time) {  // the second time, to what the first pass has protected again
    if (!kind.write(page)) return kind.may_be_refused ? std::string() : std::string(kind.name) + " is not possible";
    runs.clear();
    if (!tracker.scan(pages, runs)) return "no answer" + where;
    for (Address other = pages.begin; other < pages.end; other += page_bytes) {
      const bool should = other < touched.begin || other >= touched.end;
      if (contains(runs, other) && !should) return std::string("it does not notice ") + kind.name;
      if (!contains(runs, other) && should) return "unwritten pages seem written" + where;
    }
    if (kind.ends_cover) return {};
  }
  return {};
}

}  // namespace

std::string self_test(Tracker& tracker) {
  for (const bool huge : {false, true})
    for (const Kind& kind : kinds) {
      if (kind.write == discard_huge && !huge) continue;
      const Ground ground(huge);
      if (!ground.begin) return "no memory for the self-test";
      if (const std::string missed = noticed(tracker, kind, ground); !missed.empty())
        return missed + (huge ? " in huge pages" : "");
    }
  return {};
}

}  // namespace blaslift
