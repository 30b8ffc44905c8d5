// Which calls verification looks at, and what it compares with.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "compat/site.hpp"

namespace blaslift {

/// What verification knows of the process: which calls it has seen, and the oracle.
class Verifier {
 public:
  /// Whether a call is among those to be checked: the first of `every` of a routine and size.
  bool due(Routine routine, double flops, std::uint32_t every);

  /// Nothing came of checking a call that was due: the turn goes to the next one.  If nothing comes of that either, to
  /// the second one after it, the fourth, and so on, since a call whose turn it is copies its operands.
  void pass_on(Routine routine, double flops, std::uint32_t every);

  /// A call that was due was checked, or is counted with the reason why not.
  void settle(Routine routine, double flops);

  /// The library at `path`, opened by the first call; null if it has no such routine, and the reason noted once unless
  /// the routine is LAPACK's, which not every BLAS has.
  const Site* oracle(Routine routine, const std::string& path);

  /// A number for a file of a call that is kept; negative: enough are.
  int next_dump();

 private:
  /// Of one routine and size.
  struct Turn {
    std::atomic<std::uint32_t> left{0};       ///< calls before the next one that is due
    std::atomic<std::uint32_t> passed_on{0};  ///< what that will be when a turn is passed on
  };
  static constexpr int size_classes_ = 64;

  Turn& turn_of(Routine routine, double flops);

  Turn turns_[routine_count][size_classes_] = {};
  std::atomic<const Site*> oracles_[routine_count] = {};
  std::atomic<int> dumps_{0};
};

/// Says what keeps verification from its work: once per process, and in the summary.
void say_verify_problem(const std::string& problem);

}  // namespace blaslift
