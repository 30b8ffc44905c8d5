#include "tools/cli/measure.hpp"

#include <cmath>
#include <cstdio>

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

}  // namespace

void print_measurement(const Finished& finished) {
  const double wall = finished.wall_seconds;
  std::fprintf(stderr, "blaslift: measured %.3f s, %d process%s with BLAS or LAPACK calls of the kinds intercepted\n",
               wall, finished.summary.processes, finished.summary.processes == 1 ? "" : "es");
  if (finished.processes.empty()) return;
  std::fprintf(stderr, "blaslift: library underneath: %s (%d-bit integers)\n", finished.processes.front()->library.get(),
               finished.processes.front()->library_wide ? 64 : 32);
  std::fprintf(stderr, "\n  %-18s %10s %10s %7s %9s %12s %10s\n", "routine, flops", "calls", "own time s", "% run",
               "Gflop/s", "GPU wins, s", "GPU's s");
  Row all;
  for (int r = 0; r < routine_count; ++r) {
    Row total, classes[size_classes];
    for (const Counters* process : finished.processes)
      for (int i = 0; i < size_classes; ++i) {
        classes[i].add(process->sizes[r][i]);
        total.add(process->sizes[r][i]);
      }
    if (total.calls == 0) continue;
    print(routine_names[r], total, wall, !calls_others(r));
    for (int i = 0; i < size_classes; ++i) {
      if (classes[i].calls == 0) continue;
      char name[32];
      if (i == 0)
        std::snprintf(name, sizeof name, "  below %.0e", std::pow(4.0, 3));
      else
        std::snprintf(name, sizeof name, "  from %.0e", std::pow(4.0, i + 2));
      print(name, classes[i], wall, !calls_others(r));
    }
    all.seconds += total.seconds;
    all.offloadable += total.offloadable;
    all.device += total.device;
  }
  std::fprintf(
      stderr,
      "\nblaslift: %.1f %% of the run is spent there; a GPU would take %.3f s of it in %.3f s (transfers included,\n"
      "blaslift: by the profile's rates): the run would take %.3f s instead of %.3f s\n",
      100 * all.seconds / wall, all.offloadable, all.device, wall - all.offloadable + all.device, wall);
}

}  // namespace blaslift::cli
