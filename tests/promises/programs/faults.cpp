// Fails the device at every operation of two products in turn, over the fault module (kernels/fault/module.cpp).
//
//   faults PRECISION OPS M N K BETA    e.g. faults d NT 23 17 31 1
//
// Each run is a child process that has not touched a device before: first one without a fault, which counts the
// operations, then two for every operation, one for each way of failing; every other one leaves
// garbage behind (tests/unit/execute.cpp has all combinations).  A line per child, "child K:WAY", in the order of
// blaslift's reports; the runner compares the two.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "check.hpp"

using namespace promises;

namespace {

template <class T>
class Faults {
 public:
  Faults(char ta, char tb, int m, int n, int k, double beta)
      : problem_(ta, tb, m, n, k, make<T>(0.75, -0.25), make<T>(beta, beta / 2), 11),
        expected_((no_c(beta), problem_)) {}

  void run() {
    char path[] = "/tmp/blaslift-faults-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) return fail("no temporary file");
    close(fd);
    setenv("INJECTED_FAULT_COUNT", path, 1);
    child("0");
    long count = 0;
    if (std::FILE* file = std::fopen(path, "r")) {
      if (std::fscanf(file, "%ld", &count) != 1) count = 0;
      std::fclose(file);
    }
    unlink(path);
    unsetenv("INJECTED_FAULT_COUNT");
    if (count < 10) fail("only %ld device operations", count);
    std::printf("operations %ld\n", count);
    for (long at = 1; at <= count; ++at)
      for (const char* way : {at % 2 ? "lost" : "lost:torn", at % 2 ? "no_memory:torn" : "no_memory"})
        child((std::to_string(at) + ":" + way).c_str());
    child("never");
  }

 private:
  void no_c(double beta) {
    if (beta == 0) problem_.C.fill(make<T>(std::numeric_limits<double>::quiet_NaN(), 1));
  }

  void child(const char* fault) {
    std::printf("child %s\n", fault);
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
      setenv("INJECTED_FAULT", fault, 1);
      for (int call = 0; call < 2; ++call) run_and_check(problem_, expected_, every_via[call]);
      std::exit(failures.load() ? 1 : 0);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) fail("the child %s ended with %d", fault, status);
  }

  Problem<T> problem_;
  Expected<T> expected_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) return 2;
  const char precision = arguments[1][0], *ops = arguments[2];
  const int m = std::atoi(arguments[3]), n = std::atoi(arguments[4]), k = std::atoi(arguments[5]);
  for_each_precision([&]<class T>(T*) {
    if (letter<T>() == precision) Faults<T>(ops[0], ops[1], m, n, k, std::atof(arguments[6])).run();
  });
  std::printf("%s\n", failures.load() ? "WRONG" : "ok");
  return failures.load() ? 1 : 0;
}
