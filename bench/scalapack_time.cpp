// Times one routine of ScaLAPACK in double precision over a grid of processes, as a program sees it.  Linked with
// ScaLAPACK alone; whatever is preloaded computes.
//
//   mpirun -n P*Q scalapack_time gemm|potrf|getrf|gesv|geqrf|syevd N BLOCK P Q CALLS
//
// Process (0, 0) prints a line of JSON: the median and all seconds of the calls after a first one, each from when all
// processes are there to when all have the result, and "check", how far a few numbers of the result are from what they
// have to be, in units of rounding: of the product's and the factors' elements, of the solution's residual, of the sum
// of the eigenvalues.  What a call overwrites is made anew before it, outside its time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" {
void blacs_get_(const int*, const int*, int*);
void blacs_gridinit_(int*, const char*, const int*, const int*, std::size_t);
void blacs_gridinfo_(const int*, int*, int*, int*, int*);
void blacs_barrier_(const int*, const char*, std::size_t);
void blacs_exit_(const int*);
void dgsum2d_(const int*, const char*, const char*, const int*, const int*, double*, const int*, const int*, const int*,
              std::size_t, std::size_t);
void pdgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
             const int*, const int*, const double*, const int*, const int*, const int*, const double*, double*,
             const int*, const int*, const int*);
void pdpotrf_(const char*, const int*, double*, const int*, const int*, const int*, int*, std::size_t);
void pdgetrf_(const int*, const int*, double*, const int*, const int*, const int*, int*, int*);
void pdgesv_(const int*, const int*, double*, const int*, const int*, const int*, int*, double*, const int*, const int*,
             const int*, int*);
void pdgeqrf_(const int*, const int*, double*, const int*, const int*, const int*, double*, double*, const int*, int*);
void pdsyevd_(const char*, const char*, const int*, double*, const int*, const int*, const int*, double*, double*,
              const int*, const int*, const int*, double*, const int*, int*, const int*, int*, std::size_t,
              std::size_t);
}

namespace {

int context, rows, columns, my_row, my_column;

/// A number for each element of a matrix, the same for every distribution: between -1 and 1.
double element(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15 * static_cast<std::uint64_t>(i + (j << 32) + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>(static_cast<std::int64_t>(x ^ (x >> 31))) * 0x1p-63;
}

struct Matrix {
  int m, n, block, local_rows = 0, local_columns = 0;
  int desc[9];
  std::vector<double> local;

  Matrix(int m_, int n_, int block_) : m(m_), n(n_), block(block_) {
    const auto count = [&](int size, int mine, int processes) {
      int have = 0;
      for (int first = mine * block; first < size; first += processes * block) have += std::min(block, size - first);
      return have;
    };
    local_rows = count(m, my_row, rows);
    local_columns = count(n, my_column, columns);
    const int lld = std::max(1, local_rows), words[] = {1, context, m, n, block, block, 0, 0, lld};
    std::copy(words, words + 9, desc);
    local.resize(static_cast<std::size_t>(lld) * static_cast<std::size_t>(std::max(1, local_columns)));
  }
  int row(int local_row) const { return (local_row / block * rows + my_row) * block + local_row % block; }
  int column(int local_column) const {
    return (local_column / block * columns + my_column) * block + local_column % block;
  }
  template <class F>
  void fill(const F& f) {
    for (int c = 0; c < local_columns; ++c)
      for (int r = 0; r < local_rows; ++r)
        local[static_cast<std::size_t>(r) + static_cast<std::size_t>(c) * static_cast<std::size_t>(desc[8])] =
            f(row(r), column(c));
  }
  /// Element (i, j), on all processes.
  double at(int i, int j) const {
    double x = 0;
    if (i / block % rows == my_row && j / block % columns == my_column)
      x = local[static_cast<std::size_t>(i / block / rows * block + i % block) +
                static_cast<std::size_t>(j / block / columns * block + j % block) * static_cast<std::size_t>(desc[8])];
    const int one = 1, all = -1;
    dgsum2d_(&context, "A", " ", &one, &one, &x, &one, &all, &all, 1, 1);
    return x;
  }
};

}  // namespace

int main(int count, char** words) {
  if (count != 7) {
    std::fprintf(stderr, "usage: scalapack_time gemm|potrf|getrf|gesv|geqrf|syevd N BLOCK P Q CALLS\n");
    return 2;
  }
  const std::string routine = words[1];
  const int n = std::atoi(words[2]), block = std::atoi(words[3]), P = std::atoi(words[4]), Q = std::atoi(words[5]),
            calls = std::atoi(words[6]), zero = 0, minus = -1, one = 1;
  blacs_get_(&minus, &zero, &context);
  blacs_gridinit_(&context, "R", &P, &Q, 1);
  blacs_gridinfo_(&context, &rows, &columns, &my_row, &my_column);
  if (my_row < 0) return blacs_exit_(&zero), 0;
  const bool product = routine == "gemm", solve = routine == "gesv", eigen = routine == "syevd";
  Matrix A(n, n, block),
      B(product ? n
        : solve ? n
                : 1,
        product ? n : 1, block),
      C(product || eigen ? n : 1, product || eigen ? n : 1, block);
  std::vector<int> pivots(static_cast<std::size_t>(A.local_rows + block));
  std::vector<double> tau(static_cast<std::size_t>(std::max(1, A.local_columns))), w(static_cast<std::size_t>(n)),
      work(1);
  std::vector<int> iwork(1);
  const auto symmetric = [&](int i, int j) { return element(1, std::min(i, j), std::max(i, j)); };
  const auto start = [&] {
    A.fill([&](int i, int j) {
      if (routine == "potrf") return symmetric(i, j) + (i == j ? n : 0.0);
      if (eigen) return symmetric(i, j);
      return element(1, i, j);
    });
    if (product) B.fill([&](int i, int j) { return element(2, i, j); });
    if (solve) B.fill([&](int i, int) { return element(2, i, 0); });
  };
  int info = 0;
  const auto call = [&](int lwork, int liwork) {
    const double alpha = 1, beta = 0;
    if (product)
      pdgemm_("N", "N", &n, &n, &n, &alpha, A.local.data(), &one, &one, A.desc, B.local.data(), &one, &one, B.desc,
              &beta, C.local.data(), &one, &one, C.desc);
    else if (routine == "potrf")
      pdpotrf_("L", &n, A.local.data(), &one, &one, A.desc, &info, 1);
    else if (routine == "getrf")
      pdgetrf_(&n, &n, A.local.data(), &one, &one, A.desc, pivots.data(), &info);
    else if (solve)
      pdgesv_(&n, &one, A.local.data(), &one, &one, A.desc, pivots.data(), B.local.data(), &one, &one, B.desc, &info);
    else if (routine == "geqrf")
      pdgeqrf_(&n, &n, A.local.data(), &one, &one, A.desc, tau.data(), work.data(), &lwork, &info);
    else if (eigen)
      pdsyevd_("V", "L", &n, A.local.data(), &one, &one, A.desc, w.data(), C.local.data(), &one, &one, C.desc,
               work.data(), &lwork, iwork.data(), &liwork, &info, 1, 1);
    else
      std::exit(2);
  };
  if (routine == "geqrf" || eigen) {
    call(-1, -1);
    work.resize(static_cast<std::size_t>(work[0]) + 1);
    iwork.resize(static_cast<std::size_t>(std::max(1, iwork[0])));
  }
  std::vector<double> seconds;
  for (int i = 0; i <= calls; ++i) {
    start();
    blacs_barrier_(&context, "A", 1);
    const auto from = std::chrono::steady_clock::now();
    call(static_cast<int>(work.size()), static_cast<int>(iwork.size()));
    blacs_barrier_(&context, "A", 1);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    if (i > 0) seconds.push_back(took);
  }
  double off = info == 0 ? 0 : NAN;
  const double rounding = 0x1p-53;
  for (int t = 0; t < 3 && !eigen; ++t) {
    const int i = (t * 7919 + 13) % n, j = (t * 104729 + 5) % n;
    double sum = 0, size = 1;
    if (product) {
      for (int k = 0; k < n; ++k) sum += element(1, i, k) * element(2, k, j);
      off = std::max(off, std::abs(sum - C.at(i, j)) / (rounding * n));
    } else if (solve) {
      for (int k = 0; k < n; ++k) {
        const double x = B.at(k, 0);
        sum += element(1, i, k) * x;
        size = std::max(size, std::abs(x));
      }
      off = std::max(off, std::abs(sum - element(2, i, 0)) / (rounding * n * size));
    } else if (routine == "potrf") {
      const int r = std::max(i, j), c = std::min(i, j);
      for (int k = 0; k <= c; ++k) sum += A.at(r, k) * A.at(c, k);
      off = std::max(off, std::abs(sum - symmetric(r, c) - (r == c ? n : 0.0)) / (rounding * n));
    }
  }
  double largest = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = element(1, i, 0);
    largest = std::max(largest, std::abs(x));
    squares += x * x;
  }
  if (routine == "getrf") off = std::max(off, std::abs(largest - std::abs(A.at(0, 0))) / rounding);
  if (routine == "geqrf") off = std::max(off, std::abs(std::sqrt(squares) - std::abs(A.at(0, 0))) / (rounding * n));
  if (eigen) {
    double sum = 0, trace = 0;
    for (int i = 0; i < n; ++i) sum += w[static_cast<std::size_t>(i)], trace += symmetric(i, i);
    off = std::abs(sum - trace) / (rounding * n * std::sqrt(n));
  }
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  if (my_row == 0 && my_column == 0) {
    std::printf("{\"median\": %.6g, \"check\": %.3g, \"seconds\": [", sorted[sorted.size() / 2], off);
    for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.6g", i ? ", " : "", seconds[i]);
    std::printf("]}\n");
  }
  blacs_exit_(&zero);
  return off == off ? 0 : 1;
}
