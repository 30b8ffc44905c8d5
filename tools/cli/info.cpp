#include "tools/cli/info.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "compat/library.hpp"
#include "compat/shown.hpp"
#include "impl/residency/tracker.hpp"
#include "impl/route/device.hpp"
#include "tools/cli/launch/backend.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {
namespace {

void print_library(const char* soname, Symbol symbol, const Options& options) {
  // What a program linked with this name would get.
  void* handle = dlopen(soname, RTLD_LAZY | RTLD_GLOBAL);
  Target target;
  std::string looked;
  std::printf("%s: ", soname);
  if (!handle && options.fallback.empty()) {
    std::printf("not installed\n");
  } else if (!find_target(symbol, nullptr, options.fallback.c_str(), target, looked)) {
    std::printf("nothing found: %s\n", shown(looked).c_str());
  } else {
    std::printf("%s, %d-bit integers, found in %s", shown(target.library).c_str(), target.wide ? 64 : 32,
                target.found_by);
    using Config = char* (*)();
    if (const auto config = reinterpret_cast<Config>(handle ? dlsym(handle, "openblas_get_config") : nullptr))
      std::printf(" (%s)", config());
    std::printf("\n");
  }
}

namespace fs = std::filesystem;

/// As people would write it: profiles of all users are found by "..".
std::string plain(const std::string& path) { return fs::path(path).lexically_normal().string(); }

/// Files of the same device where profiles are looked for.
std::vector<std::string> profiles_with_other_libraries(const DeviceFacts& facts, const std::string& site,
                                                       const std::string& used) {
  const fs::path alone = profile_name(facts.name, "");
  const std::string start = alone.stem().string() + ".", own = profile_name(facts.name, facts.algorithms);
  std::vector<std::string> found;
  std::error_code error;
  for (const std::string& folder : {fs::path(default_profile_path(facts.name, "")).parent_path().string(), site})
    for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
      const fs::path& path = file.path();
      const std::string name = path.filename().string();
      if (path.extension() == alone.extension() && name.starts_with(start) && name != own && path != used)
        found.push_back(path.string());
    }
  std::sort(found.begin(), found.end());
  return found;
}

void print_source(const RatesFile& file, const DeviceFacts* facts, const std::string& site) {
  const std::string unused =
      file.unused.empty() ? std::string() : "; " + plain(file.unused) + " is not used: " + file.why;
  std::printf("\nprofile (%s%s%s)\n", file.used.empty() ? "built in for " : "from ",
              !file.used.empty() ? shown(plain(file.used)).c_str()
              : facts            ? facts->profile
                                 : "sm_90, until a GPU is seen",
              shown(unused).c_str());
  std::printf("  where a profile for all users is looked for: %s\n", shown(site).c_str());
}

void print_symbols() {
  for (int r = 0; r < routine_count; ++r) {
    std::printf("  ");
    for (const SymbolInfo& symbol : symbol_table)
      if (static_cast<int>(symbol.routine) == r) std::printf("%s ", symbol.name);
    std::printf("\n");
  }
}

/// @param profile_only  prints the profile alone, in the form that BLASLIFT_PROFILE reads
void print_info(const Options& options, bool profile_only) {
  const Opened opened = open_backend(options);
  const DeviceFacts* facts = opened.backend ? &opened.backend->facts() : nullptr;
  Profile profile = built_in_profile(facts ? facts->profile : "sm_90");
  const std::string libraries = library_directory(), site = plain(site_profiles(libraries));
  RatesFile file;
  std::string warnings;
  if (facts || !options.profile.empty())
    file = find_rates(options.profile, libraries, facts ? facts->name : "", facts ? facts->algorithms : "", profile,
                      warnings);
  std::fputs(warnings.c_str(), stderr);
  if (profile_only) {
    std::printf("%s", shown_lines(to_text(profile)).c_str());
    return;
  }

  std::printf("blaslift %s, %s/libblaslift.so\n\n", BLASLIFT_VERSION, shown(libraries).c_str());
  if (facts)
    std::printf("device: %s%s%s, %.1f GB usable\n", facts->name, *facts->driver ? ", " : "", facts->driver,
                static_cast<double>(facts->memory) * 1e-9);
  else
    std::printf("device: none: %s\n        calls pass through; --backend host runs the plans on the CPU\n",
                shown(opened.why).c_str());
  std::string why;
  const bool tracks = open_tracker(why) != nullptr;
  std::printf("copies kept between calls: %s%s\n", tracks ? "yes, this kernel tracks writes" : "no: ", why.c_str());
  if (const std::string foreign = foreign_switches(); !foreign.empty())
    std::printf("warning: %s\n", shown(foreign).c_str());

  std::printf("\nlibrary underneath, for a program linked with these names\n  ");
  print_library("libblas.so.3", Symbol::dgemm_, options);
  std::printf("  ");
  print_library("liblapack.so.3", Symbol::dgeqrf_, options);

  print_source(file, facts, site);
  const auto rate = [&profile](Precision p) { return profile.gemm_rate[static_cast<int>(p)] * 1e-12; };
  std::printf("  large products, TFLOP/s: s %.3g, d %.3g, c %.3g, z %.3g\n", rate(Precision::s), rate(Precision::d),
              rate(Precision::c), rate(Precision::z));
  std::printf("  transfers, GB/s: %.3g to the device, %.3g back; starting the device: %.2g s\n", profile.in_rate * 1e-9,
              profile.out_rate * 1e-9, profile.startup_seconds);
  std::printf("  all of it: blaslift info --profile-only\n");
  if (facts && *facts->algorithms)
    for (const std::string& other : profiles_with_other_libraries(*facts, site, file.used))
      std::printf("not used, measured with another library than %s: %s\n", facts->algorithms, shown(other).c_str());

  if (!profile.algorithms.empty()) {
    const std::string_view library = facts ? facts->algorithms : "";
    const std::size_t all = profile.algorithms.size(), used = preferences_for(profile, library).size();
    std::printf("algorithms: %zu for this device's library, %zu for others, which are ignored\n", used, all - used);
  }

  std::printf("\nintercepted: %d symbols of %d routines: blaslift info --symbols\n", symbol_count, routine_count);
}

}  // namespace

void add_info(Command& blaslift) {
  struct Info {
    Variables variables;
    bool profile_only = false, symbols = false;
  };
  Command command = blaslift.command("info", "what blaslift finds on this machine");
  const auto how = std::make_shared<Info>();
  command.flag("--profile-only", how->profile_only, "print the rates alone, in the form that BLASLIFT_PROFILE reads");
  command.flag("--symbols", how->symbols, "print the intercepted symbols alone, a line for each routine");
  add_variables(command, how->variables);
  command.runs([how](const Words&) {
    if (how->symbols && how->profile_only) throw UsageError("--symbols or --profile-only, not both");
    how->symbols ? print_symbols() : print_info(options_with(how->variables), how->profile_only);
    return 0;
  });
}

}  // namespace blaslift::cli
