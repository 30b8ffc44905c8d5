#pragma once
#include <optional>
#include <string>
#include <vector>

#include "impl/core/options.hpp"
#include "kernels/types.hpp"

namespace blaslift::cli {

struct QrTuning {
  Options options;                ///< which device, and how much of its memory
  std::string precisions;         ///< some of "sdcz"
  std::vector<index> sizes;       ///< of squares, ascending; empty: the backend's own
  std::optional<double> seconds;  ///< for all of it; none: the backend's own
  bool quick;                     ///< by the model alone, and with fewer rounds
  std::string output;             ///< empty: where the library looks for this device's profile
  bool dry_run, quiet;
};

/// Finds how wide the blocks and panels of a QR are to be on this device: times the operations that a QR is made of,
/// predicts from them how long it takes with all widths (tools/cli/tune/qr_model.hpp) and, unless it is to be quick,
/// times these, too, which says how good the model is.  Writes rules to the device's profile where the best widths are
/// faster than the built-in ones in turns, and what panels take; all other lines stay.  Timings that nothing has come
/// of yet are kept beside the profile for the next run.  Throws std::runtime_error.
void tune_qr(const QrTuning& tuning);

}  // namespace blaslift::cli
