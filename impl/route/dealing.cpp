#include "impl/route/dealing.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "impl/core/hash.hpp"
#include "impl/observe/counters.hpp"
#include "impl/route/runtime.hpp"

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
    if (places > 4 && places % 2 != 0 && places != most) continue;  // a triangle has many parts
    const std::vector<double> seconds = of_parts(places);
    if (seconds.size() < 2) continue;
    all.push_back({places, dealt_seconds(seconds, places)});
    least = std::min(least, all.back().seconds);
  }
  return *std::find_if(all.begin(), all.end(), [&](const Dealt& x) { return worth_it * x.seconds <= least; });
}

namespace {

/// What a call, or a part of one, takes at an open place, and how the place goes about it.
Cost cost_at(const Place& place, const Policy& policy, const Problem& problem, double spared) {
  const Family& family = family_of(problem.routine);
  const Profile& profile = place.device.profile();
  Facts facts{.device = DeviceState::ready,
              .profile = &profile,
              .cpu_rate = 1,
              .slowdown = 1,
              .missed_seconds = 0,
              .forked = false,
              .exiting = false,
              .estimator = problem.element == Element::w ? nullptr : place.device.estimator(problem.precision())};
  if (family.sent_again)
    facts.sent_again = family.sent_again(problem, profile, place.device.backend().facts().memory).value_or(0);
  return family.cost(problem, facts, policy, spared);
}

}  // namespace

Decision decide_part(const Place& place, const Policy& policy, const Problem& part, const Decision& whole) {
  const Cost cost = cost_at(place, policy, part, 0);
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

/// Whether a call is worth opening further places: as the first one's is, their devices are bought once what they would
/// have saved has reached the price of one.
bool buys_places(Runtime& r, const Policy& policy, double saving) {
  if (policy.fixed || policy.forced) return true;
  double missed = r.missed_by_dealing.load(std::memory_order_relaxed);
  while (!r.missed_by_dealing.compare_exchange_weak(missed, missed + saving, std::memory_order_relaxed)) {
  }
  return missed + saving >= policy.eagerness.start_up * r.first.device.profile().startup_seconds;
}

/// How many of the first so many places are there, those opened that are worth it.  By the calling thread: it may hold
/// the loader's lock, which opening takes.
int ready_places(Runtime& r, const Policy& policy, int places, double saving) {
  bool bought = false;
  for (int i = 1; i < places; ++i) {
    Place& place = r.place(i);
    if (place.device.state() == DeviceState::ready) continue;
    const bool others_open_it = place.device.state() == DeviceState::opening && !policy.fixed && !policy.forced;
    if (others_open_it || (!bought && !buys_places(r, policy, saving))) return i;
    bought = true;
    const std::uint64_t start = now_ns();
    const bool opened = open_place(r, place) != nullptr;
    counters().opening_ns.fetch_add(now_ns() - start, std::memory_order_relaxed);
    if (!opened) return i;
  }
  return places;
}

/// Of what a call reads, the part that copies hold at the first place; and that they would, with all that could be
/// kept.
struct Kept {
  double now = 0, at_most = 0;
};
Kept kept(const Problem& problem, const Operands& operands) {
  if (problem.bytes_in <= 0) return {};
  double reusable = operands.spared();
  for (const Operand& x : operands.all())
    if (x.reusable()) reusable += x.counted(x.stored.bytes());
  return {std::min(1.0, operands.spared() / problem.bytes_in), std::min(1.0, reusable / problem.bytes_in)};
}

}  // namespace

void deal(Runtime& r, const Learned& learned, const Policy& policy, const Problem& problem, const Operands& operands,
          Decision& decision, const std::function<std::vector<Problem>(int places)>& parts) {
  const bool may = decision.route == Route::device && decision.reason != Reason::device_memory &&
                   decision.reason != Reason::trial && decision.reason != Reason::reuse && !problem.trivial &&
                   !operands.in_device_memory();
  const int most = may ? r.places() : 1;
  if (most == 1 || !can_keep(operands.all())) return;
  const double slowdown = policy.fixed ? 1 : learned.dealt.at(decision.calls);
  // Other places are taken to keep as much of their parts as the first one keeps of all.
  const Kept copies = kept(problem, operands);
  const auto seconds_with = [&](double share, int places) {
    std::vector<double> seconds;
    for (const Problem& part : parts(places))
      seconds.push_back(slowdown * cost_at(r.first, policy, part, share * part.bytes_in).seconds);
    return seconds;
  };
  const auto seconds_of = [&](int places) { return seconds_with(copies.now, places); };
  Dealt dealt{1, decision.device_seconds};
  if (policy.forced) {
    const std::vector<double> seconds = seconds_of(most);
    dealt = {std::max(1, std::min(most, static_cast<int>(seconds.size()))), dealt_seconds(seconds, most)};
  } else {
    dealt = choose_places(decision.device_seconds, most, seconds_of);
    // With all copies at the first place it may be better off there: then that has to get them.
    if (dealt.places > 1 && copies.at_most > copies.now) {
      const double alone = cost_at(r.first, policy, problem, copies.at_most * problem.bytes_in).seconds,
                   together = dealt_seconds(seconds_with(copies.at_most, dealt.places), dealt.places);
      if (alone <= std::min(dealt.seconds, together)) return;
    }
  }
  if (dealt.places == 1) return;
  const int ready = ready_places(r, policy, dealt.places, decision.device_seconds - dealt.seconds);
  if (ready == 1) return;
  decision.places = ready;
  decision.device_seconds = ready == dealt.places ? dealt.seconds : dealt_seconds(seconds_of(ready), ready);
  decision.slowdown = slowdown;
}

namespace {

/// Who takes which part, and whether all have ended.  It outlives the call if a handler of the program's has left that
/// by a jump.
struct Deal {
  Deal(Runtime& its_runtime, int all, int of_places, std::function<bool(Place&, int)> its_job)
      : runtime(its_runtime), count(all), job(std::move(its_job)), next(std::min(all, of_places)) {}

  void work(Place& place) {
    for (int part = place.number < count ? place.number : -1; part >= 0; part = take())
      if (!job(place, part)) break;
  }

  int take() {
    std::lock_guard lock(mutex);
    return next < count ? next++ : -1;
  }
  void begin() {
    std::lock_guard lock(mutex);
    ++working;
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

  Runtime& runtime;
  const int count;
  const std::function<bool(Place&, int)> job;
  std::mutex mutex;
  std::condition_variable ended;
  int next;
  int working = 0;
};

}  // namespace

void at_places(Runtime& r, int places, int count, std::function<bool(Place&, int number)> job) {
  const auto deal = std::make_shared<Deal>(r, count, places, std::move(job));
  for (int number = 1; number < std::min(places, count); ++number) {
    deal->begin();
    bool given = false;
    try {
      Place& place = r.place(number);
      given = place.worker.give("blaslift-place", [deal, &place] {
        thread_state.inside = &thread_state;
        deal->work(place);
        deal->end();
      });
    } catch (const std::exception&) {  // no memory for that
    }
    if (!given) deal->end();  // its part is left
  }
  deal->work(r.first);
  deal->await();
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
    all.bytes_spared += part.bytes_spared;
    all.reused = std::max(all.reused, part.reused);
    all.transfers.add(part.transfers);
    if (part.levels > all.levels) all.levels = part.levels, all.tile = part.tile;
    same_way = same_way && part.way != 0;
    all.way = with_numbers(all.way, part.way);
  }
  if (!same_way) all.way = 0;
  return all;
}

}  // namespace blaslift
