#include "tools/cli/verify.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "compat/library.hpp"
#include "tools/cli/launch.hpp"
#include "tools/cli/recorded.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

std::string real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

/// A path that holds wherever the program goes; a bare name is the loader's to find.
std::string absolute(const std::string& library) {
  return library.find('/') == library.npos ? library : fs::absolute(library).string();
}

/// The file whose functions the library's callers reach.  Throws std::runtime_error if it is no BLAS.
std::string file_of(const std::string& library) {
  std::string why;
  for (int i = 0; i < routine_count; ++i) {
    Symbol symbol;
    Target target;
    Dl_info where{};
    if (find_in(library.c_str(), static_cast<Routine>(i), symbol, target, why) && dladdr(target.function, &where))
      return real_path(where.dli_fname);
  }
  throw std::runtime_error(why);
}

/// Sees to it that wrong calls can be kept.
void prepare(const std::string& directory) {
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
    throw std::runtime_error(directory + ": " + std::strerror(errno));
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    throw std::runtime_error(directory + ": not a directory");
  if (access(directory.c_str(), W_OK | X_OK) != 0) throw std::runtime_error(directory + ": " + std::strerror(errno));
}

}  // namespace

void verify(const Verification& how, const std::vector<std::string>& command,
            std::map<std::string, std::string> variables) {
  std::string subject_file;
  if (!how.subject.empty()) {
    if (how.oracle.empty()) throw std::runtime_error("--subject needs an --oracle to be compared with");
    subject_file = file_of(absolute(how.subject));
    const char* others = std::getenv("LD_PRELOAD");
    const std::string preload = absolute(how.subject) + (others && *others ? std::string(":") + others : "");
    setenv("LD_PRELOAD", preload.c_str(), 1);
    variables["BLASLIFT"] = "off";
  }
  if (!how.oracle.empty()) {
    if (file_of(absolute(how.oracle)) == subject_file)
      throw std::runtime_error("the oracle is the subject itself: " + subject_file);
    variables["BLASLIFT_VERIFY_ORACLE"] = absolute(how.oracle);
  }
  variables["BLASLIFT_VERIFY"] = how.sample.empty() ? "all" : "sample:" + how.sample;
  if (!how.dump.empty()) {
    prepare(how.dump);
    variables["BLASLIFT_VERIFY_DUMP"] = fs::absolute(how.dump).string();
  }

  const Finished finished = launch("libblaslift.so", command, variables);
  if (!how.quiet) std::fputs(to_text(finished.summary).c_str(), stderr);
  if (!how.json.empty() && !(std::ofstream(how.json) << to_json(finished.summary) << '\n'))
    std::fprintf(stderr, "blaslift: %s cannot be written\n", how.json.c_str());
  bool good = finished.summary.wrong() == 0;
  for (const Counters* process : finished.processes)
    if (!subject_file.empty() && subject_file != process->library.get()) {
      std::fprintf(stderr, "blaslift: process %d (%s) calls %s, not the subject %s\n", process->pid, process->command,
                   process->library.get(), subject_file.c_str());
      good = false;
    }
  const auto checked = finished.summary.checked();
  const bool too_few = checked < how.at_least;
  if (too_few || (checked == 0 && !how.quiet))
    std::fprintf(stderr, "blaslift: %s checked%s\n",
                 checked == 0   ? "no call was"
                 : checked == 1 ? "only one call was"
                                : ("only " + std::to_string(checked) + " calls were").c_str(),
                 too_few && checked == 0
                     ? ": `blaslift doctor` says what a program's calls reach, `--at-least 0` lets it pass"
                     : "");
  // A program that failed by itself may not have come to its first call: its own status says more.
  if (too_few && WIFEXITED(finished.wait_status) && WEXITSTATUS(finished.wait_status) == 0) good = false;
  if (!good) std::_Exit(how.wrong_status);
  end_like(finished.wait_status);
}

void replay(const Verification& how, const std::string& path, std::map<std::string, std::string> variables) {
  const Recorded recorded = read_record(path, false);
  const RecordText& was = recorded.text;
  if (!how.quiet)
    std::fprintf(stderr, "blaslift: recorded: %s %s%s%s%s%s%s%s\nblaslift: recorded: ratio %.3g of at most %.3g%s%s\n",
                 was.routine.c_str(), was.arguments.c_str(), was.backend.empty() ? ", by " : ", on ",
                 was.backend.empty() ? was.library.c_str() : was.backend.c_str(), was.levels.empty() ? "" : ", levels ",
                 was.levels.c_str(), was.caller.empty() ? "" : ", called from ", was.caller.c_str(),
                 std::atof(was.ratio.c_str()), std::atof(was.limit.c_str()), was.found.empty() ? "" : ", ",
                 was.found.c_str());
  Verification now = how;
  if (now.oracle.empty()) now.oracle = was.oracle;
  const auto otherwise = [&variables](const char* variable, const std::string& value) {
    variables.emplace(variable, value);
  };
  const bool chosen = variables.count("BLASLIFT_BACKEND") > 0;
  if (was.backend.empty() && !chosen && now.subject.empty()) now.subject = was.library;
  if (now.subject.empty()) {
    if (!was.backend.empty()) otherwise("BLASLIFT_BACKEND", was.backend);
    otherwise("BLASLIFT_FORCE", "all");
    otherwise("BLASLIFT_STRASSEN", was.levels.empty() ? "off" : was.levels);
  }
  now.at_least = 1;
  verify(now, {fs::read_symlink("/proc/self/exe").string(), "call", fs::absolute(path).string()}, variables);
}

}  // namespace blaslift::cli
