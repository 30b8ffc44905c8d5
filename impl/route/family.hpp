// Family: what general code asks of a kind of routines.  impl/families.cpp says which routine is of which.
#pragma once
#include <algorithm>
#include <optional>
#include <string>

#include "impl/core/problem.hpp"
#include "impl/route/decision.hpp"

namespace blaslift {

/// What an open device would take for a call, and how it would go about it.
struct Cost {
  double seconds;  ///< with what moves, by the profile
  int levels = 0;  ///< as in Decision
  index tile = 0, head = 0;
  bool residues = false;  ///< if these find no room, or are declined again and again, by levels or head
};

/// Functions of numbers alone, so that decisions can be printed and tested without a device.
struct Family {
  /// Says what follows from what the caller has said.
  void (*count)(Problem& problem);

  /// "dgemm m=.. n=.. k=..", with whatever else matters.
  std::string (*text)(const Problem& problem);

  /// flop/s of the CPU until calls were timed.
  double (*cpu_rate)(const Problem& problem, const Profile& profile);

  /// @param spared  bytes that need not move in: they, or valid copies, are on the device
  Cost (*cost)(const Problem& problem, const Facts& facts, const Policy& policy, double spared);

  /// What a backend must be able to compute besides products of matrices; of the problem's elements.
  Operation::Kinds needs;

  /// Bytes that are sent more than once where the device's memory makes a call be cut, which uses no copies; none: it
  /// is not cut.  Null: copies are of use to calls that are cut, too.
  std::optional<double> (*sent_again)(const Problem& problem, const Profile& profile, std::size_t memory) = nullptr;

  /// Seconds of a call that so many places compute together (Gang), from the host's memory and back; none: it is not.
  /// Null: no call is.
  /// @param memory  of each device
  std::optional<double> (*together)(const Problem& problem, const Profile& profile, int places,
                                    std::size_t memory) = nullptr;

  /// The first operand is nearly all that moves, and used once: without a copy of it a device gains nothing.  So a
  /// matrix that comes again may be worth opening the device for, and a copy is computed with before it has been looked
  /// at.
  bool lives_on_copies = false;

  /// No device computes it, even if it is forced: what gains is several of the host's threads.
  bool of_host = false;
};

const Family& family_of(Routine routine);

inline Problem counted(Problem problem) {
  family_of(problem.routine).count(problem);
  return problem;
}

/// "dgemm m=.. n=.. k=.."
inline std::string to_string(const Problem& problem) { return family_of(problem.routine).text(problem); }

// For costs and rates: what is the same for most.

/// Seconds until all operands are on the device, where so many bytes need not move.
inline double seconds_in(const Problem& p, const Facts& facts, double spared) {
  return std::max(0.0, p.bytes_in - spared) / facts.profile->in_rate;
}
/// Seconds of the result's way back.
inline double seconds_out(const Problem& p, const Facts& facts) {
  return facts.result_stays ? 0 : p.bytes_out / facts.profile->out_rate;
}
/// A Family's cost where what arrives, is computed and goes home comes in panels, each beside the next one's computing.
/// @param computing  seconds on the device
inline Cost cost_in_panels(const Problem& p, const Facts& facts, double spared, double computing) {
  constexpr double panels = 8;
  const Profile& profile = *facts.profile;
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts),
               again = facts.sent_again / profile.in_rate;
  return {.seconds = profile.latency_seconds + std::max({computing, in, out, again}) + (in + computing + out) / panels};
}
/// For a Family's together: panels are dealt out in turns.
/// @param chain      seconds of what is done one after the other: panels, and what makes the next one ready
/// @param computing  seconds of everything else, at one place, most of which runs beside that
inline double seconds_in_turns(const Problem& p, const Profile& profile, int places, index panels, double chain,
                               double computing) {
  constexpr double not_beside = 0.75;
  const double host_rate = profile.host_rate > 0 ? profile.host_rate : 2 * profile.in_rate,
               in = p.bytes_in / places / profile.in_rate, out = p.bytes_out / places / profile.out_rate;
  return profile.latency_seconds +
         std::max({chain + not_beside * computing / places, in, out, (p.bytes_in + p.bytes_out) / host_rate}) +
         (in + out) * std::min(1.0, places / static_cast<double>(panels));
}

/// A Family's cpu_rate where products of matrices are most of the work.
inline double cpu_rate_of_products(const Problem& p, const Profile& profile) {
  return profile.cpu_rate[static_cast<int>(p.element.name)];
}

/// A Family's cpu_rate where panels come between them: 16 cores take 145 ms for LU of order 4,000 and 118 for Cholesky.
inline double cpu_rate_of_factors(const Problem& p, const Profile& profile) {
  return cpu_rate_of_products(p, profile) / 2;
}
/// A Family's cpu_rate where all of a matrix is read, too: by one thread, as a rule, before products can be made of it.
/// @param part          of the rate of products that the rest runs at
/// @param read_seconds  what reading takes
inline double cpu_rate_beside_reading(const Problem& p, const Profile& profile, double part, double read_seconds) {
  const double rate = part * cpu_rate_of_products(p, profile);
  return p.flops > 0 ? p.flops / (p.flops / rate + read_seconds) : rate;
}

/// Where a counted problem is computed, and why.
Decision decide(const Problem& problem, const Facts& facts, const Policy& policy);

/// Whether copies on the device could change what becomes of a call that was decided without a look at them.
bool copies_matter(const Problem& problem, Facts facts, const Policy& policy, const Decision& decision);

/// "dgemm m=.. n=.. k=.. -> cpu: too small (cpu 0.1 ms, device 0.2 ms)"
std::string to_string(const Problem& problem, const Decision& decision);

}  // namespace blaslift
