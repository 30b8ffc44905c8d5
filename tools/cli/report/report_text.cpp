#include "tools/cli/report/report_text.hpp"

#include <algorithm>
#include <cmath>

#include "compat/shown.hpp"
#include "tools/cli/report/quantities.hpp"

namespace blaslift::cli {
namespace {

constexpr int bar_width = 40;

struct Part {
  char letter;
  double value;
};

/// "###==" with `scale` as the longest.  What is no share of it, as counters and trace that do not belong together may
/// say, takes no room.
std::string bar(std::initializer_list<Part> parts, double scale) {
  std::string text;
  double so_far = 0;
  for (const Part& part : parts) {
    so_far += part.value;
    const double share = so_far / scale;
    const auto end = share > 0 ? static_cast<std::size_t>(std::lround(bar_width * std::min(1.0, share))) : 0;
    if (end > text.size()) text.append(end - text.size(), part.letter);
  }
  return text;
}

std::string heading(const char* text) { return std::string("\n") + text + "\n"; }

std::string times(const Analysis& a) {
  double longest = 0;
  for (const auto& [routine, x] : a.routines) longest = std::max(longest, x.cpu_seconds + x.device_seconds);
  if (longest == 0) return {};
  std::string text = heading("Time by routine: # on the CPU, = on the device while nothing moved, ~ while bytes moved");
  for (const auto& [routine, x] : a.routines) {
    if (x.cpu_seconds + x.device_seconds == 0) continue;
    text += format("  %-8s %10s %10s %10s  %s\n", routine_names[static_cast<int>(routine)],
                   in_seconds(x.cpu_seconds).c_str(), in_seconds(x.device_alone_seconds()).c_str(),
                   in_seconds(x.bus_seconds).c_str(),
                   bar({{'#', x.cpu_seconds}, {'=', x.device_alone_seconds()}, {'~', x.bus_seconds}}, longest).c_str());
  }
  return text;
}

std::string sizes(const Analysis& a) {
  std::uint64_t most = 0;
  for (const SizeAccount& x : a.sizes) most = std::max(most, x.cpu_calls + x.device_calls);
  if (most == 0) return {};
  std::string text = heading("Recorded calls by size: # on the CPU, = on the device");
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const SizeAccount& x = a.sizes[i];
    if (x.cpu_calls + x.device_calls == 0) continue;
    text += format("  %-18s %9s %10s  %s\n", name_of_size(i).c_str(), in_digits(x.cpu_calls + x.device_calls).c_str(),
                   in_seconds(x.cpu_seconds + x.device_seconds).c_str(),
                   bar({{'#', static_cast<double>(x.cpu_calls)}, {'=', static_cast<double>(x.device_calls)}},
                       static_cast<double>(most))
                       .c_str());
  }
  return text;
}

std::string reasons(const Analysis& a) {
  if (a.reasons.empty()) return {};
  std::string text = heading("Why calls stayed on the CPU, and what they would save on the device, by prediction");
  text += format("  %-36s %9s %10s  %12s  %12s\n", "", "calls", "time", "as they are", "operands there");
  for (const auto& [reason, x] : a.reasons) {
    const auto saved = [](const ReasonAccount::Gain& g) { return g.calls ? in_seconds(g.saved()) : std::string("-"); };
    text +=
        format("  %-36s %9s %10s  %12s  %12s\n", text_of(reason), in_digits(x.calls).c_str(),
               x.recorded ? in_seconds(x.seconds).c_str() : "-", saved(x.moving).c_str(), saved(x.resident).c_str());
  }
  return text;
}

std::string copies(const Analysis& a) {
  double in = 0, out = 0, spared = 0;
  std::uint64_t reused = 0, reusing = 0;
  for (const auto& [routine, x] : a.routines) {
    in += x.bytes_in;
    out += x.bytes_out;
    spared += x.bytes_spared;
    reused += x.reused;
    reusing += x.reusing;
  }
  if (in + out + spared == 0) return {};
  std::string text = heading("Over the bus");
  text += "  " + in_bytes(in) + " to the device, " + in_bytes(out) + " back; " + in_bytes(spared) +
          " spared: " + in_digits(reused) + " operands of " + in_calls(reusing) + " were there already\n";
  if (!a.run.summary.residency.empty()) text += "  copies kept between calls: " + shown(a.run.summary.residency) + "\n";
  return text;
}

}  // namespace

std::string name_of_size(std::size_t i) {
  return i == 0 ? "below 16 flop" : "from " + in_flops(std::pow(4.0, static_cast<double>(i) + 1));
}

std::vector<std::string> gaps_of(const Analysis& a) {
  std::vector<std::string> gaps;
  if (const auto calls = a.calls_not_recorded())
    gaps.push_back(in_calls(calls) + (calls == 1 ? " was" : " were") +
                   " counted but not recorded: too small to be timed, or refused" +
                   (a.dropped ? ", or the trace was full" : ""));
  if (a.dropped) gaps.push_back("the trace was full: " + in_digits(a.dropped) + " events were dropped");
  if (a.unfinished) gaps.push_back(in_digits(a.unfinished) + " were being written when a process ended");
  for (const std::string& problem : a.run.problems) gaps.push_back(problem);
  return gaps;
}

std::vector<std::string> share_of(const Analysis& a) {
  const auto times = [&](double seconds) {
    return seconds > 0 && a.seconds > 0 ? format(" (%.2f times as fast)", a.seconds / seconds) : std::string();
  };
  if (a.cpu_union_seconds == 0) return {"No recorded call stayed on the CPU."};
  const double as_they_are = a.seconds_with(&ReasonAccount::moving),
               resident = a.seconds_with(&ReasonAccount::resident);
  return {"A recorded call was on the CPU for " + in_seconds(a.cpu_union_seconds) + " of the " + in_seconds(a.seconds) +
              " from the first call to the end of the last.",
          "With every call on the device that gains there, transfers included: " + in_seconds(as_they_are) +
              times(as_they_are) + ".",
          "The same with operands already there and results that stay: " + in_seconds(resident) + times(resident) + ".",
          "If calls on the CPU took no time at all (Amdahl's bound): " + in_seconds(a.least_seconds()) +
              times(a.least_seconds()) + ".",
          "Predicted by " + a.profile_name +
              ", without the time to open the device; overlapping calls are assumed to shrink alike."};
}

std::string report_text(const Analysis& a) {
  std::string text;
  const std::size_t processes = a.run.processes.size();
  const std::uint64_t missing = std::min(a.calls, a.calls_not_recorded());
  text += "blaslift: recorded " + (missing ? in_digits(a.calls - missing) + " of " : std::string()) +
          in_calls(a.calls) + " in " + in_seconds(a.seconds) + ", " + in_digits(processes) +
          (processes == 1 ? " process" : " processes") + ": " + shown(a.run.processes.front().arguments) + "\n" +
          to_text(a.run.summary);
  text += times(a) + sizes(a) + reasons(a) + copies(a) + heading("What a bigger share would bring");
  for (const std::string& line : share_of(a)) text += "  " + shown(line) + "\n";
  if (a.opening_seconds > 0) text += "  Opening the device took " + in_seconds(a.opening_seconds) + ".\n";
  if (const auto gaps = gaps_of(a); !gaps.empty()) {
    text += heading("Missing");
    for (const std::string& gap : gaps) text += "  " + shown(gap) + "\n";
  }
  return text;
}

}  // namespace blaslift::cli
