// Factors and what is done with them, in one array whose matrix changes: LU and Cholesky in turn.
//
//   factors ROUNDS solve|leave
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

extern "C" {
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, double*, const int*, int*,
             std::size_t);
void dgecon_(const char*, const int*, const double*, const int*, const double*, double*, double*, int*, int*,
             std::size_t);
void dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
void dpotri_(const char*, const int*, double*, const int*, int*, std::size_t);
void dpotrf_(const char*, const int*, double*, const int*, int*, std::size_t);
void dpotrs_(const char*, const int*, const int*, const double*, const int*, double*, const int*, int*, std::size_t);
void dpocon_(const char*, const int*, const double*, const int*, const double*, double*, double*, int*, int*,
             std::size_t);
}

namespace {

constexpr int n = 400, rhs = 2;

/// |b - A x| beside n |x|, of a symmetric matrix whose elements are below 2.
bool solves(const std::vector<double>& A, const std::vector<double>& x) {
  double off = 0, size = 0;
  for (int j = 0; j < rhs; ++j)
    for (int i = 0; i < n; ++i) {
      double rest = 1;
      for (int k = 0; k < n; ++k)
        rest -= A[static_cast<std::size_t>(i + k * n)] * x[static_cast<std::size_t>(k + j * n)];
      off = std::fmax(off, std::fabs(rest));
      size = std::fmax(size, std::fabs(x[static_cast<std::size_t>(i + j * n)]));
    }
  return off <= 1e-10 * n * size;
}

}  // namespace

int main(int, char** arguments) {
  const int rounds = std::atoi(arguments[1]);
  const bool solve = std::strcmp(arguments[2], "solve") == 0;
  std::mt19937 random(1);
  std::vector<double> A(std::size_t{n} * n), F(A.size()), x(std::size_t{n} * rhs), work(std::size_t{4} * n);
  std::vector<int> pivots(n), integers(n);
  const int lwork = 4 * n;
  int info = -99, wrong = 0;
  const double norm = 1;
  double condition = -1;
  for (int round = 0; round < rounds; ++round)
    for (const bool lu : {true, false}) {
      for (int j = 0; j < n; ++j)
        for (int i = 0; i <= j; ++i)
          A[static_cast<std::size_t>(i + j * n)] = A[static_cast<std::size_t>(j + i * n)] =
              i == j ? 2 : static_cast<double>(random() % 2001) / 1000 / n;
      F = A;
      if (lu)
        dgetrf_(&n, &n, F.data(), &n, pivots.data(), &info);
      else
        dpotrf_("L", &n, F.data(), &n, &info, 1);
      wrong += info != 0;
      if (!solve) continue;
      x.assign(x.size(), 1);
      if (lu) {
        dgecon_("1", &n, F.data(), &n, &norm, &condition, work.data(), integers.data(), &info, 1);
        dgetrs_("N", &n, &rhs, F.data(), &n, pivots.data(), x.data(), &n, &info, 1);
      } else {
        dpocon_("L", &n, F.data(), &n, &norm, &condition, work.data(), integers.data(), &info, 1);
        dpotrs_("L", &n, &rhs, F.data(), &n, x.data(), &n, &info, 1);
      }
      wrong += info != 0 || !(condition > 0) || !solves(A, x);
      // The inverse, by what it makes of the same right-hand side.
      if (lu)
        dgetri_(&n, F.data(), &n, pivots.data(), work.data(), &lwork, &info);
      else
        dpotri_("L", &n, F.data(), &n, &info, 1);
      x.assign(x.size(), 0);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          const bool stored = lu || i >= j;
          const double element = F[static_cast<std::size_t>(stored ? i + j * n : j + i * n)];
          for (int column = 0; column < rhs; ++column) x[static_cast<std::size_t>(i + column * n)] += element;
        }
      wrong += info != 0 || !solves(A, x);
    }
  const int used = solve ? rounds : 0;
  std::printf("calls {\"dgetrf\": %d, \"dpotrf\": %d", rounds, rounds);
  for (const char* name : {"dgecon", "dpocon", "dgetrs", "dpotrs", "dgetri", "dpotri"})
    std::printf(", \"%s\": %d", name, used);
  std::puts("}");
  std::puts(wrong ? "wrong" : "ok");
  return wrong != 0;
}
