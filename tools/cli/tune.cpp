#include "tools/cli/tune.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "impl/device.hpp"
#include "impl/profile.hpp"
#include "tools/cli/backend.hpp"
#include "tools/cli/profile_file.hpp"
#include "tools/cli/progress.hpp"
#include "tools/cli/rates.hpp"

namespace blaslift::cli {
namespace {

constexpr char precisions[] = "sdcz";

// ---- what is measured

/// What suits a backend.
struct Plan {
  std::vector<index> sizes;    ///< of leaf products; the largest that fits stands for large products
  std::vector<index> leaves;   ///< as levels have them: algorithms are compared for these
  index pass_size;             ///< of blocks far larger than caches
  std::size_t transfer_bytes;  ///< likewise
  double seconds;
};

const Plan& plan_for(const Options& options) {
  static const Plan host{{32, 48, 64, 96, 128, 192, 256}, {64}, 256, std::size_t{16} << 20, 0.05};
  static const Plan cuda{
      {256, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384},
      {1024, 1280, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 8192},
      4096,
      std::size_t{512} << 20,
      0.5};
  return options.backend == BackendChoice::host ? host : cuda;
}

/// One measurement, for one line of the profile or more.
struct Task {
  std::string what;
  std::size_t bytes;  ///< of device memory
  std::vector<ProfileLine> lines;
  std::function<double(Meter&)> measure;
};

std::vector<Precision> chosen_precisions(const Tuning& tuning) {
  std::vector<Precision> chosen;
  for (const char letter : tuning.precisions)
    chosen.push_back(static_cast<Precision>(std::string_view(precisions).find(letter)));
  return chosen;
}

/// Products whose algorithms are to be compared; none where a library has one way to do each.
std::vector<SquareProduct> searches_for(const Tuning& tuning, const Plan& plan, const DeviceFacts& facts) {
  std::vector<SquareProduct> searches;
  if (!*facts.algorithms) return searches;
  for (const Precision p : chosen_precisions(tuning))
    for (const std::string& ops : tuning.transposes)
      for (const index n : tuning.leaves.value_or(plan.leaves))
        for (const bool adds_e : {false, true})
          searches.push_back({p, static_cast<Op>(ops[0]), static_cast<Op>(ops[1]), adds_e, n});
  return searches;
}

std::string name_of(const SquareProduct& p) {
  return std::string(1, letter(p.precision)) + "gemm " + static_cast<char>(p.transa) + static_cast<char>(p.transb) +
         " " + std::to_string(p.n) + (p.adds_e ? " plus E" : "");
}

std::vector<Task> tasks_for(const Tuning& tuning, const Plan& plan, std::size_t memory) {
  const std::vector<Precision> chosen = chosen_precisions(tuning);
  std::size_t pass_bytes = 0;
  for (const Precision p : chosen) pass_bytes = std::max(pass_bytes, Meter::pass_bytes(p, plan.pass_size));
  std::vector<Task> tasks{
      {"transfers in",
       plan.transfer_bytes,
       {{"in_rate", 0, 0}},
       [&plan](Meter& meter) { return meter.in_rate(plan.transfer_bytes); }},
      {"transfers out",
       plan.transfer_bytes,
       {{"out_rate", 0, 0}},
       [&plan](Meter& meter) { return meter.out_rate(plan.transfer_bytes); }},
      {"a call", 0, {{"latency_seconds", 0, 0}}, [](Meter& meter) { return meter.latency_seconds(); }},
      {"a step", 0, {{"step_seconds", 0, 0}}, [](Meter& meter) { return meter.step_seconds(); }},
      // One rate for all precisions: with the slowest, levels promise nothing that another does not hold.
      {"passes", pass_bytes, {{"pass_rate", 0, 0}}, [&plan, chosen](Meter& meter) {
         double slowest = meter.pass_rate(chosen.front(), plan.pass_size);
         for (const Precision p : chosen) slowest = std::min(slowest, meter.pass_rate(p, plan.pass_size));
         return slowest;
       }}};
  for (const Precision p : chosen) {
    const std::string gemm = std::string(1, letter(p)) + "gemm";
    index large = plan.sizes.front();
    for (const index n : plan.sizes)
      if (Meter::product_bytes(p, n) <= memory) large = n;
    std::vector<index> sizes = tuning.sizes.empty() ? plan.sizes : tuning.sizes;
    const auto leaves = sizes;
    if (std::find(sizes.begin(), sizes.end(), large) == sizes.end()) sizes.push_back(large);
    for (const index n : sizes) {
      Task task{gemm + " " + std::to_string(n), Meter::product_bytes(p, n), {}, [p, n](Meter& meter) {
                  return meter.product_rate(p, n);
                }};
      if (std::find(leaves.begin(), leaves.end(), n) != leaves.end())
        task.lines.push_back({gemm + "_leaf_rate", static_cast<double>(n), 0});
      if (n == large) task.lines.push_back({gemm + "_rate", 0, 0});
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

std::string shown(const ProfileLine& line) {
  char text[32];
  if (line.name.ends_with("_seconds"))
    std::snprintf(text, sizeof text, "%.3g us", line.value * 1e6);
  else if (line.name.find("gemm") == std::string::npos)
    std::snprintf(text, sizeof text, "%.4g GB/s", line.value * 1e-9);
  else if (line.value < 1e12)
    std::snprintf(text, sizeof text, "%.4g GFLOP/s", line.value * 1e-9);
  else
    std::snprintf(text, sizeof text, "%.4g TFLOP/s", line.value * 1e-12);
  return text;
}

struct Compared {
  SquareProduct product;
  Comparison comparison;
};

struct Measured {
  std::vector<Compared> compared;
  std::vector<ProfileLine> lines;
  std::vector<std::string> skipped;
};

/// One measurement, with its share of the progress; too large ones are skipped.
void measure_one(const std::string& what, std::size_t bytes, std::size_t memory, Progress& progress, Measured& measured,
                 const std::function<std::string()>& measure) {
  progress.begins(what);
  try {
    if (bytes > memory) throw NoRoom("takes more device memory than is for us");
    progress.ended(what, measure());
  } catch (const NoRoom& none) {
    measured.skipped.push_back(what + ": " + none.what());
    progress.ended(what, std::string("skipped: ") + none.what());
  }
}

void compare(const std::vector<SquareProduct>& searches, Meter& meter, std::size_t memory, Progress& progress,
             Measured& measured) {
  for (const SquareProduct& product : searches) {
    const std::size_t bytes = Meter::product_bytes(product.precision, product.n, product.adds_e);
    measure_one(name_of(product) + ", algorithms", bytes, memory, progress, measured, [&] {
      const Comparison& c = measured.compared.emplace_back(product, meter.compare(product)).comparison;
      char text[64];
      std::snprintf(text, sizeof text, "%.1f TFLOP/s, best of %zu others x %.3f%s", c.own * 1e-12, c.candidates.size(),
                    c.gain, c.winner ? "" : ": not enough");
      return std::string(text);
    });
  }
}

void measure(std::vector<Task> tasks, Meter& meter, std::size_t memory, Progress& progress, Measured& measured) {
  for (Task& task : tasks)
    measure_one(task.what, task.bytes, memory, progress, measured, [&] {
      const double value = task.measure(meter);
      for (ProfileLine& line : task.lines) line.value = value;
      measured.lines.insert(measured.lines.end(), task.lines.begin(), task.lines.end());
      return shown(task.lines.front());
    });
}

/// As the profile keeps them.
std::vector<TunedProduct> tuned(const std::vector<Compared>& compared, const char* library) {
  std::vector<TunedProduct> found;
  for (const auto& [product, c] : compared) {
    TunedProduct x{library, {.product = product, .own = !c.winner, .algorithm = {}}};
    if (c.winner) x.preference.algorithm = c.candidates[*c.winner].algorithm;
    found.push_back(std::move(x));
  }
  return found;
}

// ---- the summary

void print_summary(const Profile& profile, const Measured& measured, const DeviceFacts& facts) {
  std::printf("%s%s%s\n\n", facts.name, *facts.driver ? ", " : "", facts.driver);
  const auto row = [](const char* what, const ProfileLine& line) {
    std::printf("  %-22s %s\n", what, shown(line).c_str());
  };
  row("to the device", {"in_rate", 0, profile.in_rate});
  row("from the device", {"out_rate", 0, profile.out_rate});
  row("a call", {"latency_seconds", 0, profile.latency_seconds});
  row("a step on the device", {"step_seconds", 0, profile.step_seconds});
  row("passes over memory", {"pass_rate", 0, profile.pass_rate});
  std::printf("\n  %-10s %-18s %s\n", "", "large product", "levels of Strassen's algorithm, squares");
  for (int p = 0; p < precision_count; ++p) {
    const auto precision = static_cast<Precision>(p);
    const std::string gemm = std::string(1, letter(precision)) + "gemm";
    const auto estimator = make_estimator(profile, precision);
    const auto crossover = estimator ? estimator->crossover() : std::nullopt;
    const std::string levels = !estimator  ? "none: no leaf rates"
                               : crossover ? "from " + std::to_string(static_cast<index>(*crossover)) + " on"
                                           : "none: never faster";
    std::printf("  %-10s %-18s %s\n", gemm.c_str(), shown({gemm + "_rate", 0, profile.gemm_rate[p]}).c_str(),
                levels.c_str());
  }
  if (!measured.compared.empty())
    std::printf("\n  %-24s %8s %8s %6s  %s\n", "algorithms, TFLOP/s", "own", "best", "gain", "best of the others");
  for (const auto& [product, c] : measured.compared) {
    const auto best =
        c.winner ? *c.winner
                 : static_cast<std::size_t>(std::max_element(c.rates.begin(), c.rates.end()) - c.rates.begin());
    std::printf("  %-24s %8.2f ", name_of(product).c_str(), c.own * 1e-12);
    if (c.candidates.empty())
      std::printf("%8s %6s  no others\n", "", "");
    else
      std::printf("%8.2f %6.3f  %s #%zu of %zu: %s, %.1f MB\n", c.rates[best] * 1e-12, c.gain,
                  c.winner ? "taken" : "left ", best, c.candidates.size(), c.candidates[best].name,
                  static_cast<double>(c.candidates[best].algorithm.workspace) * 1e-6);
  }
  if (!measured.skipped.empty()) std::printf("\n");
  for (const std::string& skipped : measured.skipped) std::printf("  skipped: %s\n", skipped.c_str());
}

}  // namespace

void tune(const Tuning& tuning) {
  Backend& backend = backend_to_tune(tuning.options);
  const DeviceFacts& facts = backend.facts();
  const ProfileFile file(facts, tuning.output);
  const Plan& plan = plan_for(tuning.options);
  const std::vector<SquareProduct> searches = searches_for(tuning, plan, facts);
  const std::vector<Task> tasks = tasks_for(tuning, plan, facts.memory);
  const double seconds = tuning.seconds.value_or(plan.seconds);
  if (tuning.dry_run) {
    std::printf("%s, %.1f GB for us; about %g s each:\n", facts.name, static_cast<double>(facts.memory) * 1e-9,
                seconds);
    for (const SquareProduct& p : searches)
      std::printf("  %s, algorithms%s\n", name_of(p).c_str(),
                  Meter::product_bytes(p.precision, p.n, p.adds_e) > facts.memory ? ": does not fit" : "");
    for (const Task& task : tasks)
      std::printf("  %s%s\n", task.what.c_str(), task.bytes > facts.memory ? ": does not fit" : "");
    std::printf("would be written to %s\n", file.path().c_str());
    return;
  }

  file.prepare();
  const std::string before = file.text();
  Measured measured;
  const auto read = [&](const std::vector<ProfileLine>& lines, std::string& text, std::string& problem) {
    Profile profile = built_in_profile(facts.profile);
    text = with_lines(before, lines, tuned(measured.compared, facts.algorithms));
    read_profile_text(text, profile, problem);
    return profile;
  };
  std::string text, problem;
  std::vector<ProfileLine> lines;
  for (const Task& task : tasks)
    for (const ProfileLine& line : task.lines) lines.push_back({line.name, line.size, 1});
  read(lines, text, problem);
  if (!problem.empty())
    throw std::runtime_error("with the sizes that " + file.path().string() + " has already there are more than " +
                             std::to_string(Profile::most_leaf_rates) + " of a precision");
  Profile ignored = built_in_profile(facts.profile);
  read_profile_text(before, ignored, problem);
  if (!problem.empty())
    std::fprintf(stderr, "blaslift: %s: not understood and left out: %s\n", file.path().c_str(), problem.c_str());
  if (const std::string foreign = foreign_switches(); !foreign.empty() && facts.profile != std::string_view("host"))
    std::fprintf(stderr, "blaslift: warning: %s\n", foreign.c_str());

  std::optional<BlasUnderneath> blas;
  if (tuning.options.backend == BackendChoice::host) blas.emplace(tuning.options);
  Meter meter(backend, blas ? blas->gemm() : UnderlyingGemm{}, seconds);
  {
    Progress progress(tuning.quiet, searches.size() + tasks.size());
    compare(searches, meter, facts.memory, progress, measured);
    // Rates are those of calls, which follow what has been found.
    problem.clear();
    const std::vector<Preference> preferences = preferences_for(read({}, text, problem), facts.algorithms);
    backend.prefer(preferences.data(), static_cast<int>(preferences.size()));
    measure(tasks, meter, facts.memory, progress, measured);
  }
  problem.clear();
  const Profile profile = read(measured.lines, text, problem);
  if (!problem.empty()) throw std::runtime_error("a rate makes no sense: " + problem);
  file.replace(text);
  if (tuning.quiet) return;

  print_summary(profile, measured, facts);
  file.print_where(tuning.options);
}

}  // namespace blaslift::cli
