#pragma once
#include <optional>
#include <string>
#include <vector>

#include "impl/core/options.hpp"
#include "kernels/types.hpp"

namespace blaslift::cli {

struct SymvTuning {
  Options options;                ///< which device, and how much of its memory
  std::string precisions;         ///< some of "sdczw"
  std::string triangles;          ///< some of "LU"
  std::vector<index> sizes;       ///< at which all blockings are timed, ascending; empty: the backend's own
  std::optional<double> seconds;  ///< for all of it; none: the backend's own
  bool quick;                     ///< fewer blockings, and a fifth of the time
  std::string output;             ///< empty: where the library looks for this device's profile
  bool dry_run, quiet;
};

/// Searches the fastest blockings of SYMV by n, and measures what a call takes besides; writes both to the device's
/// profile, precision by precision and triangle by triangle as they are found, in which all other lines stay.  Timings
/// that no rules have come of yet are kept beside the profile for the next run.  Throws std::runtime_error.
void tune_symv(const SymvTuning& tuning);

}  // namespace blaslift::cli
