#include "tools/cli/launch/history.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "impl/core/hash.hpp"
#include "impl/core/new_file.hpp"
#include "impl/core/text.hpp"
#include "tools/cli/launch/json_text.hpp"
#include "tools/cli/launch/own_directory.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_commands = 1000;

/// Calls that a process computed on a GPU.
std::uint64_t routed(const Counters& process) {
  if (std::string_view(process.backend.get()) != "cuda") return 0;
  std::uint64_t calls = 0;
  for (const RoutineCounters& routine : process.routines) calls += routine.routed.load(std::memory_order_relaxed);
  return calls;
}

/// Children of a process that has started the GPU compute on the CPU and cannot use CUDA, and a GPU that the program
/// chooses for itself is not known yet.
bool would_gain(const Finished& run) {
  const auto is_own = [&run](const Counters* process) { return process->pid == run.pid; };
  const auto& all = run.processes;
  return std::any_of(all.begin(), all.end(), [&](const Counters* x) { return is_own(x) && routed(*x) > 0; }) &&
         std::none_of(all.begin(), all.end(), [&](const Counters* x) {
           return is_own(x) &&
                  (x->has_cuda.load(std::memory_order_relaxed) || x->has_forked.load(std::memory_order_relaxed));
         });
}

/// There is room for one more.
void make_room(const std::string& directory) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    if (const auto when = entry->last_write_time(gone); !gone) files.emplace_back(when, entry->path());
  }
  if (files.size() < most_commands) return;
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i + most_commands <= files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace

History::History(const std::vector<std::string>& command) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const std::string base = base_directory("XDG_STATE_HOME", ".local/state");
  if (error || base.empty()) return;
  const std::string words = json_text(Json{{"directory", here.string()}, {"command", command}});
  directory_ = base + "/blaslift/runs";
  path_ = directory_ + '/' + hexadecimal(hash_of(words), 16);
}

bool History::gains_by_early_start() const {
  std::error_code error;
  return !path_.empty() && fs::exists(path_, error) && is_own_directory(directory_);
}

void History::note(const Finished& run) const {
  if (path_.empty()) return;
  const bool known = gains_by_early_start(), gains = would_gain(run);
  if (known && !gains) (void)unlink(path_.c_str());
  if (known || !gains) return;
  std::error_code error;
  const fs::path inner = fs::path(directory_).parent_path();
  fs::create_directories(inner.parent_path(), error);
  if (!is_own_directory(inner.string()) || !is_own_directory(directory_)) return;
  make_room(directory_);
  (void)NewFile(path_).put_in_place();  // else the next run is as this one was
}

}  // namespace blaslift::cli
