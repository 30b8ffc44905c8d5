// How often something is timed, and what is to be believed of it.  Pure functions of timings but for the first.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace blaslift::cli {

/// Seconds of one operation, or of its share for a flop or a byte, once for each round.
using Rounds = std::vector<double>;

/// For how long and how often to time.
struct Effort {
  double seconds;  ///< of all rounds; slow operations take longer
  int rounds = 8;  ///< in this time; three eighths of them at least, twice as many less one at most
  Effort patient() const { return {3 * seconds, 3 * rounds}; }
};

/// Times an operation.
/// @param round  does it so many times and waits for all of them
Rounds timed_rounds(const std::function<void(int)>& round, const Effort& effort);

/// @param x         not empty
/// @param quarters  0: the smallest, 2: the median, 4: the largest
double quantile(std::vector<double> x, std::size_t quarters);

inline double median(const Rounds& rounds) { return quantile(rounds, 2); }

/// How far the quartiles lie apart, relative to the median; 0 of one round, of which nobody knows.
double scatter(const Rounds& rounds);

/// One product by the library's own choice and by others.
struct Contest {
  Rounds own;                  ///< as many as there were turns; without others, or where they had no turns, one
  std::vector<Rounds> others;  ///< of each: as many, in the same turns, or one, a first look
};

/// What a contest says.
struct Judgement {
  std::optional<std::size_t> winner;  ///< of the others: faster than the own choice by more than chance
  std::size_t best;                   ///< of the others: the winner or, without one, the fastest; 0 if there are none
  double gain;     ///< of that one: own seconds / its seconds, the median of all turns; 1 if there is none
  double scatter;  ///< of these gains
};
Judgement judged(const Contest& contest);

/// What is left to do, in seconds: as much as was expected, times what the rest took beside what was expected of it.
class Pace {
 public:
  /// @param expected  seconds for all of it
  explicit Pace(double expected) : left_(expected) {}
  /// A part need not be done any more.
  void skip(double expected) { left_ -= expected; }
  void done(double expected, double seconds) {
    left_ -= expected;
    expected_ += expected;
    took_ += seconds;
  }
  double left() const;

 private:
  double left_, expected_ = 0, took_ = 0;
};

}  // namespace blaslift::cli
