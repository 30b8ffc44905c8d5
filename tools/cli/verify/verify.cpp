#include "tools/cli/verify/verify.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "compat/library.hpp"
#include "compat/shown.hpp"
#include "impl/core/options.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/launch/preload.hpp"
#include "tools/cli/verify/call_replay.hpp"

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
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    throw std::runtime_error(directory + ": " + std::strerror(errno));
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    throw std::runtime_error(directory + ": not a directory");
  if (access(directory.c_str(), W_OK | X_OK) != 0) throw std::runtime_error(directory + ": " + std::strerror(errno));
}

/// The files that the loader finds for the system's own names, and in which a routine lies there.
std::vector<std::string> system_files(const std::string& routine) {
  std::vector<std::string> files;
  for (const char* system : {"libblas.so.3", "liblapack.so.3"}) {
    void* handle = dlopen(system, RTLD_LAZY | RTLD_LOCAL);
    link_map* map = nullptr;
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) continue;
    files.push_back(real_path(map->l_name));
    Dl_info where{};
    if (void* function = dlsym(handle, (routine + "_").c_str()); function && dladdr(function, &where))
      files.push_back(real_path(where.dli_fname));
  }
  return files;
}

/// The library that a record names, to be opened.  Whoever has sent the record has chosen it: without trust it is taken
/// for the system's own where it is that, and for none where there is no such file.
/// @param option  that names another one
std::string to_be_opened(const std::string& record, const std::string& named, const std::string& routine,
                         const char* option, bool trust) {
  if (named.empty() || named == "the program itself") return {};
  if (trust) return absolute(named);
  std::error_code error;
  const fs::path real = fs::canonical(named, error);
  if (!error) {
    const std::vector<std::string> own = system_files(routine);
    if (const auto found = std::find(own.begin(), own.end(), real.string()); found != own.end()) return *found;
  } else if (named.find('/') != named.npos) {
    return {};
  }
  throw std::runtime_error(record + " names a library, " + named +
                           ", and to open it is to run its code; say --trust if " +
                           "you trust whoever made the record and that library, or name another by " + option);
}

/// What a call that is made again is done by and was not when it was kept, or the other way round.
std::string differences(const RecordText& was, const Finished& finished, const Verification& how) {
  std::string text;
  const auto compare = [&text](const std::string& what, const std::string& then, const std::string& now) {
    if (then != now)
      text += "blaslift: not as recorded: " + what + ": " + (then.empty() ? "none" : shown(then)) + ", now " +
              (now.empty() ? "none" : shown(now)) + "\n";
  };
  const Summary& s = finished.summary;
  if (how.subject.empty() && !finished.processes.empty())
    compare("library underneath", real_path(was.library), finished.processes.front()->library.get());
  if (was.backend.empty()) return text;
  compare("backend", was.backend, s.backend);
  compare("device", was.device, s.device);
  compare("driver", was.driver, s.driver);
  const std::string way = s.worst.empty() ? std::string() : s.worst.front().way;
  const std::string before_cut = text;
  for (const char* word : {"memory", "levels", "tile", "head", "residues", "reused", "failed"})
    compare(word, value_in(was.way, word), value_in(way, word));
  if (text == before_cut && value_in(was.way, "cut") != value_in(way, "cut"))
    text += "blaslift: not as recorded: it is split differently\n";
  return text.empty() ? "blaslift: computed in the recorded way\n" : text;
}

/// A file without a name that holds a text, for processes that this one starts; its path for them.
std::string inherited_file(const std::string& text) {
  const int fd = memfd_create("blaslift", 0);
  if (fd < 0 || write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error(std::string("no memory for the record's profile: ") + std::strerror(errno));
  return "/proc/self/fd/" + std::to_string(fd);
}

/// What helps where no call could be checked.
std::string how_to_check(const Summary& s, const Verification& how) {
  const auto stayed_for = [&s](Reason reason) {
    return std::any_of(s.routines.begin(), s.routines.end(),
                       [reason](const auto& r) { return r.stayed[static_cast<std::size_t>(reason)] > 0; });
  };
  const bool ran = std::any_of(s.routines.begin(), s.routines.end(), [](const auto& r) { return r.routed > 0; });
  if (s.calls() == 0) return ": `blaslift doctor` says what a program's calls reach, `--at-least 0` lets it pass";
  if (ran || !how.oracle.empty()) return ": `--at-least 0` lets it pass";
  if (stayed_for(Reason::no_device))
    return ": there was no device; `--backend host --force all` has the CPU do the GPU's steps, slowly, and `--oracle "
           "LIBRARY` compares two libraries; `--at-least 0` lets it pass";
  return ": none ran on the device; `--force all` sends every call there, `--at-least 0` lets it pass";
}

/// As verify().
/// @param recorded  the call that the program makes, if it is one that was kept
[[noreturn]] void check(const Verification& how, const std::vector<std::string>& command,
                        std::map<std::string, std::string> variables, const RecordText* recorded) {
  std::string subject_file;
  if (!how.subject.empty()) {
    if (how.oracle.empty()) throw std::runtime_error("--subject needs an --oracle to be compared with");
    const std::string subject = preload_name_of(absolute(how.subject));
    subject_file = file_of(subject);
    const char* others = std::getenv("LD_PRELOAD");
    const std::string preload = subject + (others && *others ? std::string(":") + others : "");
    setenv("LD_PRELOAD", preload.c_str(), 1);
    variables["BLASLIFT"] = "off";
  }
  if (!how.oracle.empty()) {
    if (file_of(absolute(how.oracle)) == subject_file)
      throw std::runtime_error("the oracle and the subject are the same file, " + subject_file +
                               ", so that there is nothing to compare: name another library by --oracle");
    variables["BLASLIFT_VERIFY_ORACLE"] = absolute(how.oracle);
  }
  variables["BLASLIFT_VERIFY"] = how.sample.empty() ? "all" : "sample:" + how.sample;
  if (!how.dump.empty()) {
    prepare(how.dump);
    variables["BLASLIFT_VERIFY_DUMP"] = fs::absolute(how.dump).string();
  }

  const Finished finished = launch("libblaslift.so", command, variables);
  if (!how.quiet) std::fputs(to_text(finished.summary).c_str(), stderr);
  if (!how.json.empty()) write_file(how.json, to_json(finished.summary) + '\n');
  if (recorded && !how.quiet) std::fputs(differences(*recorded, finished, how).c_str(), stderr);
  bool good = finished.summary.wrong() == 0;
  for (const Counters* process : finished.processes)
    if (!subject_file.empty() && subject_file != process->library.get()) {
      std::fprintf(stderr, "blaslift: process %d (%s) calls %s, not the subject %s\n", process->pid,
                   shown(process->command).c_str(), shown(process->library.get()).c_str(), shown(subject_file).c_str());
      good = false;
    }
  const auto checked = finished.summary.checked();
  const bool too_few = checked < how.at_least;
  if (too_few || (checked == 0 && !how.quiet))
    std::fprintf(stderr, "blaslift: %s checked%s\n",
                 checked == 0   ? "no call was"
                 : checked == 1 ? "only one call was"
                                : ("only " + std::to_string(checked) + " calls were").c_str(),
                 too_few && checked == 0 ? how_to_check(finished.summary, how).c_str() : "");
  // A program that failed by itself may not have come to its first call: its own status says more.
  if (too_few && WIFEXITED(finished.wait_status) && WEXITSTATUS(finished.wait_status) == 0) good = false;
  if (!good) std::_Exit(how.wrong_status);
  end_like(finished.wait_status);
}

}  // namespace

void verify(const Verification& how, const std::vector<std::string>& command,
            std::map<std::string, std::string> variables) {
  check(how, command, std::move(variables), nullptr);
}

void replay(const Verification& how, const std::string& path, std::map<std::string, std::string> variables) {
  const RecordText was = read_record(path, false).text;
  const std::string levels = value_in(was.way, "levels");
  if (!how.quiet)
    std::fprintf(stderr, "blaslift: recorded: %s %s%s%s%s%s%s%s\nblaslift: recorded: ratio %.3g of at most %.3g%s%s\n",
                 shown(was.routine).c_str(), shown(was.arguments).c_str(), was.backend.empty() ? ", by " : ", on ",
                 shown(was.backend.empty() ? was.library : was.backend).c_str(), levels.empty() ? "" : ", levels ",
                 shown(levels).c_str(), was.caller.empty() ? "" : ", called from ", shown(was.caller).c_str(),
                 std::atof(was.ratio.c_str()), std::atof(was.limit.c_str()), was.found.empty() ? "" : ", ",
                 shown(was.found).c_str());
  // What the record does not say is as if it was not set: today's settings are not those of then.
  for (const OptionInfo& option : option_table()) unsetenv(option.variable);
  const auto otherwise = [&variables](const char* variable, const std::string& value) {
    if (!value.empty()) variables.emplace(variable, value);
  };
  const auto chosen = [&variables](const char* variable) { return variables.count(variable) > 0; };
  Verification now = how;
  if (now.oracle.empty()) now.oracle = to_be_opened(path, was.oracle, was.routine, "--oracle", how.trust);
  if (now.oracle.empty() && !was.oracle.empty())
    throw std::runtime_error("the record's oracle, " + was.oracle + ", is not here: name one by --oracle");
  if (!how.library.empty())
    now.library = absolute(how.library);
  else if (how.subject.empty() && !chosen("BLASLIFT_FALLBACK"))
    now.library = to_be_opened(path, was.library, was.routine, "--library", how.trust);
  if (was.backend.empty() && !chosen("BLASLIFT_BACKEND") && now.subject.empty())
    now.subject = now.library.empty() ? std::string(system_library(was.routine)) : now.library;
  if (now.subject.empty()) {
    otherwise("BLASLIFT_BACKEND", was.backend);
    otherwise("BLASLIFT_FORCE", "all");
    otherwise("BLASLIFT_MEMORY", value_in(was.way, "memory"));
    // Who says what levels follow from wants to see what follows.
    if (!was.way.empty() && !chosen("BLASLIFT_STRASSEN") && !chosen("BLASLIFT_PROFILE")) {
      const auto number = [&was](const char* name) {
        const std::string value = value_in(was.way, name);
        return value.empty() ? std::string("0") : value;
      };
      otherwise("BLASLIFT_INTERNAL_CUTTING", number("levels") + ':' + number("tile") + ':' + number("head") +
                                                 (number("residues") == "0" ? "" : ":1"));
    }
    for (const std::string& setting : was.settings) {
      const std::string variable = setting.substr(0, setting.find('='));
      const auto table = option_table();
      const auto known = std::find_if(table.begin(), table.end(),
                                      [&](const OptionInfo& o) { return o.of_ways && variable == o.variable; });
      if (known == table.end() || variable == setting)
        throw std::runtime_error(path + ": this version does not know its setting " + setting);
      otherwise(known->variable, setting.substr(variable.size() + 1));
    }
    if (!was.profile.empty() && !chosen("BLASLIFT_PROFILE")) otherwise("BLASLIFT_PROFILE", inherited_file(was.profile));
  }
  now.at_least = 1;
  std::vector<std::string> command{fs::read_symlink("/proc/self/exe").string(), "call", fs::absolute(path).string()};
  if (!now.library.empty()) command.insert(command.end(), {"--library", now.library});
  check(now, command, variables, &was);
}

}  // namespace blaslift::cli
