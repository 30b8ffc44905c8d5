// A program that multiplies with a CPU that is too slow for it, and ends.
//
//   meanwhile COUNT [SECONDS [FIRST [thread]]]    so many products, each in memory of its own; after each, and before
//                                                 the first, nothing for so long; by a thread that is not the main one
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                       const int*, const double*, const int*, const double*, double*, const int*, std::size_t,
                       std::size_t);

static bool multiply(int calls, std::chrono::duration<double> pause) {
  constexpr int n = 320;
  bool good = true;
  for (int call = 0; call < calls; ++call) {
    std::vector<double> A(n * n), B(n * n), C(n * n, -1.0);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) A[i + j * n] = (i + call) % 7, B[i + j * n] = i == (j + 1) % n;  // C = A, shifted
    const double one = 1, zero = 0;
    dgemm_("N", "N", &n, &n, &n, &one, A.data(), &n, B.data(), &n, &zero, C.data(), &n, 1, 1);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) good = good && C[i + j * n] == A[i + (j + 1) % n * n];
    std::this_thread::sleep_for(pause);
  }
  return good;
}

int main(int count, char** arguments) {
  const int calls = count > 1 ? std::atoi(arguments[1]) : 1;
  const auto seconds = [&](int at) {
    return std::chrono::duration<double>(count > at ? std::atof(arguments[at]) : 0.0);
  };
  std::this_thread::sleep_for(seconds(3));
  bool good = false;
  const auto work = [&] { good = multiply(calls, seconds(2)); };
  if (count > 4)
    std::thread(work).join();
  else
    work();
  std::printf("calls {\"dgemm\": %d}\n%s\n", calls, good ? "ok" : "WRONG");
  return good ? 0 : 1;
}
