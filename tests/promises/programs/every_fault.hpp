// Fails the device at every operation of some calls in turn, over the fault module (kernels/fault/module.cpp).
#pragma once
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "check.hpp"

namespace promises {

/// Makes the calls in a process of its own, with this INJECTED_FAULT.
template <class Calls>
void child(const char* fault, const Calls& make) {
  std::printf("child %s\n", fault);
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("INJECTED_FAULT", fault, 1);
    make();
    std::exit(failures.load() ? 1 : 0);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) fail("the child %s ended with %d", fault, status);
}

/// Makes the calls in children of this process, which must not have touched a device: first without a fault, which
/// counts the operations, then twice for every operation, once for each way of failing, of which every other one leaves
/// garbage behind (tests/unit/product/execute.cpp has all combinations), and at last with a device that does not open.
/// Of many operations, some hundred that are evenly spaced, the last one among them: a child takes ten milliseconds.
/// All, if TESTS_AT_LENGTH is set, as in the long run.
///
/// A line per child, "child K:WAY", in the order of blaslift's reports; the runner compares the two.
template <class Calls>
void at_every_fault(const Calls& make) {
  char path[] = "/tmp/blaslift-faults-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return fail("no temporary file");
  close(fd);
  setenv("INJECTED_FAULT_COUNT", path, 1);
  child("0", make);
  long count = 0;
  if (std::FILE* file = std::fopen(path, "r")) {
    if (std::fscanf(file, "%ld", &count) != 1) count = 0;
    std::fclose(file);
  }
  unlink(path);
  unsetenv("INJECTED_FAULT_COUNT");
  if (count < 10) fail("only %ld device operations", count);
  std::printf("operations %ld\n", count);
  constexpr long many = 100;
  const long apart = getenv("TESTS_AT_LENGTH") ? 1 : (count + many - 1) / many;
  bool torn = false;
  for (long first = 1, number = 0; first <= count; first += apart, ++number, torn = !torn) {
    // Not the same one of each interval: a plan repeats itself.  The last operation is always among them.
    const long at = first + apart > count ? count : first + 7 * number % apart;
    for (const char* way : {torn ? "lost:torn" : "lost", torn ? "no_memory" : "no_memory:torn"})
      child((std::to_string(at) + ":" + way).c_str(), make);
  }
  child("never", make);
}

}  // namespace promises
