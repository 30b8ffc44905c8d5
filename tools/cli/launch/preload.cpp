#include "tools/cli/launch/preload.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "impl/core/hash.hpp"
#include "impl/core/text.hpp"
#include "tools/cli/launch/own_directory.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

/// What the GNU loader may put in for $PLATFORM on x86-64: the kernel's word, or older ones' own.  A 32-bit loader puts
/// in i686 or the like.
constexpr const char* platforms[] = {"x86_64", "haswell", "xeon_phi"};
constexpr const char* links = "libasan.so";
constexpr const char* token = "/$PLATFORM/";

std::vector<std::string>& temporary() {
  static std::vector<std::string> directories;
  return directories;
}

bool platform_is_known() {
  const auto* platform = reinterpret_cast<const char*>(getauxval(AT_PLATFORM));
  return platform && std::string_view(platform) == platforms[0];
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// Whether all of them are there and lead to the library.
bool has_links(const std::string& directory, const std::string& library) {
  for (const char* platform : platforms)
    if (!exists(directory + "/" + platform + "/" + library)) return false;
  return true;
}

bool link_to(const std::string& target, const std::string& path) {
  if (symlink(target.c_str(), path.c_str()) == 0) return true;
  std::error_code error;
  return errno == EEXIST && fs::read_symlink(path, error) == target;
}

/// Makes the links to `target` in `directory`/libasan.so.
bool make_links(const std::string& directory, const std::string& target) {
  const std::string inner = directory + "/" + links;
  if (!is_own_directory(directory) || !is_own_directory(inner)) return false;
  for (const char* platform : platforms)
    if (!link_to(target, inner + "/" + platform)) return false;
  return true;
}

/// Directories that exist from run to run, one for each that is linked to.
std::string cached_links(const std::string& target) {
  const std::string base = base_directory("XDG_CACHE_HOME", ".cache");
  if (base.empty() || !can_be_preloaded(base)) return {};
  (void)mkdir(base.c_str(), 0700);
  const std::string preload = base + "/blaslift-preload";
  const std::string directory = preload + "/" + hexadecimal(hash_of(target), 16);
  const bool made = is_own_directory(preload) && make_links(directory, target);
  return made ? directory + "/" + links : std::string();
}

/// A new directory whose path can be preloaded; empty if there is no place for it.
std::string temporary_directory() {
  for (const char* variable : {"TMPDIR", "XDG_RUNTIME_DIR"})
    if (const char* base = std::getenv(variable); base && *base == '/' && can_be_preloaded(base)) {
      std::string path = std::string(base) + "/blaslift-XXXXXX";
      if (mkdtemp(path.data())) return temporary().emplace_back(path);
    }
  for (const char* base : {"/tmp", "/dev/shm", "/var/tmp"}) {
    std::string path = std::string(base) + "/blaslift-XXXXXX";
    if (mkdtemp(path.data())) return temporary().emplace_back(path);
  }
  return {};
}

[[noreturn]] void refuse(const std::string& path) {
  throw std::runtime_error(path +
                           " cannot be preloaded, for white space, a colon or a dollar in its path, and there is no "
                           "place for a link to it: the cache ($XDG_CACHE_HOME or ~/.cache) cannot be written to");
}

std::string name_by(const std::string& directory, const std::string& library) { return directory + token + library; }

}  // namespace

bool can_be_preloaded(const std::string& path) { return path.find_first_of(": \t\n\v\f\r$") == path.npos; }

std::string preload_name(const std::string& directory, const std::string& library) {
  const std::string plain = directory + "/" + library, installed = directory + "/blaslift/" + links;
  const bool fine = can_be_preloaded(plain);
  if (platform_is_known()) {
    if (fine && has_links(installed, library)) return name_by(installed, library);
    if (const std::string cached = cached_links(directory); !cached.empty()) return name_by(cached, library);
  }
  if (fine) return plain;
  const std::string made = temporary_directory();
  if (made.empty()) refuse(plain);
  if (platform_is_known() && make_links(made, directory)) return name_by(made + "/" + links, library);
  if (!link_to(directory, made + "/lib")) refuse(plain);
  return made + "/lib/" + library;
}

std::string lasting_preload_name(const std::string& directory, const std::string& library) {
  const std::string plain = directory + "/" + library;
  if (can_be_preloaded(plain)) return plain;
  const std::string cached = platform_is_known() ? cached_links(directory) : std::string();
  if (cached.empty()) refuse(plain);
  return name_by(cached, library);
}

std::string preload_name_of(const std::string& path) {
  if (can_be_preloaded(path)) return path;
  const std::string made = temporary_directory();
  const fs::path file(path);
  const std::string name = can_be_preloaded(file.filename()) ? file.filename().string() : "library.so";
  if (made.empty() || !link_to(path, made + "/" + name)) refuse(path);
  return made + "/" + name;
}

void remove_preload_links() {
  for (const std::string& directory : temporary()) {
    std::error_code ignored;
    fs::remove_all(directory, ignored);
  }
  temporary().clear();
}

}  // namespace blaslift::cli
