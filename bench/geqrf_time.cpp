// Times geqrf as a program sees it: A in pageable host memory, the factors back there.  Links the ordinary LAPACK;
// whatever is preloaded computes.
//
//   geqrf_time s|d REPETITIONS N|MxN ...
//
// Prints a line of JSON a size: median and fastest seconds, and |A e - Q R e| / |A e| of three columns, the reflectors
// applied by plain loops.  A is made anew before each call, outside its time.  Exit status 1 if one is over
// 50 sqrt(n) eps, or is not a number.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/product.hpp"

extern "C" {
void sgeqrf_(const int*, const int*, float*, const int*, float*, float*, const int*, int*);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
}

namespace {

using namespace bench;

constexpr double warm_seconds = 3;

void geqrf(int m, int n, float* A, float* tau, float* work, int lwork, int& info) {
  sgeqrf_(&m, &n, A, &m, tau, work, &lwork, &info);
}
void geqrf(int m, int n, double* A, double* tau, double* work, int lwork, int& info) {
  dgeqrf_(&m, &n, A, &m, tau, work, &lwork, &info);
}

template <class T>
class Problem {
 public:
  Problem(int m, int n)
      : m_(m),
        n_(n),
        original_(std::make_unique_for_overwrite<T[]>(elements())),
        A_(std::make_unique_for_overwrite<T[]>(elements())),
        tau_(static_cast<std::size_t>(std::min(m, n))) {
    in_parallel(elements(), [this](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) set_uniform(original_[i], 1, i);
    });
    T best = 0;
    geqrf(m, n, A_.get(), tau_.data(), &best, -1, info_);
    work_.resize(std::max<std::size_t>(1, static_cast<std::size_t>(best)));
  }

  /// @return seconds
  double call() {
    in_parallel(elements(), [this](std::size_t first, std::size_t last) {
      std::memcpy(&A_[first], &original_[first], (last - first) * sizeof(T));
    });
    const auto start = std::chrono::steady_clock::now();
    geqrf(m_, n_, A_.get(), tau_.data(), work_.data(), static_cast<int>(work_.size()), info_);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  double residual() const {
    double worst = info_ == 0 ? 0 : std::numeric_limits<double>::infinity();
    for (const int column : {0, n_ / 2, n_ - 1}) {
      // Q R e: reflectors behind the last element of R e leave it alone.
      const int count = std::min(column + 1, std::min(m_, n_));
      std::vector<double> x(static_cast<std::size_t>(m_), 0.0);
      for (int i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = static_cast<double>(at(A_, i, column));
      for (int k = count - 1; k >= 0; --k) {
        const T* const v = &A_[static_cast<std::size_t>(k) * static_cast<std::size_t>(m_)];
        double sum = x[static_cast<std::size_t>(k)];
        for (int i = k + 1; i < m_; ++i) sum += static_cast<double>(v[i]) * x[static_cast<std::size_t>(i)];
        sum *= static_cast<double>(tau_[static_cast<std::size_t>(k)]);
        x[static_cast<std::size_t>(k)] -= sum;
        for (int i = k + 1; i < m_; ++i) x[static_cast<std::size_t>(i)] -= sum * static_cast<double>(v[i]);
      }
      double error = 0, size = 0;
      for (int i = 0; i < m_; ++i) {
        const double a = static_cast<double>(at(original_, i, column)), off = a - x[static_cast<std::size_t>(i)];
        error += off * off;
        size += a * a;
      }
      const double relative = std::sqrt(error / size);
      if (!(relative <= worst)) worst = relative;
    }
    return worst;
  }

 private:
  std::size_t elements() const { return static_cast<std::size_t>(m_) * static_cast<std::size_t>(n_); }
  T at(const std::unique_ptr<T[]>& matrix, int i, int j) const {
    return matrix[static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * static_cast<std::size_t>(m_)];
  }

  int m_, n_, info_ = 0;
  std::unique_ptr<T[]> original_, A_;
  std::vector<T> tau_, work_;
};

template <class T>
bool time_size(const char* precision, int repetitions, int m, int n) {
  Problem<T> problem(m, n);
  // Warm, until whoever computes has had the time to start up what it starts up.
  double warm = 0;
  while (warm < warm_seconds) warm += problem.call();
  std::vector<double> seconds;
  for (int r = 0; r < repetitions; ++r) seconds.push_back(problem.call());
  const double residual = problem.residual(), allowed = 50 * std::sqrt(n) * std::numeric_limits<T>::epsilon();
  std::printf(
      "{\"precision\": \"%s\", \"m\": %d, \"n\": %d, \"calls\": %d, \"seconds\": %.7f, \"fastest\": %.7f, "
      "\"residual\": %.3g, "
      "\"allowed\": %.3g}\n",
      precision, m, n, repetitions, median(seconds), *std::min_element(seconds.begin(), seconds.end()),
      std::isfinite(residual) ? residual : 1e99, allowed);
  std::fflush(stdout);
  return residual <= allowed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string precision = argc > 3 ? argv[1] : "";
  const int repetitions = argc > 3 ? std::atoi(argv[2]) : 0;
  if ((precision != "s" && precision != "d") || repetitions < 1) {
    std::fprintf(stderr, "usage: geqrf_time s|d REPETITIONS N|MxN ...\n");
    return 2;
  }
  bool right = true;
  for (char** size = argv + 3; *size; ++size) {
    int m = 0, n = 0;
    if (std::sscanf(*size, "%dx%d", &m, &n) != 2) m = n = std::atoi(*size);
    if (m < 1 || n < 1) {
      std::fprintf(stderr, "geqrf_time: no such size: %s\n", *size);
      return 2;
    }
    right = (precision == "s" ? time_size<float>(argv[1], repetitions, m, n)
                              : time_size<double>(argv[1], repetitions, m, n)) &&
            right;
  }
  if (!right) std::fprintf(stderr, "geqrf_time: a residual is over its bound\n");
  return right ? 0 : 1;
}
