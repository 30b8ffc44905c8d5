// `blaslift verify`, and `replay` of what it keeps, on the command line.
#include "impl/core/options.hpp"
#include "tools/cli/parser/variables.hpp"
#include "tools/cli/verify/call_replay.hpp"
#include "tools/cli/verify/commands.hpp"
#include "tools/cli/verify/verify.hpp"

namespace blaslift::cli {
namespace {

struct Verifying {
  Verification how;
  std::string call;  ///< the file of a kept one
  Variables variables;
};

/// Of both verify and replay.
void add_verification(Command& command, Verifying& verifying) {
  Verification& how = verifying.how;
  constexpr std::string_view variables[] = {"BLASLIFT_BACKEND",   "BLASLIFT_FORCE",    "BLASLIFT_DECISION",
                                            "BLASLIFT_RESIDENCY", "BLASLIFT_STRASSEN", "BLASLIFT_QR",
                                            "BLASLIFT_MEMORY",    "BLASLIFT_FALLBACK", "BLASLIFT_PROFILE"};
  command.option("--subject", "FILE", how.subject, "test this BLAS: the program uses it, and nothing goes to a device")
      .option("--oracle", "FILE", how.oracle,
              "compare with this BLAS, and check every call (default: the library underneath, and those calls that "
              "go to the device)")
      .option("--dump", "DIR", how.dump, "a directory, made if need be, for the first calls that are wrong")
      .option("--json", "FILE", how.json, "write the summary to this file, too")
      .number("--wrong-status", how.wrong_status, 1, 255,
              "exit status if a call was wrong (default " + std::to_string(how.wrong_status) + ")")
      .flag("-q,--quiet", how.quiet, "no summary");
  add_variables(command, verifying.variables, variables);
}

void add_replay(Command& blaslift) {
  Command command = blaslift.command("replay", "make a call again that verification has kept, and check it");
  const auto replaying = std::make_shared<Verifying>();
  command.argument("file", "FILE", replaying->call, Command::Presence::required, "the call")
      .option("--library", "FILE", replaying->how.library,
              "make the call over this BLAS (default: the one that the record names, if it is the system's)")
      .flag("--trust", replaying->how.trust,
            "open the libraries that the record names, which runs their code: for records of your own");
  add_verification(command, *replaying);
  command.runs([replaying](const Words&) -> int { replay(replaying->how, replaying->call, replaying->variables); });
}

/// What `replay` runs as its program.
void add_call(Command& blaslift) {
  Command command = blaslift.command("call", "what replay runs");
  command.hidden();
  const auto calling = std::make_shared<Verifying>();
  command.argument("file", "FILE", calling->call, Command::Presence::required, "the call")
      .option("--library", "FILE", calling->how.library, "make it over this BLAS");
  command.runs([calling](const Words&) {
    return make_call(read_record(calling->call, true), options_with({}).fallback, calling->how.library), 0;
  });
}

}  // namespace

void add_verify(Command& blaslift) {
  Command command = blaslift.command(
      "verify", "run a program, check what blaslift or another BLAS computes for it, and fail if that is wrong",
      Program::first);
  const auto verifying = std::make_shared<Verifying>();
  add_verification(command, *verifying);
  Verification& how = verifying->how;
  command
      .option("--sample", "N", how.sample, "check the first of every so many calls of a routine and size, not all",
              number_in(1U, 4000000000U))
      .number("--at-least", how.at_least, 0UL, 1000000000000UL,
              "fail if fewer calls were checked; 0: none need be (default " + std::to_string(how.at_least) + ")");
  command.runs([verifying](const Words& program) -> int { verify(verifying->how, program, verifying->variables); });
  add_replay(blaslift);
  add_call(blaslift);
}

}  // namespace blaslift::cli
