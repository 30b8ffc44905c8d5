#include "tools/cli/launch/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "compat/shown.hpp"
#include "impl/core/options.hpp"
#include "impl/core/regular_file.hpp"
#include "tools/cli/launch/counters_file.hpp"
#include "tools/cli/launch/preload.hpp"
#include "tools/cli/launch/shell.hpp"
#include "tools/cli/parser/command.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

volatile sig_atomic_t child = 0;

constexpr const char* sentinel = "here";  ///< a file that shows whether a directory is as it was left

/// What a terminal sends reaches the child by itself, as a member of the same process group; what somebody sends to us
/// alone is passed on.
void pass_on(int signal, siginfo_t* from, void*) {
  const int before = errno;
  if (from->si_code != SI_KERNEL && child > 0) kill(child, signal);
  errno = before;
}

constexpr int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, SIGCONT};

constexpr std::size_t most_bindings = std::size_t{1} << 28;

/// The reasons that processes have left for having no file here (map_counters), each with how many.
void gather_uncounted(const fs::path& link, std::map<int, std::set<std::string>>& uncounted) {
  std::error_code error;
  const std::string reason = fs::read_symlink(link, error).string(), name = link.filename().string();
  if (!error) uncounted[std::atoi(reason.c_str())].insert(name.substr(0, name.find('.')));
}

using Files = std::vector<std::pair<fs::path, const Counters*>>;

/// A program may do to the directory what it likes, and its files are what it left.
/// @return  those of processes that made calls
Files gather(const std::string& directory, Finished& finished) {
  Files files;
  finished.bindings = RegularFile(directory + "/bindings").text(most_bindings);
  std::error_code error;
  std::map<int, std::set<std::string>> uncounted;
  std::vector<fs::path> paths;  // all first: each file that is read may take the last descriptor
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) paths.push_back(entry->path());
  int unread = error && error.value() != ENOENT ? error.value() : 0;
  for (const fs::path& path : paths) {
    if (path.filename().string().ends_with(uncounted_suffix)) {
      gather_uncounted(path, uncounted);
      continue;
    }
    errno = 0;
    if (const Counters* counters = read_counters(path.string())) {
      Summary one;
      one.add(*counters);
      if (one.calls() > 0) files.emplace_back(path, counters);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) unread = errno;
    if (const OtherCounters* others = read_other_counters(path.string())) finished.others.push_back(others);
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.second->started_ns < b.second->started_ns; });
  for (const auto& file : files) finished.processes.push_back(file.second);
  for (const Counters* process : finished.processes) finished.summary.add(*process);
  auto& lost = finished.summary.uncounted;
  for (const auto& [reason, processes] : uncounted)
    lost.push_back("calls of " + std::to_string(processes.size()) +
                   (processes.size() == 1 ? " process" : " processes") +
                   " were not counted, for want of a file to count in: " + why_uncounted(reason));
  if (unread)
    lost.push_back("files of counters in " + directory + " could not be read: " + std::strerror(unread) +
                   ": calls may be missing");
  if (!fs::exists(directory + "/" + sentinel, error))
    lost.push_back("the files of counters in " + directory + " were removed while it ran: calls may be missing");
  return files;
}

/// The files of this directory that some process has in its memory, by their names: numbers of processes are used
/// again, and a container has its own.
std::set<std::string> mapped_files(const fs::path& directory) {
  const std::string within = '/' + directory.filename().string() + '/';
  std::set<std::string> names;
  std::error_code error;
  fs::directory_iterator entry("/proc", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!std::isdigit(static_cast<unsigned char>(entry->path().filename().string().front()))) continue;
    std::ifstream maps(entry->path() / "maps");
    for (std::string line; std::getline(maps, line);)
      if (const std::size_t at = line.rfind(within); at != line.npos) names.insert(line.substr(at + within.size()));
  }
  return names;
}

/// Of those that have not come to their exit; one that lives on will write its line itself.
void report_cut_short(const fs::path& directory, const Files& files, const std::string& target) {
  if (target.empty() || target == "off" || target == "stderr") return;
  std::vector<fs::path> left;
  for (const auto& [path, process] : files)
    if (!process->reported.load(std::memory_order_relaxed)) left.push_back(path);
  if (left.empty()) return;
  // What was killed with the program may take a moment to go.
  std::set<std::string> living = mapped_files(directory);
  for (int i = 0; i < 10 && !living.empty(); ++i) {
    const timespec moment{0, 20000000};
    nanosleep(&moment, nullptr);
    living = mapped_files(directory);
  }
  for (const fs::path& path : left) {
    const Counters* at_last = living.contains(path.filename().string()) ? nullptr : read_counters(path.string());
    if (at_last && !at_last->reported.load(std::memory_order_relaxed)) write_report(*at_last, target);
  }
}

std::string not_executed(const std::string& program, int error) {
  return "blaslift: " + shown(program) + ": " + std::strerror(error) + '\n';
}

/// A reader of ours that has gone, or a file that is too long, is no reason to lose the program's exit status.
void end_by_no_write() {
  for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);
}

struct PlacedIn {
  std::string directory;
  std::uint64_t room;
};

std::vector<PlacedIn> places_for_scratch() {
  std::vector<PlacedIn> places;
  const auto add = [&places](const char* directory) {
    if (!directory || !*directory) return;
    std::error_code error;
    const fs::path path = fs::absolute(directory, error);
    struct statvfs system {};
    if (error || statvfs(path.c_str(), &system) != 0) return;
    places.push_back({path.string(), std::uint64_t{system.f_bavail} * system.f_frsize});
  };
  for (const char* directory : {static_cast<const char*>(std::getenv("TMPDIR")), "/tmp", "/dev/shm",
                                static_cast<const char*>(std::getenv("XDG_RUNTIME_DIR")), "/var/tmp"})
    add(directory);
  return places;
}

}  // namespace

ScratchDirectory::ScratchDirectory(std::uint64_t room) {
  // One that has room; else one that can be made, where what has none left says so.
  const std::vector<PlacedIn> places = places_for_scratch();
  int error = ENOENT;
  for (const bool roomy : {true, false})
    for (const PlacedIn& place : places) {
      if (roomy != (place.room >= room)) continue;
      path_ = place.directory + "/blaslift-XXXXXX";
      if (mkdtemp(path_.data())) return;
      error = errno;
    }
  const char* base = std::getenv("TMPDIR");
  path_.clear();
  throw std::runtime_error(std::string("no temporary directory can be made in ") + (base && *base ? base : "/tmp") +
                           ": " + std::strerror(error));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.flush()) return true;
  std::fprintf(stderr, "blaslift: %s cannot be written: %s\n", path.c_str(), std::strerror(errno ? errno : EIO));
  return false;
}

bool flush_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return true;
  const std::string why = errno ? std::string(": ") + std::strerror(errno) : std::string();  // or it was long ago
  std::fprintf(stderr, "blaslift: standard output cannot be written%s\n", why.c_str());
  return false;
}

std::string absolute_value(const std::string& variable, const std::string& value) {
  constexpr std::string_view files[] = {"BLASLIFT_INTERNAL_COUNTERS", "BLASLIFT_PROFILE", "BLASLIFT_REPORT",
                                        "BLASLIFT_TRACE", "BLASLIFT_VERIFY_DUMP"},
                             libraries[] = {"BLASLIFT_FALLBACK", "BLASLIFT_VERIFY_ORACLE"};
  const auto is_among = [&variable](const auto& names) {
    return std::find(std::begin(names), std::end(names), variable) != std::end(names);
  };
  const bool word = variable == "BLASLIFT_REPORT" && (value == "off" || value == "stderr");
  const bool path = is_among(files) ? !word : is_among(libraries) && value.find('/') != value.npos;
  if (!path || value.empty() || value.front() == '/') return value;
  std::error_code error;
  const fs::path absolute = fs::absolute(value, error);
  return error ? value : absolute.string();
}

std::string library_directory() {
  const fs::path self = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate : {self / BLASLIFT_INSTALLED_LIBRARY, self / "../lib"}) {
    std::error_code error;
    const fs::path found = fs::canonical(candidate / "libblaslift.so", error);
    if (!error) return found.parent_path().string();
  }
  throw std::runtime_error("libblaslift.so was not found in " + (self / BLASLIFT_INSTALLED_LIBRARY).string() + " or " +
                           (self / "../lib").string());
}

Finished launch(const char* library, const std::vector<std::string>& command,
                const std::map<std::string, std::string>& variables) {
  struct LinksGo {
    ~LinksGo() { remove_preload_links(); }
  } const links_go;
  const std::string preload =
      preload_with(preload_name(library_directory(), library), std::getenv("LD_PRELOAD"), library_directory());
  std::map<std::string, std::string> added;
  for (const OptionInfo& option : option_table())
    if (const char* value = std::getenv(option.variable)) added[option.variable] = value;
  for (const auto& [name, value] : variables) added[name] = value;
  for (auto& [name, value] : added) value = absolute_value(name, value);

  std::optional<ScratchDirectory> directory;
  std::string no_directory;
  try {
    directory.emplace(sizeof(Counters) + sizeof(OtherCounters));
    const std::ofstream here(directory->path() + "/" + sentinel);  // empty: it takes no room
    added["BLASLIFT_INTERNAL_COUNTERS"] = directory->path();
  } catch (const std::exception& error) {
    no_directory = error.what();
    added.erase("BLASLIFT_INTERNAL_COUNTERS");
  }

  int failed[2];  // closed by exec; else why there was none
  if (pipe2(failed, O_CLOEXEC) != 0) failed[0] = failed[1] = -1;
  const std::uint64_t start = now_ns();
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigset_t mask, before;
  sigemptyset(&mask);
  for (const int signal : passed) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, &before);  // none may arrive between fork and knowing the child

  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (pid == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    setenv("LD_PRELOAD", preload.c_str(), 1);
    unsetenv("BLASLIFT_INTERNAL_COUNTERS");
    for (const auto& [name, value] : added) setenv(name.c_str(), value.c_str(), 1);
    // The program's own process, not what it starts: each would have the GPU's memory and time for itself.
    if (const char* when = std::getenv("BLASLIFT_START"); when && std::strncmp(when, "early", 5) == 0) {
      const std::string rest = when + 5;  // nothing, or ":dgesv,dgemm"; one that names a process is as it is to be
      if (rest.empty() || (rest.size() > 1 && !std::isdigit(static_cast<unsigned char>(rest[1]))))
        setenv("BLASLIFT_START", ("early:" + std::to_string(getpid()) + rest).c_str(), 1);
    }
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    if (write(failed[1], &error, sizeof error) < 0) {
      const std::string text = not_executed(command[0], error);
      (void)!write(STDERR_FILENO, text.data(), text.size());
    }
    _exit(error == ENOENT ? 127 : 126);
  }
  child = pid;
  end_by_no_write();
  for (const int signal : passed) {
    struct sigaction present {};
    sigaction(signal, nullptr, &present);
    if (present.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays nohup
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);

  Finished finished{};
  finished.pid = pid;
  close(failed[1]);
  while (waitpid(pid, &finished.wait_status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  finished.wall_seconds = 1e-9 * static_cast<double>(now_ns() - start);
  int error = 0;
  const bool executed = read(failed[0], &error, sizeof error) != sizeof error;
  close(failed[0]);
  if (!executed) {
    std::fputs(not_executed(command[0], error).c_str(), stderr);
    throw Ends(error == ENOENT ? 127 : 126);
  }
  if (directory) {
    const Files files = gather(directory->path(), finished);
    report_cut_short(directory->path(), files, added["BLASLIFT_REPORT"]);
  } else {
    finished.summary.uncounted.push_back("calls were not counted: " + no_directory);
  }
  return finished;
}

void end_like(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const rlimit no_core{0, 0};  // the child's core is the interesting one
    setrlimit(RLIMIT_CORE, &no_core);
    const int signal = WTERMSIG(wait_status);
    ::signal(signal, SIG_DFL);
    raise(signal);
    std::_Exit(128 + signal);
  }
  std::_Exit(WEXITSTATUS(wait_status));
}

}  // namespace blaslift::cli
