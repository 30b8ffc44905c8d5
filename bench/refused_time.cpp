// Times products by levels that the guard refuses beside those that it lets pass, from host to host.  Links the
// ordinary BLAS; whatever is preloaded computes.
//
//   refused_time s|d REPETITIONS N BETA WILD
//
// WILD says what is wrong with the operands of every second call: "graded" (rows of A and columns of B down to a
// thousandth), "row" (one small row of A), "column" (of B), "inf", "middle" or "last" (one infinite element of A, near
// its beginning, in the middle or among what arrives last).  Prints a line of JSON: median milliseconds of sound and of
// wild calls, in turns.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
}

namespace {

void gemm(int n, float alpha, const float* a, const float* b, float beta, float* c) {
  sgemm_("N", "N", &n, &n, &n, &alpha, a, &n, b, &n, &beta, c, &n);
}
void gemm(int n, double alpha, const double* a, const double* b, double beta, double* c) {
  dgemm_("N", "N", &n, &n, &n, &alpha, a, &n, b, &n, &beta, c, &n);
}

/// Numbers in [-1, 1], by all cores.
template <class T>
void fill(std::vector<T>& x, std::uint64_t seed) {
  const std::size_t parts = std::max(1U, std::thread::hardware_concurrency()), part = x.size() / parts + 1;
  std::vector<std::thread> team;
  for (std::size_t t = 0; t < parts; ++t)
    team.emplace_back([&x, t, part, seed] {
      std::uint64_t state = seed * 1000 + t + 1;
      for (std::size_t i = t * part; i < std::min(x.size(), (t + 1) * part); ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        x[i] = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(state)) * 0x1p-63);
      }
    });
  for (std::thread& thread : team) thread.join();
}

template <class T>
void spoil(std::vector<T>& a, std::vector<T>& b, int size, const std::string& wild) {
  const auto n = static_cast<std::size_t>(size);
  const auto grade = [n](std::size_t i) {
    return static_cast<T>(std::pow(10, -3 * static_cast<double>(i) / static_cast<double>(n)));
  };
  const T inf = std::numeric_limits<T>::infinity();
  if (wild == "graded")
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i) a[i + j * n] *= grade(i), b[i + j * n] *= grade(j);
  if (wild == "row")
    for (std::size_t j = 0; j < n; ++j) a[n / 3 + j * n] *= static_cast<T>(1e-6);
  if (wild == "column")
    for (std::size_t i = 0; i < n; ++i) b[i + n / 3 * n] *= static_cast<T>(1e-6);
  if (wild == "inf") a[5 + 7 * n] = inf;
  if (wild == "middle") a[n * 3 / 4 + 3 + n / 4 * n] = inf;
  if (wild == "last") a[n / 4 + 3 + n * (n - 2)] = inf;
}

template <class T>
int time_all(int repetitions, int n, T beta, const std::string& wild) {
  const std::size_t all = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<T> a(all), b(all), c(all), wild_a, wild_b;
  fill(a, 1);
  fill(b, 2);
  fill(c, 3);
  wild_a = a;
  wild_b = b;
  spoil(wild_a, wild_b, n, wild);
  std::vector<double> sound_ms, wild_ms;
  for (int i = -2; i < repetitions; ++i)
    for (const bool is_wild : {false, true}) {
      if (is_wild) fill(c, 3);  // what came of it is infinite
      const auto begin = std::chrono::steady_clock::now();
      gemm(n, T(1) / static_cast<T>(n), (is_wild ? wild_a : a).data(), (is_wild ? wild_b : b).data(), beta, c.data());
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      if (i >= 0) (is_wild ? wild_ms : sound_ms).push_back(took.count());
      if (is_wild) fill(c, 3);
    }
  const auto median = [](std::vector<double>& x) {
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
  };
  std::printf("{\"sound_ms\": %.2f, \"wild_ms\": %.2f}\n", median(sound_ms), median(wild_ms));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  const int repetitions = std::atoi(words[2]), n = std::atoi(words[3]);
  const double beta = std::atof(words[4]);
  if (repetitions < 1 || n < 8) return 2;
  return words[1][0] == 's' ? time_all(repetitions, n, static_cast<float>(beta), words[5])
                            : time_all(repetitions, n, beta, words[5]);
}
