#include "tools/cli/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "compat/shown.hpp"
#include "impl/regular_file.hpp"
#include "tools/cli/counters_file.hpp"
#include "tools/cli/shell.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

volatile sig_atomic_t child = 0;

/// What a terminal sends reaches the child by itself, as a member of the same process group; what somebody sends to us
/// alone is passed on.
void pass_on(int signal, siginfo_t* from, void*) {
  const int before = errno;
  if (from->si_code != SI_KERNEL && child > 0) kill(child, signal);
  errno = before;
}

constexpr int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, SIGCONT};

constexpr std::size_t most_bindings = std::size_t{1} << 28;

void gather(const std::string& directory, Finished& finished) {
  finished.bindings = RegularFile(directory + "/bindings").text(most_bindings);
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (const Counters* counters = read_counters(entry.path().string())) {
      Summary one;
      one.add(*counters);
      if (one.calls() > 0) finished.processes.push_back(counters);
    } else if (const OtherCounters* others = read_other_counters(entry.path().string())) {
      finished.others.push_back(others);
    }
  }
  std::sort(finished.processes.begin(), finished.processes.end(),
            [](const Counters* a, const Counters* b) { return a->started_ns < b->started_ns; });
  for (const Counters* process : finished.processes) finished.summary.add(*process);
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base && *base ? base : "/tmp") + "/blaslift-XXXXXX";
  if (!mkdtemp(path_.data()))
    throw std::runtime_error("no directory for counters: " + path_ + ": " + std::strerror(errno));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
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
  const ScratchDirectory directory;
  const std::string path = library_directory() + "/" + library;
  const std::string preload = preload_with(path, std::getenv("LD_PRELOAD"));

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
    setenv("BLASLIFT_COUNTERS", directory.path().c_str(), 1);
    for (const auto& [name, value] : variables)
      setenv(name.c_str(), (name == "BLASLIFT_TRACE" ? fs::absolute(value).string() : value).c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    const std::string text = "blaslift: " + shown(command[0]) + ": " + std::strerror(error) + "\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
    _exit(error == ENOENT ? 127 : 126);
  }
  child = pid;
  for (const int signal : passed) {
    struct sigaction present {};
    sigaction(signal, nullptr, &present);
    if (present.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays nohup
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);

  Finished finished{};
  while (waitpid(pid, &finished.wait_status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  finished.wall_seconds = 1e-9 * static_cast<double>(now_ns() - start);
  gather(directory.path(), finished);
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
