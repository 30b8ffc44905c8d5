// Times the six kernels of a tile QR (Takayanagi, Tile CAQR, 2021, chapters 4 and 5) on one core, as the LAPACK that it
// is linked with computes them: what bench/scaling.py's model and simulation are fed with.
//
//   tile_kernels SECONDS TILE[,TILE...] INNER[,INNER...]
//   tile_kernels whole M N TILE INNER PLACES
//
// A line of JSON for each tile size and inner block (those wider than the tile are left out): median and least seconds
// of a call, each kernel timed for SECONDS, or seven calls if that is more.  What a kernel changes comes from a pool
// that is larger than the caches; the reflectors that it applies stay where they are, as in a row of updates.
//
// whole: a QR of M x N by PLACES domains of tile rows, dealt out cyclically and merged in a binary tree, all on this
// core: how often each kernel came, and the seconds of all of its calls.  M and N are multiples of TILE.
//
// Seconds are the thread's own (CLOCK_THREAD_CPUTIME_ID), since the machine may have other work.  Exit status 1 if an
// error is over 10 sqrt(rows) eps: of the tiles that reflectors make of the matrix they belong to, beside R and zeros;
// of R^T R e beside A^T A e.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "bench/product.hpp"

extern "C" {
void dgeqrt_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*, int*);
void dgemqrt_(const char*, const char*, const int*, const int*, const int*, const int*, const double*, const int*,
              const double*, const int*, double*, const int*, double*, int*, std::size_t, std::size_t);
void dtpqrt_(const int*, const int*, const int*, const int*, double*, const int*, double*, const int*, double*,
             const int*, double*, int*);
void dtpmqrt_(const char*, const char*, const int*, const int*, const int*, const int*, const int*, const double*,
              const int*, const double*, const int*, double*, const int*, double*, const int*, double*, int*,
              std::size_t, std::size_t);
}

namespace {

constexpr const char* names[] = {"geqrt", "larfb", "tsqrt", "ssrfb", "ttqrt", "ttmqr"};
enum Kind { geqrt, larfb, tsqrt, ssrfb, ttqrt, ttmqr };
constexpr std::size_t kinds = 6, pool_bytes = std::size_t{96} << 20, fewest_calls = 7;

double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The kernels on tiles of b x b, column by column; T is ib x b.
class Kernels {
 public:
  Kernels(int b, int ib) : b_(b), ib_(ib), work_(static_cast<std::size_t>(b) * static_cast<std::size_t>(ib)) {}

  void factor(double* A, double* T) { dgeqrt_(&b_, &b_, &ib_, A, &b_, T, &ib_, work_.data(), &info_); }
  void apply(const double* V, const double* T, double* C) {
    dgemqrt_("L", "T", &b_, &b_, &b_, &ib_, V, &b_, T, &ib_, C, &b_, work_.data(), &info_, 1, 1);
  }
  /// @param triangle  whether B is one: merging, not eliminating
  void factor_pair(bool triangle, double* R, double* B, double* T) {
    const int l = triangle ? b_ : 0;
    dtpqrt_(&b_, &b_, &l, &ib_, R, &b_, B, &b_, T, &ib_, work_.data(), &info_);
  }
  void apply_pair(bool triangle, const double* V, const double* T, double* upper, double* lower) {
    const int l = triangle ? b_ : 0;
    dtpmqrt_("L", "T", &b_, &b_, &b_, &l, &ib_, V, &b_, T, &ib_, upper, &b_, lower, &b_, work_.data(), &info_, 1, 1);
  }
  std::size_t elements() const { return bench::elements(b_, b_); }

 private:
  int b_, ib_, info_ = 0;
  std::vector<double> work_;
};

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum = std::hypot(sum, value);
  return sum;
}

void keep_triangle(std::vector<double>& X, int b) {
  for (int j = 0; j < b; ++j)
    for (int i = j + 1; i < b; ++i) X[bench::elements(b, j) + static_cast<std::size_t>(i)] = 0;
}

/// Of Q^T applied to what Q came from (`upper` over `lower`), its distance from R over zeros, by its norm.
double distance(const std::vector<double>& R, std::vector<double> upper, const std::vector<double>& lower) {
  const double size = std::hypot(norm(upper), norm(lower));
  for (std::size_t i = 0; i < upper.size(); ++i) upper[i] -= R[i];
  return std::hypot(norm(upper), norm(lower)) / size;
}

struct Times {
  double median = 0, least = 0;
};

/// Calls body(i) for one tile of the pool after the other, and makes these anew whenever all have been used.
template <class Renew, class Body>
Times time_calls(double seconds, std::size_t tiles, const Renew& renew, const Body& body) {
  std::vector<double> found;
  double spent = 0;
  for (std::size_t i = 0; spent < seconds || found.size() <= fewest_calls; i = (i + 1) % tiles) {
    if (i == 0) renew();
    const double start = now();
    body(i);
    found.push_back(now() - start);
    spent += found.back();
  }
  found.erase(found.begin());  // it may have had to start something up
  std::sort(found.begin(), found.end());
  return {found[found.size() / 2], found.front()};
}

bool time_tile(int b, int ib, double seconds) {
  Kernels kernels(b, ib);
  const std::size_t tile = kernels.elements();
  const std::size_t pairs = std::max<std::size_t>(2, pool_bytes / (2 * tile * sizeof(double)));
  std::vector<double> original(2 * pairs * tile), pool(original.size()), T(tile);
  for (std::size_t i = 0; i < original.size(); ++i) bench::set_uniform(original[i], 1, i);
  const auto renew = [&] { pool = original; };
  const auto upper = [&](std::size_t i) { return pool.data() + 2 * i * tile; };
  const auto lower = [&](std::size_t i) { return upper(i) + tile; };

  // Reflectors of each sort, which the updates below apply, from the first tiles; checked.
  using Tile = std::vector<double>;
  const auto begin = original.begin();
  const auto step = static_cast<std::ptrdiff_t>(tile);
  const Tile A(begin, begin + step), B(begin + step, begin + 2 * step);
  Tile V = A, T_of(tile), C = A;
  kernels.factor(V.data(), T_of.data());
  kernels.apply(V.data(), T_of.data(), C.data());
  Tile R = V;
  keep_triangle(R, b);
  double error = distance(R, C, {});
  Tile V_pair[2], T_pair[2];
  for (const bool triangle : {false, true}) {
    Tile top = R, bottom = B;
    if (triangle) keep_triangle(bottom, b);
    Tile applied_top = top, applied_bottom = bottom;
    T_pair[triangle].resize(tile);
    kernels.factor_pair(triangle, top.data(), bottom.data(), T_pair[triangle].data());
    kernels.apply_pair(triangle, bottom.data(), T_pair[triangle].data(), applied_top.data(), applied_bottom.data());
    error = std::max(error, distance(top, applied_top, applied_bottom));
    V_pair[triangle] = bottom;
  }

  Times times[kinds];
  times[geqrt] = time_calls(seconds, pairs, renew, [&](std::size_t i) { kernels.factor(upper(i), T.data()); });
  times[larfb] =
      time_calls(seconds, pairs, renew, [&](std::size_t i) { kernels.apply(V.data(), T_of.data(), upper(i)); });
  for (const bool triangle : {false, true}) {
    // Down a column it is always the same triangle that annihilates.
    times[triangle ? ttqrt : tsqrt] = time_calls(
        seconds, pairs, renew, [&](std::size_t i) { kernels.factor_pair(triangle, R.data(), lower(i), T.data()); });
    times[triangle ? ttmqr : ssrfb] = time_calls(seconds, pairs, renew, [&](std::size_t i) {
      kernels.apply_pair(triangle, V_pair[triangle].data(), T_pair[triangle].data(), upper(i), lower(i));
    });
  }
  const double bound = 10 * std::sqrt(2.0 * b) * std::numeric_limits<double>::epsilon();
  std::printf("{\"tile\": %d, \"inner\": %d", b, ib);
  for (const bool least : {false, true}) {
    std::printf(", \"%s\": {", least ? "least" : "median");
    for (std::size_t k = 0; k < kinds; ++k)
      std::printf("%s\"%s\": %.4g", k ? ", " : "", names[k], least ? times[k].least : times[k].median);
    std::printf("}");
  }
  std::printf(", \"error\": %.2g, \"right\": %s}\n", error, error <= bound ? "true" : "false");
  std::fflush(stdout);
  return error <= bound;
}

/// A QR by domains, as chapter 5 has it; each tile lies in one piece.
class Whole {
 public:
  Whole(int m, int n, int b, int ib, int places)
      : b_(b),
        inner_(ib),
        p_(m / b),
        q_(n / b),
        places_(places),
        kernels_(b, ib),
        tiles_(bench::elements(m, n)),
        T_(kernels_.elements()) {
    for (std::size_t i = 0; i < tiles_.size(); ++i) bench::set_uniform(tiles_[i], 1, i);
  }

  void factor() {
    for (int k = 0; k < std::min(p_, q_); ++k) {
      std::vector<int> tops;
      for (int top = k; top < std::min(p_, k + places_); ++top) {
        tops.push_back(top);
        timed(geqrt, [&] { kernels_.factor(tile(top, k), T_.data()); });
        for (int j = k + 1; j < q_; ++j) timed(larfb, [&] { kernels_.apply(tile(top, k), T_.data(), tile(top, j)); });
        for (int i = top + places_; i < p_; i += places_) pair(false, top, i, k);
      }
      for (std::size_t distance = 1; distance < tops.size(); distance *= 2)
        for (std::size_t x = 0; x + distance < tops.size(); x += 2 * distance)
          pair(true, tops[x], tops[x + distance], k);
    }
  }

  /// |R^T R e - A^T A e| / |A^T A e|, e all ones.
  double error() {
    const std::vector<double> R_e = gram([this](int i, int j) { return i <= j ? at(i, j) : 0; }, std::min(p_, q_) * b_);
    std::vector<double> A_e = gram([this](int i, int j) { return bench::uniform(1, place(i, j)); }, p_ * b_);
    const double size = norm(A_e);
    for (std::size_t i = 0; i < A_e.size(); ++i) A_e[i] -= R_e[i];
    return norm(A_e) / size;
  }

  void print(double error, double bound) const {
    std::printf("{\"m\": %d, \"n\": %d, \"tile\": %d, \"inner\": %d, \"places\": %d", p_ * b_, q_ * b_, b_, inner_,
                places_);
    for (const bool counted : {false, true}) {
      std::printf(", \"%s\": {", counted ? "count" : "seconds");
      for (std::size_t k = 0; k < kinds; ++k)
        std::printf("%s\"%s\": %.6g", k ? ", " : "", names[k], counted ? static_cast<double>(count_[k]) : seconds_[k]);
      std::printf("}");
    }
    std::printf(", \"error\": %.2g, \"right\": %s}\n", error, error <= bound ? "true" : "false");
  }

 private:
  void pair(bool triangle, int top, int i, int k) {
    timed(triangle ? ttqrt : tsqrt, [&] { kernels_.factor_pair(triangle, tile(top, k), tile(i, k), T_.data()); });
    for (int j = k + 1; j < q_; ++j)
      timed(triangle ? ttmqr : ssrfb,
            [&] { kernels_.apply_pair(triangle, tile(i, k), T_.data(), tile(top, j), tile(i, j)); });
  }

  template <class Body>
  void timed(Kind kind, const Body& body) {
    const double start = now();
    body();
    seconds_[kind] += now() - start;
    ++count_[kind];
  }

  template <class At>
  std::vector<double> gram(const At& element, int rows) const {
    std::vector<double> sums(static_cast<std::size_t>(q_ * b_)), x(static_cast<std::size_t>(rows));
    for (int j = 0; j < q_ * b_; ++j)
      for (int i = 0; i < rows; ++i) x[static_cast<std::size_t>(i)] += element(i, j);
    for (int j = 0; j < q_ * b_; ++j)
      for (int i = 0; i < rows; ++i)
        sums[static_cast<std::size_t>(j)] += element(i, j) * x[static_cast<std::size_t>(i)];
    return sums;
  }

  std::size_t place(int i, int j) const {
    const int tile = i / b_ + j / b_ * p_;
    return static_cast<std::size_t>(tile) * kernels_.elements() + bench::elements(b_, j % b_) +
           static_cast<std::size_t>(i % b_);
  }
  double at(int i, int j) const { return tiles_[place(i, j)]; }
  double* tile(int i, int j) { return tiles_.data() + place(i * b_, j * b_); }

  int b_, inner_, p_, q_, places_;
  Kernels kernels_;
  std::vector<double> tiles_, T_;
  double seconds_[kinds] = {};
  long count_[kinds] = {};
};

/// Which CPU, and which library, in words.
void print_machine() {
  std::string cpu = "unknown";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      cpu = line.substr(line.find(':') + 2);
      break;
    }
  const auto config = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_config"));
  std::printf("{\"cpu\": \"%s\", \"library\": \"%s\"}\n", cpu.c_str(), config ? config() : "not OpenBLAS");
  std::fflush(stdout);
}

std::vector<int> numbers(const char* text) {
  std::vector<int> found;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) found.push_back(std::atoi(word.c_str()));
  return found;
}

int usage() {
  std::fprintf(stderr,
               "usage: tile_kernels SECONDS TILE[,TILE...] INNER[,INNER...]\n"
               "       tile_kernels whole M N TILE INNER PLACES\n");
  return 2;
}

bool all_positive(const std::vector<int>& list) {
  return !list.empty() && std::all_of(list.begin(), list.end(), [](int x) { return x > 0; });
}

}  // namespace

int main(int argc, char** argv) {
  // OpenBLAS's threads would share the core, and spoil the times.
  if (const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(1);
  if (argc == 7 && !std::strcmp(argv[1], "whole")) {
    std::vector<int> x;
    for (int i = 2; i < 7; ++i) x.push_back(std::atoi(argv[i]));
    if (!all_positive(x) || x[0] % x[2] || x[1] % x[2] || x[3] > x[2]) return usage();
    print_machine();
    Whole whole(x[0], x[1], x[2], x[3], x[4]);
    whole.factor();
    const double error = whole.error(), bound = 10 * std::sqrt(x[0]) * std::numeric_limits<double>::epsilon();
    whole.print(error, bound);
    return error <= bound ? 0 : 1;
  }
  if (argc != 4) return usage();
  const double seconds = std::atof(argv[1]);
  const std::vector<int> tiles = numbers(argv[2]), inner = numbers(argv[3]);
  if (!(seconds > 0) || !all_positive(tiles) || !all_positive(inner)) return usage();
  print_machine();
  bool right = true;
  for (const int b : tiles)
    for (const int ib : inner)
      if (ib <= b) right = time_tile(b, ib, seconds) && right;
  return right ? 0 : 1;
}
