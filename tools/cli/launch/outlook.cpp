#include "tools/cli/launch/outlook.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "compat/shown.hpp"
#include "impl/core/options.hpp"
#include "impl/residency/tracker.hpp"
#include "impl/route/device.hpp"
#include "tools/cli/launch/launch.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

/// The environment that the program is going to have, as far as the library reads it.  What is wrong with it the
/// library says itself.
Options options_of_program(const Variables& variables) {
  std::vector<std::string> settings;
  for (char** entry = environ; *entry; ++entry) {
    const std::string setting = *entry;
    if (!variables.contains(setting.substr(0, setting.find('=')))) settings.push_back(setting);
  }
  for (const auto& [name, value] : variables) settings.push_back(name + '=' + value);
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  std::string warnings;
  return read_options(environment.data(), warnings);
}

/// The models of the GPUs that the kernel's module of the driver has found.
std::vector<std::string> gpus() {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry("/proc/driver/nvidia/gpus", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::ifstream file(entry->path() / "information");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("Model:"))
        found.push_back(line.substr(std::min(line.size(), line.find_first_not_of(" \t", 6))));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string memory_of(const Options& options) {
  char text[96];
  if (options.memory > 0) {
    std::snprintf(text, sizeof text, "up to %.3g GB of memory", static_cast<double>(options.memory) * 1e-9);
    return text;
  }
  const int ranks = local_rank().size;
  if (ranks == 1) return "up to four fifths of its memory";
  std::snprintf(text, sizeof text, "up to four fifths of its memory, shared by %d ranks", ranks);
  return text;
}

std::string forced(const Options& options) {
  if (options.forced.all()) return "every call forced";
  std::string names;
  for (std::size_t r = 0; r < routine_count; ++r)
    if (options.forced[r]) names += (names.empty() ? "" : ",") + std::string(routine_names[r]);
  return names.empty() ? "nothing forced" : "forced: " + names;
}

/// As the host backend calls itself.
constexpr const char* host_name = "host backend: the plans on the CPU";

/// Of a GPU of this name; the version of cuBLAS, which is part of a profile's name, is known to the driver's user only.
std::string profile_of(const Options& options, const std::string& device) {
  std::error_code error;
  if (!options.profile.empty()) return "rates from " + shown(options.profile);
  if (device.empty()) return "built-in rates";
  const fs::path plain = profile_name(device.c_str(), "");
  const fs::path folders[] = {fs::path(default_profile_path(device.c_str(), "")).parent_path(),
                              fs::weakly_canonical(site_profiles(library_directory()), error)};
  const std::string start = plain.stem().string() + '.';
  for (const fs::path& folder : folders) {
    if (folder.empty()) continue;
    if (options.backend == BackendChoice::host) {
      if (fs::exists(folder / plain, error)) return "rates from " + shown((folder / plain).string());
      continue;
    }
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error))
      if (const fs::path path = entry->path().filename();
          path.extension() == plain.extension() && path != plain && path.string().starts_with(start))
        return "rates that blaslift tune measured, if with this version of cuBLAS";
  }
  if (options.backend == BackendChoice::host) return "built-in rates";
  return "built-in rates: blaslift tune would measure this GPU's";
}

}  // namespace

std::string outlook(const Variables& variables) {
  const Options options = options_of_program(variables);
  if (!options.on) return "BLASLIFT=off: every call goes to the library underneath";
  const bool host = options.backend == BackendChoice::host;
  const std::vector<std::string> found = host ? std::vector<std::string>{} : gpus();
  if (!host && options.backend == BackendChoice::automatic && !gpu_visible())
    return "no GPU, no NVIDIA device node in /dev: every call goes to the library underneath";
  // Which of several it is to be, their driver decides by variables of its own.
  std::string device = host            ? "host backend"
                       : found.empty() ? "NVIDIA GPU"
                                       : found[static_cast<std::size_t>(local_rank().rank) % found.size()];
  const std::string profile = profile_of(options, host ? host_name : found.empty() ? "" : device);
  if (found.size() > 1) device = "one of " + std::to_string(found.size()) + " GPUs (" + device + ")";
  std::string copies = "operands are sent in every call: ", why;
  if (options.fixed)
    copies += "fixed decisions keep no copies";
  else if (options.residency == ResidencyMode::off)
    copies += "BLASLIFT_RESIDENCY=off";
  else if (open_tracker(why))
    copies = "copies of operands stay between calls";
  else
    copies += why;
  const auto start = variables.find("BLASLIFT_START");
  const char* given = start != variables.end() ? start->second.c_str() : std::getenv("BLASLIFT_START");
  const bool early = given && start_of(given).value_or(Start{}).early;
  return shown(device) + ", " + memory_of(options) + "; level " + std::to_string(options.eagerness) +
         (options.fixed ? ", fixed decisions" : "") + (options.yields ? ", yields to other processes" : "") + "; " +
         forced(options) + "; " + profile + "; " + shown(copies) + "; " + (host ? "it" : "the GPU") +
         (early ? " starts with the program" : " starts when calls gain by it");
}

}  // namespace blaslift::cli
