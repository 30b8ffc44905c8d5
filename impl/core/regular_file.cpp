#include "impl/core/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace blaslift {

RegularFile::RegularFile(const std::string& path) {
  // O_NONBLOCK: a fifo without a writer would be waited for.
  fd_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0)
    error_ = errno;
  else if (!S_ISREG(status.st_mode))
    error_ = S_ISDIR(status.st_mode) ? EISDIR : ENOTSUP;
  else
    size_ = static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size));
  if (error_ && fd_ >= 0) close(fd_), fd_ = -1;
}

RegularFile::~RegularFile() {
  if (fd_ >= 0) close(fd_);
}

std::size_t RegularFile::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  std::size_t done = 0;
  while (fd_ >= 0 && done < bytes) {
    const ssize_t got = pread(fd_, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::string RegularFile::text(std::size_t most) const {
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(size_, most)), '\0');
  text.resize(read(0, text.data(), text.size()));
  return text;
}

}  // namespace blaslift
