// Times gemm as a program sees it: operands in pageable host memory, results back there.  Links the ordinary BLAS;
// whatever is preloaded computes.
//
//   gemm_time [--beta BETA] [--sets SETS] s|d|z REPETITIONS N|MxNxK ...
//
// Prints a line of JSON a size: median and fastest seconds, worst error of sampled entries over its bound.  SETS sets
// of operands (two) take turns, so that no call finds its own bytes in a cache; one is enough where they are far
// larger than any cache.  Exit status 1 if an error is over its bound.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

#include "bench/product.hpp"

namespace {

using namespace bench;

constexpr double warm_seconds = 3;
constexpr int samples = 200;

struct Arguments {
  double beta = 0;
  int sets = 2, repetitions = 0;
  std::string precision;
  char** sizes = nullptr;
};

template <class T>
struct Set {
  Set(int m, int n, int k, double beta) : product{m, n, k, T(beta)}, checked(product, samples) {}
  Product<T> product;
  Samples<T> checked;
};

template <class T>
bool time_size(const Arguments& arguments, int m, int n, int k) {
  std::deque<Set<T>> sets;
  while (static_cast<int>(sets.size()) < arguments.sets) {
    sets.emplace_back(m, n, k, arguments.beta);
    sets.back().product.make(sets.size());
  }
  const auto call = [&](int which) {
    Set<T>& set = sets[static_cast<std::size_t>(which) % sets.size()];
    set.checked.remember();
    const auto start = std::chrono::steady_clock::now();
    set.product.call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // Warm: each set once, then until whoever computes has had the time to start up what it starts up.
  double warm = 0;
  for (int i = 0; i < arguments.sets || warm < warm_seconds; ++i) warm += call(i);
  std::vector<double> seconds;
  for (int r = 0; r < arguments.repetitions; ++r) seconds.push_back(call(r));
  double error = 0;
  for (const Set<T>& set : sets) error = std::max(error, set.checked.worst_error());
  std::printf(
      "{\"precision\": \"%s\", \"m\": %d, \"n\": %d, \"k\": %d, \"beta\": %g, \"sets\": %d, \"calls\": %d, "
      "\"seconds\": %.7f, \"fastest\": %.7f, \"error\": %.3g}\n",
      arguments.precision.c_str(), m, n, k, arguments.beta, arguments.sets, arguments.repetitions, median(seconds),
      *std::min_element(seconds.begin(), seconds.end()), error);
  std::fflush(stdout);
  return error <= 1;
}

template <class T>
bool time_sizes(const Arguments& arguments) {
  bool right = true;
  for (char** size = arguments.sizes; *size; ++size) {
    int m = 0, n = 0, k = 0;
    if (std::sscanf(*size, "%dx%dx%d", &m, &n, &k) != 3) m = n = k = std::atoi(*size);
    right = time_size<T>(arguments, m, n, k) && right;
  }
  return right;
}

bool parse(char** words, Arguments& arguments) {
  for (++words; *words && **words == '-'; words += 2) {
    const std::string option = *words;
    if (!words[1] || (option != "--beta" && option != "--sets")) return false;
    if (option == "--beta")
      arguments.beta = std::atof(words[1]);
    else
      arguments.sets = std::atoi(words[1]);
  }
  if (!words[0] || !words[1] || !words[2]) return false;
  arguments.precision = words[0];
  arguments.repetitions = std::atoi(words[1]);
  arguments.sizes = words + 2;
  const std::string& p = arguments.precision;
  return arguments.repetitions > 0 && arguments.sets > 0 && (p == "s" || p == "d" || p == "z");
}

}  // namespace

int main(int, char** argv) {
  Arguments arguments;
  if (!parse(argv, arguments)) {
    std::fprintf(stderr, "usage: gemm_time [--beta BETA] [--sets SETS] s|d|z REPETITIONS N|MxNxK ...\n");
    return 2;
  }
  const bool right = arguments.precision == "s"   ? time_sizes<float>(arguments)
                     : arguments.precision == "d" ? time_sizes<double>(arguments)
                                                  : time_sizes<std::complex<double>>(arguments);
  if (!right) std::fprintf(stderr, "gemm_time: a sampled entry is over its error bound\n");
  return right ? 0 : 1;
}
