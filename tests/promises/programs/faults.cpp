// Fails the device at every operation of two products in turn, each in a child process (every_fault.hpp).
//
//   faults PRECISION OPS M N K BETA    e.g. faults d NT 23 17 31 1
#include "check.hpp"
#include "every_fault.hpp"

using namespace promises;

namespace {

template <class T>
void faults(char ta, char tb, int m, int n, int k, double beta) {
  Problem<T> problem(ta, tb, m, n, k, make<T>(0.75, -0.25), make<T>(beta, beta / 2), 11);
  if (beta == 0) problem.C.fill(make<T>(std::numeric_limits<double>::quiet_NaN(), 1));
  const Expected<T> expected(problem);
  at_every_fault([&] {
    for (int call = 0; call < 2; ++call) run_and_check(problem, expected, every_via[call]);
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) return 2;
  const char precision = arguments[1][0], *ops = arguments[2];
  const int m = std::atoi(arguments[3]), n = std::atoi(arguments[4]), k = std::atoi(arguments[5]);
  for_each_precision([&]<class T>(T*) {
    if (letter<T>() == precision) faults<T>(ops[0], ops[1], m, n, k, std::atof(arguments[6]));
  });
  std::printf("%s\n", failures.load() ? "WRONG" : "ok");
  return failures.load() ? 1 : 0;
}
