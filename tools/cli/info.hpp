#pragma once
#include "tools/cli/parser/command.hpp"

namespace blaslift::cli {

/// `blaslift info`: what blaslift finds on this machine: GPU and driver, library underneath, profile, intercepted
/// symbols.
void add_info(Command& blaslift);

}  // namespace blaslift::cli
