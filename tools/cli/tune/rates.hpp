// Rates of a device, measured through its backend as calls use it: operations asked of a lane, one after the other,
// then one drain.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "tools/cli/tune/lease.hpp"
#include "tools/cli/tune/rounds.hpp"

namespace blaslift::cli {

/// Throws NoRoom, or std::runtime_error where the device is lost.
class Meter {
 public:
  /// @param underlying  what the host backend computes with, and what the CPU's rate is measured of
  /// @param effort      for each rate; of a product, for it and for its pass
  Meter(Backend& backend, const UnderlyingBlas& underlying, const Effort& effort)
      : backend_(backend), underlying_(underlying), effort_(effort) {}

  /// Seconds a flop of such a product on the device, between passes; complex: 8 flops a multiply-add.
  Rounds product(const SquareProduct& product);

  /// The algorithms that the backend's library proposes for this product, in its order, which may be
  /// another one in another process.
  std::vector<Candidate> candidates(const SquareProduct& product) const;

  /// Times the backend's own choice and these for this product, in the same way; then the fastest of them in turns.
  /// Afterwards nothing is preferred.
  Contest compare(const SquareProduct& product, const std::vector<Candidate>& candidates);

  /// Seconds a byte that the passes of strassen::fused() read and write, in blocks of n x n.
  Rounds passes(Precision precision, index n);

  /// Seconds of a sum so small that only asking for it and starting it count.
  Rounds step();

  /// Seconds a byte of a transfer from and to pageable memory.
  Rounds in(std::size_t bytes);
  Rounds out(std::size_t bytes);

  /// Seconds of a whole call with next to nothing to multiply, from taking the lane to giving it back.
  Rounds call();

  /// The same of a SYMV whose matrix is on the device, and tiny: only vectors move.
  Rounds symv_call();

  /// Seconds a flop of C := A * B on the CPU by the library underneath, in squares as large as the time allows, of up
  /// to 4,096.
  Rounds cpu_product(Precision precision) const;

  /// Device memory that these take, in bytes.
  static std::size_t product_bytes(Precision precision, index n, bool adds_e = false);
  static std::size_t pass_bytes(Precision precision, index n);

 private:
  class Leaf;

  void fill(Precision precision, void* device, index elements);
  Rounds one_by_one(Lease& lease, const std::function<void(Lane&, After)>& ask) const;

  Backend& backend_;
  const UnderlyingBlas underlying_;
  const Effort effort_;
  std::optional<Precision> numbers_are_;
  std::vector<char> numbers_;
};

}  // namespace blaslift::cli
