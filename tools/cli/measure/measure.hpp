#pragma once
#include "tools/cli/launch/launch.hpp"

namespace blaslift::cli {

/// Prints, on stderr, what a measured run spent in the routines that blaslift intercepts, and what share of that a GPU
/// would do faster by the profile's rates.
void print_measurement(const Finished& finished);

}  // namespace blaslift::cli
