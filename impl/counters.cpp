#include "impl/counters.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>

#include "compat/undisturbed.hpp"
#include "impl/trace.hpp"

namespace blaslift {

thread_local constinit ThreadState thread_state = {};

namespace {

constinit std::atomic<Counters*> current{nullptr};
constinit std::atomic<const char*> directory{nullptr};
constinit std::atomic<Reason> forwarded_reason{Reason::small};

std::uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

void* map(int fd, std::size_t bytes) {
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  return p == MAP_FAILED ? nullptr : p;
}

Counters last_resort;  // no memory to map: count in the library's own

/// @param recording  whose beginning they are; null: none's
Counters* create(Recording*& recording) {
  recording = make_recording();
  void* memory = recording ? &recording->counters : map_counters(sizeof(Counters));
  if (!memory) memory = &last_resort;
  Counters* c = static_cast<Counters*>(memory);  // zero pages are valid objects: atomics of integers
  c->pid = getpid();
  c->parent = getppid();
  c->started_ns = clock_ns(CLOCK_REALTIME);
  c->now_ns = clock_ns(CLOCK_MONOTONIC);
  c->forwarded_reason = forwarded_reason.load(std::memory_order_relaxed);
  if (const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC); fd >= 0) {
    const auto got = read(fd, c->command, sizeof c->command - 1);
    if (got > 0 && c->command[got - 1] == '\n') c->command[got - 1] = '\0';
    close(fd);
  }
  c->layout = Counters::this_layout;
  return c;
}

}  // namespace

void* map_new_file(const char* dir, std::size_t bytes, char* name, std::size_t name_size) {
  for (int attempt = 0; attempt < 1000; ++attempt) {  // exec keeps the pid: each image gets a file of its own
    char path[4096];
    const int length = std::snprintf(path, sizeof path, "%s/%d.%d", dir, getpid(), attempt);
    if (length >= static_cast<int>(sizeof path) || (name && length >= static_cast<int>(name_size))) return nullptr;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
      if (errno == EEXIST) continue;
      return nullptr;
    }
    // Reserved now: a full disk must not become a SIGBUS at some later increment.
    void* p = posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0 ? map(fd, bytes) : nullptr;
    if (!p) unlink(path);
    close(fd);
    if (name) std::snprintf(name, name_size, "%s", path);
    return p;
  }
  return nullptr;
}

void* map_counters(std::size_t bytes) {
  const char* dir = directory.load(std::memory_order_acquire);
  void* memory = dir ? map_new_file(dir, bytes) : nullptr;
  return memory ? memory : map(-1, bytes);
}

std::uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

void set_counters_up(const char* path, Reason forwarded) {
  forwarded_reason.store(forwarded, std::memory_order_relaxed);
  directory.store(path, std::memory_order_release);
}

bool counters_exist() { return current.load(std::memory_order_acquire) != nullptr; }

namespace {

Counters& make_counters() {
  Counters* c = nullptr;
  Recording* recording;
  Counters* mine = create(recording);
  if (current.compare_exchange_strong(c, mine, std::memory_order_acq_rel)) {
    if (recording) open_recording(recording, directory.load(std::memory_order_acquire));
    return *mine;
  }
  if (recording)
    discard_recording(recording);
  else if (mine != &last_resort)
    munmap(mine, sizeof(Counters));  // its file stays, empty: readers pass over it
  return *c;
}

}  // namespace

Counters& counters() {
  Counters* c = current.load(std::memory_order_acquire);
  if (!c) undisturbed([&] { c = &make_counters(); });
  return *c;
}

Noting::Noting(Counters& c) : taken_(c.noting) {
  constexpr int patience = 1000000;
  for (int i = 0; i < patience && !mine_; ++i) {
    mine_ = taken_.exchange(1, std::memory_order_acquire) == 0;
    if (!mine_) sched_yield();
  }
}

ThreadCounters* claim_slot() {
  Counters& c = counters();
  const std::uint32_t slot = c.threads.fetch_add(1, std::memory_order_relaxed);
  return &c.slots[slot < thread_slots ? slot : thread_slots];
}

void forget_counters() {
  current.store(nullptr, std::memory_order_release);
  forget_trace();
  thread_state = {};
}

std::uint64_t forwarded_calls(const Counters& c, Routine routine) {
  std::uint64_t sum = 0;
  for (const ThreadCounters& slot : c.slots)
    sum += __atomic_load_n(&slot.forwarded[static_cast<int>(routine)], __ATOMIC_RELAXED);
  return sum;
}

}  // namespace blaslift
