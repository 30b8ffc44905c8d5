// `blaslift run` on the command line.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/cli/launch/commands.hpp"
#include "tools/cli/launch/history.hpp"
#include "tools/cli/launch/json_text.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/launch/outlook.hpp"
#include "tools/cli/launch/verdict.hpp"
#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {
namespace {

/// glibc's malloc asks for them where it takes whole pages from the system.
constexpr const char *tunables = "GLIBC_TUNABLES", *huge_pages = "glibc.malloc.hugetlb=1", *start = "BLASLIFT_START";

struct Run {
  Variables variables;
  bool quiet = false, verbose = false, usual_pages = false;
  std::string json;
};

/// The last one of a name counts.
std::string joined_tunables(std::string given) {
  while (given.ends_with(':')) given.pop_back();
  return given.empty() ? huge_pages : given + ':' + huge_pages;
}

/// The summary's object, with what ran before its members.
std::string summary_text(const Finished& finished, const std::string& program) {
  std::string text =
      json_text(Json{{"command", program.substr(program.rfind('/') + 1)}, {"seconds", finished.wall_seconds}});
  text.pop_back();
  return text + ", " + to_json(finished.summary).substr(1) + '\n';
}

[[noreturn]] void run(const Run& how, const Words& program) {
  Variables variables = how.variables;
  const char* given = std::getenv(tunables);
  if (!how.usual_pages && !(given && std::strstr(given, "glibc.malloc.hugetlb")))
    variables[tunables] = joined_tunables(given ? given : "");
  // Who says when the device is started is not second-guessed.
  const bool looks_back = !std::getenv(start) && !variables.contains(start);
  const History history = looks_back ? History(program) : History();
  const bool early = history.gains_by_early_start();
  if (early) {
    const std::string names = history.routines();
    variables[start] = names.empty() ? "early" : "early:" + names;
  }
  if (how.verbose && !how.quiet)
    std::fputs(("blaslift: " + outlook(variables) + (early ? ", as its last run used it" : "") + '\n').c_str(), stderr);
  const Finished finished = launch("libblaslift.so", program, variables);
  history.note(finished);
  if (!how.quiet) {
    std::string text;
    if (const std::string said = verdict(finished.summary, finished.wall_seconds); !said.empty())
      text = "blaslift: " + said + '\n';
    text += to_text(finished.summary);
    if (const std::string said = advice(finished.summary, finished.wall_seconds); !said.empty())
      text += "blaslift: advice: " + said + '\n';
    if (early && finished.summary.backend == "cuda")
      text += "blaslift: the GPU was started with the program, as the last run of this command used it\n";
    std::fputs(text.c_str(), stderr);
  }
  if (!how.json.empty())
    write_file(how.json, summary_text(finished, program.front()));  // the exit status is the program's
  end_like(finished.wait_status);
}

}  // namespace

void add_run(Command& blaslift) {
  Command command = blaslift.command("run", "run a program through blaslift and say what happened", Program::first);
  const auto how = std::make_shared<Run>();
  command.flag("-q,--quiet", how->quiet, "no summary")
      .flag("-v,--verbose", how->verbose, "say before the program starts what is going to be done, and by what")
      .flag("--no-huge-pages", how->usual_pages,
            "large arrays of the program in the usual pages, not in those of 2 MiB, which are made and read faster")
      .option("--json", "FILE", how->json, "write the summary of the whole process tree to this file, too");
  add_variables(command, how->variables);
  command.runs([how](const Words& program) -> int { run(*how, program); });
}

}  // namespace blaslift::cli
