#include "impl/core/host_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace blaslift {
namespace {

/// Of a file of the kernel's; empty if there is none.
std::string text_of(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  for (ssize_t got; (got = read(fd, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
  close(fd);
  return text;
}

/// The number behind `name` at the beginning of a line.
std::size_t number_in(const std::string& text, std::string_view name, std::size_t otherwise) {
  for (std::size_t line = 0; line < text.size(); line = std::min(text.size(), text.find('\n', line)) + 1)
    if (std::string_view(text).substr(line).starts_with(name))
      return std::strtoull(text.c_str() + line + name.size(), nullptr, 10);
  return otherwise;
}

/// Names of a version's files.
struct Files {
  const char *limit, *usage, *in_caches;
};
constexpr Files version_1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file "},
    version_2{"/memory.max", "/memory.current", "inactive_file "};

std::size_t room_in(const std::string& group, const Files& files) {
  const std::string limit = text_of(group + files.limit);
  if (limit.empty() || limit.starts_with("max")) return SIZE_MAX;
  const std::size_t most = std::strtoull(limit.c_str(), nullptr, 10),
                    used = number_in(text_of(group + files.usage), "", 0),
                    cached = number_in(text_of(group + "/memory.stat"), files.in_caches, 0),
                    taken = used - std::min(used, cached);
  return most - std::min(most, taken);
}

/// In the group and all above it, up to where the groups are mounted: a container may see its own there.
std::size_t room_up_to(const std::string& mount, std::string_view path, const Files& files) {
  std::size_t least = SIZE_MAX;
  while (!path.empty()) {
    while (path.ends_with('/')) path.remove_suffix(1);
    least = std::min(least, room_in(mount + std::string(path), files));
    path = path.substr(0, path.rfind('/') + 1);
  }
  return least;
}

}  // namespace

std::size_t available_memory(const std::string& root) {
  const std::size_t kib = number_in(text_of(root + "/proc/meminfo"), "MemAvailable:", SIZE_MAX >> 10);
  std::size_t least = kib << 10;
  // NUMBER:CONTROLLERS:PATH, or 0::PATH in version 2.
  const std::string groups = text_of(root + "/proc/self/cgroup");
  for (std::string_view rest = groups; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    const std::string mounted = root + "/sys/fs/cgroup";
    if (controllers.empty())
      least = std::min(least, room_up_to(mounted, path, version_2));
    else if (("," + std::string(controllers) + ",").find(",memory,") != std::string::npos)
      least = std::min(least, room_up_to(mounted + "/memory", path, version_1));
  }
  return least;
}

bool has_memory_for(double bytes) {
  constexpr double little = 64 << 20;
  return bytes < little || 1.1 * bytes < static_cast<double>(available_memory());
}

}  // namespace blaslift
