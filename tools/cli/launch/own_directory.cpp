#include "tools/cli/launch/own_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace blaslift::cli {

bool is_own_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string base_directory(const char* variable, const char* otherwise) {
  const char *given = std::getenv(variable), *home = std::getenv("HOME");
  if (given && *given == '/') return given;
  return home && *home == '/' ? std::string(home) + '/' + otherwise : std::string();
}

}  // namespace blaslift::cli
