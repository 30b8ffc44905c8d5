#pragma once
#include "tools/cli/parser/command.hpp"

namespace blaslift::cli {

void add_doctor(Command& blaslift);

}  // namespace blaslift::cli
