#include "tools/cli/tune.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "impl/device.hpp"
#include "impl/profile.hpp"
#include "tools/cli/backend.hpp"
#include "tools/cli/rates.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

constexpr char precisions[] = "sdcz";

// ---- what is measured

/// What suits a backend.
struct Plan {
  std::vector<index> sizes;    ///< of leaf products; the largest that fits stands for large products
  index pass_size;             ///< of blocks far larger than caches
  std::size_t transfer_bytes;  ///< likewise
  double seconds;
};

const Plan& plan_for(const Options& options) {
  static const Plan host{{32, 48, 64, 96, 128, 192, 256}, 256, std::size_t{16} << 20, 0.05};
  static const Plan cuda{
      {256, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384},
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

std::vector<Task> tasks_for(const Tuning& tuning, const Plan& plan, std::size_t memory) {
  std::vector<Precision> chosen;
  for (const char letter : tuning.precisions)
    chosen.push_back(static_cast<Precision>(std::string_view(precisions).find(letter)));

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

/// On stderr: a bar for who watches a terminal, a line a rate for who reads it later.
class Progress {
 public:
  Progress(bool quiet, std::size_t tasks) : shows_(!quiet), bar_(isatty(STDERR_FILENO) != 0), tasks_(tasks) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begins(const Task& task) {
    constexpr std::size_t width = 30;
    if (!shows_ || !bar_) return;
    const std::size_t filled = width * done_ / tasks_;
    std::fprintf(stderr, "\r\033[K[%s%s] %zu/%zu %s", std::string(filled, '#').c_str(),
                 std::string(width - filled, '.').c_str(), done_, tasks_, task.what.c_str());
  }
  void ended(const Task& task, const std::string& how) {
    ++done_;
    if (shows_ && !bar_) std::fprintf(stderr, "%s: %s\n", task.what.c_str(), how.c_str());
  }

 private:
  void clear() {
    if (shows_ && bar_) std::fprintf(stderr, "\r\033[K");
  }
  const bool shows_, bar_;
  const std::size_t tasks_;
  std::size_t done_ = 0;
};

struct Measured {
  std::vector<ProfileLine> lines;
  std::vector<std::string> skipped;
};

Measured measure(std::vector<Task> tasks, Meter& meter, std::size_t memory, bool quiet) {
  Measured measured;
  Progress progress(quiet, tasks.size());
  for (Task& task : tasks) {
    progress.begins(task);
    try {
      if (task.bytes > memory) throw NoRoom("takes more device memory than is for us");
      const double value = task.measure(meter);
      for (ProfileLine& line : task.lines) line.value = value;
      measured.lines.insert(measured.lines.end(), task.lines.begin(), task.lines.end());
      progress.ended(task, shown(task.lines.front()));
    } catch (const NoRoom& none) {
      measured.skipped.push_back(task.what + ": " + none.what());
      progress.ended(task, std::string("skipped: ") + none.what());
    }
  }
  return measured;
}

// ---- the file

constexpr char own_comment[] = "# blaslift tune: ";

[[noreturn]] void cannot(const std::string& path, const char* what, int error) {
  throw std::runtime_error(path + " cannot be " + what + ": " + std::strerror(error));
}

/// Empty where there is none.
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno == ENOENT ? std::string() : (cannot(path, "read", errno), std::string());
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::string kept;
  while (!text.empty()) {
    const std::string line = text.substr(0, text.find('\n'));
    text.erase(0, line.size() + 1);
    if (!line.starts_with(own_comment)) kept += line + "\n";
  }
  return kept;
}

/// What can go wrong with the file at the end goes wrong at the beginning.
void prepare(const std::string& path) {
  const fs::file_status status = fs::status(path);
  if (fs::exists(status) && !fs::is_regular_file(status)) throw std::runtime_error(path + " is not a file");
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) cannot(path, "written", error.value());
  if (access(folder.c_str(), W_OK | X_OK) != 0) cannot(path, "written", errno);
}

/// All of it or nothing, whatever happens meanwhile.
void replace(const std::string& path, const std::string& text) {
  std::string beside = path + ".XXXXXX";
  const int fd = mkstemp(beside.data());
  if (fd < 0) cannot(path, "written", errno);
  const mode_t mask = umask(0);
  umask(mask);
  std::size_t written = 0;
  for (ssize_t n = 0; written < text.size() && n >= 0; written += static_cast<std::size_t>(std::max<ssize_t>(n, 0)))
    n = write(fd, text.data() + written, text.size() - written);
  int error = 0;
  if (written < text.size() || fchmod(fd, 0666 & ~mask) != 0 || fsync(fd) != 0) error = errno;
  close(fd);
  if (!error && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (!error) return;
  unlink(beside.c_str());
  cannot(path, "written", error);
}

std::string todays_comment(const DeviceFacts& facts) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[16];
  std::strftime(date, sizeof date, "%F", &utc);
  return own_comment + std::string(facts.name) + (*facts.driver ? std::string(", ") + facts.driver : "") + ", " + date +
         "\n";
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
  if (!measured.skipped.empty()) std::printf("\n");
  for (const std::string& skipped : measured.skipped) std::printf("  skipped: %s\n", skipped.c_str());
}

}  // namespace

void tune(const Tuning& tuning) {
  const Opened opened = open_backend(tuning.options);
  if (!opened.backend)
    throw std::runtime_error("no device: " + opened.why + "; --backend host measures the schedules on the CPU");
  const DeviceFacts& facts = opened.backend->facts();
  const std::string own_path = default_profile_path(facts.name);
  const std::string named = tuning.output.empty() ? own_path : tuning.output;
  if (named.empty())
    throw std::runtime_error("neither XDG_CACHE_HOME nor HOME says where the profile belongs: say it with --output");
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(named), error);  // a link stays one
  if (error) cannot(named, "written", error.value());

  const Plan& plan = plan_for(tuning.options);
  const std::vector<Task> tasks = tasks_for(tuning, plan, facts.memory);
  const double seconds = tuning.seconds.value_or(plan.seconds);
  if (tuning.dry_run) {
    std::printf("%s, %.1f GB for us; about %g s each:\n", facts.name, static_cast<double>(facts.memory) * 1e-9,
                seconds);
    for (const Task& task : tasks)
      std::printf("  %s%s\n", task.what.c_str(), task.bytes > facts.memory ? ": does not fit" : "");
    std::printf("would be written to %s\n", path.c_str());
    return;
  }

  prepare(path);
  const std::string before = text_of(path);
  const auto read = [&](const std::vector<ProfileLine>& lines, std::string& text, std::string& problem) {
    Profile profile = built_in_profile(facts.profile);
    text = with_lines(before, lines);
    read_profile_text(text, profile, problem);
    return profile;
  };
  std::string text, problem;
  std::vector<ProfileLine> lines;
  for (const Task& task : tasks)
    for (const ProfileLine& line : task.lines) lines.push_back({line.name, line.size, 1});
  read(lines, text, problem);
  if (!problem.empty())
    throw std::runtime_error("with the sizes that " + path.string() + " has already there are more than " +
                             std::to_string(Profile::most_leaf_rates) + " of a precision");
  Profile ignored = built_in_profile(facts.profile);
  read_profile_text(before, ignored, problem);
  if (!problem.empty())
    std::fprintf(stderr, "blaslift: %s: not understood and left out: %s\n", path.c_str(), problem.c_str());
  if (const std::string foreign = foreign_switches(); !foreign.empty() && facts.profile != std::string_view("host"))
    std::fprintf(stderr, "blaslift: warning: %s\n", foreign.c_str());

  std::optional<BlasUnderneath> blas;
  if (tuning.options.backend == BackendChoice::host) blas.emplace(tuning.options);
  Meter meter(*opened.backend, blas ? blas->gemm() : UnderlyingGemm{}, seconds);
  const Measured measured = measure(tasks, meter, facts.memory, tuning.quiet);
  problem.clear();
  const Profile profile = read(measured.lines, text, problem);
  if (!problem.empty()) throw std::runtime_error("a rate makes no sense: " + problem);
  replace(path, todays_comment(facts) + text);
  if (tuning.quiet) return;

  print_summary(profile, measured, facts);
  std::printf("\nwritten to %s", path.c_str());
  if (fs::path(own_path) != fs::path(named))
    std::printf(", which BLASLIFT_PROFILE has to name\n");
  else if (!tuning.options.profile.empty() && tuning.options.profile != own_path)
    std::printf(", but BLASLIFT_PROFILE names %s\n", tuning.options.profile.c_str());
  else
    std::printf(", where the library looks for it\n");
}

}  // namespace blaslift::cli
