// Factorisations and decompositions of square matrices, timed as calls run them, from device memory to device memory.
#pragma once
#include "impl/route/lapack_section.hpp"
#include "kernels/operation.hpp"
#include "tools/cli/tune/lease.hpp"
#include "tools/cli/tune/rounds.hpp"

namespace blaslift::cli {

/// What a backend must compute for it.
Operation::Kinds operations_of(LapackWork work);

/// Throws NoRoom, or std::runtime_error where the device is lost.
class LapackTimer {
 public:
  /// @param underlying  what the host backend computes with
  LapackTimer(Backend& backend, const UnderlyingBlas& underlying) : backend_(backend), underlying_(underlying) {}

  /// Seconds of one, of random numbers: three of them at least, and more as long as `seconds` last.
  Rounds time(LapackWork work, Precision precision, index order, double seconds);

  /// Whether a device with so much memory has room for it, as for a call.
  static bool fits(LapackWork work, Precision precision, index order, std::size_t memory);

 private:
  template <class T>
  Rounds time(LapackWork work, index order, double seconds);

  Backend& backend_;
  const UnderlyingBlas underlying_;
};

}  // namespace blaslift::cli
