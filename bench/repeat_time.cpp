// Calls dgemm again and again as programs do that keep some operands and rewrite others.  Links the ordinary BLAS;
// whatever is preloaded computes.
//
//   repeat_time unchanged N CALLS [WRITTEN]   C := A B, nothing is written between the calls
//   repeat_time new_b     N CALLS [WRITTEN]   C := A B, the program rewrites B before each call
//   repeat_time rewritten N CALLS THREADS     C := A B + C, THREADS threads rewrite A, B and C before each call
//
// With WRITTEN one element of A, so one page, is written after that many calls.  Prints a line of JSON: seconds of the
// first call, the second and the median of the others, of the call after the write, and of the whole loop.  Sampled
// entries of the result after the write and of the last one are checked; exit status 1 if one is over its error bound.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/product.hpp"

namespace {

using namespace bench;

constexpr int samples = 200, samples_in_row = 50, warming_size = 2048;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Overwrites x at the speed of memory: with a short list of random numbers over and over, another part of it each
/// round.  Its length is a prime, so that no two columns are alike.
void rewrite(double* x, std::size_t count, std::size_t round, unsigned threads) {
  static constexpr std::size_t period = 8191;
  static const std::vector<double> numbers = [] {
    std::vector<double> made(2 * period);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = uniform(7, i % period);
    return made;
  }();
  const auto body = [x, round](std::size_t first, std::size_t last) {
    for (std::size_t i = first, length; i < last; i += length) {
      length = std::min(period, last - i);
      std::memcpy(x + i, numbers.data() + (i + 97 * round) % period, length * sizeof(double));
    }
  };
  in_parallel(count, body, threads);
}

struct Arguments {
  std::string mode;
  int n, calls, written;
  unsigned threads;
};

bool run(const Arguments& a) {
  // Whoever computes starts up with a product of its own, which stays until the end: freeing it might be noticed.
  Product<double> warming{warming_size, warming_size, warming_size, 0};
  warming.make(1);
  warming.call();

  const bool all = a.mode == "rewritten", new_b = a.mode == "new_b";
  Product<double> product{a.n, a.n, a.n, all ? 1.0 : 0.0};
  product.make(2);
  Samples<double> checked(product, samples);
  const std::size_t count = elements(a.n, a.n), row = static_cast<std::size_t>(a.n / 3);
  for (int i = 0; i < samples_in_row; ++i) checked.add_in_row(row);

  std::vector<double> seconds;
  double error = 0, after_write = 0;
  const double start = now();
  for (int call = 0; call < a.calls; ++call) {
    const auto round = static_cast<std::size_t>(call);
    const bool just_written = call > 0 && call == a.written;
    if (all) rewrite(product.A.get(), count, round, a.threads);
    if (all || new_b) rewrite(product.B.get(), count, round + 1, a.threads);
    if (all) rewrite(product.C.get(), count, round + 2, a.threads);
    // Large enough that the row of C it belongs to would be far from right without it.
    if (just_written) product.A[row + elements(a.n, a.n / 2)] = 1000;
    if (call == a.calls - 1) checked.remember();
    const double before = now();
    product.call();
    (just_written ? after_write : seconds.emplace_back()) = now() - before;
    if (just_written) error = checked.worst_error();
  }
  const double loop = now() - start;
  if (a.calls > 0) error = std::max(error, checked.worst_error());

  const auto nth = [&](std::size_t i) { return i < seconds.size() ? seconds[i] : 0.0; };
  double inside = after_write;
  for (const double s : seconds) inside += s;
  const double others = seconds.size() > 2 ? median({seconds.begin() + 2, seconds.end()}) : 0.0;
  std::printf(
      "{\"mode\": \"%s\", \"n\": %d, \"calls\": %d, \"threads\": %u, \"first\": %.6f, \"second\": %.6f, "
      "\"others\": %.6f, \"after_write\": %.6f, \"in_calls\": %.6f, \"loop\": %.6f, \"error\": %.3g}\n",
      a.mode.c_str(), a.n, a.calls, a.threads, nth(0), nth(1), others, after_write, inside, loop, error);
  return error <= 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a{argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 0, argc > 3 ? std::atoi(argv[3]) : -1, 0, 0};
  const bool all = a.mode == "rewritten";
  if (argc > 4 && all) a.threads = static_cast<unsigned>(std::atoi(argv[4]));
  if (argc > 4 && !all) a.written = std::atoi(argv[4]);
  if (a.n < 3 || a.calls < 0 || (all ? a.threads < 1 : a.mode != "unchanged" && a.mode != "new_b")) {
    std::fprintf(stderr, "usage: repeat_time unchanged|new_b N CALLS [WRITTEN] | rewritten N CALLS THREADS\n");
    return 2;
  }
  const bool right = run(a);
  if (!right) std::fprintf(stderr, "repeat_time: a sampled entry is over its error bound\n");
  return right ? 0 : 1;
}
