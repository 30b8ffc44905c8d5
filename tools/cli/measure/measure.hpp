#pragma once
#include <string>

#include "impl/route/profile.hpp"
#include "tools/cli/launch/launch.hpp"

namespace blaslift::cli {

/// What a GPU is predicted by.
struct MeasuringRates {
  Profile profile;
  std::string name;  ///< for people: "an H100's built-in rates"
};

/// Prints, on stderr, what a measured run spent in the routines that blaslift intercepts, and what share of that a GPU
/// would do faster.
void print_measurement(const Finished& finished, const MeasuringRates& rates);

}  // namespace blaslift::cli
