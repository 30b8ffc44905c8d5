// Processes that fork before, after and while they use a device; one way per first argument (while_threads_call: as
// often as the second says).  Every process checks its own results and prints a line "process PID COMMENT CALLS", CALLS
// being its calls of dgemm_ and sgemm_, for the runner to compare with that process's report or counters.
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "check.hpp"

using namespace promises;

extern "C" void dcopy_(const int* n, const double* x, const int* incx, double* y, const int* incy);

namespace {

constexpr unsigned patience = 100;  // seconds after which a process that hangs is killed

template <class T>
struct Product {
  Problem<T> problem;
  Expected<T> expected;
  Product(int m, int n, int k) : problem('N', 'N', m, n, k, make<T>(0.75, 0), make<T>(-0.5, 0), 5), expected(problem) {}
  void operator()() const { run_and_check(problem, expected, Via::fortran); }
};
const Product<double> small(17, 19, 23);
const Product<double> large(760, 730, 3);  // C is 4.2 MiB: several pieces for the threads that copy
const Product<float> single(17, 19, 23);

int threads_named(const char* name) {
  int found = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    char comm[32] = "";
    std::FILE* file = std::fopen((std::string("/proc/self/task/") + task->d_name + "/comm").c_str(), "r");
    if (!file) continue;
    found += std::fgets(comm, sizeof comm, file) && std::string_view(comm).starts_with(name);
    std::fclose(file);
  }
  closedir(tasks);
  return found;
}

void tell(const char* comment) {
  std::printf("process %d %s %d\n", getpid(), comment, calls_made['d'].load() + calls_made['s'].load());
  std::fflush(stdout);
}

/// Forks; the child does `work`, and leaves by exit or _exit.
pid_t forked(const char* comment, bool by_exit, const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  alarm(patience);
  calls_made['d'] = calls_made['s'] = 0;
  work();
  tell(comment);
  const int status = failures.load() ? 1 : 0;
  if (by_exit) std::exit(status);
  _exit(status);
}

void wait_for(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) fail("child %d ended with %d", pid, status);
}

/// What a child may want: products of its own, in OpenMP threads of its own.
void use_everything() {
  small();
  large();
#ifdef _OPENMP
  int ran = 0;
#pragma omp parallel num_threads(3) reduction(+ : ran)
  {
    small();
    ++ran;
  }
  if (ran != 3) fail("an OpenMP team of %d in the child", ran);
#endif
}

/// The parent has used the device, and with it threads that the children do not have: they compute on the CPU.
void after_use() {
  small();
  large();
  if (threads_named("blaslift-in") == 0) fail("the threads that copy are not there: nothing is tested");
  wait_for(forked("child", true, use_everything));
  wait_for(forked("child-left-by-_exit", false, use_everything));
  wait_for(forked("child", true, [] {
    small();
    wait_for(forked("grand-child", true, use_everything));
    wait_for(forked("grand-child-left-by-_exit", false, use_everything));
    small();
  }));
  large();  // the parent still has its device
  tell("parent");
}

/// Nothing was called before: the child has the device to itself, and so has the parent.
void before_use() {
  const pid_t pid = forked("device", true, use_everything);
  wait_for(pid);
  use_everything();
  tell("device");
}

/// The parent has called, but only what stays on the CPU (the runner forces sgemm alone): its child may use the device.
void after_cpu_use() {
  small();
  wait_for(forked("mixed", true, [] {
    small();
    single();
  }));
  single();
  tell("mixed");
}

/// Nothing is worth routing: the child's counts are its own, also of the calls that are merely forwarded.
void without_device() {
  for (int i = 0; i < 3; ++i) small();
  wait_for(forked("cpu", true, [] {
    for (int i = 0; i < 5; ++i) small();
  }));
  small();
  tell("cpu");
}

/// Other threads are in the middle of routed calls, large and small, whenever the parent forks.
void while_threads_call(int times) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&stop, t] {
      while (!stop) t == 0 ? large() : small();
    });
  small();  // the device is in use before the first fork
  for (int i = 0; i < times; ++i) wait_for(forked("child-of-threads", i % 2 == 0, small));
  stop = true;
  for (auto& thread : threads) thread.join();
  tell("parent");
}

/// A column of a matrix by rows, which becomes a vector.
void copy(int n, int incx) {
  std::vector<double> x(static_cast<std::size_t>(n) * static_cast<std::size_t>(incx)), y(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const int one = 1;
  ++calls_made['d'];
  dcopy_(&n, x.data(), &incx, y.data(), &one);
  for (std::size_t i = 0; i < y.size(); ++i)
    if (y[i] != static_cast<double>(i) * incx) return fail("element %zu of a copy is %g", i, y[i]);
}

/// No thread is started for small copies.  The child has none, and makes its own alone.
void copies() {
  constexpr const char* helper = "blaslift-part";
  for (int i = 0; i < 100; ++i) {
    copy(1000, 64);
    copy(20000, 1);
  }
  if (threads_named("blaslift") != 0) fail("small copies have started a thread");
  for (int i = 0; i < 100; ++i) copy(4000, 64);
  if (threads_named(helper) == 0 && std::thread::hardware_concurrency() > 1) fail("nobody helps: nothing is tested");
  for (int i = 0; i < 20; ++i)
    wait_for(forked("copying-child", true, [] {
      for (int call = 0; call < 5; ++call) copy(4000, 64);
      if (threads_named(helper) != 0) fail("the child has helpers");
    }));
  for (int i = 0; i < 10; ++i) copy(4000, 64);
  tell("copying");
}

}  // namespace

int main(int, char** arguments) {
  alarm(patience);
  const std::string_view which = arguments[1] ? arguments[1] : "";
  if (which == "after_use")
    after_use();
  else if (which == "before_use")
    before_use();
  else if (which == "after_cpu_use")
    after_cpu_use();
  else if (which == "without_device")
    without_device();
  else if (which == "while_threads_call")
    while_threads_call(std::atoi(arguments[2]));
  else if (which == "copies")
    copies();
  else
    return 2;
  std::printf("%s\n", failures.load() ? "WRONG" : "ok");
  return failures.load() ? 1 : 0;
}
