// A file in memory, for what looks at a few places of files that may be large.
#pragma once
#include <string>
#include <string_view>

namespace blaslift::cli {

/// A file's bytes, mapped.  Programs and libraries are replaced, not cut, by whoever installs them: of a file that is
/// cut off while it is looked at, a page that is gone is a SIGBUS.  What others may cut is read (RegularFile).
class MappedFile {
 public:
  /// Opened as RegularFile does.  Throws std::system_error if it cannot be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace blaslift::cli
