// Running a program with the library preloaded, and gathering what its whole process tree did.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "impl/report.hpp"
#include "tools/measure/others.hpp"

namespace blaslift::cli {

/// Directory of libblaslift.so that belongs to this executable; throws std::runtime_error if there is none.
std::string library_directory();

/// A directory of this command's own, removed with its contents.
class ScratchDirectory {
 public:
  ScratchDirectory();  ///< throws std::runtime_error
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Finished {
  int wait_status;  ///< as waitpid gives it
  double wall_seconds;
  std::vector<const Counters*>
      processes;  ///< of the tree, in order of their first call; those without a call are left out
  std::vector<const OtherCounters*> others;  ///< of processes measured
  Summary summary;
  std::string bindings;  ///< what libblaslift_doctor.so has written, if it was asked to
};

/// Runs `command` with `library` (of our library directory) preloaded and `variables` (BLASLIFT_TRACE may be a
/// relative path) added to its environment, passing
/// signals on, and waits for it.  Throws std::runtime_error if it cannot be started for a reason of ours; a command
/// that cannot be executed ends with status 127 (not found) or 126, as in a shell.
Finished launch(const char* library, const std::vector<std::string>& command,
                const std::map<std::string, std::string>& variables);

/// Ends this process as `wait_status` says: the same exit status, or the same signal.
[[noreturn]] void end_like(int wait_status);

}  // namespace blaslift::cli
