// blaslift: the command around the library.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

#include "compat/shown.hpp"
#include "impl/core/options.hpp"
#include "impl/route/profile.hpp"
#include "tools/cli/describe.hpp"
#include "tools/cli/doctor/doctor.hpp"
#include "tools/cli/info.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/launch/preload.hpp"
#include "tools/cli/launch/shell.hpp"
#include "tools/cli/measure/measure.hpp"
#include "tools/cli/report/report.hpp"
#include "tools/cli/tune/tune.hpp"
#include "tools/cli/tune/tune_qr.hpp"
#include "tools/cli/tune/tune_symv.hpp"
#include "tools/cli/verify/call_replay.hpp"
#include "tools/cli/verify/verify.hpp"

namespace {

using namespace blaslift;

/// Ends this command's own options at the first word that is none of them: the program, whose options are its own.
CLI::App* add_launcher(CLI::App& app, const char* name, const char* help) {
  CLI::App* launcher = app.add_subcommand(name, help);
  launcher->prefix_command();
  launcher->footer(std::string("blaslift ") + name + " [options] [--] program [its arguments]");
  return launcher;
}

/// The program: what stood behind "--", or else what the launcher's own options left over.
std::vector<std::string> command_of(const CLI::App& launcher, std::vector<std::string> command) {
  const std::vector<std::string> others = launcher.remaining();
  if (command.empty())
    command = others;
  else if (!others.empty())
    throw CLI::ExtrasError(others);
  if (command.empty()) throw CLI::RequiredError("a program to run");
  if (command.front().starts_with("-")) throw CLI::ExtrasError({command.front()});
  return command;
}

constexpr std::string_view of_verification[] = {"BLASLIFT_BACKEND",   "BLASLIFT_FORCE",    "BLASLIFT_DECISION",
                                                "BLASLIFT_RESIDENCY", "BLASLIFT_STRASSEN", "BLASLIFT_QR",
                                                "BLASLIFT_MEMORY",    "BLASLIFT_FALLBACK", "BLASLIFT_PROFILE"},
                           of_devices[] = {"BLASLIFT_BACKEND", "BLASLIFT_MEMORY", "BLASLIFT_FALLBACK"};

bool is_one(std::string_view variable, std::span<const std::string_view> variables) {
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

/// The library's variables as options: BLASLIFT_BACKEND as --backend, checked by the variable's own parser.
/// @param only  empty: all but BLASLIFT itself and the internal ones
void add_variables(CLI::App& app, std::map<std::string, std::string>& variables,
                   std::span<const std::string_view> only = {}) {
  for (const OptionInfo& option : option_table()) {
    const std::string variable = option.variable;
    if (only.empty() ? variable == "BLASLIFT" || is_internal(option) : !is_one(variable, only)) continue;
    std::string name = "--" + variable.substr(std::string("BLASLIFT_").size());
    for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    app.add_option_function<std::string>(
           name, [&variables, variable](const std::string& value) { variables[variable] = value; },
           std::string(option.help) + " (" + option.values + "; default " + option.fallback + ")")
        ->type_name(cli::value_name(option.values,
                                    [&option](const std::string& value) {
                                      Options scratch;
                                      return option.parse(scratch, value.c_str());
                                    }))
        ->check([&option](const std::string& value) {
          Options scratch;
          return option.parse(scratch, value.c_str()) ? std::string()
                                                      : "'" + value + "' is not one of: " + option.values;
        });
  }
}

Options options_with(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::string warnings;
  const Options options = read_options(environ, warnings);
  std::fputs(warnings.c_str(), stderr);
  return options;
}

int run(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables, bool quiet,
        const std::string& json) {
  const cli::Finished finished = cli::launch("libblaslift.so", command, variables);
  if (!quiet) std::fputs(to_text(finished.summary).c_str(), stderr);
  if (!json.empty()) cli::write_file(json, to_json(finished.summary) + '\n');  // the exit status is the program's
  cli::end_like(finished.wait_status);
}

int make_report(const cli::Report& what, const std::vector<std::string>& command,
                const std::map<std::string, std::string>& variables) {
  if (what.recording.empty() == command.empty())
    throw CLI::ValidationError("report", "takes a recording, or a program behind --");
  if (command.empty() && !variables.empty())
    throw CLI::ValidationError("--", "is missing: these options are for running a program, whose name comes behind it");
  if (!command.empty()) cli::report_running(what, command, variables);
  return cli::report(what), 0;
}

int doctor(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables, bool runs,
           bool asks_python, const std::string& json) {
  if (!runs && !variables.empty()) throw CLI::ValidationError("--run", "is what these options need");
  const cli::Diagnosis diagnosis =
      runs ? cli::diagnose_by_running(command, variables) : cli::diagnose(command, asks_python);
  if (json != "-") std::fputs(cli::to_text(diagnosis).c_str(), stdout);
  if (json == "-")
    std::printf("%s\n", cli::to_json(diagnosis).c_str());
  else if (!json.empty() && !cli::write_file(json, cli::to_json(diagnosis) + '\n'))
    return 125;
  return static_cast<int>(diagnosis.verdict);
}

int measure(const std::vector<std::string>& command, std::map<std::string, std::string> variables) {
  variables["BLASLIFT_INTERNAL_MEASURE"] = "on";
  const cli::Finished finished = cli::launch("libblaslift_measure.so", command, variables);
  cli::print_measurement(finished);
  cli::end_like(finished.wait_status);
}

/// @param undo  removes what an earlier one has set
void print_environment(std::string shell, std::map<std::string, std::string> variables, bool undo) {
  if (shell.empty()) {
    const char* own = std::getenv("SHELL");
    shell = own ? own : "sh";
  }
  const std::string directory = cli::library_directory(), name = "libblaslift.so";
  const char* preloaded = std::getenv("LD_PRELOAD");
  if (undo) {
    if (!variables.empty()) throw CLI::ValidationError("--undo", "sets no variables");
    for (const OptionInfo& option : option_table())
      if (std::getenv(option.variable)) variables[option.variable] = "";
    variables["LD_PRELOAD"] = cli::preload_without(name, preloaded);
  } else {
    variables["LD_PRELOAD"] = cli::preload_with(cli::lasting_preload_name(directory, name), preloaded, directory);
  }
  std::fputs(cli::to_shell(cli::shell_named(shell), variables).c_str(), stdout);
}

void print_page(const std::string& path, CLI::App& app) {
  std::ifstream file(path);
  std::ostringstream page;
  page << file.rdbuf();
  std::fputs(cli::manual_page(page.str(), app).c_str(), stdout);
}

/// Some of these letters, each once.
CLI::Validator some_of(const std::string& all) {
  return CLI::Validator(
      [all](const std::string& letters) {
        const std::set<char> different(letters.begin(), letters.end());
        const bool fine = letters.find_first_not_of(all) == std::string::npos && !letters.empty();
        return fine && different.size() == letters.size() ? std::string() : "'" + letters + "' is not some of " + all;
      },
      "");
}

// Of `tune`, `tune symv`, `tune qr` and `tune all`.

void add_sizes(CLI::App& app, std::vector<index>& sizes, const char* help, index largest) {
  app.add_option("--sizes", sizes, help)->delimiter(',')->check(CLI::Range(index{1}, largest));
}

template <class Tuning>
void add_output(CLI::App& app, Tuning& tuning) {
  app.add_option("--output", tuning.output, "the profile (default: this device's under the XDG cache)")
      ->type_name("FILE");
  app.add_flag("--dry-run", tuning.dry_run, "say what would be measured");
  app.add_flag("-q,--quiet", tuning.quiet, "no progress, no summary");
}

void add_noise(CLI::App& app, double& noise) {
  app.add_option(
         "--noise", noise,
         "leave rates as they were whose quartiles are further apart, as a fraction of the median (default 0.2)")
      ->check(CLI::Range(0.0, 1000.0));
}

/// What a search takes that goes on where the last one stopped: all but its precisions.
template <class Search>
void add_search(CLI::App& app, Search& search, const char* sizes, index largest, const char* quick) {
  add_sizes(app, search.sizes, sizes, largest);
  app.add_option("--seconds", search.seconds, "for all of it; the next run goes on where this one stops")
      ->check(CLI::Range(1e-3, 86400.0));
  app.add_flag("--quick", search.quick, quick);
  add_output(app, search);
}

void add_tuning(CLI::App& app, cli::Tuning& tuning) {
  tuning.precisions = "sdcz";
  app.add_option("--precisions", tuning.precisions, "of which products: some of sdcz (default all)")
      ->check(some_of("sdcz"));
  constexpr index largest = 1 << 17;  // 256 GiB a matrix
  add_sizes(app, tuning.sizes, "of square products, separated by commas", largest);
  app.add_option("--leaves", tuning.leaves, "of square products whose algorithms are compared; 0: of none")
      ->delimiter(',')
      ->check(CLI::Range(index{0}, largest));
  app.add_option("--transposes", tuning.transposes,
                 "of these alone, as in NN,TN (default NN, and of the others the rates at some sizes)")
      ->delimiter(',')
      ->check([](const std::string& ops) {
        const bool fine = ops.size() == 2 && ops.find_first_not_of("NTC") == std::string::npos;
        return fine ? std::string() : "'" + ops + "' is not two of N, T, C";
      });
  app.add_option("--seconds", tuning.seconds, "for each rate; products that are slow take longer")
      ->check(CLI::Range(1e-3, 3600.0));
  add_noise(app, tuning.noise);
  app.add_flag("--quick", tuning.quick, "fewer sizes, no algorithms without --leaves, and a fifth of the time");
  add_output(app, tuning);
}

void add_symv_tuning(CLI::App& app, cli::SymvTuning& tuning) {
  tuning.precisions = "dszcw";
  tuning.triangles = "LU";
  app.add_option("--precisions", tuning.precisions, "some of sdczw; w: pairs of doubles (default dszcw)")
      ->check(some_of("sdczw"));
  app.add_option("--triangles", tuning.triangles, "some of LU (default LU)")->check(some_of("LU"));
  add_search(app, tuning, "at which all blockings are timed, separated by commas", 1 << 17,
             "fewer blockings, and a fifth of the time");
}

void add_qr_tuning(CLI::App& app, cli::QrTuning& tuning) {
  tuning.precisions = "dszc";
  app.add_option("--precisions", tuning.precisions, "some of sdcz (default dszc)")->check(some_of("sdcz"));
  add_search(app, tuning, "of the squares that are factored, separated by commas", 1 << 16,
             "by the model alone, without timing all widths");
}

/// What each of them takes, the rest being its own defaults.
struct TuningAll {
  double noise;
  bool quick;
  std::string output;
  bool dry_run, quiet;
};

void add_tuning_all(CLI::App& app, TuningAll& tuning) {
  tuning.noise = cli::Tuning{}.noise;
  add_noise(app, tuning.noise);
  app.add_flag("--quick", tuning.quick, "each of them quickly");
  add_output(app, tuning);
}

/// Of both verify and replay.
void add_verification(CLI::App& app, cli::Verification& how) {
  app.add_option("--subject", how.subject, "test this BLAS: the program uses it, and nothing goes to a device")
      ->type_name("FILE");
  app.add_option("--oracle", how.oracle,
                 "compare with this BLAS, and check every call (default: the library underneath, and those calls that "
                 "go to the device)")
      ->type_name("FILE");
  app.add_option("--dump", how.dump, "a directory, made if need be, for the first calls that are wrong")
      ->type_name("DIR");
  app.add_option("--json", how.json, "write the summary to this file, too")->type_name("FILE");
  app.add_option("--wrong-status", how.wrong_status, "exit status if a call was wrong")
      ->check(CLI::Range(1, 255))
      ->capture_default_str();
  app.add_flag("-q,--quiet", how.quiet, "no summary");
}

template <class T>
void sort_uniquely(std::vector<T>& some) {
  std::sort(some.begin(), some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
}

void tune(cli::Tuning tuning, const std::map<std::string, std::string>& variables) {
  sort_uniquely(tuning.sizes);
  if (tuning.transposes) sort_uniquely(*tuning.transposes);
  if (tuning.leaves) sort_uniquely(*tuning.leaves);
  if (tuning.leaves && tuning.leaves->front() == 0) tuning.leaves->erase(tuning.leaves->begin());
  if (tuning.sizes.size() > Profile::most_leaf_rates)
    throw CLI::ValidationError("--sizes", "at most " + std::to_string(Profile::most_leaf_rates) + " sizes");
  tuning.options = options_with(variables);
  cli::tune(tuning);
}

/// One after the other; the first that fails ends it.
/// @param base  all three with their defaults
void tune_all(const TuningAll& all, cli::Tuning base, cli::SymvTuning symv, cli::QrTuning qr,
              const std::map<std::string, std::string>& variables) {
  const auto with_ours = [&all, options = options_with(variables)](auto& tuning) {
    tuning.options = options;
    tuning.quick = all.quick;
    tuning.output = all.output;
    tuning.dry_run = all.dry_run;
    tuning.quiet = all.quiet;
  };
  const auto gap = [&all] {
    if (!all.quiet) std::printf("\n");
    std::fflush(stdout);
  };
  with_ours(base), with_ours(symv), with_ours(qr);
  base.noise = all.noise;
  cli::tune(base);
  gap();
  cli::tune_symv(symv);
  gap();
  cli::tune_qr(qr);
}

}  // namespace

/// As main(), without seeing to what is still on its way to standard output.
static int command_line(int argc, char** argv) {
  CLI::App app{"blaslift: run programs with their BLAS and LAPACK on the GPU"};
  app.set_version_flag("--version", BLASLIFT_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* of, const CLI::Error& error) {
    CLI::Error fit(error.get_name(), shown(error.what()), error.get_exit_code());
    return CLI::FailureMessage::simple(of, fit);
  });
  std::map<std::string, std::string> variables;

  CLI::App* run_app = add_launcher(app, "run", "run a program through blaslift and say what happened");
  bool quiet = false;
  std::string json;
  run_app->add_flag("-q,--quiet", quiet, "no summary");
  run_app->add_option("--json", json, "write the summary of the whole process tree to this file, too")
      ->type_name("FILE");
  add_variables(*run_app, variables);

  CLI::App* measure_app =
      add_launcher(app, "measure", "record what a program calls, on the CPU, and what share a GPU would do faster");
  add_variables(*measure_app, variables);

  CLI::App* report_app = app.add_subcommand("report", "show where a recorded run's time went, and what would help");
  report_app->footer(
      "blaslift report [options] RECORDING\n"
      "blaslift report [options] -- program [its arguments]\n"
      "A recording is the directory that --trace, or BLASLIFT_TRACE, named for a run.");
  cli::Report report{};
  report_app->add_option("recording", report.recording, "the directory")->type_name("DIR");
  report_app->add_option("--html", report.html, "write a page with pictures to this file")->type_name("FILE");
  report_app->add_option("--timeline", report.timeline, "write a timeline to this file, for ui.perfetto.dev")
      ->type_name("FILE");
  report_app->add_option("--json", report.json, "write what is shown to this file, for programs")->type_name("FILE");
  report_app->add_flag("-q,--quiet", report.quiet, "write the files alone");
  add_variables(*report_app, variables);

  CLI::App* doctor_app = add_launcher(app, "doctor", "say why a program's calls are intercepted, or are not");
  bool runs = false;
  doctor_app->add_flag("--run", runs, "run the program, and report what it really called");
  bool asks_python = false;
  doctor_app->add_flag("--ask-python", asks_python,
                       "of a Python, look at its NumPy and SciPy, too: it is run to say where they are");
  doctor_app->add_option("--json", json, "write what was found to this file, too (-: to standard output, instead)")
      ->type_name("FILE");
  add_variables(*doctor_app, variables);

  CLI::App* env_app = app.add_subcommand("env", "print shell commands that have every later command preloaded");
  env_app->footer("eval \"$(blaslift env)\", or in fish: blaslift env | source");
  std::string shell;
  bool undo = false;
  env_app->add_option("--shell", shell, "for which shell (default: the one in SHELL)")
      ->check(CLI::IsMember({"sh", "bash", "zsh", "ksh", "dash", "fish", "csh", "tcsh"}));
  env_app->add_flag("--undo", undo, "print commands that take it all back, instead");
  add_variables(*env_app, variables);
  CLI::App* verify_app = add_launcher(
      app, "verify", "run a program, check what blaslift or another BLAS computes for it, and fail if that is wrong");
  cli::Verification verification;
  add_verification(*verify_app, verification);
  verify_app
      ->add_option("--sample", verification.sample,
                   "check the first of every so many calls of a routine and size, not all")
      ->check(CLI::Range(1U, 4000000000U));
  verify_app->add_option("--at-least", verification.at_least, "fail if fewer calls were checked; 0: none need be")
      ->capture_default_str();
  add_variables(*verify_app, variables, of_verification);

  CLI::App* replay_app = app.add_subcommand("replay", "make a call again that verification has kept, and check it");
  std::string record;
  replay_app->add_option("file", record, "the call")->required()->type_name("FILE");
  replay_app
      ->add_option("--library", verification.library,
                   "make the call over this BLAS (default: the one that the record names, if it is the system's)")
      ->type_name("FILE");
  replay_app->add_flag("--trust", verification.trust,
                       "open the libraries that the record names, which runs their code: for records of your own");
  add_verification(*replay_app, verification);
  add_variables(*replay_app, variables, of_verification);
  CLI::App* call_app = app.add_subcommand("call", "what replay runs")->group("");
  call_app->add_option("file", record)->required();
  call_app->add_option("--library", verification.library);

  CLI::App* info_app = app.add_subcommand("info", "what blaslift finds on this machine");
  bool profile_only = false;
  info_app->add_flag("--profile-only", profile_only, "print the rates alone, in the form that BLASLIFT_PROFILE reads");
  add_variables(*info_app, variables);

  CLI::App* tune_app = app.add_subcommand("tune", "measure this machine's device and write the profile it is used by");
  cli::Tuning tuning{};
  add_tuning(*tune_app, tuning);
  add_variables(*tune_app, variables, of_devices);
  CLI::App* symv_app = tune_app->add_subcommand("symv", "search the fastest way to cut up SYMV, by n, instead");
  cli::SymvTuning symv_tuning{};
  add_symv_tuning(*symv_app, symv_tuning);
  add_variables(*symv_app, variables, of_devices);

  CLI::App* qr_app = tune_app->add_subcommand("qr", "find how wide a QR's blocks and panels are to be, by n, instead");
  cli::QrTuning qr_tuning{};
  add_qr_tuning(*qr_app, qr_tuning);
  add_variables(*qr_app, variables, of_devices);

  CLI::App* all_app = tune_app->add_subcommand("all", "this, then symv, then qr, each by its own defaults");
  TuningAll tuning_all{};
  add_tuning_all(*all_app, tuning_all);
  add_variables(*all_app, variables, of_devices);

  CLI::App* completion_app = app.add_subcommand("completion", "print a shell's completion of this command");
  std::string completed;
  completion_app->add_option("shell", completed, "for which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  CLI::App* manual_app = app.add_subcommand("manual", "fill the lists in a manual page")->group("");
  std::string page;
  manual_app->add_option("template", page, "the page")->required()->check(CLI::ExistingFile);

  // CLI11 would read what follows "--" as its own positionals.
  char** const end = std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  const std::vector<std::string> command(end == argv + argc ? end : end + 1, argv + argc);

  try {
    app.parse(static_cast<int>(end - argv), argv);
    if (*run_app) return run(command_of(*run_app, command), variables, quiet, json);
    if (*doctor_app) return doctor(command_of(*doctor_app, command), variables, runs, asks_python, json);
    if (*env_app) return print_environment(shell, variables, undo), 0;
    if (*completion_app) return std::fputs(cli::completion_for(completed, app).c_str(), stdout), 0;
    if (*manual_app) return print_page(page, app), 0;
    if (*measure_app) return measure(command_of(*measure_app, command), variables);
    if (*report_app) return make_report(report, command, variables);
    if (*verify_app) cli::verify(verification, command_of(*verify_app, command), variables);
    if (*replay_app) cli::replay(verification, record, variables);
    if (*call_app) {
      cli::make_call(cli::read_record(record, true), options_with({}).fallback, verification.library);
      return 0;
    }
    if (*all_app) return tune_all(tuning_all, tuning, symv_tuning, qr_tuning, variables), 0;
    if (*symv_app) {
      sort_uniquely(symv_tuning.sizes);
      symv_tuning.options = options_with(variables);
      return cli::tune_symv(symv_tuning), 0;
    }
    if (*qr_app) {
      sort_uniquely(qr_tuning.sizes);
      qr_tuning.options = options_with(variables);
      return cli::tune_qr(qr_tuning), 0;
    }
    if (*tune_app) return tune(tuning, variables), 0;
    cli::print_info(options_with(variables), profile_only);
    return 0;
  } catch (const CLI::ParseError& error) {
    // CLI11's own 105 to 109 might as well be the program's.
    return app.exit(error, std::cout, std::cerr) == 0 ? 0 : 125;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "blaslift: %s\n", shown(error.what()).c_str());
    return 125;  // ours, not the program's: as env and timeout do
  }
}

int main(int argc, char** argv) {
  const int status = command_line(argc, argv);
  return blaslift::cli::flush_output() ? status : 125;
}
