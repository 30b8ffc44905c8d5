// `blaslift run` on the command line.
#include <cstdio>

#include "tools/cli/launch/commands.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {
namespace {

struct Run {
  Variables variables;
  bool quiet = false;
  std::string json;
};

[[noreturn]] void run(const Run& how, const Words& program) {
  const Finished finished = launch("libblaslift.so", program, how.variables);
  if (!how.quiet) std::fputs(to_text(finished.summary).c_str(), stderr);
  if (!how.json.empty()) write_file(how.json, to_json(finished.summary) + '\n');  // the exit status is the program's
  end_like(finished.wait_status);
}

}  // namespace

void add_run(Command& blaslift) {
  Command command = blaslift.command("run", "run a program through blaslift and say what happened", Program::first);
  const auto how = std::make_shared<Run>();
  command.flag("-q,--quiet", how->quiet, "no summary")
      .option("--json", "FILE", how->json, "write the summary of the whole process tree to this file, too");
  add_variables(command, how->variables);
  command.runs([how](const Words& program) -> int { run(*how, program); });
}

}  // namespace blaslift::cli
