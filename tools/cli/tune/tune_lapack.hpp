#pragma once
#include <optional>
#include <string>
#include <vector>

#include "impl/core/options.hpp"
#include "kernels/types.hpp"

namespace blaslift::cli {

struct LapackTuning {
  Options options;                ///< which device, and how much of its memory
  std::string precisions;         ///< some of "sdcz"
  std::vector<index> sizes;       ///< orders, ascending, at most most_lapack_times; empty: the backend's own
  std::optional<double> seconds;  ///< for each order; none: the backend's own
  bool quick;                     ///< without the largest orders
  std::string output;             ///< empty: where the library looks for this device's profile
  bool dry_run, quiet;
};

/// Times factorisations, eigenproblems and singular value decompositions on the device and writes what they take to its
/// profile, a line for each of them and precision as it is found, in which all other lines stay.  What the device does
/// not compute, or has no room for, is left out and said so.  Throws std::runtime_error.
void tune_lapack(const LapackTuning& tuning);

}  // namespace blaslift::cli
