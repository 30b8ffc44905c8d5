// What a call that stays on the CPU costs: the function's own address in the library underneath, as dlsym(handle) gives
// it, against the symbol as the program was linked, which blaslift intercepts.  Minima of interleaved batches; the
// direct call is timed in two places, and what these differ by is the noise.  n = 4.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);
void dsymv_(const char*, const int*, const double*, const double*, const int*, const double*, const int*, const double*,
            double*, const int*, std::size_t);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
}

namespace {

constexpr int n = 4, calls = 200, batches = 4000;
double A[n * n], B[n * n], C[n * n];

template <class Call>
double batch(Call call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / calls;
}

template <class Function, class Call>
bool compare(void* library, const char* name, Function* intercepted, Call call) {
  // Both are called by address, so that the two loops are the same.
  Function* volatile direct = reinterpret_cast<Function*>(dlsym(library, name));
  Function* volatile symbol = intercepted;
  if (!direct || direct == symbol) {
    std::printf("%s is not intercepted\n", name);
    return false;
  }
  double ours = 1e9, theirs = 1e9, again = 1e9;
  for (int i = 0; i < batches; ++i) {
    theirs = std::min(theirs, batch([&] { call(direct); }));
    ours = std::min(ours, batch([&] { call(symbol); }));
    again = std::min(again, batch([&] { call(direct); }));
  }
  std::printf("%-12s direct %6.1f ns, intercepted %6.1f ns: %+.1f ns a call (noise %.1f)\n", name, theirs, ours,
              ours - std::min(theirs, again), std::max(theirs, again) - std::min(theirs, again));
  // Only what is out of the question on any machine, however busy.
  return ours - std::min(theirs, again) < 200;
}

}  // namespace

int main() {
  for (int i = 0; i < n * n; ++i) A[i] = i % 5, B[i] = i % 3;
  void* library = dlopen("libblas.so.3", RTLD_NOW | RTLD_NOLOAD);
  if (!library) return std::printf("%s\n", dlerror()), 1;
  const double one = 1, zero = 0;
  const int size = n, step = 1;
  const bool good[] = {
      compare(library, "dgemm_", dgemm_,
              [&](auto* f) { f("N", "N", &size, &size, &size, &one, A, &size, B, &size, &zero, C, &size, 1, 1); }),
      compare(library, "dsymv_", dsymv_, [&](auto* f) { f("U", &size, &one, A, &size, B, &step, &zero, C, &step, 1); }),
      compare(library, "cblas_dgemm", cblas_dgemm, [&](auto* f) { f(102, 111, 111, n, n, n, 1, A, n, B, n, 0, C, n); }),
  };
  return std::all_of(std::begin(good), std::end(good), [](bool x) { return x; }) ? 0 : 1;
}
