// blaslift verify and blaslift replay.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace blaslift::cli {

struct Verification {
  std::string subject;  ///< a BLAS that the program is to use, with nothing on a device; empty: the program's own
  std::string
      library;  ///< what a recorded call is made over; empty: the one that the record names, if that may be opened
  bool trust = false;  ///< the libraries that a record names may be opened, which runs their code
  std::string oracle;  ///< what is compared with; empty: the library underneath
  std::string sample;  ///< one call in so many, a number; empty: all
  std::string dump;    ///< directory for wrong calls
  std::string json;
  int wrong_status = 123;
  unsigned long at_least = 1;  ///< calls to be checked
  bool quiet = false;
};

/// Runs the program under verification and ends this process: with `wrong_status` if a call was wrong or too few were
/// checked, else as the program has ended.  Throws std::runtime_error if it cannot be started.
[[noreturn]] void verify(const Verification& how, const std::vector<std::string>& command,
                         std::map<std::string, std::string> variables);

/// Makes a recorded call under verification as it was made, by the record's settings, profile and memory and none of
/// this process's environment, but for what `how` and `variables` say.  Says where its way is another one.  A library
/// that the record names is opened if it is the system's own, or trusted; throws std::runtime_error where another is
/// needed.
[[noreturn]] void replay(const Verification& how, const std::string& path,
                         std::map<std::string, std::string> variables);

}  // namespace blaslift::cli
