// Directories of the user's own, in which the command keeps things from run to run.
#pragma once
#include <string>

namespace blaslift::cli {

/// Whether `path` is a directory that nobody else can put anything into; made if need be.
bool is_own_directory(const std::string& path);

/// What `variable` names (an XDG base directory), or `otherwise` in HOME; empty where neither says a place.
std::string base_directory(const char* variable, const char* otherwise);

}  // namespace blaslift::cli
