#include "impl/scalapack/meeting.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace blaslift::scalapack {

struct Meeting::Header {
  std::uint64_t token;                 ///< which tells that this is the memory that was meant
  std::atomic<std::uint32_t> missing;  ///< processes that have not arrived
  std::atomic<std::uint32_t> outcome;
  std::atomic<std::uint32_t> keep;     ///< good once the outcome is there
  std::atomic<std::uint32_t> present;  ///< processes that may look at what is here
  std::int32_t root;
  std::atomic<std::int32_t> waited_for[1];  ///< by rank: the process, until it has arrived; 0: not yet known, or done
};

namespace {

constexpr std::size_t page = 4096;

std::size_t header_bytes(int size) {
  return (64 + sizeof(std::int32_t) * static_cast<std::size_t>(size) + page) / page * page;
}

/// Sleeps while `word` is `value`, for a second at most.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  const timespec second{1, 0};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &second, nullptr, 0);
}

void wake_all(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

bool is_dead(std::int32_t process) { return process > 0 && kill(process, 0) != 0 && errno == ESRCH; }

}  // namespace

std::int32_t node_number() {
  static constinit std::atomic<std::int32_t> known{-1};
  std::int32_t number = known.load(std::memory_order_relaxed);
  if (number >= 0) return number;
  // New at each start of the system; containers on one have it in common.
  char text[64] = {};
  const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (length <= 0) length = gethostname(text, sizeof text - 1) == 0 ? static_cast<ssize_t>(std::strlen(text)) : 0;
  std::uint64_t hash = 1469598103934665603u;
  for (ssize_t i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
  number = static_cast<std::int32_t>((hash ^ (hash >> 32)) & INT32_MAX);
  known.store(number, std::memory_order_relaxed);
  return number;
}

bool Meeting::map(int file, std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return false;
  mapped_ = bytes;
  header_ = static_cast<Header*>(at);
  madvise(at, bytes, MADV_HUGEPAGE);  // where the system has them for shared memory
  return true;
}

void Meeting::set_up(const Grid& grid) {
  rank_ = grid.rank();
  size_ = grid.size();
}

bool Meeting::make(const Grid& grid, std::size_t bytes, std::size_t touched) {
  set_up(grid);
  const std::size_t all = header_bytes(size_) + bytes;
  // Of another grid, some processes may still take their parts home.
  if (file_ < 0 || mapped_ < all || header_->present.load(std::memory_order_acquire) > 0) {
    leave();
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < all) return false;  // it would raise a signal
    std::uint64_t token = 0;
    if (getrandom(&token, sizeof token, 0) != sizeof token) return false;
    const int file = memfd_create("blaslift", MFD_CLOEXEC);
    // Beyond the numbers that programs close without having opened them.
    constexpr int first_number = 600;
    file_ = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, first_number);
    if (file >= 0 && file_ < 0) file_ = file;
    if (file >= 0 && file_ != file) close(file);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(all)) != 0 || !map(file_, all)) return leave(), false;
    header_->token = token;
    header_->root = getpid();
  }
  // What is not there when it is touched would end the process.
  if (fallocate(file_, 0, 0, static_cast<off_t>(header_bytes(size_) + touched)) != 0) return leave(), false;
  data_ = reinterpret_cast<char*>(header_) + header_bytes(size_);
  header_->missing.store(static_cast<std::uint32_t>(size_), std::memory_order_relaxed);
  header_->outcome.store(open, std::memory_order_relaxed);
  header_->present.store(static_cast<std::uint32_t>(size_), std::memory_order_relaxed);
  for (int i = 0; i < size_; ++i) header_->waited_for[i].store(0, std::memory_order_relaxed);
  present_ = true;
  return true;
}

void Meeting::invite(std::int32_t* words) const {
  words[0] = getpid();
  words[1] = file_;
  for (int i = 0; i < 4; ++i) words[2 + i] = static_cast<std::int32_t>((header_->token >> (16 * i)) & 0xffff);
}

bool Meeting::join(const Grid& grid, const std::int32_t* words, std::size_t bytes) {
  set_up(grid);
  const std::size_t all = header_bytes(size_) + bytes;
  std::uint64_t token = 0;
  for (int i = 0; i < 4; ++i) token |= static_cast<std::uint64_t>(words[2 + i]) << (16 * i);
  const bool kept = header_ && file_ < 0 && mapped_ >= all && header_->token == token;
  if (!kept) {
    leave();
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", words[0], words[1]);
    char target[32] = {};  // on another node, the same number may be anything
    const bool named =
        readlink(path, target, sizeof target - 1) > 0 && std::strncmp(target, "/memfd:blaslift", 15) == 0;
    const int file = named ? ::open(path, O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;
    struct stat is {};
    const bool mapped = file >= 0 && fstat(file, &is) == 0 && S_ISREG(is.st_mode) &&
                        is.st_size >= static_cast<off_t>(all) && map(file, static_cast<std::size_t>(is.st_size));
    if (file >= 0) close(file);
    if (!mapped) return false;
    if (header_->token != token || header_->root != words[0]) return leave(), false;
  }
  data_ = reinterpret_cast<char*>(header_) + header_bytes(size_);
  header_->waited_for[rank_].store(getpid(), std::memory_order_relaxed);
  present_ = true;
  return true;
}

void Meeting::part() {
  if (header_->keep.load(std::memory_order_relaxed) == 0) return leave();
  if (present_) header_->present.fetch_sub(1, std::memory_order_release);
  present_ = false;
}

void Meeting::leave() {
  if (header_ && present_) header_->present.fetch_sub(1, std::memory_order_release);
  if (header_) munmap(header_, mapped_);
  if (file_ >= 0) close(file_);
  header_ = nullptr;
  file_ = -1;
  mapped_ = 0;
  present_ = false;
}

void Meeting::arrive() {
  header_->waited_for[rank_].store(0, std::memory_order_relaxed);
  if (header_->missing.fetch_sub(1, std::memory_order_acq_rel) == 1) wake_all(header_->missing);
}

bool Meeting::wait_for_all() const {
  for (std::uint32_t missing; (missing = header_->missing.load(std::memory_order_acquire)) > 0;) {
    sleep_while(header_->missing, missing);
    for (int i = 0; i < size_; ++i)
      if (is_dead(header_->waited_for[i].load(std::memory_order_relaxed))) return false;
  }
  return true;
}

void Meeting::end(Outcome outcome, bool keep) {
  header_->keep.store(keep, std::memory_order_relaxed);
  header_->outcome.store(outcome, std::memory_order_release);
  wake_all(header_->outcome);
}

Meeting::Outcome Meeting::wait_for_end() const {
  for (;;) {
    const std::uint32_t outcome = header_->outcome.load(std::memory_order_acquire);
    if (outcome != open) return static_cast<Outcome>(outcome);
    if (is_dead(header_->root)) return static_cast<Outcome>(header_->outcome.load(std::memory_order_acquire));
    sleep_while(header_->outcome, outcome);
  }
}

}  // namespace blaslift::scalapack
