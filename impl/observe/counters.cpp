#include "impl/observe/counters.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <new>

#include "compat/environment.hpp"
#include "compat/undisturbed.hpp"
#include "impl/observe/trace.hpp"

namespace blaslift {

thread_local constinit ThreadState thread_state = {};

namespace {

constinit std::atomic<Counters*> current{nullptr};
constinit std::atomic<const char*> directory{nullptr};
constinit std::atomic<bool> has_forked{false};
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

/// For whoever reads the counters of a process tree.
void leave_word(const char* dir, int error) {
  char path[4096], number[16];
  const int length = std::snprintf(path, sizeof path, "%s/%d%s", dir, getpid(), uncounted_suffix);
  std::snprintf(number, sizeof number, "%d", error);
  if (length < static_cast<int>(sizeof path)) (void)!symlink(number, path);
}

/// The first of these variables that is set.
template <std::size_t N>
void note_variable(Note<N>& note, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = variable(name); value && *value) return note.set(value);
}

/// Where a process runs and for whom: many of them may append to one report.
void note_surroundings(Counters& c) {
  c.user = getuid();
  char host[65] = {};  // Linux's longest and its end
  if (gethostname(host, sizeof host) == 0) c.host.set(host);
  note_variable(c.job, {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "PJM_JOBID", "COBALT_JOBID"});
  note_variable(c.rank, {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "PALS_RANKID",
                         "FLUX_TASK_RANK", "SLURM_PROCID"});
}

Counters last_resort;  // no memory to map: count in the library's own

/// @param recording  whose beginning they are; null: none's
Counters* create(Recording*& recording, MadeFile& file) {
  recording = make_recording(file);
  const char* untraced = !recording && trace_wanted() ? why_uncounted(errno) : nullptr;
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
  note_surroundings(*c);
  if (untraced) {
    char text[160];
    std::snprintf(text, sizeof text, "there is no trace of a process: %s", untraced);
    c->incomplete.set(text);
  }
  c->layout = Counters::this_layout;
  return c;
}

}  // namespace

void* map_new_file(const char* dir, std::size_t bytes, MadeFile* made) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    return errno = EFBIG, nullptr;
  for (int attempt = 0; attempt < 1000; ++attempt) {  // exec keeps the pid: each image gets a file of its own
    char path[4096];
    const int length = std::snprintf(path, sizeof path, "%s/%d.%d", dir, getpid(), attempt);
    if (length >= static_cast<int>(made ? sizeof made->path : sizeof path)) return errno = ENAMETOOLONG, nullptr;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
      if (errno == EEXIST) continue;
      return nullptr;
    }
    // Reserved now: a full disk must not become a SIGBUS at some later increment.
    int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    void* p = error == 0 ? map(fd, bytes) : nullptr;
    if (error == 0 && !p) error = errno;
    if (!p) unlink(path);
    struct stat status {};
    if (made && fstat(fd, &status) == 0) {
      std::memcpy(made->path, path, static_cast<std::size_t>(length) + 1);
      made->device = status.st_dev;
      made->number = status.st_ino;
    }
    close(fd);
    if (!p) errno = error;
    return p;
  }
  return errno = EEXIST, nullptr;
}

void* map_counters(std::size_t bytes) {
  const char* dir = directory.load(std::memory_order_acquire);
  void* memory = dir ? map_new_file(dir, bytes) : nullptr;
  if (memory) return memory;
  if (dir) leave_word(dir, errno);
  return map(-1, bytes);
}

const char* why_uncounted(int error) {
  switch (error) {
    case EFBIG: return "the limit on the size of files (ulimit -f) leaves no room for it";
    case ENOSPC:
    case EDQUOT: return "there was no room for its file";
    case EMFILE:
    case ENFILE: return "no descriptor was free for its file (ulimit -n)";
    case ENOMEM:
    case EAGAIN: return "there was no memory or address space for it (ulimit -v)";
    case ENOENT: return "its directory was gone";
    case EACCES:
    case EPERM:
    case EROFS: return "its directory cannot be written to";
    default: return "its file could not be made";
  }
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
  MadeFile file;
  Counters* mine = create(recording, file);
  if (current.compare_exchange_strong(c, mine, std::memory_order_acq_rel)) {
    if (has_forked.load(std::memory_order_seq_cst)) note_fork();
    if (recording) open_recording(recording, file, directory.load(std::memory_order_acquire));
    return *mine;
  }
  if (recording)
    discard_recording(recording, file);
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

void check_counters(Counters& c) {
  const auto end = [](auto& text) { text[sizeof text - 1] = '\0'; };
  if (static_cast<int>(c.forwarded_reason) >= reason_count) c.forwarded_reason = Reason::small;
  end(c.command);
  c.backend.end(), c.device.end(), c.driver.end(), c.detail.end(), c.warning.end(), c.residency.end();
  c.host.end(), c.job.end(), c.rank.end(), c.blind.end();
  c.library.end(), c.library_found_by.end(), c.verify_problem.end(), c.incomplete.end();
  for (NotedCall& call : c.worst) {
    end(call.arguments), end(call.caller), end(call.dump), end(call.way);
    call.findings &= (1u << finding_count) - 1;
    if (static_cast<int>(call.routine) >= routine_count) call.complete = 0;
    if (call.ratio < 0) call.ratio = 0;
    if (!(call.limit >= 0)) call.limit = 0;
  }
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

void note_fork() {
  has_forked.store(true, std::memory_order_seq_cst);
  if (Counters* c = current.load(std::memory_order_seq_cst)) c->has_forked.store(1, std::memory_order_relaxed);
}

void forget_counters() {
  has_forked.store(false, std::memory_order_relaxed);
  current.store(nullptr, std::memory_order_release);
  forget_trace();
  thread_state = {};
}

int size_class(double flops) {
  if (!(flops >= 16)) return 0;
  return std::min(size_classes - 1, std::ilogb(flops) / 2 - 1);
}

std::uint64_t forwarded_calls(const Counters& c, Routine routine) {
  const auto of = [routine](const ThreadCounters& slot) {
    return __atomic_load_n(&slot.forwarded[static_cast<int>(routine)], __ATOMIC_RELAXED);
  };
  std::uint64_t sum = of(c.slots[thread_slots]);
  // The others' pages have never been touched: to read them would make the kernel provide them.
  const std::uint32_t given = std::min<std::uint32_t>(c.threads.load(std::memory_order_relaxed), thread_slots);
  for (std::uint32_t slot = 0; slot < given; ++slot) sum += of(c.slots[slot]);
  return sum;
}

}  // namespace blaslift
