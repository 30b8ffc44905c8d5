// SYMVs of one precision, timed through a lane as calls ask for them: many, then one drain.
#pragma once
#include <vector>

#include "tools/cli/tune/lease.hpp"
#include "tools/cli/tune/sieve.hpp"

namespace blaslift::cli {

/// Throws NoRoom, or std::runtime_error where the device is lost.
class SymvTimer {
 public:
  /// @param most_n       what will be asked for at most
  /// @param cache_bytes  matrices take turns, so that together they are larger than this
  SymvTimer(Backend& backend, const UnderlyingBlas& underlying, Element precision, index most_n,
            std::size_t cache_bytes);

  /// Device memory, but for workspaces.
  static std::size_t bytes(Element precision, index most_n, std::size_t cache_bytes);

  /// Seconds of one call, for each candidate and round.  All take their turns in each round; those that the first look
  /// finds far behind the fastest have that one look.
  /// @param seconds  that all of it should take
  std::vector<std::vector<double>> time(Uplo uplo, index n, const std::vector<SymvCandidate>& candidates,
                                        double seconds, int rounds);

 private:
  void fill();

  Backend& backend_;
  const UnderlyingBlas underlying_;
  const Element precision_;
  const std::size_t matrix_bytes_, vector_bytes_;
  const Memory memory_;  ///< matrices, x, y
  std::size_t next_ = 0;
};

}  // namespace blaslift::cli
