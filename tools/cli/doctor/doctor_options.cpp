// `blaslift doctor` on the command line.
#include <cstdio>

#include "tools/cli/doctor/commands.hpp"
#include "tools/cli/doctor/doctor.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {
namespace {

struct Examination {
  Variables variables;
  bool runs = false, asks_python = false;
  std::string json;
};

int examine(const Examination& how, const Words& program) {
  if (!how.runs && !how.variables.empty()) throw UsageError("these options need --run");
  const Diagnosis diagnosis =
      how.runs ? diagnose_by_running(program, how.variables) : diagnose(program, how.asks_python);
  if (how.json != "-") std::fputs(to_text(diagnosis).c_str(), stdout);
  if (how.json == "-")
    std::printf("%s\n", to_json(diagnosis).c_str());
  else if (!how.json.empty() && !write_file(how.json, to_json(diagnosis) + '\n'))
    return 125;
  return static_cast<int>(diagnosis.verdict);
}

}  // namespace

void add_doctor(Command& blaslift) {
  Command command = blaslift.command("doctor", "say why a program's calls are intercepted, or are not", Program::first);
  const auto how = std::make_shared<Examination>();
  command.flag("--run", how->runs, "run the program, and report what it really called")
      .flag("--ask-python", how->asks_python,
            "of a Python, look at its NumPy and SciPy, too: it is run to say where they are")
      .option("--json", "FILE", how->json, "write what was found to this file, too (-: to standard output, instead)");
  add_variables(command, how->variables);
  command.runs([how](const Words& program) { return examine(*how, program); });
}

}  // namespace blaslift::cli
