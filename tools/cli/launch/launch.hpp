// Running a program with the library preloaded, and gathering what its whole process tree did.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "impl/observe/report.hpp"
#include "tools/preload/measure/others.hpp"

namespace blaslift::cli {

/// Directory of libblaslift.so that belongs to this executable; throws std::runtime_error if there is none.
std::string library_directory();

/// A directory of this command's own, removed with its contents: in TMPDIR, or where that cannot be had, or has no
/// room, in the next best place.
class ScratchDirectory {
 public:
  /// @param room  bytes that are going to be needed there
  explicit ScratchDirectory(std::uint64_t room = 0);  ///< throws std::runtime_error
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Writes a file, or says on standard error that it cannot be written, and why.
bool write_file(const std::string& path, const std::string& text);

/// What was printed so far goes to standard output now, or on standard error is said that it cannot, and why: an empty
/// file must not look like an answer.
bool flush_output();

/// Absolute where the variable names a file or a directory, whatever directory the program goes to: the name of a
/// library without a slash is the loader's to find.
std::string absolute_value(const std::string& variable, const std::string& value);

struct Finished {
  int wait_status;  ///< as waitpid gives it
  pid_t pid;        ///< of the program's own process
  double wall_seconds;
  std::vector<const Counters*>
      processes;  ///< of the tree, in order of their first call; those without a call are left out
  std::vector<const OtherCounters*> others;  ///< of processes measured
  Summary summary;
  std::string bindings;  ///< what libblaslift_doctor.so has written, if it was asked to
};

/// Runs `command` with `library` (of our library directory) preloaded and `variables` added to its environment,
/// relative paths in these and in its environment made absolute, passing signals on, and waits for it.  Where what was
/// called cannot be counted, the summary says so.  Processes that have ended before their exit (killed, crashed, _exit,
/// exec) get their line of BLASLIFT_REPORT's file here.  Afterwards no signal ends this process for what it writes.
/// Throws std::runtime_error if it cannot be started for a reason of ours, and Ends, with what a shell has (127: not
/// found, 126), if the command cannot be executed.
Finished launch(const char* library, const std::vector<std::string>& command,
                const std::map<std::string, std::string>& variables);

/// Ends this process as `wait_status` says: the same exit status, or the same signal.
[[noreturn]] void end_like(int wait_status);

}  // namespace blaslift::cli
