#include "tools/cli/launch/shell.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace blaslift::cli {
namespace {

std::string_view basename_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// One word, whatever is in it.
std::string quoted_for(Shell shell, std::string_view text) {
  std::string q = "'";
  for (const char c : text) {
    if (c == '\'')
      q += shell == Shell::fish ? "\\'" : "'\\''";
    else if (c == '\\' && shell == Shell::fish)
      q += "\\\\";
    else if ((c == '!' || c == '\n') && shell == Shell::csh)  // even between quotes
      q += {'\\', c};
    else
      q += c;
  }
  return q + "'";
}

/// The entries of LD_PRELOAD, which colons or spaces part.
std::vector<std::string_view> entries_of(const char* preloaded) {
  std::vector<std::string_view> entries;
  for (std::string_view rest = preloaded ? preloaded : ""; !rest.empty();) {
    const std::size_t end = rest.find_first_of(": ");
    if (end != 0) entries.push_back(rest.substr(0, end));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return entries;
}

}  // namespace

Shell shell_named(const std::string& name) {
  const std::string_view base = basename_of(name);
  if (base == "fish") return Shell::fish;
  return base == "csh" || base == "tcsh" ? Shell::csh : Shell::posix;
}

std::string preload_with(const std::string& library, const char* preloaded, const std::string& directory) {
  const std::string_view name = basename_of(library);
  const auto is_same = [&](std::string_view entry) {
    if (entry == library) return true;
    if (basename_of(entry) != name) return false;
    std::string path(entry);
    if (const std::size_t at = path.find("/$PLATFORM/"); at != path.npos) path.replace(at + 1, 9, "x86_64");
    std::error_code error;
    return std::filesystem::equivalent(path, std::filesystem::path(directory) / name, error);
  };
  const auto is_sanitizer = [](std::string_view entry) {
    for (const std::string_view start : {"libasan", "libtsan", "liblsan", "libubsan", "libclang_rt."})
      if (basename_of(entry).starts_with(start)) return true;
    return false;
  };
  std::string front, behind;
  for (const std::string_view entry : entries_of(preloaded)) {
    if (is_sanitizer(entry))
      front += std::string(entry) + ":";
    else if (!is_same(entry))
      behind += ":" + std::string(entry);
  }
  return front + library + behind;
}

std::string preload_without(const std::string& library, const char* preloaded) {
  std::string list;
  for (const std::string_view entry : entries_of(preloaded))
    if (basename_of(entry) != basename_of(library)) list += (list.empty() ? "" : ":") + std::string(entry);
  return list;
}

std::string to_shell(Shell shell, const std::map<std::string, std::string>& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    const std::string word = quoted_for(shell, value);
    if (value.empty())
      text += (shell == Shell::posix ? "unset " : shell == Shell::fish ? "set -e " : "unsetenv ") + name;
    else if (shell == Shell::posix)
      text += "export " + name + "=" + word;
    else
      text += (shell == Shell::fish ? "set -gx " : "setenv ") + name + " " + word;
    text += ";\n";
  }
  return text;
}

}  // namespace blaslift::cli
