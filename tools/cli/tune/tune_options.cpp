// `blaslift tune` on the command line.
#include <algorithm>
#include <cstdio>
#include <set>

#include "impl/route/lapack_section.hpp"
#include "tools/cli/parser/variables.hpp"
#include "tools/cli/tune/commands.hpp"
#include "tools/cli/tune/tune.hpp"
#include "tools/cli/tune/tune_lapack.hpp"
#include "tools/cli/tune/tune_qr.hpp"
#include "tools/cli/tune/tune_symv.hpp"

namespace blaslift::cli {
namespace {

enum class Part { gemm, symv, qr, lapack };
using Parts = std::set<Part>;

/// What was given; what was not has a default that depends on the part.
struct TuneOptions {
  Words only;
  std::string old_word;  ///< "symv", "qr" and "all" were commands of their own: `tune symv` is `tune --only symv`
  std::string precisions, triangles;
  std::vector<index> sizes;
  std::optional<std::vector<index>> leaves;
  std::optional<std::vector<std::string>> transposes;
  std::optional<double> seconds, noise;
  bool quick = false, dry_run = false, quiet = false;
  std::string output;
  Variables variables;
};

const Words part_names = {"gemm", "symv", "qr", "lapack"}, old_words = {"symv", "qr", "all"};
constexpr index largest = 1 << 17, largest_qr = 1 << 16;  // 256 GiB and 64 GiB a matrix of complex doubles

Part part_named(const std::string& name) {
  return static_cast<Part>(std::find(part_names.begin(), part_names.end(), name) - part_names.begin());
}

/// Some of these letters, each once.
Check some_of(const std::string& all) {
  return [all](const std::string& letters) {
    const std::set<char> different(letters.begin(), letters.end());
    const bool fine = letters.find_first_not_of(all) == std::string::npos && !letters.empty();
    return fine && different.size() == letters.size() ? std::string() : "'" + letters + "' is not some of " + all;
  };
}

std::string wrong_transposes(const std::string& ops) {
  const bool fine = ops.size() == 2 && ops.find_first_not_of("NTC") == std::string::npos;
  return fine ? std::string() : "'" + ops + "' is not two of N, T, C";
}

/// Without --only, products alone: other blockings of SYMV and other widths of QR are other last bits, which nobody is
/// to get unasked.
Parts parts_of(const TuneOptions& given) {
  if (!given.only.empty() && !given.old_word.empty())
    throw UsageError("'" + given.old_word + "' and --only do not go together");
  const bool known = std::find(old_words.begin(), old_words.end(), given.old_word) != old_words.end();
  if (!given.old_word.empty() && !known) throw UsageError("'" + given.old_word + "' was not expected");
  if (given.old_word == "all") return {Part::gemm, Part::symv, Part::qr, Part::lapack};
  if (!given.old_word.empty()) return {part_named(given.old_word)};
  if (given.only.empty()) return {Part::gemm};
  Parts parts;
  for (const std::string& name : given.only) parts.insert(part_named(name));
  return parts;
}

/// Throws UsageError where an option was given that these parts do not take.
void check_options(const TuneOptions& given, const Parts& parts) {
  const struct {
    const char* option;
    bool given;
    Parts of;
  } limited[] = {{"--leaves", given.leaves.has_value(), {Part::gemm}},
                 {"--transposes", given.transposes.has_value(), {Part::gemm}},
                 {"--noise", given.noise.has_value(), {Part::gemm}},
                 {"--triangles", !given.triangles.empty(), {Part::symv}}};
  for (const auto& [option, was_given, of] : limited)
    if (was_given && !parts.contains(*of.begin()))
      throw UsageError(std::string(option) + " needs --only " + part_names[static_cast<std::size_t>(*of.begin())]);
  if (parts.size() == 1) return;
  const struct {
    const char* option;
    bool given;
  } of_one[] = {{"--precisions", !given.precisions.empty()}, {"--sizes", !given.sizes.empty()},
                {"--leaves", given.leaves.has_value()},      {"--transposes", given.transposes.has_value()},
                {"--triangles", !given.triangles.empty()},   {"--seconds", given.seconds.has_value()}};
  for (const auto& [option, was_given] : of_one)
    if (was_given) throw UsageError(std::string(option) + " needs --only with one part");
}

/// Throws UsageError where a value is none of this part's.
void check_values(const TuneOptions& given, Part part) {
  const auto check = [](const char* option, const std::string& wrong) {
    if (!wrong.empty()) throw UsageError(std::string(option) + ": " + wrong);
  };
  if (!given.precisions.empty())
    check("--precisions", some_of(part == Part::symv ? "sdczw" : "sdcz")(given.precisions));
  if (part == Part::gemm && given.seconds) check("--seconds", number_in(1e-3, 3600.0)(number(*given.seconds)));
  if (part == Part::gemm && given.sizes.size() > Profile::most_leaf_rates)
    throw UsageError("--sizes: at most " + std::to_string(Profile::most_leaf_rates) + " sizes");
  if (part == Part::lapack && given.sizes.size() > most_lapack_times)
    throw UsageError("--sizes: at most " + std::to_string(most_lapack_times) + " sizes");
  for (const index size : given.sizes)
    check("--sizes",
          number_in(index{1}, part == Part::qr || part == Part::lapack ? largest_qr : largest)(std::to_string(size)));
}

/// What all of them take.
template <class Tuning>
Tuning common(const TuneOptions& given, const Options& options, const char* precisions) {
  Tuning tuning{};
  tuning.options = options;
  tuning.precisions = given.precisions.empty() ? precisions : given.precisions;
  tuning.sizes = given.sizes;
  tuning.seconds = given.seconds;
  tuning.quick = given.quick;
  tuning.output = given.output;
  tuning.dry_run = given.dry_run;
  tuning.quiet = given.quiet;
  return tuning;
}

void tune_part(Part part, const TuneOptions& given, const Options& options) {
  if (part == Part::symv) {
    auto tuning = common<SymvTuning>(given, options, "dszcw");
    tuning.triangles = given.triangles.empty() ? "LU" : given.triangles;
    tune_symv(tuning);
  } else if (part == Part::qr) {
    tune_qr(common<QrTuning>(given, options, "dszc"));
  } else if (part == Part::lapack) {
    tune_lapack(common<LapackTuning>(given, options, "dszc"));
  } else {
    auto tuning = common<Tuning>(given, options, "sdcz");
    tuning.leaves = given.leaves;
    tuning.transposes = given.transposes;
    tuning.noise = given.noise.value_or(tuning.noise);
    tune(tuning);
  }
}

/// One part after the other; the first that fails ends it.
void tune_parts(const TuneOptions& given) {
  const Parts parts = parts_of(given);
  check_options(given, parts);
  for (const Part part : parts) check_values(given, part);
  const Options options = options_with(given.variables);
  for (const Part part : parts) {
    if (part != *parts.begin() && !given.quiet) std::printf("\n");
    std::fflush(stdout);
    tune_part(part, given, options);
  }
}

template <class T>
std::vector<T> sorted(std::vector<T> some) {
  std::sort(some.begin(), some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

void add_what(Command& command, TuneOptions& given) {
  command
      .list(
          "--only", joined(part_names, "|"), [&given](const Words& names) { given.only = names; },
          "what to tune, separated by commas (default gemm: products, transfers and latencies; symv: how SYMV is cut "
          "up, by n; qr: how wide blocks and panels of a QR are, by n; lapack: how long other factorisations and "
          "decompositions take)",
          one_of(part_names))
      .argument("part", joined(old_words, "|"), given.old_word, Command::Presence::hidden, "as --only")
      .option("--precisions", "LETTERS", given.precisions,
              "some of sdcz; for symv, w (pairs of doubles), too (default all)", some_of("sdczw"))
      .numbers<index>(
          "--sizes", [&given](std::vector<index> sizes) { given.sizes = sorted(std::move(sizes)); }, 1, largest,
          "gemm: of square products; symv: at which all blockings are timed; qr: of the squares that are factored; "
          "lapack: orders")
      .numbers<index>(
          "--leaves",
          [&given](std::vector<index> sizes) {
            std::erase(sizes, 0);
            given.leaves = sorted(std::move(sizes));
          },
          0, largest, "gemm: of square products whose algorithms are compared; 0: of none")
      .list(
          "--transposes", "NN,TN,...", [&given](const Words& all) { given.transposes = sorted(all); },
          "gemm: of these alone (default NN, and of the others the rates at some sizes)", wrong_transposes)
      .option("--triangles", "LETTERS", given.triangles, "symv: some of LU (default LU)", some_of("LU"));
}

void add_how(Command& command, TuneOptions& given) {
  const auto number_to = [](std::optional<double>& target) {
    return [&target](const std::string& value) { read_number(value, target.emplace()); };
  };
  command
      .option("--seconds", "N", number_to(given.seconds),
              "gemm, lapack: for each rate or time (slow ones take longer); symv, qr: in all (the next run continues)",
              number_in(1e-3, 86400.0))
      .option("--noise", "N", number_to(given.noise),
              "gemm: keep the old rate if the relative interquartile range exceeds this (default 0.2)",
              number_in(0.0, 1000.0))
      .flag("--quick", given.quick,
            "gemm: fewer sizes, no algorithms without --leaves, and a fifth of the time; symv: fewer blockings, and a "
            "fifth of the time; qr: by the model alone, without timing all widths; lapack: without the largest orders")
      .option("--output", "FILE", given.output,
              "the profile, or a folder that is to have it (default: this device's under the XDG cache)")
      .flag("--dry-run", given.dry_run, "say what would be measured")
      .flag("-q,--quiet", given.quiet, "no progress, no summary");
}

}  // namespace

void add_tune(Command& blaslift) {
  Command command = blaslift.command("tune", "measure this machine's device and write the profile it is used by");
  const auto given = std::make_shared<TuneOptions>();
  add_what(command, *given);
  add_how(command, *given);
  add_device_variables(command, given->variables);
  command.runs([given](const Words&) { return tune_parts(*given), 0; });
}

}  // namespace blaslift::cli
