// `blaslift env` on the command line.
#include <cstdio>
#include <cstdlib>

#include "impl/core/options.hpp"
#include "tools/cli/launch/commands.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/launch/preload.hpp"
#include "tools/cli/launch/shell.hpp"
#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {
namespace {

struct Environment {
  Variables variables;
  std::string shell;  ///< empty: the user's own
  bool undo = false;  ///< remove what an earlier one has set
};

void print(const Environment& how) {
  std::string shell = how.shell;
  if (shell.empty()) {
    const char* own = std::getenv("SHELL");
    shell = own ? own : "sh";
  }
  Variables variables = how.variables;
  const std::string directory = library_directory(), name = "libblaslift.so";
  const char* preloaded = std::getenv("LD_PRELOAD");
  if (how.undo) {
    if (!variables.empty()) throw UsageError("--undo takes none of the options for variables");
    for (const OptionInfo& option : option_table())
      if (std::getenv(option.variable)) variables[option.variable] = "";
    variables["LD_PRELOAD"] = preload_without(name, preloaded);
  } else {
    variables["LD_PRELOAD"] = preload_with(lasting_preload_name(directory, name), preloaded, directory);
  }
  std::fputs(to_shell(shell_named(shell), variables).c_str(), stdout);
}

}  // namespace

void add_env(Command& blaslift) {
  Command command = blaslift.command("env", "print shell commands that have every later command preloaded");
  command.footer("eval \"$(blaslift env)\", or in fish: blaslift env | source");
  const auto how = std::make_shared<Environment>();
  const Words shells = {"sh", "bash", "zsh", "ksh", "dash", "fish", "csh", "tcsh"};
  command
      .option("--shell", joined(shells, "|"), how->shell, "for which shell (default: the one in SHELL)", one_of(shells))
      .flag("--undo", how->undo, "print commands that take it all back, instead");
  add_variables(command, how->variables);
  command.runs([how](const Words&) { return print(*how), 0; });
}

}  // namespace blaslift::cli
