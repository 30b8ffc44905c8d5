#include "tools/cli/doctor/mapped_file.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "impl/core/regular_file.hpp"

namespace blaslift::cli {

MappedFile::MappedFile(const std::string& path) {
  const auto fail = [&path](int error) { throw std::system_error(error, std::generic_category(), path); };
  const RegularFile file(path);
  if (!file) fail(file.error() == ENOTSUP ? EACCES : file.error());  // as exec has it
  const auto size = static_cast<std::size_t>(file.size());
  if (size == 0) return;
  void* p = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (p == MAP_FAILED) fail(errno);
  bytes_ = {static_cast<const char*>(p), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace blaslift::cli
