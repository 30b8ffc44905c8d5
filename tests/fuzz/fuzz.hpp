// What the fuzzers share: files of which only descriptors are known, and seeds in memory.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace blaslift::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file in memory with a path, for parsers that take one.
class File {
 public:
  File() : fd_(memfd_create("fuzz", 0)), path_("/proc/self/fd/" + std::to_string(fd_)) {}
  const std::string& path() const { return path_; }
  void write(std::string_view bytes) {
    if (ftruncate(fd_, 0) != 0) std::abort();
    write_at(0, bytes);
  }
  void write_at(std::size_t at, std::string_view bytes) {
    if (pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }

 private:
  const int fd_;
  const std::string path_;
};

/// What a check of the fuzzer's own found wrong.
inline void expect(bool good) {
  if (!good) std::abort();
}

}  // namespace blaslift::fuzz
