#include "tools/cli/tune/tune_symv.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include "compat/shown.hpp"
#include "impl/core/text.hpp"
#include "impl/route/device.hpp"
#include "impl/route/profile.hpp"
#include "impl/symv/symv_section.hpp"
#include "tools/cli/launch/backend.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/tune/kept_timings.hpp"
#include "tools/cli/tune/profile_file.hpp"
#include "tools/cli/tune/progress.hpp"
#include "tools/cli/tune/rates.hpp"
#include "tools/cli/tune/symv_timer.hpp"

namespace blaslift::cli {
namespace {

constexpr char letters[] = "sdczw";

// ---- what is measured

/// What suits a backend.
struct Plan {
  std::vector<index> coarse, between;
  std::size_t cache_bytes;
  double seconds, latency_seconds;
};

const Plan& plan_for(const Options& options) {
  static const Plan host{{32, 64, 128, 256}, {48, 96, 192}, std::size_t{2} << 20, 20, 0.02};
  static const Plan cuda{
      {256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 40960},
      {384, 640, 768, 896, 1280, 1536, 1792, 2560, 3072, 3584, 5120, 6144, 7168, 10240, 12288, 20480, 24576},
      std::size_t{64} << 20,
      300,
      0.3};
  return options.backend == BackendChoice::host ? host : cuda;
}

/// One precision and triangle.
struct Subject {
  Element precision;
  Uplo uplo;
};
std::string name_of(const Subject& s) {
  return letter(s.precision) + std::string(is_complex(s.precision) ? "hemv " : "symv ") + static_cast<char>(s.uplo);
}

struct Search {
  Subject subject;
  std::vector<SymvCandidate> space;
  std::vector<index> coarse, between;
};

constexpr int rounds = 9, final_rounds = 11;
constexpr std::size_t kept_candidates = 20;
/// Passes over the crossings, and how many there may be about: for the time that they are given.
constexpr int crossing_passes = 2, crossings_about = 6;

std::vector<Search> searches_for(const SymvTuning& tuning, const Plan& plan, std::size_t memory) {
  std::vector<Search> searches;
  for (const char p : tuning.precisions) {
    const auto precision = static_cast<Element::Name>(std::string_view(letters).find(p));
    Search search{{precision, Uplo::lower}, symv_space(precision, tuning.quick), {}, {}};
    // A quarter for workspaces.
    const auto fits = [&](index n) { return SymvTimer::bytes(precision, n, plan.cache_bytes) <= memory / 4 * 3; };
    for (const index n : tuning.sizes.empty() ? plan.coarse : tuning.sizes)
      if (fits(n)) search.coarse.push_back(n);
    if (search.coarse.empty()) continue;
    if (tuning.sizes.empty()) {
      for (const index n : plan.between)
        if (n < search.coarse.back()) search.between.push_back(n);
    } else {
      for (std::size_t i = 0; i + 1 < search.coarse.size(); ++i)
        if (const index middle = (search.coarse[i] + search.coarse[i + 1]) / 2;
            middle > search.coarse[i] && middle < search.coarse[i + 1])
          search.between.push_back(middle);
    }
    for (const char uplo : tuning.triangles) {
      search.subject.uplo = static_cast<Uplo>(uplo);
      searches.push_back(search);
    }
  }
  return searches;
}

std::vector<SymvCandidate> worth_timing(const Search& search, index n) {
  std::vector<SymvCandidate> found;
  for (const SymvCandidate& c : search.space)
    if (is_worth_timing(c, search.subject.precision, n)) found.push_back(c);
  return found;
}

// ---- what has been measured

/// Of a subject's timings; then n and the blocking.
std::string prefix_of(const Subject& s) {
  return std::string(1, letter(s.precision)) + " " + static_cast<char>(s.uplo) + " ";
}
std::string key_of(const Subject& s, index n, const SymvCandidate& c) {
  return prefix_of(s) + std::to_string(n) + " " + to_text(c.blocking, c.way);
}

std::vector<Timing> known_timings(const KeptTimings& kept, const Search& search) {
  std::vector<Timing> timings;
  for (const auto& [key, seconds] : kept.under(prefix_of(search.subject))) {
    const std::string_view rest = std::string_view(key).substr(prefix_of(search.subject).size());
    const std::size_t space = rest.find(' ');
    SymvCandidate candidate;
    index n = 0;
    if (space == rest.npos || !read_number(rest.substr(0, space), n) || n < 1) continue;
    if (!read_blocking(rest.substr(space + 1), search.subject.precision, candidate.blocking, candidate.way)) continue;
    const auto at = std::find(search.space.begin(), search.space.end(), candidate);
    if (at != search.space.end()) timings.push_back({static_cast<int>(at - search.space.begin()), n, seconds});
  }
  return timings;
}

/// Shares the time out to what there is to do.
class Clock {
 public:
  Clock(double seconds, double work) : end_(now() + seconds), work_(work) {}
  bool is_up() const { return now() >= end_; }
  double left() const { return std::max(0.0, end_ - now()); }
  /// Seconds for so much of the work, which then counts as done.
  double share(double work) {
    const double seconds = left() * std::min(1.0, work / std::max(work_, 1e-9));
    work_ -= work;
    return seconds;
  }

 private:
  const double end_;
  double work_;
};

/// The work of a search, in timings of one candidate at one size.
double work_at(const Search& search, index n) { return static_cast<double>(worth_timing(search, n).size()); }
double work_between(const Search& search) {
  return static_cast<double>(std::min(kept_candidates, search.space.size()));
}
constexpr double work_crossing = 4, work_final = 4;
double work_of(const Search& search) {
  double work = crossing_passes * crossings_about * work_crossing;
  for (const index n : search.coarse) work += work_at(search, n) + work_final;
  return work + static_cast<double>(search.between.size()) * (work_between(search) + work_final);
}
std::size_t steps_of(const Search& search) { return search.coarse.size() + search.between.size() + crossing_passes; }

// ---- the search

struct Outcome {
  std::string verdict;             ///< in words
  std::optional<TunedSymv> tuned;  ///< none: not to be written
  bool finished = false;           ///< its timings are not wanted any more
};

class TimeIsUp {};

class Searcher {
 public:
  Searcher(const Search& search, SymvTimer& timer, KeptTimings& kept, Clock& clock, Progress& progress)
      : search_(search),
        timer_(timer),
        kept_(kept),
        clock_(clock),
        progress_(progress),
        timings_(known_timings(kept, search)),
        before_(timings_.size()) {}

  Outcome run() {
    const std::string name = name_of(search_.subject);
    try {
      for (const index n : search_.coarse) bout(n, worth_timing(search_, n), work_at(search_, n), name, true);
      const std::vector<int> chosen = champions(timings_, kept_candidates);
      for (const index n : search_.between) {
        std::vector<SymvCandidate> worth;
        for (const int c : chosen)
          if (is_worth_timing(of(c), search_.subject.precision, n)) worth.push_back(of(c));
        bout(n, worth, work_between(search_), name, true);
      }
      for (int pass = 0; pass < crossing_passes; ++pass) look_at_crossings(name);
      return judged(name);
    } catch (const TimeIsUp&) {
      return {"the time was up after " + std::to_string(timings_.size()) + " timings, which are kept", {}, false};
    }
  }

 private:
  const SymvCandidate& of(int candidate) const { return search_.space[static_cast<std::size_t>(candidate)]; }
  int number_of(const SymvCandidate& c) const {
    return static_cast<int>(std::find(search_.space.begin(), search_.space.end(), c) - search_.space.begin());
  }
  bool is_timed(const SymvCandidate& c, index n) const {
    return std::any_of(timings_.begin(), timings_.end(),
                       [&](const Timing& t) { return t.n == n && of(t.candidate) == c; });
  }

  /// Times what has not been, in turns.
  void bout(index n, std::vector<SymvCandidate> candidates, double work, const std::string& name, bool is_step) {
    const std::string what = name + " " + std::to_string(n);
    progress_.begins(what + ", " + std::to_string(candidates.size()) + " blockings", clock_.left());
    std::erase_if(candidates, [&](const SymvCandidate& c) { return is_timed(c, n); });
    if (!candidates.empty() && clock_.is_up()) throw TimeIsUp();
    const double seconds = clock_.share(work);
    std::string how = "known";
    if (!candidates.empty()) {
      const auto found = timer_.time(search_.subject.uplo, n, candidates, seconds, rounds);
      std::map<std::string, std::vector<double>> lines;
      std::size_t best = 0;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        timings_.push_back({number_of(candidates[i]), n, found[i]});
        lines[key_of(search_.subject, n, candidates[i])] = found[i];
        if (typical_of(found[i]).seconds < typical_of(found[best]).seconds) best = i;
      }
      char text[48];
      std::snprintf(text, sizeof text, " %.2f us", typical_of(found[best]).seconds * 1e6);
      how = to_text(candidates[best].blocking, candidates[best].way) + text;
      kept_.add(lines);
    }
    if (is_step) progress_.ended(what, how);
  }

  void look_at_crossings(const std::string& name) {
    constexpr double near = 0.02;
    for (const Crossing& crossing : find_rules(search_.space, timings_).crossings) {
      const auto n = std::max<index>(1, std::llround(crossing.n));
      const auto known = [&](int candidate) {
        return std::any_of(timings_.begin(), timings_.end(), [&](const Timing& t) {
          return t.candidate == candidate && std::fabs(static_cast<double>(t.n) / crossing.n - 1) < near;
        });
      };
      if (known(crossing.below) && known(crossing.above)) continue;
      bout(n, {of(crossing.below), of(crossing.above)}, work_crossing, name, false);
    }
    progress_.ended(name + ", crossings", std::to_string(find_rules(search_.space, timings_).crossings.size()));
  }

  /// Against what is built in, in turns, at each size where they differ; also when the time is up, since it takes
  /// little.
  Outcome judged(const std::string& name) {
    // Of those that were looked at only once, nobody knows.
    std::ptrdiff_t steady = 0, unsteady = 0;
    for (const Timing& t : timings_)
      if (t.rounds.size() > 1) ++(typical_of(t.rounds).spread > most_spread ? unsteady : steady);
    if (unsteady > steady)
      return {std::to_string(unsteady) + " of " + std::to_string(steady + unsteady) +
                  " timings were unsteady: old rules kept",
              {},
              true};
    const RulesFound found = find_rules(search_.space, timings_);
    const auto built_in = symv_rules(search_.subject.precision, search_.subject.uplo);
    std::vector<index> sizes = search_.coarse;
    sizes.insert(sizes.end(), search_.between.begin(), search_.between.end());
    std::vector<std::vector<double>> gains;
    double most = 1;
    for (const index n : sizes) {
      const SymvRule &own = symv_rule(found.rules, n), &other = symv_rule(built_in, n);
      const double seconds = clock_.share(work_final);
      if (own.blocking == other.blocking && own.way == other.way) continue;
      progress_.begins(name + " " + std::to_string(n) + ", beside what is built in", clock_.left());
      const auto times = timer_.time(search_.subject.uplo, n, {{own.blocking, own.way}, {other.blocking, other.way}},
                                     seconds, final_rounds);
      std::vector<double>& gain = gains.emplace_back();
      // One that is far behind has been looked at once.
      for (std::size_t r = 0; r < std::max(times[0].size(), times[1].size()); ++r)
        gain.push_back(times[1][std::min(r, times[1].size() - 1)] / times[0][std::min(r, times[0].size() - 1)]);
      most = std::max(most, typical_of(gain).seconds);
    }
    TunedSymv tuned{search_.subject.precision, search_.subject.uplo, {}};
    if (is_faster(gains)) tuned.rules = found.rules;
    char text[200];
    std::snprintf(text, sizeof text, "%zu blockings, %zu timings (%zu known before, %td unsteady), %zu changes; %s",
                  search_.space.size(), timings_.size(), before_, unsteady, found.crossings.size(),
                  tuned.rules.empty() ? "what is built in is as fast" : "up to x ");
    std::string verdict = text;
    if (!tuned.rules.empty()) {
      std::snprintf(text, sizeof text, "%.3f faster than what is built in", most);
      verdict += text;
    }
    return {verdict, tuned, true};
  }

  const Search& search_;
  SymvTimer& timer_;
  KeptTimings& kept_;
  Clock& clock_;
  Progress& progress_;
  std::vector<Timing> timings_;
  const std::size_t before_;  ///< timings from earlier runs
};

}  // namespace

void tune_symv(const SymvTuning& tuning) {
  Backend& backend = backend_to_tune(tuning.options);
  const DeviceFacts& facts = backend.facts();
  const ProfileFile file(facts, tuning.output);
  const Plan& plan = plan_for(tuning.options);
  const std::vector<Search> searches = searches_for(tuning, plan, facts.memory);
  const double seconds = tuning.seconds.value_or(tuning.quick ? plan.seconds / 5 : plan.seconds);
  if (tuning.dry_run) {
    std::printf("%s, %.1f GB usable; about %g s:\n", facts.name, static_cast<double>(facts.memory) * 1e-9, seconds);
    for (const Search& s : searches) {
      std::printf("  %s: %zu blockings at", name_of(s.subject).c_str(), s.space.size());
      for (const index n : s.coarse) std::printf(" %lld", static_cast<long long>(n));
      std::printf(", %zu of them at", std::min(kept_candidates, s.space.size()));
      for (const index n : s.between) std::printf(" %lld", static_cast<long long>(n));
      std::printf("\n");
    }
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
  const auto write = [&](const std::vector<ProfileLine>& lines, const std::vector<SectionLine>& rules) {
    text = with_lines(text, lines, {}, rules);
    file.replace(text);
  };
  KeptTimings kept(file.path().string() + ".symv-times", "blaslift tune symv, 3", facts);

  std::optional<BlasUnderneath> blas;
  if (tuning.options.backend == BackendChoice::host) blas.emplace(tuning.options);
  const UnderlyingBlas underlying = blas ? blas->products() : UnderlyingBlas{};
  double work = 0, latency = 0;
  std::size_t steps = 1;
  for (const Search& s : searches) work += work_of(s), steps += steps_of(s);
  Clock clock(seconds, work);
  std::vector<std::string> verdicts;
  {
    Progress progress(tuning.quiet, steps);
    progress.begins("a call", clock.left());
    Meter meter(backend, underlying, {std::min(plan.latency_seconds, seconds / 10)});
    latency = median(meter.symv_call());
    write({{"symv_latency_seconds", 0, latency}}, {});
    char shown[32];
    std::snprintf(shown, sizeof shown, "%.3g us", latency * 1e6);
    progress.ended("a call", shown);
    std::unique_ptr<SymvTimer> timer;
    std::optional<Element> timer_is_of;
    for (const Search& search : searches) {
      Outcome outcome;
      try {
        if (!timer_is_of || *timer_is_of != search.subject.precision) {
          timer.reset();
          if (!clock.is_up())
            timer = std::make_unique<SymvTimer>(backend, underlying, search.subject.precision, search.coarse.back(),
                                                plan.cache_bytes);
          timer_is_of = search.subject.precision;
        }
        outcome = timer ? Searcher(search, *timer, kept, clock, progress).run()
                        : Outcome{"not started: the time was up", {}, false};
      } catch (const NoRoom& none) {
        timer_is_of.reset();
        outcome = {std::string("skipped: ") + none.what(), {}, false};
      }
      if (outcome.tuned) write({}, {section_line(*outcome.tuned)});
      if (outcome.finished) kept.drop(prefix_of(search.subject));
      verdicts.push_back(name_of(search.subject) + ": " + outcome.verdict);
    }
  }
  if (tuning.quiet) return;
  std::printf("%s%s%s\n\n  a call of SYMV  %.3g us\n", facts.name, *facts.driver ? ", " : "", facts.driver,
              latency * 1e6);
  for (const std::string& verdict : verdicts) std::printf("  %s\n", verdict.c_str());
  if (!kept.empty())
    std::printf("\ntimings that have led to no rules yet are in %s; the next run continues from there\n",
                shown(kept.path()).c_str());
  file.print_where(tuning.options, library_directory());
}

}  // namespace blaslift::cli
