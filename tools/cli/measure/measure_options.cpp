// `blaslift measure` on the command line.
#include "tools/cli/measure/commands.hpp"
#include "tools/cli/measure/measure.hpp"
#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {
namespace {

[[noreturn]] void measure(Variables variables, const Words& program) {
  variables["BLASLIFT_INTERNAL_MEASURE"] = "on";
  const Finished finished = launch("libblaslift_measure.so", program, variables);
  print_measurement(finished);
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
