#pragma once
#include <optional>
#include <string>
#include <vector>

#include "impl/options.hpp"
#include "kernels/types.hpp"

namespace blaslift::cli {

struct Tuning {
  Options options;         ///< which device, and how much of its memory
  std::string precisions;  ///< some of "sdcz"
  std::vector<index>
      sizes;  ///< of leaf products, ascending, at most Profile::most_leaf_rates; empty: the backend's own
  std::optional<std::vector<index>> leaves;  ///< whose algorithms are compared, ascending; none: the backend's own
  std::vector<std::string> transposes;       ///< of these, each two of N, T, C
  std::optional<double> seconds;             ///< that a rate should take; none: the backend's own
  std::string output;                        ///< empty: where the library looks for this device's profile
  bool dry_run, quiet;
};

/// Compares the algorithms that the device's library has for leaf products, measures the device's rates with the
/// fastest of them, and writes both to its profile, in which lines that were not measured again stay.  The file is
/// replaced as a whole, at the end.  Throws std::runtime_error, with the file as it was.
void tune(const Tuning& tuning);

}  // namespace blaslift::cli
