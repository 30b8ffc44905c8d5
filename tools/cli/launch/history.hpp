// What the last run of a command came to, kept from run to run: a file for each command whose next run is to find the
// GPU started, and ready for the routines that are named in it.  Its own name is a hash: command lines may hold what is
// nobody's business.
#pragma once
#include <string>
#include <vector>

#include "tools/cli/launch/launch.hpp"

namespace blaslift::cli {

/// Of one command in the directory where it is run now.  Where nothing can be kept, or what is kept is not the user's
/// own, it is as if there had been no run.
class History {
 public:
  History() = default;  ///< nothing is known or kept
  explicit History(const std::vector<std::string>& command);

  /// Whether the last run would have gained by an early start, and borne it: the program's own process computed on a
  /// GPU, has not forked, and had not loaded CUDA before for purposes of its own.
  bool gains_by_early_start() const;

  /// What it computed there: "dgesv,dgemm"; empty if that is not known.
  std::string routines() const;

  /// Keeps what this one came to.
  void note(const Finished& run) const;

 private:
  std::string directory_, path_;  ///< empty: there is no place
};

}  // namespace blaslift::cli
