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
#include "tools/cli/report/analysis.hpp"
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

}  // namespace blaslift::cli
