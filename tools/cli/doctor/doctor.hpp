// Why a program's BLAS and LAPACK calls are intercepted, or are not.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/cli/doctor/diagnosis.hpp"

namespace blaslift::cli {

/// Looks at the files that the command would load, and runs none of them.  The dynamic linker lists a program's
/// libraries.
/// @param asks_python  a Python is run all the same, to say where its NumPy and SciPy are
Diagnosis diagnose(const std::vector<std::string>& command, bool asks_python);

/// Runs the command with the library preloaded, and adds what the dynamic linker and our counters tell of it.
Diagnosis diagnose_by_running(const std::vector<std::string>& command,
                              const std::map<std::string, std::string>& variables);

}  // namespace blaslift::cli
