#include "compat/say.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>

#include "compat/undisturbed.hpp"

namespace blaslift {
namespace {

constexpr int signals[] = {SIGPIPE, SIGXFSZ, SIGTTOU};

/// What descriptor 2 was when it was looked at; later it may be a file of the program's.
constinit struct stat first_stderr {};
constinit bool looked = false, had_stderr = false;
constinit std::atomic<int> kept{-1};

bool is_first_stderr(int fd) {
  struct stat now {};
  return had_stderr && fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == first_stderr.st_dev &&
         now.st_ino == first_stderr.st_ino && now.st_rdev == first_stderr.st_rdev &&
         (now.st_mode & S_IFMT) == (first_stderr.st_mode & S_IFMT);
}

int found_stderr() {
  if (!looked || is_first_stderr(STDERR_FILENO)) return STDERR_FILENO;
  const int fd = kept.load(std::memory_order_relaxed);
  return is_first_stderr(fd) ? fd : -1;  // a program that closes all descriptors may have another one there
}

}  // namespace

NoWriteSignals::NoWriteSignals() {
  sigpending(&pending_);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : signals) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

NoWriteSignals::~NoWriteSignals() {
  // Those that our writes have raised, which were for this thread; not what was there before.
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGPIPE, SIGXFSZ})
    if (sigismember(&pending_, signal) == 0) sigaddset(&ours, signal);
  const int error = errno;
  const timespec now{0, 0};
  while (sigtimedwait(&ours, nullptr, &now) > 0) {
  }
  errno = error;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::size_t write_all(int fd, std::string_view text, std::size_t at_once) {
  const NoWriteSignals no_signals;
  constexpr int patience = 1000;  // milliseconds, of which a signal handler may interrupt some
  std::size_t written = 0;
  for (int interrupted = 0; written < text.size();) {
    pollfd to{fd, POLLOUT, 0};
    const int ready = poll(&to, 1, patience);
    if (ready < 0 && errno == EINTR && ++interrupted < 100) continue;
    if (ready < 0) break;
    if (ready == 0 || !(to.revents & POLLOUT)) {
      errno = ready == 0 ? EAGAIN : EPIPE;
      break;
    }
    const ssize_t n = write(fd, text.data() + written, std::min(at_once, text.size() - written));
    if (n < 0 && (errno == EINTR || errno == EAGAIN) && ++interrupted < 100) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  return written;
}

void look_at_stderr() {
  had_stderr = fstat(STDERR_FILENO, &first_stderr) == 0;
  looked = true;
}

void keep_stderr() {
  if (!is_first_stderr(STDERR_FILENO)) return;
  // Out of the way of programs that count on low numbers, or close them all.
  for (const int from : {600, 100}) {
    const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, from);
    if (fd < 0) continue;
    int none = -1;
    if (!kept.compare_exchange_strong(none, fd, std::memory_order_relaxed)) close(fd);
    return;
  }
}

namespace {

void say_now(const std::string_view* parts, std::size_t count) {
  const int fd = found_stderr();
  char text[PIPE_BUF];  // goes as a whole, or waits for a reader
  std::size_t length = 0;
  const auto flush = [&] {
    const bool all = write_all(fd, {text, length}) == length;
    length = 0;
    return all;
  };
  bool heard = fd >= 0;
  for (std::size_t i = 0; heard && i < count; ++i)
    for (const char c : parts[i]) {
      // Names and files that others made are in it, and a terminal may be behind it.
      const auto code = static_cast<unsigned char>(c);
      text[length++] = (code < ' ' && c != '\n' && c != '\t') || code == 0x7f ? '?' : c;
      if (length == sizeof text && !(heard = flush())) break;
    }
  if (heard && length > 0) (void)flush();
}

}  // namespace

void say_parts(const std::string_view* parts, std::size_t count) {
  const int error = errno;
  undisturbed([&] { say_now(parts, count); });
  errno = error;
}

}  // namespace blaslift
