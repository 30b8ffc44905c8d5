// Every way in which memory changes.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "memory.hpp"

namespace torture {

/// A thread that lives as long as the arenas and writes when it is told to.
class Helper {
 public:
  Helper() : thread_([this] { serve(); }) {}
  ~Helper() {
    run(nullptr);
    thread_.join();
  }
  void run(std::function<void()> job) {
    std::unique_lock lock(mutex_);
    job_ = std::move(job);
    busy_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !busy_; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (bool more = true; more;) {
      changed_.wait(lock, [this] { return busy_; });
      if ((more = static_cast<bool>(job_))) job_();
      busy_ = false;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool busy_ = false;
  std::thread thread_;
};

/// The arenas of a thread and what writers need.
struct World {
  explicit World(std::uint64_t seed) : random(seed) {
    memory_file = memfd_create("torture", MFD_CLOEXEC);
    const std::string name = "direct-" + std::to_string(seed);
    direct_file = open(name.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
    unlink(name.c_str());
    self = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (pipe(pipes) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) std::perror("pipe"), std::exit(2);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Arena& add(Origin origin, index bytes, index element, std::byte* base = nullptr) {
    arenas.push_back(std::make_unique<Arena>(static_cast<int>(arenas.size()), origin, bytes, element, base));
    Arena& a = *arenas.back();
    if (origin == Origin::mapped) a.base = map_pages(places.take(random), bytes, MAP_FIXED);
    if (origin == Origin::allocated) allocate(a);
    fill(Range{&a, 0, bytes}, random);
    return a;
  }
  void allocate(Arena& a) {
    if (settings.huge && a.bytes >= huge_page) {
      a.base = static_cast<std::byte*>(std::aligned_alloc(huge_page, static_cast<std::size_t>(a.bytes)));
      madvise(a.base, static_cast<std::size_t>(a.bytes), MADV_HUGEPAGE);
    } else {
      a.base = static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(a.bytes)));
    }
  }
  std::vector<std::byte> fresh(const Range& r) {
    std::vector<std::byte> contents(r.size());
    fill(contents.data(), contents.size(), r.arena->element, random);
    return contents;
  }
  index page() { return settings.huge && random.chance(30) ? huge_page : small_page; }
  void end_foreign(Arena& a) {
    if (a.foreign_file < 0) return;
    close(a.foreign_file);
    a.foreign_file = -1;
    map_pages(a.base + a.foreign_begin, a.foreign_end - a.foreign_begin, MAP_FIXED);
  }
  Arena* another(const Arena& a) {
    Arena* b = random.of(arenas).get();
    return b != &a && b->origin == a.origin && b->bytes == a.bytes && b->element == a.element ? b : nullptr;
  }

  Random random;
  Places places;
  std::vector<std::unique_ptr<Arena>> arenas;
  Helper helper;
  std::function<bool()> child_work;
  int memory_file, direct_file, self, pipes[2], sockets[2];
};

/// Mappings that could not be moved: those that are split.  Whoever splits more of them is seen here.
inline std::atomic<long> failed_moves{0};

/// Whether the kernel has one mapping for this range.  Where a part has been mapped anew it merges with its neighbours
/// only if these are registered nowhere; a range that did not merge may not move as a whole, and since Linux 6.17 a
/// part of it may (docs/developer/residency.md names this limit).
inline bool one_mapping(const void* begin, std::size_t size) {
  std::ifstream maps("/proc/self/maps");
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &first, &last) == 2 && first <= from && from < last)
      return from + size <= last;
  }
  return false;
}

inline void* remap(void* old, std::size_t old_size, std::size_t size, int flags, void* to = nullptr) {
  if (!one_mapping(old, old_size)) return ++failed_moves, MAP_FAILED;
  void* p = mremap(old, old_size, size, flags, to);
  if (p != MAP_FAILED) return p;
  ++failed_moves;
  std::vector<unsigned char> resident(old_size / small_page);
  if (mincore(old, old_size, resident.data()) != 0) {  // the kernel goes from one part to the next
    std::printf("WRONG: mremap has failed and moved a part all the same\n");
    std::fflush(stdout);
    std::_Exit(1);
  }
  return p;
}

/// Moves a mapping; where it was becomes a place to move to.
inline bool move(World& w, Arena& a, std::byte* to) {
  const auto size = static_cast<std::size_t>(a.bytes);
  if (remap(a.base, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
    return w.places.give(to, false), false;
  w.places.give(a.base, false);
  a.base = to;
  return true;
}

inline bool movable(World& w, Range& r) {
  if (r.arena->origin != Origin::mapped) return false;
  w.end_foreign(*r.arena);  // a move takes mappings of one kind only
  widen_to_arena(r);
  return true;
}

/// Nothing or an eighth of it: whether a move alone is noticed does not show where contents go with it.
inline void fill_some(World& w, Range r) {
  if (w.random.chance(50)) return;
  const index eighth = (r.end - r.begin) / 64 * 8;
  r.begin += w.random.pick(0, 7) * eighth;
  r.end = r.begin + eighth;
  fill(r, w.random);
}

/// Sends contents through a descriptor in pieces that its buffer holds, and lets `take(at, bytes)` fetch them.
template <class Take>
inline bool through(const std::vector<std::byte>& contents, std::byte* at, int into, Take take) {
  for (std::size_t done = 0; done < contents.size();) {
    const std::size_t piece = std::min<std::size_t>(contents.size() - done, 32768);
    if (write(into, &contents[done], piece) != static_cast<ssize_t>(piece)) return false;
    for (const std::size_t end = done + piece; done < end;) {
      const ssize_t taken = take(at + done, end - done);
      if (taken <= 0) return false;
      done += static_cast<std::size_t>(taken);
    }
  }
  return true;
}

/// Puts memory of another kind under a part of an arena, with contents.
inline bool map_foreign(World& w, Range& r, bool shared) {
  Arena& a = *r.arena;
  if (a.origin != Origin::mapped || a.foreign_file >= 0 || !widen_to_pages(r, w.page())) return false;
  const int file = memfd_create("torture", MFD_CLOEXEC);
  const auto contents = w.fresh(r);
  if (file < 0 || pwrite(file, contents.data(), contents.size(), 0) < 0) return false;
  mmap(r.at(), r.size(), PROT_READ | PROT_WRITE, MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE), file, 0);
  a.foreign_begin = r.begin, a.foreign_end = r.end, a.foreign_file = file;
  return true;
}

inline bool advise(World& w, Range& r, int advice) {
  return widen_to_pages(r, w.page()) && madvise(r.at(), r.size(), advice) == 0;
}

struct Writer {
  const char* name;
  int weight;
  bool changes;  // contents
  /// Changes a range, widened to what is really touched; false if that cannot be had here.
  bool (*write)(World&, Range&);
};

inline const Writer writers[] = {
    {"element", 150, true,
     [](World& w, Range& r) { return r.end = r.begin + r.arena->element, fill(r, w.random), true; }},
    {"byte", 150, true,
     [](World&, Range& r) {  // still an integer: 0 becomes 2, others change their sign
       const index element = r.arena->element;
       r.end = r.begin + element;
       std::byte* p = r.at();
       const bool zero = std::all_of(p, p + element - 1, [](std::byte b) { return b == std::byte{0}; }) &&
                         (p[element - 1] & std::byte{0x7f}) == std::byte{0};
       p[element - 1] = zero ? std::byte{0x40} : p[element - 1] ^ std::byte{0x80};
       return true;
     }},
    {"stores", 60, true, [](World& w, Range& r) { return fill(r, w.random), true; }},
    {"memcpy", 40, true, [](World& w, Range& r) { return std::memcpy(r.at(), w.fresh(r).data(), r.size()), true; }},
    {"memset", 20, true, [](World&, Range& r) { return std::memset(r.at(), 0, r.size()), true; }},
    {"memmove", 20, true,
     [](World& w, Range& r) {
       const index from = w.random.pick(0, (r.arena->bytes - (r.end - r.begin)) / 8) * 8;
       return std::memmove(r.at(), r.arena->base + from, r.size()), true;
     }},
    {"read, pipe", 20, true,
     [](World& w, Range& r) {
       return through(w.fresh(r), r.at(), w.pipes[1],
                      [&w](std::byte* at, std::size_t bytes) { return read(w.pipes[0], at, bytes); });
     }},
    {"recv", 20, true,
     [](World& w, Range& r) {
       return through(w.fresh(r), r.at(), w.sockets[1],
                      [&w](std::byte* at, std::size_t bytes) { return recv(w.sockets[0], at, bytes, 0); });
     }},
    {"preadv", 20, true,
     [](World& w, Range& r) {
       const auto contents = w.fresh(r);
       const std::size_t half = r.size() / 2;
       const iovec parts[] = {{r.at() + half, r.size() - half}, {r.at(), half}};
       return pwrite(w.memory_file, contents.data(), r.size(), 0) == static_cast<ssize_t>(r.size()) &&
              half % static_cast<std::size_t>(r.arena->element) == 0 &&
              preadv(w.memory_file, parts, 2, 0) == static_cast<ssize_t>(r.size());
     }},
    {"read, O_DIRECT", 3, true,
     [](World& w, Range& r) {
       if (!widen_to_pages(r, small_page)) return false;
       if (r.size() > 65536) r.end = r.begin + 65536;
       void* buffer = mmap(nullptr, r.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       fill(static_cast<std::byte*>(buffer), r.size(), r.arena->element, w.random);
       const auto size = static_cast<ssize_t>(r.size());
       const bool done =
           pwrite(w.direct_file, buffer, r.size(), 0) == size && pread(w.direct_file, r.at(), r.size(), 0) == size;
       munmap(buffer, r.size());
       return done;
     }},
    {"process_vm_writev", 20, true,
     [](World& w, Range& r) {
       auto contents = w.fresh(r);
       const iovec from{contents.data(), r.size()}, to{r.at(), r.size()};
       return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == static_cast<ssize_t>(r.size());
     }},
    {"/proc/self/mem", 20, true,
     [](World& w, Range& r) {
       const auto contents = w.fresh(r);
       return pwrite(w.self, contents.data(), r.size(), reinterpret_cast<off_t>(r.at())) ==
              static_cast<ssize_t>(r.size());
     }},
    {"new thread", 10, true, [](World& w, Range& r) { return std::thread([&] { fill(r, w.random); }).join(), true; }},
    {"old thread", 20, true, [](World& w, Range& r) { return w.helper.run([&] { fill(r, w.random); }), true; }},
    {"fork", 3, true,
     [](World& w, Range& r) {  // parent and child write at the same time, each to its own
       int end[2];
       if (pipe(end) != 0) return false;
       const pid_t child = fork();
       if (child < 0) return close(end[0]), close(end[1]), false;
       Random random(w.random.next() + (child == 0));
       fill(r, random);
       char byte = 0;
       if (child == 0) {
         const bool right = !w.child_work || w.child_work();
         _exit(right && read(end[0], &byte, 1) == 1 ? 0 : 1);
       }
       int status = 0;
       const bool told = write(end[1], &byte, 1) == 1;
       const bool ended = waitpid(child, &status, 0) == child && status == 0;
       close(end[0]), close(end[1]);
       if (!told || !ended) std::printf("WRONG: the child ended with status %d\n", status), failed = true;
       return true;
     }},
    {"DONTNEED", 8, true, [](World& w, Range& r) { return advise(w, r, MADV_DONTNEED); }},
    {"FREE, PAGEOUT", 3, true,
     [](World& w, Range& r) {  // freed pages go at once, those that were not freed stay
       if (!advise(w, r, MADV_FREE)) return false;
       if (w.random.chance(50)) r.end = (r.begin + r.end) / 2 / r.arena->element * r.arena->element;
       for (std::byte* p = rounded(r.at(), small_page, true); p < r.arena->base + r.end; p += small_page)
         if (w.random.chance(30)) static_cast<volatile std::byte&>(*p) = *p;
       return advise(w, r, MADV_PAGEOUT);
     }},
    {"FREE", 3, false, [](World& w, Range& r) { return advise(w, r, MADV_FREE); }},
    {"PAGEOUT", 5, false, [](World& w, Range& r) { return advise(w, r, MADV_PAGEOUT); }},
    {"COLD", 3, false, [](World& w, Range& r) { return advise(w, r, MADV_COLD); }},
    {"COLLAPSE", 3, false,
     [](World& w, Range& r) {
       return w.random.chance(30) && widen_to_pages(r, huge_page) && advise(w, r, collapse_advice);
     }},
    {"POPULATE_WRITE", 3, false, [](World& w, Range& r) { return advise(w, r, MADV_POPULATE_WRITE); }},
    {"mprotect", 5, true,
     [](World& w, Range& r) {
       if (!widen_to_pages(r, w.page()) || mprotect(r.at(), r.size(), PROT_READ) != 0) return false;
       const bool open_again = mprotect(r.at(), r.size(), PROT_READ | PROT_WRITE) == 0;
       return w.random.chance(50) ? (fill(r, w.random), open_again) : open_again;
     }},
    {"mmap over", 3, true,
     [](World& w, Range& r) {
       if (r.arena->origin != Origin::mapped || !widen_to_pages(r, w.page())) return false;
       w.end_foreign(*r.arena);
       map_pages(r.at(), r.end - r.begin, MAP_FIXED);
       if (w.random.chance(70)) fill(r, w.random);
       return widen_to_arena(r), true;
     }},
    {"munmap, mmap", 3, true,
     [](World& w, Range& r) {
       if (!movable(w, r)) return false;
       munmap(r.at(), r.size());
       if (!map_pages(r.at(), r.arena->bytes, MAP_FIXED_NOREPLACE))  // another thread was faster
         r.arena->base = map_pages(nullptr, r.arena->bytes, 0);
       if (w.random.chance(70)) fill(r, w.random);
       return true;
     }},
    {"move", 3, true,
     [](World& w, Range& r) {
       std::byte* to = movable(w, r) ? w.places.take(w.random) : nullptr;
       if (!to || !move(w, *r.arena, to)) return false;
       return fill_some(w, r), true;
     }},
    {"move, leave zeros", 3, true,
     [](World& w, Range& r) {  // MREMAP_DONTUNMAP: the old pages are still mapped, and empty; some contents come back
       std::byte* to = movable(w, r) ? w.places.take(w.random) : nullptr;
       if (!to) return false;
       const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
       const bool moved = remap(r.at(), r.size(), r.size(), flags, to) != MAP_FAILED;
       if (moved) std::memcpy(r.at(), to, r.size() / 2);
       return w.places.give(to, moved), moved;
     }},
    {"grow, shrink", 3, true,
     [](World& w, Range& r) {  // moves: what follows is taken
       if (!movable(w, r)) return false;
       std::byte* old = r.at();
       void* p = remap(old, r.size(), 2 * r.size(), MREMAP_MAYMOVE);
       if (p == MAP_FAILED) return false;
       r.arena->base = static_cast<std::byte*>(remap(p, 2 * r.size(), r.size(), 0));
       if (p != old) w.places.give(old, false);
       return fill_some(w, r), true;
     }},
    {"shrink, grow", 3, true,
     [](World& w, Range& r) {  // the end is zero then
       if (!movable(w, r)) return false;
       const std::size_t kept = r.size() / 2 / small_page * small_page;
       remap(r.at(), r.size(), kept, 0);
       void* p = remap(r.at(), kept, r.size(), MREMAP_MAYMOVE);
       if (p == MAP_FAILED) munmap(r.at(), kept);
       r.arena->base = p == MAP_FAILED ? map_pages(nullptr, r.arena->bytes, 0) : static_cast<std::byte*>(p);
       return p != MAP_FAILED;
     }},
    {"shared mapping", 2, true, [](World& w, Range& r) { return map_foreign(w, r, true); }},
    {"file mapping", 2, true, [](World& w, Range& r) { return map_foreign(w, r, false); }},
    {"through the file", 100, true,  // there is seldom one
     [](World& w, Range& r) {
       Arena& a = *r.arena;
       if (a.foreign_file < 0) return false;
       const index length = a.foreign_end - a.foreign_begin,
                   offset = w.random.pick(0, length / small_page - 1) * small_page;
       r = {&a, a.foreign_begin + offset, a.foreign_begin + std::min(length, offset + w.random.pick(1, 100) * 8)};
       const auto contents = w.fresh(r);
       return pwrite(a.foreign_file, contents.data(), r.size(), offset) == static_cast<ssize_t>(r.size());
     }},
    {"free, malloc", 3, true,
     [](World& w, Range& r) {
       if (r.arena->origin != Origin::allocated) return false;
       widen_to_arena(r);
       std::free(r.at());
       void* between =
           w.random.chance(50) ? std::malloc(static_cast<std::size_t>(w.random.pick(1, r.arena->bytes))) : nullptr;
       w.allocate(*r.arena);
       std::free(between);
       return fill(r, w.random), true;
     }},
    {"realloc", 3, true,
     [](World& w, Range& r) {
       if (r.arena->origin != Origin::allocated) return false;
       widen_to_arena(r);
       const std::size_t kept = r.size() / 2 / 16 * 16;
       void* p = std::realloc(std::realloc(r.at(), w.random.chance(50) ? 2 * r.size() : kept), r.size());
       r.arena->base = static_cast<std::byte*>(p);
       return fill(Range{r.arena, static_cast<index>(kept), r.end}, w.random), true;
     }},
};

/// Moves two arenas' mappings into each other's places.  No `Writer`: it changes two ranges.
inline bool swap_arenas(World& w, Arena& a, Arena& b) {
  Range all{&a, 0, 0}, others{&b, 0, 0};
  std::byte* third = movable(w, all) && movable(w, others) ? w.places.take(w.random) : nullptr;
  if (!third) return false;
  const auto size = static_cast<std::size_t>(a.bytes);
  std::byte *at_a = a.base, *at_b = b.base;
  auto exchange = [size](std::byte* from, std::byte* to) {
    return remap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED;
  };
  if (!exchange(at_a, third)) return w.places.give(third, false), false;
  const bool swapped = exchange(at_b, at_a);
  if (!exchange(third, swapped ? at_b : at_a)) std::perror("mremap"), std::exit(2);
  return w.places.give(third, true), swapped;
}

}  // namespace torture
