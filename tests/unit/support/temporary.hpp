// Files, directories, processes and surroundings that a test makes and takes away again.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace blaslift::temporary {

class Directory {
 public:
  Directory() {
    std::string name = std::filesystem::temp_directory_path() / "blaslift-XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// An environment variable set, or unset with null, for a while.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    if (before) before_ = before;
    was_set_ = before != nullptr;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { was_set_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool was_set_;
};

/// A locale that writes 1,5 for one and a half, as the program around the library may have chosen; made with localedef
/// where none is installed.
class DecimalComma {
 public:
  DecimalComma() {
    for (const char* installed : {"de_DE.utf8", "fr_FR.utf8"})
      if (std::setlocale(LC_NUMERIC, installed)) return;
    const std::string command =
        "localedef -i de_DE -f UTF-8 '" + (directory_.path() / "de_DE.utf8").string() + "' >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) return;
    Variable path("LOCPATH", directory_.path().c_str());
    std::setlocale(LC_NUMERIC, "de_DE.utf8");
  }
  ~DecimalComma() { std::setlocale(LC_NUMERIC, "C"); }
  DecimalComma(const DecimalComma&) = delete;
  DecimalComma& operator=(const DecimalComma&) = delete;

  bool there() const { return std::string(std::localeconv()->decimal_point) == ","; }

 private:
  Directory directory_;
};

/// Runs `work` in a forked child; its exit status, or minus the signal that ended it.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace blaslift::temporary
