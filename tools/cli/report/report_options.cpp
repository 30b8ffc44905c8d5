// `blaslift report` on the command line.
#include "tools/cli/parser/variables.hpp"
#include "tools/cli/report/commands.hpp"
#include "tools/cli/report/report.hpp"

namespace blaslift::cli {
namespace {

struct Reporting {
  Report what;
  Variables variables;
};

int make_report(const Reporting& how, const Words& program) {
  if (how.what.recording.empty() == program.empty())
    throw UsageError("report takes either a recording or, after --, a program");
  if (program.empty() && !how.variables.empty())
    throw UsageError("these options are for running a program, which comes after --");
  if (!program.empty()) report_running(how.what, program, how.variables);
  return report(how.what), 0;
}

}  // namespace

void add_report(Command& blaslift) {
  Command command =
      blaslift.command("report", "show where a recorded run's time went, and what would help", Program::behind_dashes);
  command.footer(
      "blaslift report [options] RECORDING\n"
      "blaslift report [options] -- program [its arguments]\n"
      "A recording is the directory that --trace, or BLASLIFT_TRACE, named for a run.");
  const auto how = std::make_shared<Reporting>();
  Report& what = how->what;
  command.argument("recording", "DIR", what.recording, Command::Presence::optional, "the directory")
      .option("--html", "FILE", what.html, "write a page with pictures to this file")
      .option("--timeline", "FILE", what.timeline, "write a timeline to this file, for ui.perfetto.dev")
      .option("--json", "FILE", what.json, "write what is shown to this file, for programs")
      .flag("-q,--quiet", what.quiet, "write the files alone");
  add_variables(command, how->variables);
  command.runs([how](const Words& program) { return make_report(*how, program); });
}

}  // namespace blaslift::cli
