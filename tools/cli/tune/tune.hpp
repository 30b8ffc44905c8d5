#pragma once
#include <optional>
#include <string>
#include <vector>

#include "impl/core/options.hpp"
#include "kernels/types.hpp"

namespace blaslift::cli {

struct Tuning {
  Options options;         ///< which device, and how much of its memory
  std::string precisions;  ///< some of "sdcz"
  std::vector<index>
      sizes;  ///< of leaf products, ascending, at most Profile::most_leaf_rates; empty: the backend's own
  std::optional<std::vector<index>> leaves;  ///< whose algorithms are compared, ascending; none: the backend's own
  /// Whose rates are measured and algorithms compared, each two of N, T, C; none: at all sizes those that transpose
  /// nothing, and at some the rates of the others.
  std::optional<std::vector<std::string>> transposes;
  std::optional<double> seconds;  ///< that a rate should take; none: the backend's own
  double noise = 0.2;             ///< rates that scatter more (rounds.hpp) are refused
  bool quick;                     ///< fewer sizes, no algorithms but for `leaves`, a fifth of the time
  std::string output;             ///< empty: where the library looks for this device's profile
  bool dry_run, quiet;
};

/// Compares the algorithms that the device's library has for leaf products, measures the device's rates with the
/// fastest of them and the CPU's, and writes all that to its profile, in which lines that were not measured again stay,
/// and those of what was too noisy twice.  The file is replaced as a whole, at the end; until then what was measured is
/// kept beside it, and the next run with the same device, libraries and seconds goes on from there.  Throws
/// std::runtime_error, with the file as it was; also if everything was too noisy.
void tune(const Tuning& tuning);

}  // namespace blaslift::cli
