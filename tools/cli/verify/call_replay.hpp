// Calls that verification has kept in files, made again.
#pragma once
#include <string>

#include "tools/cli/verify/recorded_call.hpp"

namespace blaslift::cli {

/// "libblas.so.3", "liblapack.so.3": by which the loader finds the system's library with a routine.
const char* system_library(const std::string& routine);

/// Makes the recorded call, by the symbol that the program's libraries define; over BLASLIFT_FALLBACK, `library`, or
/// the system's, whichever is the first that can be opened.  What the record names is opened by nobody here.  Throws
/// std::runtime_error if that cannot be done.
void make_call(const Recorded& recorded, const std::string& fallback, const std::string& library);

}  // namespace blaslift::cli
