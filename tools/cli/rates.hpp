// Rates of a device, measured through its backend as calls use it: operations asked of a lane, one after the other,
// then one drain.
#pragma once
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernels/backend.hpp"

namespace blaslift::cli {

/// The device has less memory left than a measurement needs.
class NoRoom : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws NoRoom, or std::runtime_error where the device is lost.
class Meter {
 public:
  /// @param seconds  what a rate should take to measure; slow operations take longer, three rounds at least
  Meter(Backend& backend, const UnderlyingGemm& underlying, double seconds)
      : backend_(backend), underlying_(underlying), seconds_(seconds) {}

  /// Flop/s of C := A * B, all n x n, on the device, between passes; complex: 8 flops a multiply-add.
  double product_rate(Precision precision, index n);

  /// Bytes/s that the passes of strassen::fused() read and write, in blocks of n x n.
  double pass_rate(Precision precision, index n);

  /// Seconds of a sum so small that only asking for it and starting it count.
  double step_seconds();

  /// Bytes/s of a transfer from and to pageable memory.
  double in_rate(std::size_t bytes);
  double out_rate(std::size_t bytes);

  /// Seconds of a whole call with next to nothing to multiply, from taking the lane to giving it back.
  double latency_seconds();

  /// Device memory that these take, in bytes.
  static std::size_t product_bytes(Precision precision, index n);
  static std::size_t pass_bytes(Precision precision, index n);

 private:
  class Memory;
  class Lease;

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
