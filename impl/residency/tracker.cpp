#include "impl/residency/tracker.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "impl/core/workers.hpp"

namespace blaslift {
namespace {

// The kernel's interface, Linux 6.7; headers of older systems do not have it.
namespace kernel {
struct Region {
  std::uint64_t start, end, categories;
};
struct Scan {
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long pagemap_scan = _IOWR('f', 16, Scan);
constexpr std::uint64_t scan_protect = 1;  // what matches and is written
constexpr std::uint64_t page_tracked = 1, page_written = 2, page_present = 8, page_swapped = 16;
constexpr std::uint64_t feature_pagefault_flag = 1, feature_unpopulated = 1 << 13, feature_async = 1 << 15;
constexpr int user_mode_only = 1;
}  // namespace kernel

std::string failed(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

std::string contents(const char* path) {
  std::string text;
  const struct File {
    int fd;
    ~File() {
      if (fd >= 0) close(fd);
    }
  } file{open(path, O_RDONLY | O_CLOEXEC)};
  char part[8192];
  for (ssize_t n; file.fd >= 0 && (n = read(file.fd, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  return text;
}

/// A line of /proc/self/maps.
struct Mapping {
  Range range{};
  bool ordinary = false;  ///< private anonymous memory of the program's own
};

/// False at what is no such line.
bool read_mapping(const char* line, Mapping& m) {
  char permissions[5] = "";
  unsigned long inode = 1;
  unsigned major = 1, minor = 1;
  int name = 0;
  if (std::sscanf(line, "%lx-%lx %4s %*x %x:%x %lu %n", &m.range.begin, &m.range.end, permissions, &major, &minor,
                  &inode, &name) < 6)
    return false;
  const std::string_view path(line + name);
  m.ordinary = permissions[3] == 'p' && inode == 0 && major == 0 && minor == 0 &&
               (path.empty() || path == "[heap]" || path.starts_with("[anon:"));
  return true;
}

/// Calls `look` (void(const Mapping&)) for the mappings that lie in `pages`, or partly do, in order.  Allocates
/// nothing: pages are released where there is no memory, too.
template <class Look>
void for_mappings_in(Range pages, const Look& look) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[4096];  // the beginning of a line is enough
  std::size_t held = 0;
  bool rest_of_line = false, done = false;
  while (!done) {
    const ssize_t n = read(fd, text + held, sizeof text - 1 - held);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    held += static_cast<std::size_t>(n);
    char* at = text;
    char* const end = text + held;
    while (!done && at < end) {
      auto* stop = static_cast<char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
      const bool whole = stop != nullptr;
      if (!whole && (at != text || held < sizeof text - 1)) break;  // more is to be read
      if (!whole) stop = end;
      *stop = '\0';
      Mapping m;
      if (!rest_of_line) {
        done = !read_mapping(at, m) || m.range.begin >= pages.end;
        if (!done && m.range.end > pages.begin) look(m);
      }
      rest_of_line = !whole;
      at = whole ? stop + 1 : end;
    }
    held = static_cast<std::size_t>(end - at);
    std::memmove(text, at, held);
  }
  close(fd);
}

/// The same as a list.
std::vector<Mapping> mappings_in(Range pages) {
  std::vector<Mapping> found;
  found.reserve(8);
  for_mappings_in(pages, [&](const Mapping& m) { found.push_back(m); });
  return found;
}

bool overlap(Range x, Range y) { return x.begin < y.end && y.begin < x.end; }

class KernelTracker final : public Tracker {
 public:
  std::string open() {
    // The kernel itself need not handle our faults: user mode is all that an unprivileged process is given.
    faults_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kernel::user_mode_only));
    if (faults_ < 0) return failed("userfaultfd is not permitted here");
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = kernel::feature_async | kernel::feature_unpopulated | kernel::feature_pagefault_flag;
    if (ioctl(faults_, UFFDIO_API, &api) != 0) return "the kernel is older than Linux 6.7";
    pagemap_ = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap_ < 0) return failed("/proc/self/pagemap cannot be opened");
    // Out of the way of programs that count on low numbers, or close them all.
    for (int* fd : {&faults_, &pagemap_})
      if (const int high = fcntl(*fd, F_DUPFD_CLOEXEC, 600); high >= 0) {
        close(*fd);
        *fd = high;
      }
    if (fstat(pagemap_, &pagemap_is_) != 0) return failed("/proc/self/pagemap");
    std::vector<Range> none;
    if (!scan({0x10000, 0x11000}, none)) return "the kernel is older than Linux 6.7";
    return {};
  }

  std::string cover(Range pages) override {
    const std::vector<Mapping> mappings = mappings_in(pages);
    Address reached = pages.begin;
    for (const Mapping& m : mappings) {
      if (m.range.begin > reached) break;
      if (!m.ordinary) return "not private anonymous memory";
      reached = m.range.end;
    }
    if (reached < pages.end) return "not mapped";
    std::string why;
    for (const Mapping& m : mappings) {
      const bool before = tracked(std::max(m.range.begin, pages.begin));
      if (!before && registered_.size() >= most_mappings)
        std::erase_if(registered_, [this](const Registered& r) { return !tracked(r.range.begin); });
      if (!before && registered_.size() >= most_mappings) {
        why = "too many mappings";
        break;
      }
      // Before it is registered: whatever is must be in the list.
      if (registered_.size() == registered_.capacity()) registered_.reserve(2 * registered_.size() + 16);
      // Whole mappings: a part would split the mapping in three, and a program may have only so many.  What is
      // registered already is refused unless it is ours.
      uffdio_register request{};
      request.range = {m.range.begin, m.range.size()};
      request.mode = UFFDIO_REGISTER_MODE_WP;
      if (ioctl(faults_, UFFDIO_REGISTER, &request) != 0) {
        why = failed("cannot be registered");
        break;
      }
      if (before) continue;
      registered_.push_back({m.range});
      // Some kernels leave marks behind where a mapping was moved: with them, a page would seem protected that is not.
      if (any_unwritten(m.range)) uncover(m.range);
    }
    if (why.empty())
      for (Registered& r : registered_) r.users += overlap(r.range, pages);
    else
      give_back_unused();
    return why;
  }

  void release(Range pages) noexcept override {
    for (Registered& r : registered_) r.users -= overlap(r.range, pages);
    give_back_unused();
    uncover(pages);  // where others still need the mapping covered
  }

  bool scan(Range pages, std::vector<Range>& unwritten) override {
    // A program that closes descriptors by number may have closed ours, and opened something else under it.
    struct stat now {};
    if (fstat(pagemap_, &now) != 0 || now.st_dev != pagemap_is_.st_dev || now.st_ino != pagemap_is_.st_ino)
      return false;
    Passing passing{*this, pages};
    std::size_t parts = passing.count();
    if (parts_.size() < parts) parts_.resize(parts);
    const auto start = std::chrono::steady_clock::now();
    passing.look(0, 1);
    const std::chrono::duration<double> first = std::chrono::steady_clock::now() - start;
    // Huge pages take next to nothing: then waking others would take longer, and so would asking part by part.
    constexpr double little = 1e-4;
    const int rest = static_cast<int>(parts) - 1;
    if (rest > 0 && first.count() * passing.times_the_first() < little) {
      passing.look(1, rest);
      parts = 2;
    } else {
      crew_.run(
          rest, [](void* all, int i) { static_cast<Passing*>(all)->look(1 + i, 1); }, &passing);
    }
    for (std::size_t i = 0; i < parts; ++i) {
      if (!parts_[i].known) return false;
      for (const Range& run : parts_[i].unwritten) append(unwritten, run);
    }
    return true;
  }

  void uncover(Range pages) override {
    uffdio_writeprotect request{};
    request.range = {pages.begin, pages.size()};
    request.mode = 0;
    (void)ioctl(faults_, UFFDIO_WRITEPROTECT, &request);  // where the mapping is gone, so is its protection
  }

  std::string blind() override {
    // Memory that a device or another process has pinned changes without this process's page tables.
    const std::string status = contents("/proc/self/status");
    if (const std::size_t at = status.find("VmPin:"); at == status.npos || std::atol(status.c_str() + at + 6) != 0)
      return "the process has pinned memory";
    constexpr std::string_view suspects[] = {"/dev/infiniband/", "/dev/vfio", "/dev/xpmem", "/dev/hfi1",
                                             "/dev/cxi",         "/dev/knem", "[io_uring]"};
    const std::unique_ptr<DIR, int (*)(DIR*)> closed(opendir("/proc/self/fd"), closedir);
    DIR* const descriptors = closed.get();
    if (!descriptors) return "/proc/self/fd cannot be read";
    std::string found;
    while (const dirent* entry = readdir(descriptors)) {
      if (entry->d_name[0] == '.') continue;
      // Names take a microsecond each: only of what could be a suspect.
      struct stat now {};
      // Other threads' files among them, which may be closed meanwhile.  Not by fstat: ThreadSanitizer sees a race
      // there.
      const bool known = fstatat(std::atoi(entry->d_name), "", &now, AT_EMPTY_PATH) == 0;
      if (known && (S_ISFIFO(now.st_mode) || S_ISSOCK(now.st_mode))) continue;
      const bool device = known && S_ISCHR(now.st_mode);
      if (device && std::find(innocent_.begin(), innocent_.end(), now.st_rdev) != innocent_.end()) continue;
      char target[128];
      const ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target);
      if (length <= 0) continue;
      const std::string_view name(target, static_cast<std::size_t>(length));
      const bool suspected = std::any_of(std::begin(suspects), std::end(suspects),
                                         [&](std::string_view suspect) { return name.find(suspect) != name.npos; });
      if (suspected)
        found = "the process has opened " + std::string(name);
      else if (device)
        innocent_.push_back(now.st_rdev);
    }
    return found;
  }

 private:
  static constexpr std::size_t most_mappings = 1000;
  /// What one thread looks at: 20 microseconds for pages of 4 KiB.  Whole huge pages, which would be split otherwise.
  static constexpr std::size_t part_bytes = std::size_t{8} << 20;

  struct Part {
    bool known = false;
    std::vector<Range> unwritten{};
  };

  /// A pass, part by part, between multiples of part_bytes.
  struct Passing {
    KernelTracker& tracker;
    Range pages;

    std::size_t count() const { return (pages.end + part_bytes - 1) / part_bytes - pages.begin / part_bytes; }
    /// How many times as much as in the first part, which may be a few pages, there is in the others.
    double times_the_first() const {
      const Address end = std::min(pages.end, (pages.begin / part_bytes + 1) * part_bytes);
      return static_cast<double>(pages.end - end) / static_cast<double>(end - pages.begin);
    }
    /// At `parts` parts in one; what is found is the first one's.
    void look(int first, int parts) {
      Part& found = tracker.parts_[static_cast<std::size_t>(first)];
      const Address begin = (pages.begin / part_bytes + static_cast<std::size_t>(first)) * part_bytes,
                    end = begin + static_cast<std::size_t>(parts) * part_bytes;
      found.unwritten.clear();
      try {
        found.known = tracker.pass({std::max(pages.begin, begin), std::min(pages.end, end)}, found.unwritten);
      } catch (const std::exception&) {
        found.known = false;
      }
    }
  };

  static void append(std::vector<Range>& runs, Range run) {
    if (!runs.empty() && runs.back().end == run.begin)
      runs.back().end = run.end;
    else
      runs.push_back(run);
  }

  /// As scan().  Mostly nothing has been written: then looking is enough, which disturbs nobody.
  bool pass(Range pages, std::vector<Range>& unwritten) const {
    if (!walk(pages, 0, unwritten)) return false;
    // From the first page that has to be protected to the last: what this finds unwritten between them, in the instant
    // in which it protects the others, is what counts.
    Range rest = pages;
    if (!unwritten.empty() && unwritten.front().begin == rest.begin) rest.begin = unwritten.front().end;
    if (rest.begin >= rest.end) return true;
    if (!unwritten.empty() && unwritten.back().end == rest.end) rest.end = unwritten.back().begin;
    std::erase_if(unwritten, [&](const Range& run) { return overlap(run, rest); });
    std::vector<Range> after;
    if (!unwritten.empty() && unwritten.back().begin >= rest.end) {
      after.push_back(unwritten.back());
      unwritten.pop_back();
    }
    if (!walk(rest, kernel::scan_protect, unwritten)) return false;
    for (const Range& run : after) append(unwritten, run);
    return true;
  }

  /// Appends the runs of pages that are tracked, positively hold something, and are unwritten.
  /// @param flags  scan_protect: protects the others in the instant in which it looks at them
  bool walk(Range pages, std::uint64_t flags, std::vector<Range>& unwritten) const {
    kernel::Region regions[256];
    for (Address at = pages.begin; at < pages.end;) {
      kernel::Scan s{.size = sizeof s,
                     .flags = flags,
                     .start = at,
                     .end = pages.end,
                     .vec = reinterpret_cast<std::uint64_t>(regions),
                     .vec_len = std::size(regions),
                     .category_mask = kernel::page_tracked,
                     .category_anyof_mask = kernel::page_present | kernel::page_swapped,
                     .return_mask = kernel::page_written | kernel::page_present | kernel::page_swapped};
      const int count = ioctl(pagemap_, kernel::pagemap_scan, &s);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      for (int i = 0; i < count; ++i)
        if (!(regions[i].categories & kernel::page_written)) append(unwritten, {regions[i].start, regions[i].end});
      if (s.walk_end <= at) return false;
      at = s.walk_end;
    }
    return true;
  }

  struct Registered {
    Range range;
    int users = 0;
  };

  /// A mapping that nobody needs covered is the program's again as it was: while it is registered it does not merge
  /// with its neighbours, and cannot be moved together with them.
  void give_back_unused() {
    std::erase_if(registered_, [this](const Registered& r) {
      if (r.users > 0) return false;
      for_mappings_in(r.range, [&](const Mapping& m) {
        const Range part{std::max(m.range.begin, r.range.begin), std::min(m.range.end, r.range.end)};
        uffdio_range range{part.begin, part.size()};
        if (m.ordinary && tracked(part.begin)) (void)ioctl(faults_, UFFDIO_UNREGISTER, &range);
      });
      return true;
    });
  }

  /// Whether the mapping that holds this page is registered, with us or with anyone.
  bool tracked(Address page) const {
    kernel::Region region[1];
    kernel::Scan s{.size = sizeof s,
                   .start = page,
                   .end = page + page_bytes,
                   .vec = reinterpret_cast<std::uint64_t>(region),
                   .vec_len = 1,
                   .category_mask = kernel::page_tracked,
                   .return_mask = kernel::page_tracked};
    return ioctl(pagemap_, kernel::pagemap_scan, &s) > 0;
  }

  bool any_unwritten(Range pages) const {
    kernel::Region region[1];
    kernel::Scan s{.size = sizeof s,
                   .start = pages.begin,
                   .end = pages.end,
                   .vec = reinterpret_cast<std::uint64_t>(region),
                   .vec_len = 1,
                   .max_pages = 1,
                   .category_inverted = kernel::page_written,
                   .category_mask = kernel::page_written,
                   .category_anyof_mask = kernel::page_present | kernel::page_swapped,
                   .return_mask = kernel::page_tracked};
    return ioctl(pagemap_, kernel::pagemap_scan, &s) != 0;  // also when the kernel does not tell
  }

  int faults_ = -1, pagemap_ = -1;
  struct stat pagemap_is_ {};
  std::vector<Registered> registered_;
  std::vector<Part> parts_;      ///< of the pass that is made now
  std::vector<dev_t> innocent_;  ///< devices that have been open, and are no suspects
  Crew crew_;
};

}  // namespace

Tracker* open_tracker(std::string& why) {
  struct Opened {
    KernelTracker* tracker = nullptr;
    std::string why;
    Opened() {
      try {
        tracker = new KernelTracker;
        why = tracker->open();
        if (why.empty()) why = self_test(*tracker);
      } catch (const std::exception&) {  // there is no second try: it would open descriptors again
        why = "out of memory";           // short enough to need none
      }
    }
  };
  static const Opened& opened = *new Opened;
  why = opened.why;
  return why.empty() ? opened.tracker : nullptr;
}

}  // namespace blaslift
