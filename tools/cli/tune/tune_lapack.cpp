#include "tools/cli/tune/tune_lapack.hpp"

#include <cmath>
#include <cstdio>

#include "compat/shown.hpp"
#include "impl/route/device.hpp"
#include "tools/cli/launch/backend.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/tune/lapack_timer.hpp"
#include "tools/cli/tune/profile_file.hpp"
#include "tools/cli/tune/progress.hpp"

namespace blaslift::cli {
namespace {

constexpr char letters[] = "sdcz";

/// What suits a backend.
struct Plan {
  std::vector<index> of_factors, of_values;  ///< orders; decompositions take fifty times as long as factorisations
  double seconds;
};

const Plan& plan_for(const LapackTuning& tuning) {
  static const Plan host{{32, 64, 128}, {16, 32, 64}, 0.02}, host_quick{{32, 64}, {16, 32}, 0.01},
      cuda{{1024, 2048, 4096, 8192, 16384}, {512, 1024, 2048, 4096}, 0.3},
      cuda_quick{{1024, 4096}, {512, 1024, 2048}, 0.1};
  if (tuning.options.backend == BackendChoice::host) return tuning.quick ? host_quick : host;
  return tuning.quick ? cuda_quick : cuda;
}

/// A line of the profile.
struct Task {
  LapackWork work;
  Precision precision;
  std::vector<index> orders;

  std::string name() const { return letter(precision) + std::string(name_of(work)); }
};

std::vector<Task> tasks_for(const LapackTuning& tuning, const Plan& plan) {
  std::vector<Task> tasks;
  for (const char p : tuning.precisions)
    for (int i = 0; i < lapack_works; ++i) {
      const auto work = static_cast<LapackWork>(i);
      const bool factors = work == LapackWork::potrf || work == LapackWork::getrf;
      tasks.push_back({work, static_cast<Precision>(std::string_view(letters).find(p)),
                       !tuning.sizes.empty() ? tuning.sizes
                       : factors             ? plan.of_factors
                                             : plan.of_values});
    }
  return tasks;
}

/// The timings of one line, with progress.
class Measurer {
 public:
  Measurer(Backend& backend, const UnderlyingBlas& underlying, double seconds, Progress& progress)
      : backend_(backend), timer_(backend, underlying), seconds_(seconds), progress_(progress) {}

  LapackTimes measure(const Task& task) {
    LapackTimes found{task.work, task.precision, {}};
    for (const index n : task.orders) {
      const std::string what = task.name() + " " + std::to_string(n);
      progress_.begins(what);
      try {
        const double seconds = time(task, n);
        found.times.push_back({n, seconds});
        char text[32];
        std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
        progress_.ended(what, text);
      } catch (const NoRoom& none) {
        skipped.push_back(what + ": " + none.what());
        progress_.ended(what, std::string("skipped: ") + none.what());
      }
    }
    return found;
  }

  std::vector<std::string> skipped{};

 private:
  double time(const Task& task, index n) {
    const Operation::Kinds kinds = operations_of(task.work);
    if (!backend_.facts().computes.can(kinds, task.precision)) throw NoRoom("the device does not compute it");
    if (!kinds.all([&](Operation::Kind kind) { return backend_.equip(kind); }))
      throw NoRoom("the device's library for it is not there");
    if (!LapackTimer::fits(task.work, task.precision, n, backend_.facts().memory))
      throw NoRoom("takes more device memory than is allowed");
    return median(timer_.time(task.work, task.precision, n, seconds_));
  }

  Backend& backend_;
  LapackTimer timer_;
  const double seconds_;
  Progress& progress_;
};

void print_summary(const DeviceFacts& facts, const std::vector<LapackTimes>& all,
                   const std::vector<std::string>& skipped) {
  std::printf("%s%s%s\n\n  milliseconds by order\n", facts.name, *facts.driver ? ", " : "", facts.driver);
  for (const LapackTimes& x : all) {
    if (x.times.empty()) continue;
    std::printf("  %-14s", (letter(x.precision) + std::string(name_of(x.work))).c_str());
    for (const LapackTime& t : x.times) std::printf("  %lld: %.3g", static_cast<long long>(t.order), 1e3 * t.seconds);
    std::printf("\n");
  }
  if (!skipped.empty()) std::printf("\n");
  for (const std::string& line : skipped) std::printf("  skipped: %s\n", line.c_str());
}

}  // namespace

void tune_lapack(const LapackTuning& tuning) {
  Backend& backend = backend_to_tune(tuning.options);
  const DeviceFacts& facts = backend.facts();
  const ProfileFile file(facts, tuning.output);
  const Plan& plan = plan_for(tuning);
  const std::vector<Task> tasks = tasks_for(tuning, plan);
  if (tuning.dry_run) {
    std::printf("%s, %.1f GB usable:\n", facts.name, static_cast<double>(facts.memory) * 1e-9);
    for (const Task& task : tasks) {
      std::printf("  %s at", task.name().c_str());
      for (const index n : task.orders) std::printf(" %lld", static_cast<long long>(n));
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
  std::optional<BlasUnderneath> blas;
  if (tuning.options.backend == BackendChoice::host) blas.emplace(tuning.options);
  std::size_t timings = 0;
  for (const Task& task : tasks) timings += task.orders.size();
  std::vector<LapackTimes> all;
  std::vector<std::string> skipped;
  {
    Progress progress(tuning.quiet, timings);
    Measurer measurer(backend, blas ? blas->products() : UnderlyingBlas{}, tuning.seconds.value_or(plan.seconds),
                      progress);
    for (const Task& task : tasks) {
      const LapackTimes& times = all.emplace_back(measurer.measure(task));
      if (times.times.empty()) continue;
      text = with_lines(text, {}, {}, {section_line(times)});
      file.replace(text);
    }
    skipped = measurer.skipped;
  }
  if (tuning.quiet) return;
  print_summary(facts, all, skipped);
  file.print_where(tuning.options, library_directory());
}

}  // namespace blaslift::cli
