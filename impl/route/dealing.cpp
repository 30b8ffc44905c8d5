#include "impl/route/dealing.hpp"

#include <algorithm>
#include <cmath>
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

namespace {

/// A tenth less is: each place takes threads and memory of the host's, and may share its bus.
constexpr double worth_it = 0.9;
bool is_worth_it(double dealt, double alone) { return dealt < worth_it * alone; }

}  // namespace

Dealt choose_places(double alone, int most, const std::function<std::vector<double>(int places)>& of_parts) {
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

std::vector<double> seconds_of_parts(const Problem& call, std::span<const Problem> parts, int places,
                                     const Profile& profile, bool exchanged, double spared,
                                     const std::function<double(const Problem&, double)>& cost) {
  double read = 0;
  for (const Problem& part : parts) read += part.bytes_in;
  const double rounds = std::ceil(static_cast<double>(parts.size()) / places),
               once = exchanged && read > 0 ? std::min(1.0, rounds * call.bytes_in / read) : 1;
  std::vector<double> seconds;
  for (const Problem& part : parts) seconds.push_back(cost(part, (1 - (1 - spared) * once) * part.bytes_in));
  if (seconds.empty()) return seconds;
  const double host_rate = profile.host_rate > 0 ? profile.host_rate : 2 * profile.in_rate,
               moving = ((1 - spared) * call.bytes_in + call.bytes_out) / host_rate,
               longer = moving / dealt_seconds(seconds, places);
  if (longer > 1)
    for (double& x : seconds) x *= longer;
  return seconds;
}

Facts facts_of_rates(const Profile& profile, const strassen::Estimator* estimator) {
  return {.device = DeviceState::ready,
          .profile = &profile,
          .cpu_rate = 1,
          .slowdown = 1,
          .missed_seconds = 0,
          .forked = false,
          .exiting = false,
          .estimator = estimator};
}

namespace {

/// What a call, or a part of one, takes at an open place, and how the place goes about it.
Cost cost_at(const Place& place, const Policy& policy, const Problem& problem, double spared) {
  const Family& family = family_of(problem.routine);
  const Profile& profile = place.device.profile();
  Facts facts =
      facts_of_rates(profile, problem.element == Element::w ? nullptr : place.device.estimator(problem.precision()));
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

/// Whether a call is dealt out whatever is predicted: for tests, which say over how many devices.
bool is_forced(const Runtime& r, const Policy& policy) { return policy.forced && r.options.devices != 0; }

/// Whether a call is worth opening so many further places: as the first one's is, their devices are bought once what
/// they would have saved has reached their price.
bool buys_places(Runtime& r, const Policy& policy, int unopened, double saving) {
  if (policy.fixed || is_forced(r, policy)) return true;
  double missed = r.missed_by_dealing.load(std::memory_order_relaxed);
  while (!r.missed_by_dealing.compare_exchange_weak(missed, missed + saving, std::memory_order_relaxed)) {
  }
  return missed + saving >= unopened * policy.eagerness.start_up * r.first.device.profile().startup_seconds;
}

/// How many of the first so many places are there, those opened that are worth it.  By the calling thread: it may hold
/// the loader's lock, which opening takes.
int ready_places(Runtime& r, const Policy& policy, int places, double saving) {
  bool bought = false;
  for (int i = 1; i < places; ++i) {
    Place& place = r.place(i);
    if (place.device.state() == DeviceState::ready) continue;
    const bool waits = policy.fixed || is_forced(r, policy);
    if (place.device.state() == DeviceState::opening && !waits) return i;
    if (!bought && !buys_places(r, policy, places - i, saving)) return i;
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
    if (x.reusable() && x.known.keepable) reusable += x.counted(x.stored.bytes());
  return {std::min(1.0, operands.spared() / problem.bytes_in), std::min(1.0, reusable / problem.bytes_in)};
}

}  // namespace

SecondsOfParts seconds_apart(Runtime& r, const Policy& policy, const Problem& problem,
                             std::function<std::vector<Problem>(int places)> parts) {
  return [&r, policy, problem, parts = std::move(parts)](int places, double spared) {
    const Device& device = r.first.device;
    return seconds_of_parts(
        problem, parts(places), places, device.profile(), device.backend().facts().exchanges, spared,
        [&](const Problem& part, double kept) { return cost_at(r.first, policy, part, kept).seconds; });
  };
}

SecondsOfParts seconds_together(Runtime& r, const Problem& problem) {
  return [&r, problem](int places, double) {
    const Device& device = r.first.device;
    const Family& family = family_of(problem.routine);
    const DeviceFacts& facts = device.backend().facts();
    if (!facts.exchanges) return std::vector<double>();
    std::size_t memory = facts.memory;  // of the one that has least, of those that are open
    for (int i = 1; i < places; ++i)
      if (const Device& other = r.place(i).device; other.state() == DeviceState::ready)
        memory = std::min(memory, other.backend().facts().memory);
    const std::optional<double> seconds = family.together(problem, device.profile(), places, memory);
    return seconds ? std::vector<double>(static_cast<std::size_t>(places), *seconds) : std::vector<double>();
  };
}

void deal(Runtime& r, const Learned& learned, const Policy& policy, const Problem& problem, const Operands& operands,
          Decision& decision, bool keeps_result, const SecondsOfParts& seconds_of_parts) {
  const bool may = decision.route == Route::device && decision.reason != Reason::device_memory &&
                   decision.reason != Reason::trial && decision.reason != Reason::reuse && !problem.trivial &&
                   !operands.in_device_memory();
  const int most = may ? r.places() : 1;
  // All places would find the same memory free for what their parts overwrite.
  if (most == 1 || (keeps_result && !policy.fixed && !can_keep(operands.all()))) return;
  const double slowdown = policy.fixed ? 1 : learned.dealt.at(decision.calls);
  // Other places are taken to keep as much of their parts as the first one keeps of all.
  const Kept copies = kept(problem, operands);
  const auto seconds_with = [&](double share, int places) {
    std::vector<double> seconds = seconds_of_parts(places, share);
    for (double& x : seconds) x *= slowdown;
    return seconds;
  };
  const auto seconds_of = [&](int places) { return seconds_with(copies.now, places); };
  Dealt dealt{1, decision.device_seconds};
  const bool forced = is_forced(r, policy);
  if (forced) {
    for (int places = most; places > 1 && dealt.places == 1; --places)  // it may not fall into so many parts
      if (const std::vector<double> seconds = seconds_of(places); seconds.size() > 1)
        dealt = {std::min(places, static_cast<int>(seconds.size())), dealt_seconds(seconds, places)};
  } else {
    dealt = choose_places(decision.device_seconds, most, seconds_of);
    // With all copies at the first place it may be better off there: then that has to get them.
    if (dealt.places > 1 && copies.at_most > copies.now) {
      const double alone =
                       decision.slowdown * cost_at(r.first, policy, problem, copies.at_most * problem.bytes_in).seconds,
                   together = dealt_seconds(seconds_with(copies.at_most, dealt.places), dealt.places);
      if (alone <= std::min(dealt.seconds, together)) return;
    }
  }
  if (dealt.places == 1) return;
  const int ready = ready_places(r, policy, dealt.places, decision.device_seconds - dealt.seconds);
  if (ready < dealt.places) {
    const std::vector<double> seconds = seconds_of(ready);
    if (seconds.size() < 2) return;
    dealt = {ready, dealt_seconds(seconds, ready)};
  }
  if (ready == 1 || (!forced && !policy.fixed && !is_worth_it(dealt.seconds, decision.device_seconds))) return;
  decision.places = ready;
  decision.device_seconds = dealt.seconds;
  decision.slowdown = slowdown;
}

namespace {

/// Who takes which part, and whether all have ended.  It outlives the call: a worker may find out late that nothing is
/// left for it, and a handler of the program's may leave the call by a jump.
class Deal {
 public:
  Deal(int all, std::function<bool(Place&, int)> job)
      : job_(std::move(job)), parts_(static_cast<std::size_t>(all), Part::open) {}

  /// The place that has the part's number will begin with it, or nobody does.
  void reserve(int part) { set(part, Part::open, Part::reserved); }
  void give_up(int part) { set(part, Part::reserved, Part::open); }

  void work(Place& place) {
    for (int part = take(place.number); part >= 0;) {
      place.computes_part.store(true, std::memory_order_relaxed);
      const bool goes_on = job_(place, part);
      place.computes_part.store(false, std::memory_order_relaxed);
      set(part, Part::begun, Part::ended);  // after that, so that the caller's next call finds the worker free
      part = goes_on ? take(place.number) : -1;
    }
  }

  /// Until what is reserved or has been begun has ended; nothing is begun any more.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.wait(lock, [this] {
      return std::none_of(parts_.begin(), parts_.end(), [](Part x) { return x == Part::reserved || x == Part::begun; });
    });
  }

 private:
  enum class Part : std::uint8_t { open, reserved, begun, ended };

  /// The place's own part first, then what is nobody's; -1: there is none.
  int take(int place) {
    std::lock_guard lock(mutex_);
    const auto own = parts_.begin() + std::min<std::ptrdiff_t>(place, std::ssize(parts_));
    const bool has_own = own != parts_.end() && *own == Part::reserved;
    const auto next = has_own ? own : closed_ ? parts_.end() : std::find(parts_.begin(), parts_.end(), Part::open);
    if (next == parts_.end()) return -1;
    *next = Part::begun;
    return static_cast<int>(next - parts_.begin());
  }

  void set(int part, Part from, Part to) {
    std::lock_guard lock(mutex_);
    Part& state = parts_[static_cast<std::size_t>(part)];
    if (state == from) state = to;
    changed_.notify_all();
  }

  const std::function<bool(Place&, int)> job_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  bool closed_ = false;
};

}  // namespace

void at_places(Runtime& r, int places, int count, std::function<bool(Place&, int number)> job) {
  const auto deal = std::make_shared<Deal>(count, std::move(job));
  deal->reserve(0);
  for (int number = 1; number < std::min(places, count); ++number) {
    bool given = false;
    try {
      Place& place = r.place(number);
      // It may be there for good, if a handler of the program's has left the gang's call by a jump.
      if (place.in_gang.load(std::memory_order_relaxed)) continue;
      // What a worker cannot begin at once is anybody's.
      if (!place.computes_part.load(std::memory_order_relaxed)) deal->reserve(number);
      given = place.worker.give("blaslift-place", [deal, &place] {
        thread_state.inside = &thread_state;
        deal->work(place);
      });
    } catch (const std::exception&) {  // no memory for that
    }
    if (!given) deal->give_up(number);
  }
  deal->work(r.first);
  deal->close();
}

void at_all_places(Runtime& r, int places, std::function<void(Place&, int number)> job,
                   const std::function<void(int number)>& missing) {
  struct Shared {
    std::function<void(Place&, int number)> job;
    std::mutex mutex{};
    std::condition_variable changed{};
    int working = 0;
  };
  const auto shared = std::make_shared<Shared>();
  shared->job = std::move(job);
  shared->working = places - 1;
  const auto end = [](Shared& s) {
    const std::lock_guard lock(s.mutex);
    --s.working;
    s.changed.notify_all();
  };
  for (int number = 1; number < places; ++number) {
    bool given = false;
    Place& place = r.place(number);  // which is open
    place.in_gang.store(true, std::memory_order_relaxed);
    try {
      given = place.worker.give("blaslift-place", [shared, end, &place] {
        thread_state.inside = &thread_state;
        shared->job(place, place.number);
        place.in_gang.store(false, std::memory_order_relaxed);
        end(*shared);
      });
    } catch (const std::exception&) {  // no memory for that
    }
    if (!given) place.in_gang.store(false, std::memory_order_relaxed);
    if (!given) missing(number), end(*shared);
  }
  shared->job(r.first, 0);
  std::unique_lock lock(shared->mutex);
  shared->changed.wait(lock, [&] { return shared->working == 0; });
}

Ending combined(const Decision& decision, std::span<const Ending> parts) {
  Ending all{.reason = decision.reason, .computed = true, .as_predicted = true};
  bool same_way = true;
  for (const Ending& part : parts) {
    if (part.reason == Reason::failed) all.reason = Reason::failed;
    all.as_predicted = all.as_predicted && part.as_predicted;
    all.distrusted = all.distrusted || part.distrusted;
    all.residues = all.residues || part.residues;
    all.systolic = all.systolic || part.systolic;
    all.bytes_in += part.bytes_in;
    all.bytes_out += part.bytes_out;
    all.bytes_spared += part.bytes_spared;
    all.bytes_exchanged += part.bytes_exchanged;
    all.reused = std::max(all.reused, part.reused);
    all.transfers.add(part.transfers);
    if (part.levels > all.levels) all.levels = part.levels, all.tile = part.tile;
    same_way = same_way && part.way != 0;
    all.way = with_numbers(all.way, part.way);
  }
  if (!same_way) all.way = 0;
  if (all.bytes_spared > 0) all.as_predicted = false;  // only the first place's copies were looked at
  return all;
}

}  // namespace blaslift
