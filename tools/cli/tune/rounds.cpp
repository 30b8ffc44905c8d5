#include "tools/cli/tune/rounds.hpp"

#include <algorithm>

#include "tools/cli/tune/lease.hpp"  // now

namespace blaslift::cli {

Rounds timed_rounds(const std::function<void(int)>& round, const Effort& effort) {
  constexpr int least = 2, most = 1000;
  const double share = effort.seconds / effort.rounds;
  const auto least_rounds = static_cast<std::size_t>(std::max(3, effort.rounds * 3 / 8)),
             most_rounds = static_cast<std::size_t>(2 * effort.rounds - 1);
  const auto timed = [&](int operations) {
    const double begin = now();
    round(operations);
    return (now() - begin) / operations;
  };
  timed(1);  // loads code, takes as long as it likes
  double each = timed(1);
  if (each < share) each = timed(3);
  const int operations = static_cast<int>(std::clamp(share / std::max(each, 1e-9), 1.0 * least, 1.0 * most));
  if (each < effort.seconds) timed(operations);  // caches, clocks and what the backend makes once for so many
  Rounds times;
  for (const double begin = now();
       times.size() < least_rounds || (times.size() < most_rounds && now() - begin < effort.seconds);)
    times.push_back(std::max(timed(operations), 1e-12));  // a clock that stood still
  return times;
}

double quantile(std::vector<double> x, std::size_t quarters) {
  std::sort(x.begin(), x.end());
  return x[(x.size() - 1) * quarters / 4];
}

double scatter(const Rounds& rounds) { return (quantile(rounds, 3) - quantile(rounds, 1)) / median(rounds); }

Judgement judged(const Contest& contest) {
  constexpr double noise = 1.01;  // medians of the same product by the same algorithm differ by less
  Judgement verdict{.winner = std::nullopt, .best = 0, .gain = 1, .scatter = 0};
  double most = 0;
  for (std::size_t i = 0; i < contest.others.size(); ++i) {
    const Rounds& other = contest.others[i];
    if (other.size() != contest.own.size()) continue;  // a first look
    std::vector<double> gains;
    for (std::size_t turn = 0; turn < other.size(); ++turn) gains.push_back(contest.own[turn] / other[turn]);
    // Whichever is the fastest by chance is not often so by a quartile.
    const bool wins = quantile(gains, 1) > noise;
    const double gain = quantile(gains, 2);
    if (wins < verdict.winner.has_value() || (wins == verdict.winner.has_value() && gain <= most)) continue;
    most = gain;
    verdict = {.winner = wins ? std::optional(i) : std::nullopt, .best = i, .gain = gain, .scatter = scatter(gains)};
  }
  return verdict;
}

double Pace::left() const {
  // One part may have been slow for reasons of its own: of little, no more is concluded than that it is within tenfold.
  const double slowness = expected_ > 0 ? std::clamp(took_ / expected_, 0.1, 10.0) : 1;
  return std::max(0.0, left_) * slowness;
}

}  // namespace blaslift::cli
