#include "impl/core/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace blaslift {

std::string numbered_beside(const std::string& path, int attempt) {
  return path + (attempt > 0 ? '.' + std::to_string(attempt) : std::string()) + ".partial";
}

NewFile::NewFile(const std::string& path, Beside beside) : path_(path) {
  constexpr int most_attempts = 100;
  for (int attempt = 0; fd_ < 0 && attempt < most_attempts; ++attempt) {
    partial_ = beside(path_, attempt);
    fd_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    error_ = fd_ < 0 ? errno : 0;
    if (error_ != 0 && error_ != EEXIST) break;
  }
  unfinished_ = fd_ >= 0;
}

NewFile::~NewFile() {
  if (fd_ >= 0) close(fd_);
  if (unfinished_) unlink(partial_.c_str());
}

void NewFile::write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0 && error_ == 0) {
    const ssize_t written = ::write(fd_, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = written < 0 ? errno : ENOSPC;
      return;
    }
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void NewFile::permit(mode_t mode) {
  if (error_ == 0 && fchmod(fd_, mode) != 0) error_ = errno;
}

void NewFile::reach_the_disk() {
  if (error_ == 0 && fsync(fd_) != 0) error_ = errno;
}

int NewFile::put_in_place() {
  if (error_ == 0 && close(std::exchange(fd_, -1)) != 0) error_ = errno;
  if (error_ == 0 && std::rename(partial_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ == 0) unfinished_ = false;
  return error_;
}

}  // namespace blaslift
