// blaslift: the command around the library.
#include "tools/cli/describe.hpp"
#include "tools/cli/doctor/commands.hpp"
#include "tools/cli/info.hpp"
#include "tools/cli/launch/commands.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/measure/commands.hpp"
#include "tools/cli/report/commands.hpp"
#include "tools/cli/tune/commands.hpp"
#include "tools/cli/verify/commands.hpp"

namespace {

/// As main(), without seeing to what is still on its way to standard output.
int command_line(int argc, char** argv) {
  using namespace blaslift::cli;
  Command blaslift("blaslift: run programs with their BLAS and LAPACK on the GPU", BLASLIFT_VERSION);
  add_run(blaslift);
  add_measure(blaslift);
  add_report(blaslift);
  add_doctor(blaslift);
  add_env(blaslift);
  add_verify(blaslift);
  add_info(blaslift);
  add_tune(blaslift);
  add_completion(blaslift);
  add_manual(blaslift);
  return blaslift.run(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  const int status = command_line(argc, argv);
  return blaslift::cli::flush_output() ? status : 125;
}
