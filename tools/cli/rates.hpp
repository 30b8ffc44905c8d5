// Rates of a device, measured through its backend as calls use it: operations asked of a lane, one after the other,
// then one drain.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "tools/cli/lease.hpp"

namespace blaslift::cli {

/// Flop/s of one product by several algorithms.
struct Comparison {
  double own;                         ///< by the backend's own choice
  std::vector<Candidate> candidates;  ///< as the backend orders them
  std::vector<double> rates;          ///< of each: a first look, and for the fastest ones the last word
  std::optional<std::size_t> winner;  ///< of the candidates: faster than the backend's own by more than chance
  double gain;                        ///< of the winner or, without one, of the fastest: rate / own
};

/// Throws NoRoom, or std::runtime_error where the device is lost.
class Meter {
 public:
  /// @param seconds  what a rate should take to measure; slow operations take longer, three rounds at least
  Meter(Backend& backend, const UnderlyingGemm& underlying, double seconds)
      : backend_(backend), underlying_(underlying), seconds_(seconds) {}

  /// Flop/s of C := A * B, all n x n, on the device, between passes; complex: 8 flops a multiply-add.
  double product_rate(Precision precision, index n);

  /// Times the backend's own choice and its candidates for this product, in the same way; then the fastest of them in
  /// turns.  Afterwards nothing is preferred.
  Comparison compare(const SquareProduct& product);

  /// Bytes/s that the passes of strassen::fused() read and write, in blocks of n x n.
  double pass_rate(Precision precision, index n);

  /// Seconds of a sum so small that only asking for it and starting it count.
  double step_seconds();

  /// Bytes/s of a transfer from and to pageable memory.
  double in_rate(std::size_t bytes);
  double out_rate(std::size_t bytes);

  /// Seconds of a whole call with next to nothing to multiply, from taking the lane to giving it back.
  double latency_seconds();

  /// The same of a SYMV whose matrix is on the device, and tiny: only vectors move.
  double symv_latency_seconds();

  /// Device memory that these take, in bytes.
  static std::size_t product_bytes(Precision precision, index n, bool adds_e = false);
  static std::size_t pass_bytes(Precision precision, index n);

 private:
  class Leaf;

  void fill(Precision precision, void* device, index elements);
  double seconds_each(Lease& lease, const std::function<void(Lane&, After)>& ask);
  double median_of_rounds(const std::function<void(int)>& round) const;

  Backend& backend_;
  const UnderlyingGemm underlying_;
  const double seconds_;
  std::optional<Precision> numbers_are_;
  std::vector<char> numbers_;
};

}  // namespace blaslift::cli
