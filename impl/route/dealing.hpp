// Dealing out: a call whose result falls into parts is computed at several places at the same time, each of which moves
// its parts by its own bus.  take_route has the rest (impl/route/route.hpp).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "impl/route/family.hpp"
#include "impl/route/learned.hpp"
#include "impl/route/operands.hpp"

namespace blaslift {

/// Rows or columns.
struct Share {
  index first, count;
};
/// n of them in up to so many shares of about the same size, none empty.
std::vector<Share> shares_of(index n, int places);

/// What the parts of a call take over so many places; fewer than two: it does not fall into parts.
/// @param spared  of what it reads, the share that places have copies of
using SecondsOfParts = std::function<std::vector<double>(int places, double spared)>;
/// Of parts that do not know each other.
SecondsOfParts seconds_apart(Runtime& r, const Policy& policy, const Problem& problem,
                             std::function<std::vector<Problem>(int places)> parts);
/// Of a call that places compute together, a part each.
SecondsOfParts seconds_together(Runtime& r, const Problem& problem);

/// If a call that goes to the device is to be dealt out, opens the places and says so in its decision: how many, and
/// what they take.
/// @param keeps_result  what the result overwrites is kept until all of it is there
void deal(Runtime& r, const Learned& learned, const Policy& policy, const Problem& problem, const Operands& operands,
          Decision& decision, bool keeps_result, const SecondsOfParts& seconds);

/// Seconds until parts have been computed of which each place takes the next one once it has ended one.
double dealt_seconds(std::span<const double> parts, int places);

/// Over how many places, and how long that takes.
struct Dealt {
  int places;
  double seconds;
};
/// The fewest places that take little longer than the best number of them does.
/// @param alone       seconds at one place
/// @param of_parts    seconds of each part over so many places; fewer than two: there are no parts
Dealt choose_places(double alone, int most, const std::function<std::vector<double>(int places)>& of_parts);

/// Seconds of each part.  What several places read at the same time moves over the bus of one of them, and from there
/// to the others; and all that moves passes through the host's memory.
/// @param exchanged  so it is; otherwise each place gets it by its own bus
/// @param spared     of what the call reads, the share that need not be sent
/// @param cost       seconds of a part of which so many bytes need not be sent
std::vector<double> seconds_of_parts(const Problem& call, std::span<const Problem> parts, int places,
                                     const Profile& profile, bool exchanged, double spared,
                                     const std::function<double(const Problem& part, double spared)>& cost);

/// Of an open device of which nothing is known but its rates.
Facts facts_of_rates(const Profile& profile, const strassen::Estimator* estimator);

/// How an open device goes about a part of a call.
Decision decide_part(const Place& place, const Policy& policy, const Problem& part, const Decision& whole);

/// Calls job(place, number) once for each number from 0 to `count` - 1: at the first place by the calling thread, at
/// each of the others by its worker.  Each place begins with the part of its own number.  False from the job: this
/// place takes no more.  What is then left is not called.
/// @param job  owns what it needs: it outlives the call if a handler of the program's leaves that by a jump
void at_places(Runtime& r, int places, int count, std::function<bool(Place&, int number)> job);

/// Calls job(place, number) at each of so many places at once, as above, and waits until all have ended.  None waits
/// for another call's part that waits for this one's: one such call at a time.
/// @param missing  void(int number): of a place whose worker cannot be had; its job is not called
void at_all_places(Runtime& r, int places, std::function<void(Place&, int number)> job,
                   const std::function<void(int number)>& missing);

/// What has come of a call from what has come of its parts, all of which are there.
Ending combined(const Decision& decision, std::span<const Ending> parts);

}  // namespace blaslift
