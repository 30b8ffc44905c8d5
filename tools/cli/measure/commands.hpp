#pragma once
#include "tools/cli/parser/command.hpp"

namespace blaslift::cli {

void add_measure(Command& blaslift);

}  // namespace blaslift::cli
