#include "tools/cli/measure/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "compat/shown.hpp"
#include "impl/route/built_in_profiles.hpp"
#include "impl/route/profile.hpp"
#include "tools/cli/measure/commands.hpp"
#include "tools/cli/measure/prospect.hpp"
#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {
namespace {

struct Row {
  double calls = 0, flops = 0, seconds = 0, offloadable = 0, device = 0;

  void add(const SizeCounters& c) {
    calls += static_cast<double>(c.calls.load());
    flops += static_cast<double>(c.flops.load());
    seconds += 1e-9 * static_cast<double>(c.ns.load());
    offloadable += 1e-9 * static_cast<double>(c.offloadable_ns.load());
    device += 1e-9 * static_cast<double>(c.device_ns.load());
  }
};

bool calls_others(int routine) {  // its own time is not the time of its flops
  switch (static_cast<Routine>(routine)) {
#define LAPACK(kind, name, type) case Routine::name:
#include "api/routines.def"
    return true;
    default: return false;
  }
}

void print(const char* name, const Row& row, double wall, bool rate) {
  std::fprintf(stderr, "  %-18s %10.0f %10.3f %7.1f", name, row.calls, row.seconds, 100 * row.seconds / wall);
  if (rate && row.seconds > 0)
    std::fprintf(stderr, " %9.2f", row.flops / row.seconds * 1e-9);
  else
    std::fprintf(stderr, " %9s", "-");
  if (row.offloadable > 0)
    std::fprintf(stderr, " %12.3f %10.3f\n", row.offloadable, row.device);
  else
    std::fprintf(stderr, " %12s %10s\n", "-", "-");
}

/// The routines that blaslift does not intercept, by own time.  Returns their own time in seconds.
double print_others(const Finished& finished, double wall) {
  constexpr std::size_t most_rows = 12;
  std::vector<std::pair<double, int>> order;
  std::vector<Row> rows(other_count);
  Row rest;
  double seconds = 0;
  for (int i = 0; i < other_count; ++i) {
    Row& row = rows[static_cast<std::size_t>(i)];
    for (const OtherCounters* process : finished.others) {
      row.calls += static_cast<double>(process->routines[i].calls.load());
      row.seconds += 1e-9 * static_cast<double>(process->routines[i].own_ns.load());
    }
    seconds += row.seconds;
    if (row.calls > 0) order.emplace_back(-row.seconds, i);
  }
  std::sort(order.begin(), order.end());
  if (!order.empty()) std::fprintf(stderr, "  not intercepted:\n");
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Row& row = rows[static_cast<std::size_t>(order[i].second)];
    if (i < most_rows)
      print(other_names[order[i].second], row, wall, false);
    else
      rest.calls += row.calls, rest.seconds += row.seconds;
  }
  if (rest.calls > 0) print("others", rest, wall, false);
  return seconds;
}

}  // namespace

void print_measurement(const Finished& finished, const MeasuringRates& rates) {
  const double wall = finished.wall_seconds;
  Row all;
  std::fprintf(stderr, "blaslift: measured %.3f s", wall);
  const bool some_missing = !finished.summary.uncounted.empty();
  const auto say_what_is_missing = [&finished] {
    for (const std::string& what : finished.summary.uncounted) std::fprintf(stderr, "blaslift: %s\n", what.c_str());
  };
  if (finished.processes.empty() && finished.others.empty()) {
    std::fprintf(stderr, some_missing ? "\n" : ", without a call to BLAS or LAPACK\n");
    return say_what_is_missing();
  }
  if (!finished.processes.empty())
    std::fprintf(stderr, " over %s (%d-bit integers)", shown(finished.processes.front()->library.get()).c_str(),
                 finished.processes.front()->library_wide.load(std::memory_order_relaxed) ? 64 : 32);
  std::fprintf(stderr, "\n\n  %-18s %10s %10s %7s %9s %12s %10s\n", "routine, flops", "calls", "own time s", "% run",
               "Gflop/s", "would move, s", "on GPU, s");
  struct Measured {
    int routine;
    Row total, classes[size_classes];
  };
  std::vector<Measured> measured;
  for (int r = 0; r < routine_count; ++r) {
    Measured x{.routine = r, .total = {}, .classes = {}};
    for (const Counters* process : finished.processes)
      for (int i = 0; i < size_classes; ++i) {
        x.classes[i].add(process->sizes[r][i]);
        x.total.add(process->sizes[r][i]);
      }
    if (x.total.calls > 0) measured.push_back(x);
  }
  std::stable_sort(measured.begin(), measured.end(), [](const Measured& a, const Measured& b) {
    return std::max(a.total.seconds, a.total.offloadable) > std::max(b.total.seconds, b.total.offloadable);
  });
  for (const auto& [r, total, classes] : measured) {
    print(routine_names[r], total, wall, !calls_others(r));
    const auto more = std::count_if(std::begin(classes), std::end(classes), [](const Row& x) { return x.calls > 0; });
    for (int i = 0; i < size_classes; ++i) {
      // Sizes that matter: a row for each of all others would hide them.
      constexpr double share = 0.01;
      if (classes[i].calls == 0 || (more > 1 && std::max(classes[i].seconds, classes[i].offloadable) < share * wall))
        continue;
      char name[32];
      if (i == 0)
        std::snprintf(name, sizeof name, "  below %.0e", std::pow(4.0, 2));
      else
        std::snprintf(name, sizeof name, "  from %.0e", std::pow(4.0, i + 1));
      print(name, classes[i], wall, !calls_others(r));
    }
    all.seconds += total.seconds;
  }
  // A call and those inside it count once here.
  for (const Counters* process : finished.processes) {
    all.offloadable += 1e-9 * static_cast<double>(process->offloadable_ns.load());
    all.device += 1e-9 * static_cast<double>(process->on_device_ns.load());
  }
  const double others = print_others(finished, wall);
  std::fprintf(
      stderr,
      "\nblaslift: %.1f %% of the run in routines that blaslift intercepts, %.1f %% in other BLAS and LAPACK.\n"
      "blaslift: A call inside another is in the rows of both, and counts once from here on.\n",
      100 * all.seconds / wall, 100 * others / wall);
  const std::string said = prospect(wall, all.offloadable, all.device, rates.profile.startup_seconds, rates.name);
  for (std::size_t at = 0, end; at < said.size(); at = end + 1) {
    end = said.find('\n', at);
    std::fprintf(stderr, "blaslift: %s\n", said.substr(at, end - at).c_str());
  }
  say_what_is_missing();
}

// ---- on the command line

namespace {

/// By which the program's process predicts.
MeasuringRates rates_of(const Variables& variables) {
  const auto value = [&](const char* name) {
    const auto given = variables.find(name);
    const char* const own = std::getenv(name);
    return given != variables.end() ? given->second : std::string(own ? own : "");
  };
  const bool host = value("BLASLIFT_BACKEND") == "host";
  MeasuringRates rates{built_in_profile(host ? "host" : "sm_90"),
                       host ? "the host backend's built-in rates" : "an H100's built-in rates"};
  if (const std::string file = value("BLASLIFT_PROFILE"); !file.empty()) {
    std::string warnings;  // the library has them
    if (const RatesFile found = find_rates(file, {}, "", "", rates.profile, warnings); !found.used.empty())
      rates.name = "the rates in " + shown(file);
  }
  return rates;
}

[[noreturn]] void measure(Variables variables, const Words& program) {
  variables["BLASLIFT_INTERNAL_MEASURE"] = "on";
  const Finished finished = launch("libblaslift_measure.so", program, variables);
  print_measurement(finished, rates_of(variables));
  end_like(finished.wait_status);
}

}  // namespace

void add_measure(Command& blaslift) {
  Command command = blaslift.command(
      "measure", "record what a program calls, on the CPU, and what share a GPU would do faster", Program::first);
  const auto variables = std::make_shared<Variables>();
  add_variables(command, *variables);
  command.runs([variables](const Words& program) -> int { measure(*variables, program); });
}

}  // namespace blaslift::cli
