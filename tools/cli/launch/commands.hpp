#pragma once
#include "tools/cli/parser/command.hpp"

namespace blaslift::cli {

void add_run(Command& blaslift);
void add_env(Command& blaslift);

}  // namespace blaslift::cli
