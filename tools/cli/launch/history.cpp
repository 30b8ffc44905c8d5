#include "tools/cli/launch/history.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
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

/// The routines whose calls a process computed on a GPU: "dgesv,dgemm".
std::string routed(const Counters& process) {
  if (std::string_view(process.backend.get()) != "cuda") return {};
  std::string names;
  for (std::size_t r = 0; r < routine_count; ++r)
    if (process.routines[r].routed.load(std::memory_order_relaxed) > 0)
      names += (names.empty() ? "" : ",") + std::string(routine_names[r]);
  return names;
}

/// Children of a process that has started the GPU compute on the CPU and cannot use CUDA, and a GPU that the program
/// chooses for itself is not known yet.
/// @return what it computed on one if it would have gained; else nothing
std::string gainful(const Finished& run) {
  std::string names;
  for (const Counters* process : run.processes) {
    if (process->pid != run.pid) continue;
    if (process->has_cuda.load(std::memory_order_relaxed) || process->has_forked.load(std::memory_order_relaxed))
      return {};
    if (const std::string more = routed(*process); !more.empty()) names += (names.empty() ? "" : ",") + more;
  }
  return names;
}

/// @param path  a file of names, which another version may have written
std::string read_names(const std::string& path) {
  std::ifstream file(path);
  std::string text(4096, '\0'), names;
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view name = std::string_view(text).substr(at, end - at);
    if (std::ranges::find(routine_names, name) != std::end(routine_names))
      names += (names.empty() ? "" : ",") + std::string(name);
    at = end + 1;
  }
  return names;
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

std::string History::routines() const { return gains_by_early_start() ? read_names(path_) : std::string(); }

void History::note(const Finished& run) const {
  if (path_.empty()) return;
  const bool known = gains_by_early_start();
  const std::string names = gainful(run);
  if (known && names.empty()) (void)unlink(path_.c_str());
  if (names.empty() || (known && names == routines())) return;
  std::error_code error;
  const fs::path inner = fs::path(directory_).parent_path();
  fs::create_directories(inner.parent_path(), error);
  if (!is_own_directory(inner.string()) || !is_own_directory(directory_)) return;
  make_room(directory_);
  NewFile file(path_);
  file.write(names.data(), names.size());
  (void)file.put_in_place();  // else the next run is as this one was
}

}  // namespace blaslift::cli
