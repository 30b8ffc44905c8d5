#include "impl/route/dealing.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>

#include "compat/process.hpp"
#include "impl/core/hash.hpp"
#include "kernels/own_thread.hpp"

namespace blaslift {

std::vector<Share> shares_of(index n, int places) {
  constexpr index even = 64, worth_it = 256;  // kernels like edges that are multiples of their tiles'
  index each = std::max<index>(1, (n + places - 1) / places);
  if (each >= worth_it) each = (each + even - 1) / even * even;
  std::vector<Share> shares;
  for (index first = 0; first < n; first += each) shares.push_back({first, std::min(each, n - first)});
  return shares;
}

double dealt_seconds(std::span<const double> parts, int places) {
  std::vector<double> until(static_cast<std::size_t>(places));
  for (const double seconds : parts) *std::min_element(until.begin(), until.end()) += seconds;
  return *std::max_element(until.begin(), until.end());
}

Dealt choose_places(double alone, int most, const std::function<std::vector<double>(int places)>& of_parts) {
  // A tenth is not worth it: each place takes threads and memory of the host's, and may share its bus.
  constexpr double worth_it = 0.9;
  std::vector<Dealt> all{{1, alone}};
  double least = worth_it * alone;
  for (int places = 2; places <= most; ++places) {
    const std::vector<double> seconds = of_parts(places);
    if (seconds.size() < 2) continue;
    all.push_back({places, dealt_seconds(seconds, places)});
    least = std::min(least, all.back().seconds);
  }
  return *std::find_if(all.begin(), all.end(), [&](const Dealt& x) { return worth_it * x.seconds <= least; });
}

Decision decide_part(const Place& place, const Policy& policy, const Problem& part, const Decision& whole) {
  const Facts facts{.device = DeviceState::ready,
                    .profile = &place.device.profile(),
                    .cpu_rate = 1,
                    .slowdown = 1,
                    .missed_seconds = 0,
                    .forked = false,
                    .exiting = false,
                    .estimator = place.device.estimator(part.precision())};
  const Cost cost = family_of(part.routine).cost(part, facts, policy, 0);
  Decision decision = whole;
  decision.device_seconds = cost.seconds;
  decision.levels = cost.levels;
  decision.tile = cost.tile;
  decision.head = cost.head;
  decision.residues = cost.residues;
  decision.places = 1;
  return decision;
}

namespace {

/// Whether a call waits for places that are not open: as the first one is, they are bought once what they would have
/// saved has reached their price.
bool waits_for_places(Runtime& r, const Policy& policy, int places, double saving) {
  if (policy.fixed) return false;
  bool open = true;
  for (int i = 1; i < places; ++i) open = open && r.place(i).device.state() == DeviceState::ready;
  if (open) return false;
  double missed = r.missed_by_dealing.load(std::memory_order_relaxed);
  while (!r.missed_by_dealing.compare_exchange_weak(missed, missed + saving, std::memory_order_relaxed)) {
  }
  return missed + saving < policy.eagerness.start_up * r.first.device.profile().startup_seconds;
}

}  // namespace

void deal(Runtime& r, const Policy& policy, const Problem& problem, const Operands& operands, Decision& decision,
          const std::function<std::vector<Problem>(int places)>& parts) {
  const bool may = decision.route == Route::device && decision.reason != Reason::device_memory &&
                   decision.reason != Reason::trial && !problem.trivial && !operands.in_device_memory();
  const int most = may ? r.places() : 1;
  if (most == 1) return;
  if (policy.forced) {
    decision.places = std::max(1, std::min(most, static_cast<int>(parts(most).size())));
    return;
  }
  const double alone = decision.device_seconds / decision.slowdown;
  const Dealt dealt = choose_places(alone, most, [&](int places) {
    std::vector<double> seconds;
    for (const Problem& part : parts(places))
      seconds.push_back(decide_part(r.first, policy, part, decision).device_seconds);
    return seconds;
  });
  if (dealt.places == 1 || waits_for_places(r, policy, dealt.places, alone - dealt.seconds)) return;
  decision.places = dealt.places;
  decision.device_seconds = dealt.seconds * decision.slowdown;
}

namespace {

/// Who takes which part, and whether all have ended.  Threads of ours may still be leaving when the caller has gone on.
struct Deal {
  Deal(int all, int of_places) : count(all), next(std::min(all, of_places)) {}

  void work(Runtime& r, int number, const std::function<bool(Place&, int)>& job) {
    try {
      Place& place = r.place(number);
      for (int part = number < count ? number : -1; part >= 0; part = take())
        if (!job(place, part)) break;
    } catch (const std::exception&) {  // no memory for a place: its part is left
    }
  }

  int take() {
    std::lock_guard lock(mutex);
    return next < count ? next++ : -1;
  }
  void end() {
    std::lock_guard lock(mutex);
    --working;
    ended.notify_all();
  }
  void await() {
    std::unique_lock lock(mutex);
    ended.wait(lock, [this] { return working == 0; });
  }

  const int count;
  std::mutex mutex;
  std::condition_variable ended;
  int next;
  int working = 0;
};

}  // namespace

void at_places(Runtime& r, int places, int count, const std::function<bool(Place&, int number)>& job) {
  const auto dealt = std::make_shared<Deal>(count, places);
  {
    const OwnThreads threads;
    for (int number = 1; number < std::min(places, count); ++number) {
      {
        std::lock_guard lock(dealt->mutex);
        ++dealt->working;
      }
      const bool started = threads.start("blaslift-place", [dealt, number, &r, &job] {
        thread_state.inside = &thread_state;
        dealt->work(r, number, job);
        dealt->end();
      });
      if (!started) dealt->end();  // its part is left
    }
  }
  dealt->work(r, 0, job);
  dealt->await();
}

Ending combined(const Decision& decision, std::span<const Ending> parts) {
  Ending all{.reason = decision.reason, .computed = true, .as_predicted = true};
  bool same_way = true;
  for (const Ending& part : parts) {
    if (part.reason == Reason::failed) all.reason = Reason::failed;
    all.as_predicted = all.as_predicted && part.as_predicted;
    all.distrusted = all.distrusted || part.distrusted;
    all.residues = all.residues || part.residues;
    all.bytes_in += part.bytes_in;
    all.bytes_out += part.bytes_out;
    all.transfers.add(part.transfers);
    if (part.levels > all.levels) all.levels = part.levels, all.tile = part.tile;
    same_way = same_way && part.way != 0;
    all.way = with_numbers(all.way, part.way);
  }
  if (!same_way) all.way = 0;
  return all;
}

}  // namespace blaslift
