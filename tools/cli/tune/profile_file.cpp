#include "tools/cli/tune/profile_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "compat/shown.hpp"
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

void ProfileFile::print_where(const Options& options) const {
  std::printf("\nwritten to %s", shown(path_.string()).c_str());
  if (fs::path(own_) != fs::path(named_))
    std::printf(", which BLASLIFT_PROFILE has to name\n");
  else if (!options.profile.empty() && options.profile != own_)
    std::printf(", but BLASLIFT_PROFILE names %s\n", shown(options.profile).c_str());
  else
    std::printf(", where the library looks for it\n");
}

namespace {

constexpr char being_written[] = ".part-";  ///< no name that a person gives: leftovers are removed

/// What others left that were killed while they wrote, but not what is being written.
void remove_leftovers(const fs::path& path) {
  constexpr std::size_t letters = 6;
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
  std::string beside = path + being_written + "XXXXXX";
  const int fd = mkstemp(beside.data());
  if (fd < 0) cannot(path, "written", errno);
  const mode_t mask = umask(0);
  umask(mask);
  std::size_t written = 0;
  for (ssize_t n = 0; written < text.size() && n >= 0; written += static_cast<std::size_t>(std::max<ssize_t>(n, 0)))
    n = write(fd, text.data() + written, text.size() - written);
  int error = 0;
  if (written < text.size() || fchmod(fd, 0666 & ~mask) != 0 || fsync(fd) != 0) error = errno;
  close(fd);
  if (!error && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (!error) return;
  unlink(beside.c_str());
  cannot(path, "written", error);
}

}  // namespace blaslift::cli
