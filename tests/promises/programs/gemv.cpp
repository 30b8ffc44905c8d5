// gemv as programs call it again and again with one matrix.
//
//   gemv fit ROUNDS WRITES   X w and then X' r, as a regression does, of a row-major X of 1000 x 300 in rows of 320; an
//                            element of X is written before so many rounds
//   gemv powers ROUNDS       A x by the Fortran symbol, with x made of the last result
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "routine_calls.hpp"

extern "C" void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*,
                       const int*, const double*, double*, const int*, std::size_t);
extern "C" void cblas_dgemv(int, int, int, int, double, const double*, int, const double*, int, double, double*, int);

using namespace promises;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// In pages of its own: nothing else is written there.
double* pages(std::size_t elements) {
  void* p = mmap(nullptr, elements * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<double*>(p);
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void fit(int rounds, int writes) {
  constexpr int rows = 1000, columns = 300, ld = 320;
  double* const X = pages(at(rows * ld));
  // Whole numbers, so that sums are exact in any order.
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < ld; ++j) X[i * ld + j] = j < columns ? (i * 7 + j * 3) % 11 - 5 : not_a_number;
  std::vector<double> w(at(columns)), r(at(rows)), g(at(columns));
  for (int j = 0; j < columns; ++j) w[at(j)] = j % 5 - 2;
  for (int round = 0; round < rounds; ++round) {
    if (round > 0 && round <= writes) X[500 * ld + 7] += 1;
    std::fill(r.begin(), r.end(), not_a_number);
    std::fill(g.begin(), g.end(), 3);
    note_call("dgemv");
    cblas_dgemv(101, 111, rows, columns, 1, X, ld, w.data(), 1, 0, r.data(), 1);
    note_call("dgemv");
    cblas_dgemv(101, 112, rows, columns, -1, X, ld, r.data(), 1, 2, g.data(), 1);
    for (int i = 0; i < rows; ++i) {
      double sum = 0;
      for (int j = 0; j < columns; ++j) sum += X[i * ld + j] * w[at(j)];
      if (r[at(i)] != sum) return fail("round %d: r(%d) is %g, not %g", round, i, r[at(i)], sum);
    }
    for (int j = 0; j < columns; ++j) {
      double sum = 6;
      for (int i = 0; i < rows; ++i) sum -= X[i * ld + j] * r[at(i)];
      if (g[at(j)] != sum) return fail("round %d: g(%d) is %g, not %g", round, j, g[at(j)], sum);
    }
    w[at(round % columns)] += 1;
  }
}

void powers(int rounds) {
  constexpr int n = 600, unit = 1;
  const double one = 1, zero = 0;
  double* const A = pages(at(n * n));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) A[i + j * n] = (i + 2 * j) % 3 - 1;
  std::vector<double> x(at(n)), y(at(n));
  for (int i = 0; i < n; ++i) x[at(i)] = i % 7 - 3;
  for (int round = 0; round < rounds; ++round) {
    std::fill(y.begin(), y.end(), not_a_number);
    note_call("dgemv");
    dgemv_("N", &n, &n, &one, A, &n, x.data(), &unit, &zero, y.data(), &unit, 1);
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int j = 0; j < n; ++j) sum += A[i + j * n] * x[at(j)];
      if (y[at(i)] != sum) return fail("round %d: y(%d) is %g, not %g", round, i, y[at(i)], sum);
    }
    for (int i = 0; i < n; ++i) x[at(i)] = std::fmod(y[at(i)], 5);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view which = count > 1 ? arguments[1] : "";
  if (which == "fit" && count == 4) return fit(std::atoi(arguments[2]), std::atoi(arguments[3])), verdict_of_calls();
  if (which == "powers" && count == 3) return powers(std::atoi(arguments[2])), verdict_of_calls();
  return 2;
}
