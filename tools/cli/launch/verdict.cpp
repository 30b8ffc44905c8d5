#include "tools/cli/launch/verdict.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <vector>

#include "impl/route/family.hpp"

namespace blaslift::cli {
namespace {

/// Calls of one routine that stayed for one reason.
struct Stayed {
  const char* routine;
  Reason reason;
  std::uint64_t calls;
  double seconds;
  bool of_host;  ///< no device computes it
};

/// Those that took longest first, then the most.
std::vector<Stayed> stayed_calls(const Summary& summary) {
  std::vector<Stayed> all;
  for (std::size_t r = 0; r < routine_count; ++r)
    for (std::size_t i = 0; i < reason_count; ++i)
      if (const auto& x = summary.routines[r]; x.stayed[i] > 0)
        all.push_back({routine_names[r], static_cast<Reason>(i), x.stayed[i], x.stayed_seconds[i],
                       family_of(static_cast<Routine>(r)).of_host});
  std::stable_sort(all.begin(), all.end(), [](const Stayed& a, const Stayed& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.calls > b.calls;
  });
  return all;
}

/// For which most of the CPU's time was spent, all routines together; of equal ones the most calls.  Queries compute
/// nothing, and are a reason only where there is no other.
Reason main_reason(const Summary& summary) {
  std::array<std::tuple<bool, double, std::uint64_t>, reason_count> by_reason{};
  for (const Summary::PerRoutine& x : summary.routines)
    for (std::size_t i = 0; i < reason_count; ++i) {
      auto& [computes, seconds, calls] = by_reason[i];
      seconds += x.stayed_seconds[i], calls += x.stayed[i];
      computes = calls > 0 && static_cast<Reason>(i) != Reason::query;
    }
  return static_cast<Reason>(std::max_element(by_reason.begin(), by_reason.end()) - by_reason.begin());
}

/// Why a run's calls stayed, as the end of a sentence.
std::string because(Reason reason) {
  switch (reason) {
    case Reason::small: return "the calls were too small";
    case Reason::transfers: return "it would have gained nothing";
    case Reason::startup: return "what it would have saved does not pay for its start-up";
    case Reason::modest: return "it would have gained too little for BLASLIFT_LEVEL";
    case Reason::no_device: return "there was no usable one";
    case Reason::off: return "blaslift was switched off";
    case Reason::busy: return "other processes kept it busy, and BLASLIFT_YIELD is on";
    case Reason::helped: return "copies gain by several of the CPU's threads";
    case Reason::forked: return "the calls came from forked children";
    default: return text_of(reason);
  }
}

/// Why the time of the CPU alone is not known; empty if it is.
std::string no_estimate(const Summary& run, double wall_seconds, double saved) {
  if (!run.uncounted.empty()) return "calls are missing";
  if (run.processes > 1) return std::to_string(run.processes) + " processes made calls";
  if (run.threads > 1) return "several threads made calls";
  if (!(wall_seconds > 0 && wall_seconds + saved > 0)) return "the predictions contradict the clock";
  return {};
}

/// What may be done about it; empty: nothing that a user could do.
std::string remedy(const Stayed& x, const Summary& summary) {
  switch (x.reason) {
    case Reason::startup:  // of many processes each would start it
      return summary.processes > 1
                 ? ""
                 : "since the GPU's start-up was not earned: a higher --level starts it sooner, --start early with the "
                   "program";
    case Reason::modest: return "since they gain too little for BLASLIFT_LEVEL: --level 3 sends all that gain";
    case Reason::transfers:
      return "since the GPU would have gained nothing: larger calls gain, or several on the same data; "
             "blaslift report shows sizes";
    case Reason::small: return "in calls too small for a GPU: fewer and larger ones gain";
    case Reason::no_device: return "without a GPU: blaslift measure estimates what one would gain";
    case Reason::no_route:
      return summary.backend == "cuda" ? "since the GPU's libraries cannot: install cuSOLVER, or a newer one" : "";
    case Reason::no_room: return "since it did not fit on the GPU: --memory gives it more of the card";
    case Reason::forked:
      return "in children that were forked after the GPU was started, which cannot use it: start them as new programs "
             "(in Python, multiprocessing's spawn)";
    case Reason::traps: return "since floating-point traps are on: build without them (gfortran: without -ffpe-trap)";
    default: return {};
  }
}

}  // namespace

std::string verdict(const Summary& run, double wall_seconds) {
  if (run.calls() == 0) return {};
  const char* device = run.backend == "host" ? "the host backend" : "the GPU";
  std::uint64_t routed = 0;
  double saved = -run.opening_seconds;
  for (const Summary::PerRoutine& x : run.routines) routed += x.routed, saved += x.saved_seconds;
  char text[200];
  if (routed == 0 && !run.uncounted.empty())
    return std::string("calls are missing; none that was counted ran on ") + device;
  if (routed == 0) return std::string("nothing ran on ") + device + ": " + because(main_reason(run));
  if (const std::string why = no_estimate(run, wall_seconds, saved); !why.empty()) {
    std::snprintf(text, sizeof text, "%llu call%s ran on %s; the gain cannot be estimated, as ",
                  static_cast<unsigned long long>(routed), routed == 1 ? "" : "s", device);
    return text + why;
  }
  const double alone = wall_seconds + saved, times = alone / wall_seconds;
  char how[48] = "about as fast as";
  if (times <= 0.95)
    std::snprintf(how, sizeof how, "slower than");
  else if (times >= 1.05)
    std::snprintf(how, sizeof how, "about %.*f times as fast as", times < 10, times);
  std::snprintf(text, sizeof text, "%s on the CPU alone, by estimate: %.3g s instead of %.3g s", how, wall_seconds,
                alone);
  return text;
}

std::string advice(const Summary& run, double wall_seconds) {
  constexpr double large_share = 0.1, worth_a_line = 0.05;  // of the run; seconds
  for (const Stayed& x : stayed_calls(run)) {
    if (x.seconds < std::max(large_share * wall_seconds, worth_a_line)) break;
    const std::string what = x.of_host ? "" : remedy(x, run);
    if (what.empty()) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%s took %.3g s on the CPU, ", x.routine, x.seconds);
    return text + what;
  }
  return {};
}

}  // namespace blaslift::cli
