#include "tools/cli/report/report.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "compat/shown.hpp"
#include "impl/observe/trace.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/parser/variables.hpp"
#include "tools/cli/report/analysis.hpp"
#include "tools/cli/report/commands.hpp"
#include "tools/cli/report/lines.hpp"
#include "tools/cli/report/page.hpp"
#include "tools/cli/report/report_text.hpp"
#include "tools/cli/report/timeline.hpp"

namespace blaslift::cli {
namespace {

void write_to(const std::string& path, const std::function<void(std::ostream&)>& write) {
  if (path.empty()) return;
  if (path == "-") return write(std::cout);
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  write(file);
  if (!file.flush()) throw std::runtime_error(path + " cannot be written: " + std::strerror(errno ? errno : EIO));
}

void write_all(const Report& what, ReadRecording run, std::FILE* terminal) {
  write_to(what.timeline, [&](std::ostream& out) { write_timeline(run, out); });
  const Analysis analysis = analyse(std::move(run));
  write_to(what.html, [&](std::ostream& out) { out << report_page(analysis); });
  write_to(what.json, [&](std::ostream& out) { out << to_json(analysis); });
  if (!what.quiet) std::fputs(report_text(analysis).c_str(), terminal);
}

}  // namespace

void report(const Report& what) { write_all(what, read_recording(what.recording), stdout); }

void report_running(const Report& what, const std::vector<std::string>& command,
                    std::map<std::string, std::string> variables) {
  std::optional<ScratchDirectory> scratch;
  std::string& directory = variables["BLASLIFT_TRACE"];
  if (directory.empty())
    directory = scratch.emplace(Recording::events_at() + trace_chunk_events * sizeof(TraceEvent)).path();
  const Finished finished = launch("libblaslift.so", command, variables);
  try {
    const bool all_there = finished.summary.uncounted.empty() &&
                           std::none_of(finished.processes.begin(), finished.processes.end(),
                                        [](const Counters* process) { return *process->incomplete.get(); });
    // Says that there was no call, or what could not be kept.
    if (finished.processes.empty() || !all_there) std::fputs(to_text(finished.summary).c_str(), stderr);
    if (!finished.processes.empty()) write_all(what, read_recording(directory), stderr);
  } catch (const std::exception& error) {  // the program's end is its own
    std::fprintf(stderr, "blaslift: %s\n", shown(error.what()).c_str());
  }
  scratch.reset();
  flush_output();
  end_like(finished.wait_status);
}

// ---- on the command line

namespace {

struct Reporting {
  Report what;
  Words paths;
  Variables variables;
};

/// Of files of lines, the table.
int add_up(const Report& what, const Words& files) {
  if (!what.html.empty() || !what.timeline.empty())
    throw UsageError("--html and --timeline show a recording; of files of lines there is a table");
  const ReportLines lines = read_lines(files);
  write_to(what.json, [&](std::ostream& out) { out << to_json(lines); });
  if (!what.quiet) std::fputs(lines_text(lines).c_str(), stdout);
  return 0;
}

int make_report(Reporting& how, const Words& program) {
  if (how.paths.empty() == program.empty())
    throw UsageError("it takes either a recording, or files of BLASLIFT_REPORT's lines, or, after --, a program");
  if (program.empty() && !how.variables.empty())
    throw UsageError("these options are for running a program, which comes after --");
  if (!program.empty()) report_running(how.what, program, how.variables);
  namespace fs = std::filesystem;
  std::error_code error;
  const auto is_file = [&error](const std::string& path) { return fs::is_regular_file(path, error); };
  if (std::all_of(how.paths.begin(), how.paths.end(), is_file)) return add_up(how.what, how.paths);
  if (how.paths.size() > 1)
    throw UsageError("it takes one recording, which is a directory, or files of BLASLIFT_REPORT's lines");
  how.what.recording = how.paths.front();
  return report(how.what), 0;
}

}  // namespace

void add_report(Command& blaslift) {
  Command command = blaslift.command(
      "report", "show where a recorded run's time went, and what would help; or add up reports by program",
      Program::behind_dashes);
  command.footer(
      "blaslift report [options] RECORDING\n"
      "blaslift report [options] FILE...\n"
      "blaslift report [options] -- program [its arguments]\n"
      "A recording is the directory that --trace, or BLASLIFT_TRACE, named for a run.\n"
      "Of files that BLASLIFT_REPORT, --report or run --json named, it adds up the lines, by program.");
  const auto how = std::make_shared<Reporting>();
  Report& what = how->what;
  command.arguments("recording", "FILE", how->paths, "the directory, or files of reports' lines")
      .option("--html", "FILE", what.html, "write a page with pictures to this file")
      .option("--timeline", "FILE", what.timeline, "write a timeline to this file, for ui.perfetto.dev")
      .option("--json", "FILE", what.json, "write what is shown to this file, for programs")
      .flag("-q,--quiet", what.quiet, "write the files alone");
  add_variables(command, how->variables);
  command.runs([how](const Words& program) { return make_report(*how, program); });
}

}  // namespace blaslift::cli
