// Memory of our own for what is used once, and is large.
#pragma once
#include <cstddef>
#include <utility>

namespace blaslift {

/// In large pages where the system has them.  Pages that nobody has used yet cost several times as much as what they
/// are to hold, so what is given back waits for the next who asks; meanwhile the system may take the pages.
class OwnMemory {
 public:
  OwnMemory() = default;
  /// Whatever it holds.  Throws std::bad_alloc.
  explicit OwnMemory(std::size_t bytes);
  OwnMemory(OwnMemory&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)), at_(other.at_), size_(other.size_) {}
  OwnMemory& operator=(OwnMemory other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~OwnMemory();

  char* at() const { return at_; }

  /// Unmaps what waits.
  static void trim();

 private:
  char *mapping_ = nullptr, *at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace blaslift
