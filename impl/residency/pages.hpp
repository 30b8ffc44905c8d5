// Pages: which pages of the program's memory have been written since when, proven by the kernel.
// docs/developer/residency.md has the argument.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "impl/core/stored.hpp"

namespace blaslift {

inline constexpr std::size_t page_bytes = 4096;

/// The whole pages that hold these bytes.
constexpr Range pages_of(Range bytes) {
  return {bytes.begin / page_bytes * page_bytes, (bytes.end + page_bytes - 1) / page_bytes * page_bytes};
}

/// What the kernel does for us.  All ranges are whole pages.
class Tracker {
 public:
  /// Makes writes into these pages noticeable, before the first scan of them, until release() has been called as often.
  /// Empty, or why that cannot be.
  virtual std::string cover(Range pages) = 0;
  virtual void release(Range pages) noexcept = 0;

  /// One pass: appends to `unwritten`, in order, the runs of pages that are covered, that positively hold something,
  /// and that have not been written since the pass before.  Every other covered page that holds something is protected
  /// in the same instant in which it is looked at.  False: nothing is known, nothing may be concluded.
  virtual bool scan(Range pages, std::vector<Range>& unwritten) = 0;

  /// Protects these pages no longer: writing them costs nothing again, and the next pass finds them written.
  virtual void uncover(Range pages) = 0;

  /// Why memory may now change in ways that no pass would notice; empty if it cannot.
  virtual std::string blind() = 0;

 protected:
  ~Tracker() = default;
};

/// Does to memory of its own what programs do, and looks whether the tracker notices everything.  Empty, or what it
/// missed.
std::string self_test(Tracker& tracker);

/// The number of a pass; later ones are larger.
using Stamp = std::uint64_t;

/// The process's one table of pages.  A pass protects again what it finds written, and so consumes the evidence that
/// somebody else may need: therefore every pass leaves in the table the number under which each page was last found
/// written, and whoever holds a copy compares.
class Pages {
 public:
  explicit Pages(Tracker& tracker) : tracker_(tracker) {}

  /// Covers and protects these pages: a copy made after this with `now` as its stamp is good until dirty() says
  /// otherwise.  Empty, or why not.
  std::string protect(Range pages, Stamp& now);
  /// Ends that, for one copy.
  void release(Range pages) noexcept;

  /// The same for pages that have been covered before; where that has ended, they count as written for ever.
  bool protect_again(Range pages, Stamp& now);

  /// Looks at these pages and appends to `dirty` the runs that may have been written since a copy of them was made;
  /// `since` holds a stamp a page, `oldest` is not larger than any of them.  A copy made again after this is good from
  /// `now` on.  False: all may have been.
  bool dirty(Range pages, const Stamp* since, Stamp oldest, std::vector<Range>& dirty, Stamp& now);

  void uncover(Range pages);

  std::string blind() {
    const std::lock_guard lock(mutex_);  // others open files meanwhile, at which this looks
    return tracker_.blind();
  }

 private:
  static constexpr std::size_t chunk_pages = 512;
  struct Chunk {
    std::array<Stamp, chunk_pages> stamps{};
    Stamp newest = 0;
  };

  bool pass(Range pages);
  void note(Address page);

  Tracker& tracker_;
  std::mutex mutex_;            ///< a pass and what it leaves in the table are one step for everybody
  bool incomplete_ = false;     ///< a pass has consumed evidence and not noted it: nothing is known any more
  Stamp now_ = 0, newest_ = 0;  ///< newest_: of all pages'
  std::unordered_map<Address, std::unique_ptr<Chunk>> written_;  ///< by page number / chunk_pages
  std::vector<Range> unwritten_;
};

}  // namespace blaslift
