#pragma once
#include "impl/core/options.hpp"

namespace blaslift::cli {

/// Prints what blaslift finds on this machine: GPU and driver, library underneath, profile, intercepted symbols.
/// @param profile_only  prints only the profile, in the form that BLASLIFT_PROFILE reads.
void print_info(const Options& options, bool profile_only);

}  // namespace blaslift::cli
