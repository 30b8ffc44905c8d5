#include "tools/cli/tune/tune.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <set>

#include "compat/shown.hpp"
#include "impl/core/hash.hpp"
#include "impl/core/text.hpp"
#include "impl/route/device.hpp"
#include "impl/route/profile.hpp"
#include "tools/cli/launch/backend.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/tune/kept_timings.hpp"
#include "tools/cli/tune/profile_file.hpp"
#include "tools/cli/tune/progress.hpp"
#include "tools/cli/tune/rates.hpp"

namespace blaslift::cli {
namespace {

constexpr char precisions[] = "sdcz";

// ---- what is measured

/// What suits a backend.
struct Plan {
  std::vector<index> sizes;       ///< of leaf products; the largest that fits stands for large products
  std::vector<index> transposed;  ///< of products that transpose: how they compare with the others
  std::vector<index> leaves;      ///< as levels have them: algorithms are compared for these
  index pass_size;                ///< of blocks far larger than caches
  std::size_t transfer_bytes;     ///< likewise
  double seconds;
};

const Plan& plan_for(const Tuning& tuning) {
  static const Plan host{{32, 48, 64, 96, 128, 192, 256}, {64, 256}, {64}, 256, std::size_t{16} << 20, 0.05};
  static const Plan host_quick{{32, 64, 128, 256}, {64}, {}, 256, std::size_t{16} << 20, 0.01};
  static const Plan cuda{
      {256, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384},
      {1024, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 12288, 16384},
      {1024, 1280, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 8192},
      4096,
      std::size_t{512} << 20,
      0.5};
  static const Plan cuda_quick{
      {256, 512, 1024, 2048, 4096, 8192}, {1024, 4096, 8192}, {}, 4096, std::size_t{512} << 20, 0.1};
  if (tuning.options.backend == BackendChoice::host) return tuning.quick ? host_quick : host;
  return tuning.quick ? cuda_quick : cuda;
}

/// One measurement, for one line of the profile or more.
struct Task {
  std::string what;   ///< its key among kept timings, too
  std::size_t bytes;  ///< of device memory
  double seconds;     ///< that it is expected to take
  std::vector<ProfileLine> lines;
  std::function<Rounds(Meter&)> measure;
};

/// One product whose algorithms are compared.
struct Search {
  SquareProduct product;
  std::size_t bytes;
  double seconds;
};

/// Seconds that something is expected to take for which there are so many.
/// @param least  seconds that it takes at least, however few there are
double expected(double seconds, double least = 0) {
  constexpr double around = 1.5;  // what is only warmed, and the last round
  return std::max(around * seconds, least);
}

double product_seconds(const Profile& rates, Precision p, index n) {
  return (is_complex(p) ? 8.0 : 2.0) * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) /
         rates.gemm_rate[static_cast<int>(p)];
}

std::vector<Precision> chosen_precisions(const Tuning& tuning) {
  std::vector<Precision> chosen;
  for (const char letter : tuning.precisions)
    chosen.push_back(static_cast<Precision>(std::string_view(precisions).find(letter)));
  return chosen;
}

/// Products whose algorithms are to be compared; none where a library has one way to do each.
std::vector<Search> searches_for(const Tuning& tuning, const Plan& plan, const DeviceFacts& facts, double seconds) {
  constexpr double least_times = 100;  // all candidates and the turns
  const Profile rates = built_in_profile(facts.profile);
  std::vector<Search> searches;
  if (!*facts.algorithms) return searches;
  for (const Precision p : chosen_precisions(tuning))
    for (const std::string& ops : tuning.transposes.value_or(std::vector<std::string>{"NN"}))
      for (const index n : tuning.leaves.value_or(plan.leaves))
        for (const bool adds_e : {false, true})
          searches.push_back({{p, static_cast<Op>(ops[0]), static_cast<Op>(ops[1]), adds_e, n},
                              Meter::product_bytes(p, n, adds_e),
                              expected(seconds, least_times * product_seconds(rates, p, n)) + expected(seconds)});
  return searches;
}

std::string name_of(const SquareProduct& p) {
  return std::string(1, letter(p.precision)) + "gemm " + static_cast<char>(p.transa) + static_cast<char>(p.transb) +
         " " + std::to_string(p.n) + (p.adds_e ? " plus E" : "");
}

/// Leaf products of one precision.
struct Leaves {
  Transposes transposes;
  std::vector<index> sizes;
};
std::vector<Leaves> leaves_for(const Tuning& tuning, const Plan& plan) {
  const bool own_sizes = tuning.sizes.empty();
  if (!tuning.transposes) {
    std::vector<Leaves> leaves{{Transposes::nn, own_sizes ? plan.sizes : tuning.sizes}};
    if (own_sizes && !plan.transposed.empty())
      for (const Transposes t : {Transposes::nt, Transposes::tn, Transposes::tt})
        leaves.push_back({t, plan.transposed});
    return leaves;
  }
  std::vector<Leaves> leaves;
  for (const std::string& ops : *tuning.transposes) {
    const Transposes t = transposes_of(static_cast<Op>(ops[0]), static_cast<Op>(ops[1]));
    const auto same = [t](const Leaves& there) { return there.transposes == t; };  // conjugated or not
    if (std::none_of(leaves.begin(), leaves.end(), same)) leaves.push_back({t, own_sizes ? plan.sizes : tuning.sizes});
  }
  return leaves;
}

SquareProduct square(Precision p, Transposes t, index n) {
  const auto op = [t](Transposes bit) {
    return static_cast<int>(t) & static_cast<int>(bit) ? Op::transpose : Op::none;
  };
  return {p, op(Transposes::tn), op(Transposes::nt), false, n};
}

/// @param cpu  whether there is a library to measure the CPU's rate of
std::vector<Task> tasks_for(const Tuning& tuning, const Plan& plan, const DeviceFacts& facts, double seconds,
                            bool cpu) {
  constexpr double least_times = 10;  // three rounds of two, and what only warms
  const Profile rates = built_in_profile(facts.profile);
  const std::vector<Precision> chosen = chosen_precisions(tuning);
  std::size_t pass_bytes = 0;
  for (const Precision p : chosen) pass_bytes = std::max(pass_bytes, Meter::pass_bytes(p, plan.pass_size));
  const auto moved = [&](double rate) {
    return expected(seconds, least_times * static_cast<double>(plan.transfer_bytes) / rate);
  };
  std::vector<Task> tasks{
      {"transfers in",
       plan.transfer_bytes,
       moved(rates.in_rate),
       {{"in_rate", 0, 0}},
       [&plan](Meter& meter) { return meter.in(plan.transfer_bytes); }},
      {"transfers out",
       plan.transfer_bytes,
       moved(rates.out_rate),
       {{"out_rate", 0, 0}},
       [&plan](Meter& meter) { return meter.out(plan.transfer_bytes); }},
      {"a call", 0, expected(seconds), {{"latency_seconds", 0, 0}}, [](Meter& meter) { return meter.call(); }},
      {"a step", 0, expected(seconds), {{"step_seconds", 0, 0}}, [](Meter& meter) { return meter.step(); }},
      // One rate for all precisions: with the slowest, levels promise nothing that another does not hold.
      {"passes " + tuning.precisions,
       pass_bytes,
       static_cast<double>(chosen.size()) * expected(seconds),
       {{"pass_rate", 0, 0}},
       [&plan, chosen](Meter& meter) {
         Rounds slowest = meter.passes(chosen.front(), plan.pass_size);
         for (std::size_t i = 1; i < chosen.size(); ++i)
           if (Rounds rounds = meter.passes(chosen[i], plan.pass_size); median(rounds) > median(slowest))
             slowest = std::move(rounds);
         return slowest;
       }}};
  for (const Precision p : chosen) {
    const std::string gemm = std::string(1, letter(p)) + "gemm";
    index large = plan.sizes.front();
    for (const index n : plan.sizes)
      if (Meter::product_bytes(p, n) <= facts.memory) large = n;
    const auto add = [&](const SquareProduct& product, std::vector<ProfileLine> lines) {
      tasks.push_back({name_of(product), Meter::product_bytes(p, product.n),
                       expected(seconds, least_times * product_seconds(rates, p, product.n)) + expected(seconds),
                       std::move(lines), [product](Meter& meter) { return meter.product(product); }});
    };
    const ProfileLine large_rate{gemm + "_rate", 0, 0};
    bool has_large = false;
    for (const auto& [transposes, sizes] : leaves_for(tuning, plan))
      for (const index n : sizes) {
        std::vector<ProfileLine> lines{{leaf_rate_name(p, transposes), static_cast<double>(n), 0}};
        const bool is_large = transposes == Transposes::nn && n == large;
        if (is_large) lines.push_back(large_rate);
        has_large = has_large || is_large;
        add(square(p, transposes, n), std::move(lines));
      }
    if (!has_large) add(square(p, Transposes::nn, large), {large_rate});
    if (cpu)
      tasks.push_back(
          {gemm + " on the CPU", 0, 2 * expected(seconds), {{"cpu_" + gemm + "_rate", 0, 0}}, [p](Meter& meter) {
             return meter.cpu_product(p);
           }});
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

bool is_leaf(const ProfileLine& line) { return line.size > 0; }
/// "dgemm_leaf_rate", of lines for whichever transposes.
std::string leaves_of(const ProfileLine& line) { return line.name.substr(0, line.name.find(' ')); }

struct Compared {
  SquareProduct product;
  std::vector<Candidate> candidates;
  Contest contest;
  Judgement verdict;
};

struct Measured {
  std::vector<Compared> compared;
  std::vector<ProfileLine> lines;
  std::vector<std::string> skipped, noisy;
  std::set<std::string> refused;  ///< tasks that were noisy
  std::size_t known = 0;          ///< from a run before
};

/// In flop/s.
double rate_of(const SquareProduct& p, const Rounds& rounds) {
  return (is_complex(p.precision) ? 8.0 : 2.0) * static_cast<double>(p.n) * static_cast<double>(p.n) *
         static_cast<double>(p.n) / median(rounds);
}

std::string percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", fraction * 100);
  return text;
}

/// Of an algorithm among kept timings.  Not its place: cuBLASLt may order what it proposes by what it was asked before.
std::string key_of(const Candidate& candidate) {
  const auto& words = candidate.algorithm.words;
  return hexadecimal(hash_of({reinterpret_cast<const char*>(words), sizeof words}), 16);
}

/// Measures one after the other, with progress.  What was steady is kept at once; what a run before has kept is not
/// measured again.
class Measurer {
 public:
  Measurer(Backend& backend, const UnderlyingBlas& underlying, const Effort& effort, double noise, KeptTimings& kept,
           double expected_seconds, Progress& progress)
      : memory_(backend.facts().memory),
        noise_(noise),
        meter_(backend, underlying, effort),
        patient_(backend, underlying, effort.patient()),
        kept_(kept),
        pace_(expected_seconds),
        progress_(progress) {}

  void compare(const Search& search) {
    const std::string what = name_of(search.product) + ", algorithms";
    Compared x{search.product, meter_.candidates(search.product), {}, {}};
    const auto take = [&] {
      measured_.compared.push_back(x);
      char text[80];
      std::snprintf(text, sizeof text, "%.1f TFLOP/s, best of %zu others x %.3f%s",
                    rate_of(x.product, x.contest.own) * 1e-12, x.candidates.size(), x.verdict.gain,
                    x.verdict.winner ? "" : ": not enough");
      return std::string(text);
    };
    const auto compared_by = [&](Meter& meter) {
      x.contest = meter.compare(x.product, x.candidates);
      x.verdict = judged(x.contest);
      return x.verdict.scatter;
    };
    const bool known = read_kept(what, x);
    one(what, search.bytes, search.seconds, known, take, compared_by, [&] {
      kept_.drop(what + ", ");  // other candidates', which would make these look like a part
      KeptTimings::Timings timings{{what + ", own", x.contest.own}};
      for (std::size_t i = 0; i < x.contest.others.size(); ++i)
        timings[what + ", " + key_of(x.candidates[i])] = x.contest.others[i];
      return timings;
    });
  }

  void measure(const Task& task) {
    Rounds rounds;
    const auto take = [&] {
      const double seconds = median(rounds);
      for (ProfileLine line : task.lines) {
        line.value = line.name.ends_with("_seconds") ? seconds : 1 / seconds;
        measured_.lines.push_back(line);
      }
      return shown(measured_.lines.back());
    };
    const auto measured_by = [&](Meter& meter) {
      rounds = task.measure(meter);
      return scatter(rounds);
    };
    const std::vector<double>* kept = kept_.find(task.what);
    const bool known = kept && scatter(*kept) <= noise_;
    if (known) rounds = *kept;
    const bool refused = one(task.what, task.bytes, task.seconds, known, take, measured_by, [&] {
      return KeptTimings::Timings{{task.what, rounds}};
    });
    if (refused) measured_.refused.insert(task.what);
  }

  const Measured& measured() const { return measured_; }

 private:
  /// Too large ones are skipped; those that scatter too much are tried once more, patiently, and then refused.
  /// @param take      adds what is known, or has been measured, to the results; returns it in words
  /// @param measured  how much it scatters
  /// @return whether it was refused
  bool one(const std::string& what, std::size_t bytes, double seconds, bool known,
           const std::function<std::string()>& take, const std::function<double(Meter&)>& measured,
           const std::function<KeptTimings::Timings()>& timings) {
    progress_.begins(what, pace_.left());
    if (known) {
      ++measured_.known;
      pace_.skip(seconds);
      progress_.ended(what, take() + " (known)");
      return false;
    }
    const double begin = now();
    std::string how;
    bool noisy = false;
    try {
      if (bytes > memory_) throw NoRoom("takes more device memory than is allowed");
      double scatter = measured(meter_);
      if (scatter > noise_) {
        progress_.begins(what + ", again", pace_.left());
        scatter = measured(patient_);
      }
      noisy = scatter > noise_;
      if (noisy) {
        how = "old rate kept: too noisy (relative interquartile range " + percent(scatter) + ", limit " +
              percent(noise_) + ")";
        measured_.noisy.push_back(what + ": " + how);
      } else {
        kept_.add(timings());
        how = take();
      }
      pace_.done(seconds, now() - begin);
    } catch (const NoRoom& none) {
      pace_.skip(seconds);
      how = std::string("skipped: ") + none.what();
      measured_.skipped.push_back(what + ": " + none.what());
    }
    progress_.ended(what, how);
    return noisy;
  }

  /// Whether a run before has compared all of these, and steadily.
  bool read_kept(const std::string& what, Compared& x) const {
    const std::vector<double>* own = kept_.find(what + ", own");
    if (!own || kept_.count(what + ", ") != x.candidates.size() + 1) return false;
    x.contest = {*own, {}};
    for (std::size_t i = 0; i < x.candidates.size(); ++i) {
      const std::vector<double>* other = kept_.find(what + ", " + key_of(x.candidates[i]));
      if (!other) return false;
      x.contest.others.push_back(*other);
    }
    x.verdict = judged(x.contest);
    return x.verdict.scatter <= noise_;
  }

  const std::size_t memory_;
  const double noise_;
  Meter meter_, patient_;
  KeptTimings& kept_;
  Pace pace_;
  Progress& progress_;
  Measured measured_;
};

/// As the profile keeps them.
std::vector<TunedProduct> tuned(const std::vector<Compared>& compared, const char* library) {
  std::vector<TunedProduct> found;
  for (const Compared& c : compared) {
    TunedProduct x{library, {.product = c.product, .own = !c.verdict.winner, .algorithm = {}}};
    if (c.verdict.winner) x.preference.algorithm = c.candidates[*c.verdict.winner].algorithm;
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
  std::printf("\n  %-10s %-18s %-18s %s\n", "", "large product", "on the CPU",
              "levels of Strassen's algorithm, squares");
  for (int p = 0; p < precision_count; ++p) {
    const auto precision = static_cast<Precision>(p);
    const std::string gemm = std::string(1, letter(precision)) + "gemm";
    const auto estimator = make_estimator(profile, precision);
    const auto crossover = estimator ? estimator->crossover() : std::nullopt;
    const std::string levels = !estimator  ? "none: no leaf rates"
                               : crossover ? "from " + std::to_string(static_cast<index>(*crossover)) + " on"
                                           : "none: never faster";
    std::printf("  %-10s %-18s %-18s %s\n", gemm.c_str(), shown({gemm + "_rate", 0, profile.gemm_rate[p]}).c_str(),
                shown({gemm + "_rate", 0, profile.cpu_rate[p]}).c_str(), levels.c_str());
  }
  if (!measured.compared.empty())
    std::printf("\n  %-24s %8s %8s %6s  %s\n", "algorithms, TFLOP/s", "own", "best", "gain", "best of the others");
  for (const Compared& c : measured.compared) {
    std::printf("  %-24s %8.2f ", name_of(c.product).c_str(), rate_of(c.product, c.contest.own) * 1e-12);
    const std::size_t best = c.verdict.best;
    if (c.candidates.empty())
      std::printf("%8s %6s  no others\n", "", "");
    else
      std::printf("%8.2f %6.3f  %s #%zu of %zu: %s, %.1f MB\n", rate_of(c.product, c.contest.others[best]) * 1e-12,
                  c.verdict.gain, c.verdict.winner ? "taken" : "left ", best, c.candidates.size(),
                  c.candidates[best].name, static_cast<double>(c.candidates[best].algorithm.workspace) * 1e-6);
  }
  if (!measured.skipped.empty() || !measured.noisy.empty() || measured.known) std::printf("\n");
  for (const std::string& skipped : measured.skipped) std::printf("  skipped: %s\n", skipped.c_str());
  for (const std::string& noisy : measured.noisy) std::printf("  %s\n", noisy.c_str());
  if (measured.known) std::printf("  %zu were taken from an earlier run\n", measured.known);
}

}  // namespace

void tune(const Tuning& tuning) {
  Backend& backend = backend_to_tune(tuning.options);
  const DeviceFacts& facts = backend.facts();
  const ProfileFile file(facts, tuning.output);
  const Plan& plan = plan_for(tuning);
  const double seconds = tuning.seconds.value_or(plan.seconds);
  std::optional<BlasUnderneath> blas;
  std::string no_blas;
  try {
    blas.emplace(tuning.options);
  } catch (const std::runtime_error& none) {
    if (tuning.options.backend == BackendChoice::host) throw;
    no_blas = none.what();
  }
  const std::vector<Search> searches = searches_for(tuning, plan, facts, seconds);
  const std::vector<Task> tasks = tasks_for(tuning, plan, facts, seconds, blas.has_value());
  double expected_seconds = 0;
  for (const Search& search : searches) expected_seconds += search.bytes > facts.memory ? 0 : search.seconds;
  for (const Task& task : tasks) expected_seconds += task.bytes > facts.memory ? 0 : task.seconds;
  if (tuning.dry_run) {
    std::printf("%s, %.1f GB usable; about %g s each, %.0f s in all:\n", facts.name,
                static_cast<double>(facts.memory) * 1e-9, seconds, expected_seconds);
    for (const Search& search : searches)
      std::printf("  %s, algorithms%s\n", name_of(search.product).c_str(),
                  search.bytes > facts.memory ? ": does not fit" : "");
    for (const Task& task : tasks)
      std::printf("  %s%s\n", task.what.c_str(), task.bytes > facts.memory ? ": does not fit" : "");
    std::printf("would be written to %s\n", blaslift::shown(file.path().string()).c_str());
    return;
  }

  file.prepare();
  const std::string before = file.text();
  const auto read = [&](const std::vector<ProfileLine>& lines, const std::vector<Compared>& compared, std::string& text,
                        std::string& problem) {
    Profile profile = built_in_profile(facts.profile);
    text = with_lines(before, lines, tuned(compared, facts.algorithms));
    read_profile_text(text, profile, problem);
    return profile;
  };
  std::string text, problem;
  std::vector<ProfileLine> lines;
  for (const Task& task : tasks)
    for (const ProfileLine& line : task.lines) lines.push_back({line.name, line.size, 1});
  read(lines, {}, text, problem);
  if (!problem.empty())
    throw std::runtime_error("together with the sizes already in " + file.path().string() + " these are more than " +
                             std::to_string(Profile::most_leaf_rates) + " for one precision");
  Profile ignored = built_in_profile(facts.profile);
  read_profile_text(before, ignored, problem);
  if (!problem.empty())
    std::fprintf(stderr, "blaslift: %s: not understood and left out: %s\n",
                 blaslift::shown(file.path().string()).c_str(), blaslift::shown(problem).c_str());
  if (const std::string foreign = foreign_switches(); !foreign.empty() && facts.profile != std::string_view("host"))
    std::fprintf(stderr, "blaslift: warning: %s\n", blaslift::shown(foreign).c_str());

  // Others' timings say nothing: with other libraries, and of shorter rounds.
  KeptTimings kept(
      file.path().string() + ".times",
      "blaslift tune, 1, " + number(seconds, 5) + " s each, " + facts.algorithms + ", " + (blas ? blas->library() : ""),
      facts);
  if (!tuning.quiet && !kept.empty())
    std::fprintf(stderr, "blaslift: continues from %s, left by an earlier run\n", blaslift::shown(kept.path()).c_str());
  Measured measured = [&] {
    Progress progress(tuning.quiet, searches.size() + tasks.size());
    Measurer measurer(backend, blas ? blas->products() : UnderlyingBlas{}, {seconds}, tuning.noise, kept,
                      expected_seconds, progress);
    for (const Search& search : searches) measurer.compare(search);
    // Rates are those of calls, which follow what has been found.
    problem.clear();
    const std::vector<Preference> preferences =
        preferences_for(read({}, measurer.measured().compared, text, problem), facts.algorithms);
    backend.prefer(preferences.data(), static_cast<int>(preferences.size()));
    for (const Task& task : tasks) measurer.measure(task);
    return measurer.measured();
  }();
  // Levels follow from how rates compare: those of one precision are of one day, all of them or none.
  std::set<std::string> incomplete, for_the_next_run;
  for (const Task& task : tasks)
    for (const ProfileLine& line : task.lines)
      if (is_leaf(line) && measured.refused.contains(task.what)) incomplete.insert(leaves_of(line));
  const auto is_left = [&](const ProfileLine& line) { return is_leaf(line) && incomplete.contains(leaves_of(line)); };
  for (const Task& task : tasks)
    if (std::any_of(task.lines.begin(), task.lines.end(), is_left) && !measured.refused.contains(task.what))
      for_the_next_run.insert(task.what);
  std::erase_if(measured.lines, is_left);
  for (const std::string& name : incomplete)
    measured.noisy.push_back(name + ": all old rates kept; steady measurements are saved for the next run");
  if (!no_blas.empty()) measured.skipped.push_back("the CPU's rates: " + no_blas);
  if (measured.lines.empty() && measured.compared.empty() && !measured.noisy.empty())
    throw std::runtime_error("nothing is written: every rate was too noisy; is something else using the machine? " +
                             measured.noisy.front());
  problem.clear();
  const Profile profile = read(measured.lines, measured.compared, text, problem);
  if (!problem.empty()) throw std::runtime_error("a rate makes no sense: " + problem);
  file.replace(text);
  kept.drop_all_but(for_the_next_run);
  if (tuning.quiet) return;

  print_summary(profile, measured, facts);
  file.print_where(tuning.options, library_directory());
}

}  // namespace blaslift::cli
