#include "tools/cli/measure/prospect.hpp"

#include <cstdio>

namespace blaslift::cli {
namespace {

template <class... Values>
std::string text(const char* format, Values... values) {
  char line[256];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

}  // namespace

std::string prospect(double run, double cpu, double gpu, double start, const std::string& rates) {
  if (cpu <= 0) return "A GPU would do none of these calls faster, transfers included, by " + rates + ".\n";
  std::string said =
      text("A GPU would do %.3f s of the run in %.3f s, transfers included, by ", cpu, gpu) + rates + ".\n";
  if (cpu > run)
    return said +
           "Calls of several threads or processes overlapped: what a GPU would take together with them is not "
           "predicted.\n";
  if (cpu - gpu <= start)
    return said + text("But it takes %.2f s to start one: this run is too short to gain.\n", start);
  return said + text("With %.2f s to start it, the run would take %.3f s instead of %.3f s.\n", start,
                     run - cpu + gpu + start, run);
}

}  // namespace blaslift::cli
