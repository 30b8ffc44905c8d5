// Shell commands that have every later command preloaded.
#pragma once
#include <map>
#include <string>

namespace blaslift::cli {

enum class Shell { posix, fish, csh };

/// The family of a shell, by name or path ("/bin/zsh"); what is not known is taken for one like sh.
Shell shell_named(const std::string& name);

/// LD_PRELOAD with `library` in front of what is preloaded now (null: nothing), once, whichever of its names it has
/// there (preload_name).  Sanitizers' runtimes stay in front of it.
/// @param directory  where the library is
std::string preload_with(const std::string& library, const char* preloaded, const std::string& directory);

/// `preloaded` without the entries whose file is called as `library` is.
std::string preload_without(const std::string& library, const char* preloaded);

/// A line for each variable, for the shell to evaluate; an empty value removes the variable.
std::string to_shell(Shell shell, const std::map<std::string, std::string>& variables);

}  // namespace blaslift::cli
