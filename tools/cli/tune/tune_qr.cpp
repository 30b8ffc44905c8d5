#include "tools/cli/tune/tune_qr.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "compat/shown.hpp"
#include "impl/qr/qr_section.hpp"
#include "impl/route/profile.hpp"
#include "tools/cli/launch/backend.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/tune/kept_timings.hpp"
#include "tools/cli/tune/profile_file.hpp"
#include "tools/cli/tune/progress.hpp"
#include "tools/cli/tune/qr_model.hpp"
#include "tools/cli/tune/qr_timer.hpp"
#include "tools/cli/tune/sieve.hpp"

namespace blaslift::cli {
namespace {

constexpr char letters[] = "sdcz";

/// What suits a backend.
struct Plan {
  std::vector<index> sizes, panels, blocks;
  double seconds;
};

const Plan& plan_for(const Options& options) {
  static const Plan host{{32, 64, 128}, {8, 16, 32}, {8, 16, 32, 64}, 20};
  static const Plan cuda{{1024, 2048, 4096, 8192, 16384}, {16, 32, 64, 128}, {64, 128, 256, 512, 1024}, 300};
  return options.backend == BackendChoice::host ? host : cuda;
}

/// One precision.
struct Search {
  Precision precision;
  std::vector<index> sizes;
  std::vector<index> panels, blocks, widths;  ///< widths: of both
  int rounds;

  std::vector<QrWidths> space(index n) const {
    std::vector<QrWidths> all;
    for (const index block : blocks)
      for (const index panel : panels)
        if (block % panel == 0 && block <= n) all.push_back({block, panel});
    return all;
  }
  /// Of the matrices on which operations by themselves are timed: each of them at two heights.
  index edge() const { return std::max(sizes.back(), 4 * blocks.back()); }
  /// Of all blocks that are timed: those that are built in may be wider than the plan's.
  index widest() const { return std::max(blocks.back(), qr_widths(sizes.back()).block); }
  std::string name() const { return std::string(1, letter(precision)) + "geqrf"; }
  std::string prefix() const { return std::string(1, letter(precision)) + " "; }  ///< of its timings' keys
};

std::vector<Search> searches_for(const QrTuning& tuning, const Plan& plan, std::size_t memory) {
  std::vector<Search> searches;
  for (const char p : tuning.precisions) {
    Search s{static_cast<Precision>(std::string_view(letters).find(p)), {}, plan.panels, {}, {}, tuning.quick ? 5 : 7};
    for (const index n : tuning.sizes.empty() ? plan.sizes : tuning.sizes)
      if (n >= plan.blocks.front()) s.sizes.push_back(n);
    for (; !s.sizes.empty(); s.sizes.pop_back()) {
      s.blocks.clear();
      for (const index block : plan.blocks)
        if (block <= s.sizes.back()) s.blocks.push_back(block);
      if (QrTimer::bytes(s.precision, s.edge(), s.widest()) <= memory) break;
    }
    if (s.sizes.empty()) continue;
    std::erase_if(s.panels, [&](index panel) { return panel > s.blocks.back(); });
    std::set_union(s.panels.begin(), s.panels.end(), s.blocks.begin(), s.blocks.end(), std::back_inserter(s.widths));
    searches.push_back(s);
  }
  return searches;
}

std::string to_text(const QrWidths& widths) {
  return std::to_string(widths.block) + "x" + std::to_string(widths.panel);
}

struct Outcome {
  std::vector<std::string> verdict;  ///< in words, by line
  std::optional<TunedQr> tuned;      ///< none: not to be written
  std::vector<ProfileLine> lines;    ///< of panels
  bool finished = false;             ///< its timings are not wanted any more
};

class TimeIsUp {};

class Searcher {
 public:
  Searcher(const Search& search, QrTimer& timer, KeptTimings& kept, double end, bool quick, Progress& progress)
      : search_(search),
        timer_(timer),
        kept_(kept),
        end_(end),
        quick_(quick),
        progress_(progress),
        known_(kept.count(search.prefix())) {}

  static std::size_t steps_of(const Search& search, bool quick) { return 4 + (quick ? 0 : search.sizes.size()) + 1; }

  Outcome run() {
    try {
      const QrCosts costs = measured();
      return judged(costs);
    } catch (const TimeIsUp&) {
      return {{search_.name() + ": the time was up after " + std::to_string(kept_.count(search_.prefix())) +
               " timings, which are kept"},
              {},
              {},
              false};
    }
  }

 private:
  /// What typical_of says of rounds that are known, or are timed now.
  template <class Time>
  double seconds(const std::string& what, const Time& time) {
    const std::string key = search_.prefix() + what;
    const std::vector<double>* rounds = kept_.find(key);
    if (!rounds) {
      if (now() >= end_) throw TimeIsUp();
      kept_.add({{key, time()}});
      rounds = kept_.find(key);
    }
    const Typical typical = typical_of(*rounds);
    if (rounds->size() > 1) ++(typical.spread > most_spread ? unsteady_ : steady_);
    return typical.seconds;
  }

  void begins(const std::string& what) { progress_.begins(search_.name() + " " + what, std::max(0.0, end_ - now())); }
  void ended(const std::string& what, const std::string& how) { progress_.ended(search_.name() + " " + what, how); }

  QrCosts measured() {
    const index edge = search_.edge(), eighth = edge / 8;
    QrCosts costs;
    begins("panels");
    for (const index w : search_.panels) {
      const auto sample = [&](index rows) {
        return Sample{static_cast<double>(rows), seconds("panel " + std::to_string(rows) + " " + std::to_string(w),
                                                         [&] { return timer_.panel(rows, w, search_.rounds); })};
      };
      const Sample small = sample(std::max(w, eighth)), large = sample(edge);
      costs.panel[w] = cost_through(small, large);
    }
    ended("panels", std::to_string(search_.panels.size()) + " widths");
    begins("products");
    for (const index w : search_.widths) {
      const auto sample = [&](index n) {
        return Sample{static_cast<double>(n) * static_cast<double>(n),
                      seconds("update " + std::to_string(n) + " " + std::to_string(w),
                              [&] { return timer_.update(n, n, w, search_.rounds); })};
      };
      const Sample small = sample(eighth), large = sample(edge);
      costs.update[w] = cost_through(small, large);
    }
    ended("products", std::to_string(search_.widths.size()) + " widths");
    begins("joins");
    for (const index w : search_.widths) {
      if (2 * w > search_.blocks.back()) continue;
      const auto sample = [&](index rows) {
        return Sample{static_cast<double>(rows), seconds("join " + std::to_string(rows) + " " + std::to_string(w),
                                                         [&] { return timer_.join(rows, w, search_.rounds); })};
      };
      const Sample small = sample(std::max(2 * w, eighth)), large = sample(edge);
      costs.join[w] = cost_through(small, large);
    }
    ended("joins", std::to_string(costs.join.size()) + " widths");
    begins("whole ones");
    std::vector<WholeTiming> timings;
    for (const index n : search_.sizes) timings.push_back({n, qr_widths(n), whole(n, {qr_widths(n)}).front().seconds});
    fit_whole(timings, costs);
    ended("whole ones", std::to_string(timings.size()) + " sizes");
    return costs;
  }

  /// Those that are not known yet in turns.
  std::vector<WidthsTiming> whole(index n, const std::vector<QrWidths>& all) {
    const auto name = [&](const QrWidths& w) { return "whole " + std::to_string(n) + " " + to_text(w); };
    const auto key = [&](const QrWidths& w) { return search_.prefix() + name(w); };
    std::vector<QrWidths> unknown;
    for (const QrWidths& w : all)
      if (!kept_.find(key(w))) unknown.push_back(w);
    if (!unknown.empty()) {
      if (now() >= end_) throw TimeIsUp();
      const auto rounds = timer_.whole(n, unknown, search_.rounds);
      KeptTimings::Timings timings;
      for (std::size_t i = 0; i < unknown.size(); ++i) timings[key(unknown[i])] = rounds[i];
      kept_.add(timings);
    }
    std::vector<WidthsTiming> found;
    for (const QrWidths& w : all) found.push_back({w, seconds(name(w), [] { return std::vector<double>{}; })});
    return found;
  }

  Outcome judged(const QrCosts& costs) {
    Outcome outcome;
    std::vector<BestWidths> best;
    char text[240];
    for (const index n : search_.sizes) {
      const std::vector<QrWidths> space = search_.space(n);
      std::vector<WidthsTiming> guesses;
      for (const QrWidths& w : space) guesses.push_back({w, predicted(n, w, costs)});
      const WidthsTiming& guess = fastest(guesses);
      best.push_back({n, guess.widths});
      std::snprintf(text, sizeof text, "%s %lld: predicted %s, %.3g ms", search_.name().c_str(),
                    static_cast<long long>(n), to_text(guess.widths).c_str(), guess.seconds * 1e3);
      outcome.verdict.emplace_back(text);
      if (quick_) continue;
      const std::string what = std::to_string(n) + ", " + std::to_string(space.size()) + " widths";
      begins(what);
      const std::vector<WidthsTiming> found = whole(n, space);
      const WidthsTiming& fast = fastest(found);
      best.back().widths = fast.widths;
      std::vector<double> errors;
      double taken = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        errors.push_back(std::fabs(guesses[i].seconds / found[i].seconds - 1));
        if (found[i].widths == guess.widths) taken = found[i].seconds;
      }
      std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
      std::snprintf(text, sizeof text, ", takes %.3g; of all %zu the fastest %s, %.3g: x %.3f; off by %.0f %%, median",
                    taken * 1e3, space.size(), to_text(fast.widths).c_str(), fast.seconds * 1e3, taken / fast.seconds,
                    errors[errors.size() / 2] * 100);
      outcome.verdict.back() += text;
      ended(what, to_text(fast.widths));
    }
    outcome.finished = true;
    if (unsteady_ > steady_) {
      outcome.verdict.push_back(search_.name() + ": " + std::to_string(unsteady_) + " of " +
                                std::to_string(steady_ + unsteady_) + " timings were unsteady: old rules kept");
      return outcome;
    }
    confirm(best, outcome);
    // What a decision takes panels for, which knows one rate for all widths: of the largest QR, as calls will cut it.
    const index largest = search_.sizes.back(), panel = qr_widths(outcome.tuned->rules, largest).panel;
    const Cost cost = panel_cost(costs, outcome.tuned->rules, largest);
    if (search_.precision == Precision::d && cost.each > 0 && cost.least > 0)
      outcome.lines = {{"panel_rate", 0, static_cast<double>(panel) * sizeof(double) / cost.each},
                       {"panel_seconds", 0, cost.least}};
    return outcome;
  }

  /// Against what is built in, in turns, at each size where they differ; also when the time is up, since it takes
  /// little.
  void confirm(const std::vector<BestWidths>& best, Outcome& outcome) {
    constexpr int final_rounds = 9;
    begins("beside what is built in");
    std::vector<std::vector<double>> gains;
    double most = 1;
    for (const auto& [n, widths] : best) {
      if (widths == qr_widths(n)) continue;
      const auto times = timer_.whole(n, {widths, qr_widths(n)}, final_rounds);
      std::vector<double>& gain = gains.emplace_back();
      for (std::size_t r = 0; r < times[0].size(); ++r) gain.push_back(times[1][r] / times[0][r]);
      most = std::max(most, typical_of(gain).seconds);
    }
    outcome.tuned = TunedQr{search_.precision, {}};
    if (is_faster(gains)) outcome.tuned->rules = rules_from(best);
    char text[200];
    std::snprintf(text, sizeof text, "%s: %zu timings (%zu known before, %zu unsteady); ", search_.name().c_str(),
                  kept_.count(search_.prefix()), known_, unsteady_);
    outcome.verdict.emplace_back(text);
    std::snprintf(text, sizeof text, "up to x %.3f faster than what is built in", most);
    outcome.verdict.back() += outcome.tuned->rules.empty() ? "what is built in is as fast" : text;
    ended("beside what is built in", outcome.tuned->rules.empty() ? "as fast" : "faster");
  }

  const Search& search_;
  QrTimer& timer_;
  KeptTimings& kept_;
  const double end_;
  const bool quick_;
  Progress& progress_;
  const std::size_t known_;  ///< timings from earlier runs
  std::size_t steady_ = 0, unsteady_ = 0;
};

void print_plan(const std::vector<Search>& searches, bool quick) {
  for (const Search& s : searches) {
    std::printf("  %s: panels of", s.name().c_str());
    for (const index w : s.panels) std::printf(" %lld", static_cast<long long>(w));
    std::printf(", blocks of");
    for (const index w : s.blocks) std::printf(" %lld", static_cast<long long>(w));
    std::printf(", %s at", quick ? "predicted" : "predicted and timed");
    for (const index n : s.sizes) std::printf(" %lld", static_cast<long long>(n));
    std::printf("\n");
  }
}

}  // namespace

void tune_qr(const QrTuning& tuning) {
  Backend& backend = backend_to_tune(tuning.options);
  const DeviceFacts& facts = backend.facts();
  if (!facts.computes.can(Operation::Kind::qr_panel, Element::d))
    throw std::runtime_error(std::string(facts.name) + " has no QR");
  const ProfileFile file(facts, tuning.output);
  const Plan& plan = plan_for(tuning.options);
  const std::vector<Search> searches = searches_for(tuning, plan, facts.memory);
  const double seconds = tuning.seconds.value_or(tuning.quick ? plan.seconds / 5 : plan.seconds);
  if (tuning.dry_run) {
    std::printf("%s, %.1f GB usable; %g s at most, about:\n", facts.name, static_cast<double>(facts.memory) * 1e-9,
                seconds);
    print_plan(searches, tuning.quick);
    std::printf("would be written to %s\n", shown(file.path().string()).c_str());
    return;
  }

  file.prepare();
  std::string text = file.text(), problem;
  Profile profile = built_in_profile(facts.profile);
  read_profile_text(text, profile, problem);
  if (!problem.empty())
    std::fprintf(stderr, "blaslift: %s: not understood and left out: %s\n", shown(file.path().string()).c_str(),
                 shown(problem).c_str());
  KeptTimings kept(file.path().string() + ".qr-times", "blaslift tune qr, 1", facts);

  std::optional<BlasUnderneath> blas;
  if (tuning.options.backend == BackendChoice::host) blas.emplace(tuning.options);
  const UnderlyingBlas underlying = blas ? blas->products() : UnderlyingBlas{};
  const double end = now() + seconds;
  std::size_t steps = 1;
  for (const Search& s : searches) steps += Searcher::steps_of(s, tuning.quick);
  std::vector<std::string> verdict;
  {
    Progress progress(tuning.quiet, steps);
    for (const Search& search : searches) {
      Outcome outcome;
      try {
        const auto timer = make_qr_timer(backend, underlying, search.precision, search.edge(), search.widest());
        outcome = Searcher(search, *timer, kept, end, tuning.quick, progress).run();
      } catch (const NoRoom& none) {
        outcome.verdict = {search.name() + ": skipped: " + none.what()};
      }
      if (outcome.tuned) {
        text = with_lines(text, outcome.lines, {}, {section_line(*outcome.tuned)});
        file.replace(text);
      }
      if (outcome.finished) kept.drop(search.prefix());
      verdict.insert(verdict.end(), outcome.verdict.begin(), outcome.verdict.end());
    }
  }
  if (tuning.quiet) return;
  std::printf("%s%s%s\n\n", facts.name, *facts.driver ? ", " : "", facts.driver);
  for (const std::string& line : verdict) std::printf("  %s\n", line.c_str());
  if (!kept.empty())
    std::printf("\ntimings that have led to no rules yet are in %s; the next run continues from there\n",
                shown(kept.path()).c_str());
  file.print_where(tuning.options, library_directory());
}

}  // namespace blaslift::cli
