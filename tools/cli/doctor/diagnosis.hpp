// What is found of a program, and how it is told.
#pragma once
#include <string>
#include <vector>

#include "impl/observe/report.hpp"

namespace blaslift::cli {

using Names = std::vector<std::string>;

/// What is known of a program; the numbers are the command's exit status.
enum class Verdict {
  intercepted = 0,
  not_intercepted = 1,  ///< it has BLAS, out of our reach
  partly = 2,           ///< some of its calls
  no_blas = 3,          ///< nothing of what we intercept
  unclear = 4,          ///< what it calls shows when it runs
  not_executable = 126,
  not_found = 127,
};

/// One thing found, and what follows from it.
struct Finding {
  enum class Effect {
    good,   ///< calls reach us
    bad,    ///< calls do not reach us
    fatal,  ///< no call does, whatever else was found
    maybe,  ///< there is more than can be seen
    note,
  };
  static constexpr const char* relinked_behind = "relinked-behind";
  const char* kind;  ///< a word for programs
  Effect effect;
  std::string object;        ///< path of the file that it is about; may be empty
  Names names;               ///< of functions; may be empty
  std::string what, advice;  ///< sentences; the advice may be empty
};

struct Diagnosis {
  std::string program;  ///< as it was named
  std::string path;     ///< the file that runs in the end: of a script, its interpreter
  Verdict verdict = Verdict::unclear;
  std::vector<Finding> findings;
  bool ran = false;
  Summary summary;  ///< of the run
};

std::string to_text(const Diagnosis& diagnosis);

/// {"program", "path", "verdict", "status", "findings": [{"kind", "effect", "object", "names", "what", "advice"}],
/// "run": null or the summary}
std::string to_json(const Diagnosis& diagnosis);

}  // namespace blaslift::cli
