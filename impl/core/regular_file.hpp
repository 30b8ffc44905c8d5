// Files that somebody else may have made: what is read of them has an end, and waits for nobody.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace blaslift {

/// An open file that holds bytes: no fifo, device or folder.  It is read, not mapped: what somebody cuts off meanwhile
/// is missing, and no signal.
class RegularFile {
 public:
  explicit RegularFile(const std::string& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  explicit operator bool() const { return fd_ >= 0; }
  int error() const { return error_; }  ///< why it is not open, as errno has it; ENOTSUP: it is none that holds bytes
  int descriptor() const { return fd_; }
  std::uint64_t size() const { return size_; }  ///< when it was opened

  /// How many of these bytes there were.
  std::size_t read(std::uint64_t offset, void* to, std::size_t bytes) const;

  /// The first bytes, `most` of them if there are so many.
  std::string text(std::size_t most) const;

 private:
  int fd_ = -1, error_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace blaslift
