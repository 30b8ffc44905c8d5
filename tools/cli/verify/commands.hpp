#pragma once
#include "tools/cli/parser/command.hpp"

namespace blaslift::cli {

/// With `replay`.
void add_verify(Command& blaslift);

}  // namespace blaslift::cli
