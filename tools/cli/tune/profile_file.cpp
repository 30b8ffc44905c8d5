#include "tools/cli/tune/profile_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>
#include <stdexcept>
#include <string_view>

#include "compat/shown.hpp"
#include "impl/core/new_file.hpp"
#include "impl/core/regular_file.hpp"
#include "impl/route/profile.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

constexpr char own_comment[] = "# blaslift tune: ";

[[noreturn]] void cannot(const std::string& path, const char* what, int error) {
  throw std::runtime_error(path + " cannot be " + what + ": " + std::strerror(error));
}

std::string todays_comment(const DeviceFacts& facts) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[16];
  std::strftime(date, sizeof date, "%F", &utc);
  return own_comment + std::string(facts.name) + (*facts.driver ? std::string(", ") + facts.driver : "") + ", " + date +
         "\n";
}

}  // namespace

ProfileFile::ProfileFile(const DeviceFacts& facts, const std::string& output)
    : facts_(facts), own_(default_profile_path(facts.name, facts.algorithms)), named_(output.empty() ? own_ : output) {
  std::error_code none;
  if (named_.ends_with('/') || fs::is_directory(named_, none))
    named_ = fs::path(named_) / profile_name(facts.name, facts.algorithms);
  if (named_.empty())
    throw std::runtime_error("neither XDG_CACHE_HOME nor HOME says where the profile belongs: say it with --output");
  std::error_code error;
  path_ = fs::weakly_canonical(fs::absolute(named_), error);  // a link stays one
  if (error) cannot(named_, "written", error.value());
}

void ProfileFile::prepare() const {
  const fs::file_status status = fs::status(path_);
  if (fs::exists(status) && !fs::is_regular_file(status)) throw std::runtime_error(path_.string() + " is not a file");
  const fs::path folder = path_.parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) cannot(path_, "written", error.value());
  if (access(folder.c_str(), W_OK | X_OK) != 0) cannot(path_, "written", errno);
}

std::string ProfileFile::text() const {
  const RegularFile file(path_.string());
  if (!file) return file.error() == ENOENT ? std::string() : (cannot(path_, "read", file.error()), std::string());
  if (file.size() > most_profile_bytes) cannot(path_, "read", EFBIG);
  std::string text = file.text(most_profile_bytes);
  if (const std::string_view version = other_version(text); !version.empty())
    throw std::runtime_error(path_.string() + " is in another version's form (" + std::string(version) +
                             "): move it away, or say another one with --output");
  std::string kept;
  while (!text.empty()) {
    const std::string line = text.substr(0, text.find('\n'));
    text.erase(0, line.size() + 1);
    if (!line.starts_with(own_comment)) kept += line + "\n";
  }
  return kept;
}

void ProfileFile::replace(const std::string& text) const {
  replace_file(path_, todays_comment(facts_) + version_line() + text);
}

void ProfileFile::print_where(const Options& options, const std::string& libraries) const {
  std::printf("\nwritten to %s", shown(path_.string()).c_str());
  std::error_code error;
  const fs::path sites =
      fs::weakly_canonical(site_profiles(libraries), error) / profile_name(facts_.name, facts_.algorithms);
  if (path_ == sites && fs::path(own_) != fs::path(named_))
    std::printf(", where the library looks for it for users without one of their own\n");
  else if (fs::path(own_) != fs::path(named_))
    std::printf(", which BLASLIFT_PROFILE has to name\n");
  else if (!options.profile.empty() && options.profile != own_)
    std::printf(", but BLASLIFT_PROFILE names %s\n", shown(options.profile).c_str());
  else
    std::printf(", where the library looks for it\n");
}

namespace {

// No name that a person gives: leftovers are removed.  And none that comes again: who was stopped meanwhile must not
// put another's file in place of a leftover that was removed.
constexpr char being_written[] = ".part-";
constexpr std::size_t letters = 6;

std::string lettered_beside(const std::string& path, int) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::random_device random;
  std::string name = path + being_written;
  for (std::size_t i = 0; i < letters; ++i) name += alphabet[random() % alphabet.size()];
  return name;
}

/// What others left that were killed while they wrote, but not what is being written.
void remove_leftovers(const fs::path& path) {
  constexpr std::chrono::seconds old{60};
  const std::string start = path.filename().string() + being_written;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(path.parent_path(), error)) {
    const std::string name = file.path().filename().string();
    const bool ours = name.starts_with(start) && name.size() == start.size() + letters &&
                      std::all_of(name.end() - letters, name.end(), [](unsigned char c) { return std::isalnum(c); });
    if (ours && file.is_regular_file(error) && fs::file_time_type::clock::now() - file.last_write_time(error) > old)
      fs::remove(file.path(), error);
  }
}

}  // namespace

void replace_file(const std::string& path, const std::string& text) {
  remove_leftovers(path);
  const mode_t mask = umask(0);
  umask(mask);
  NewFile file(path, lettered_beside);
  file.write(text.data(), text.size());
  file.permit(0666 & ~mask);
  file.reach_the_disk();
  if (const int error = file.put_in_place()) cannot(path, "written", error);
}

}  // namespace blaslift::cli
