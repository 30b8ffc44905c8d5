#include "impl/observe/trace.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "compat/say.hpp"
#include "compat/undisturbed.hpp"
#include "impl/core/errno_kept.hpp"

namespace blaslift {
namespace {

constinit std::atomic<const char*> directory{nullptr};
constinit std::atomic<Recording*> recording{nullptr};
constinit std::atomic<TraceEvent*> chunks[most_trace_chunks] = {};
constinit std::atomic<bool> full{false};
constinit MadeFile own_file;  // the recording's, before that is there for others

/// A larger file would end the program, by SIGXFSZ.
bool within_limit(std::uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

/// Our file once more, or none: somebody may have put another one, or a link, in its place.
int open_own_file() {
  const int fd = open(own_file.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == own_file.device &&
                 status.st_ino == own_file.number))
    return fd;
  close(fd);
  return -1;
}

/// The file is opened anew for each chunk: a descriptor that stays open might be closed by the program, or be one too
/// many.
TraceEvent* map_chunk(std::uint64_t number) {
  if (full.load(std::memory_order_relaxed)) return nullptr;
  const ErrnoKept errno_kept;
  constexpr std::size_t bytes = trace_chunk_events * sizeof(TraceEvent);
  const auto at = static_cast<off_t>(Recording::events_at() + number * bytes);
  const bool may = within_limit(static_cast<std::uint64_t>(at) + bytes);
  const int fd = may ? open_own_file() : -1;
  // Reserved now: a full disk must not become a SIGBUS at some later event.
  void* p = fd >= 0 && posix_fallocate(fd, at, bytes) == 0
                ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, at)
                : MAP_FAILED;
  if (fd >= 0) close(fd);
  if (p == MAP_FAILED) {
    if (!full.exchange(true, std::memory_order_relaxed))
      say("blaslift: the trace is full, later calls are missing: ", own_file.path, "\n");
    return nullptr;
  }
  TraceEvent* others = nullptr;
  if (chunks[number].compare_exchange_strong(others, static_cast<TraceEvent*>(p), std::memory_order_acq_rel))
    return static_cast<TraceEvent*>(p);
  munmap(p, bytes);
  return others;
}

TraceEvent* claim(Recording& r) {
  const std::uint64_t number = r.claimed.fetch_add(1, std::memory_order_relaxed);
  TraceEvent* chunk = nullptr;
  if (number < most_trace_events) {
    chunk = chunks[number / trace_chunk_events].load(std::memory_order_acquire);
    if (!chunk) undisturbed([&] { chunk = map_chunk(number / trace_chunk_events); });
  }
  if (chunk) return chunk + number % trace_chunk_events;
  r.dropped.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void read_arguments(char* text, std::size_t size) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const auto got = read(fd, text, size - 1);
  close(fd);
  for (ssize_t i = 0; i + 1 < got; ++i)
    if (text[i] == '\0') text[i] = ' ';
}

}  // namespace

bool tracing() { return recording.load(std::memory_order_relaxed) != nullptr; }

void trace(const TraceEvent& event) {
  Recording* r = recording.load(std::memory_order_acquire);
  TraceEvent* to = r ? claim(*r) : nullptr;
  if (!to) return;
  constexpr std::size_t first = offsetof(TraceEvent, begin_ns);  // plain data from there on
  // Asked for each time: the room for what is thread-local is too small to keep it.
  to->thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  std::memcpy(reinterpret_cast<char*>(to) + first, reinterpret_cast<const char*>(&event) + first,
              sizeof(TraceEvent) - first);
  to->complete.store(1, std::memory_order_release);
}

std::string make_trace_directory(const std::string& path, std::string& problem) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    problem = path + " cannot be made: " + std::strerror(errno);
    return {};
  }
  struct FreeText {
    void operator()(char* text) const { std::free(text); }
  };
  const std::unique_ptr<char, FreeText> real(realpath(path.c_str(), nullptr));
  struct stat status {};
  if (!real || stat(real.get(), &status) != 0 || access(real.get(), W_OK | X_OK) != 0)
    problem = path + " cannot be written to: " + std::strerror(errno);
  else if (!S_ISDIR(status.st_mode))
    problem = path + " is not a directory";
  else
    return real.get();
  return {};
}

bool trace_wanted() { return directory.load(std::memory_order_acquire) != nullptr; }

void set_trace_up(const char* path) { directory.store(path, std::memory_order_release); }

Recording* make_recording(MadeFile& file) {
  const char* dir = directory.load(std::memory_order_acquire);
  if (!dir) return nullptr;
  errno = EFBIG;
  auto* r = within_limit(Recording::events_at())
                ? static_cast<Recording*>(map_new_file(dir, Recording::events_at(), &file))
                : nullptr;
  if (!r) {
    const int error = errno;
    say("blaslift: there is no trace of this process: ", dir, ": ", std::strerror(error), "\n");
    return errno = error, nullptr;
  }
  static_assert(sizeof r->path == sizeof file.path);
  std::memcpy(r->path, file.path, sizeof file.path);
  (void)gethostname(r->host, sizeof r->host - 1);
  read_arguments(r->arguments, sizeof r->arguments);
  r->layout = Recording::this_layout;
  return r;
}

void discard_recording(Recording* r, const MadeFile& file) {
  unlink(file.path);
  munmap(static_cast<void*>(r), Recording::events_at());
}

void open_recording(Recording* r, const MadeFile& file, const char* counters_directory) {
  own_file = file;
  if (counters_directory) {
    char link[4096];
    const char* name = std::strrchr(file.path, '/');
    const int length = std::snprintf(link, sizeof link, "%s%s", counters_directory, name);
    if (length < static_cast<int>(sizeof link)) (void)!symlink(file.path, link);
  }
  recording.store(r, std::memory_order_release);
}

void forget_trace() {
  recording.store(nullptr, std::memory_order_release);
  for (auto& chunk : chunks) chunk.store(nullptr, std::memory_order_relaxed);
  full.store(false, std::memory_order_relaxed);
}

void trace_profile(const std::string& text, bool opened) {
  if (Recording* r = recording.load(std::memory_order_acquire))
    opened ? r->profile.set(text.c_str()) : r->guessed_profile.set(text.c_str());
}

}  // namespace blaslift
