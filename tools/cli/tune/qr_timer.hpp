// A QR of one precision, and what its plan is made of, timed through a lane as calls ask for them, with A on the
// device.
#pragma once
#include <memory>
#include <vector>

#include "impl/qr/qr_widths.hpp"
#include "tools/cli/tune/lease.hpp"

namespace blaslift::cli {

/// Throws NoRoom, or std::runtime_error where the device is lost.  Whatever is timed is so once more before, and for as
/// long as a timing needs not to be one of the clock.
class QrTimer {
 public:
  virtual ~QrTimer() = default;

  /// Seconds of an n x n QR, for each of `all` and each round, in which all have their turn.
  virtual std::vector<std::vector<double>> whole(index n, const std::vector<QrWidths>& all, int rounds) = 0;
  /// Of one panel.
  virtual std::vector<double> panel(index rows, index width, int rounds) = 0;
  /// Of `width` reflectors on a matrix.
  virtual std::vector<double> update(index rows, index cols, index width, int rounds) = 0;
  /// Of T of `width` columns and as many beside them.
  virtual std::vector<double> join(index rows, index width, int rounds) = 0;

  /// Device memory, for matrices of up to n x n and blocks of up to this width.
  static std::size_t bytes(Precision precision, index most_n, index most_block);
};

std::unique_ptr<QrTimer> make_qr_timer(Backend& backend, const UnderlyingBlas& underlying, Precision precision,
                                       index most_n, index most_block);

}  // namespace blaslift::cli
