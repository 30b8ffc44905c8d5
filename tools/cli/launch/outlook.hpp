// What `blaslift run -v` says before the program starts.
#pragma once
#include <string>

#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {

/// On one line what a run with these variables is going to do, and by what:
///
///   NVIDIA H100 80GB HBM3, up to four fifths of its memory; level 3; nothing forced; built-in rates; copies of
///   operands stay between calls; the GPU starts when calls gain by it
///
/// No driver is opened for it: that would take as long as the program's own start-up of the GPU, and memory.
std::string outlook(const Variables& variables);

}  // namespace blaslift::cli
