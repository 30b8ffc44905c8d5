// Symmetric and Hermitian matrices by LAPACK's drivers: some that are not finite, or their eigenvalues in intervals; a
// line for each with what it leaves.
//
//   eigen evd|ev|evr|evx
//   eigen interval evr|evx
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

using namespace promises;

#define DRIVERS(X, name) X(name, evd) X(name, ev) X(name, evr) X(name, evx)
#define DECLARE(name, driver) extern "C" void name##driver##_(...);
DRIVERS(DECLARE, ssy)
DRIVERS(DECLARE, dsy)
DRIVERS(DECLARE, che)
DRIVERS(DECLARE, zhe)
#undef DECLARE

namespace {

std::map<std::string, int> calls;

using Function = void (*)(...);
template <class T>
Function function_of(const std::string& driver) {
  static const std::map<std::string, Function> all{
#define NAME(name, end) {#name #end, name##end##_},
      DRIVERS(NAME, ssy) DRIVERS(NAME, dsy) DRIVERS(NAME, che) DRIVERS(NAME, zhe)
#undef NAME
  };
  const std::string name = letter<T>() + std::string(Scalars<T>::is_complex ? "he" : "sy") + driver;
  ++calls[name];
  return all.at(name);
}

/// What a call is made with, and what it leaves.
template <class T>
struct Problem {
  char jobz, uplo, range;
  int n, lda;
  std::vector<T> A;
  Real<T> vl = 0, vu = 1;
  int info = -99, m = -99;
  std::vector<T> Z{};
  std::vector<Real<T>> w{};

  void solve(const std::string& driver) {
    constexpr std::size_t one = 1;
    const auto size = static_cast<std::size_t>(n);
    const int least = 1 + 26 * n + 2 * n * n, integers = 3 + 10 * n, reals = 1 + 24 * n + 2 * n * n, ldz = n + 1,
              il = 0;
    const Real<T> abstol = 0;
    std::vector<T> work(static_cast<std::size_t>(least));
    std::vector<Real<T>> rwork(static_cast<std::size_t>(reals));
    std::vector<int> iwork(static_cast<std::size_t>(integers)), of_vectors(2 * size);
    w.assign(size, Real<T>(5));
    Z.assign(static_cast<std::size_t>(ldz) * size, T(7));
    const Function f = function_of<T>(driver);
    const auto some = [&](auto... rest) {
      f(&jobz, &range, &uplo, &n, A.data(), &lda, &vl, &vu, &il, &il, &abstol, &m, w.data(), Z.data(), &ldz, rest...,
        &info, one, one, one);
    };
    const auto all = [&](auto... rest) {
      f(&jobz, &uplo, &n, A.data(), &lda, w.data(), work.data(), &least, rest..., &info, one, one);
    };
    int *const i = iwork.data(), *const v = of_vectors.data();
    if constexpr (Scalars<T>::is_complex) {
      Real<T>* const r = rwork.data();
      if (driver == "evd") all(r, &reals, i, &integers);
      if (driver == "ev") all(r);
      if (driver == "evr") some(v, work.data(), &least, r, &reals, i, &integers);
      if (driver == "evx") some(work.data(), &least, r, i, v);
    } else {
      if (driver == "evd") all(i, &integers);
      if (driver == "ev") all();
      if (driver == "evr") some(v, work.data(), &least, i, &integers);
      if (driver == "evx") some(work.data(), &least, i, v);
    }
  }
};

unsigned long long hash_of(const void* at, std::size_t count, unsigned long long hash) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

template <class T>
unsigned long long hash_of(const Problem<T>& p) {
  const unsigned long long a = hash_of(p.A.data(), p.A.size() * sizeof(T), 14695981039346656037ULL);
  return hash_of(p.Z.data(), p.Z.size() * sizeof(T), hash_of(p.w.data(), p.w.size() * sizeof(Real<T>), a));
}

/// None, some or all of the eigenvalues lie in it.
template <class T>
void intervals(const std::string& driver) {
  std::mt19937 random(2);
  const auto number = [&random] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  for (const int n : {1, 7, 24})
    for (const char jobz : {'V', 'N'})
      for (const auto& [low, high] : {std::pair{90, 91}, {0, 2}, {-90, 90}}) {
        Problem<T> p{.jobz = jobz,
                     .uplo = 'L',
                     .range = 'V',
                     .n = n,
                     .lda = n,
                     .A = {},
                     .vl = Real<T>(low),
                     .vu = Real<T>(high)};
        for (int i = 0; i < n * n; ++i) p.A.push_back(make<T>(number(), number()));
        p.solve(driver);
        std::printf("%c%s %c %d in %d to %d: info %d, m %d, %llx\n", letter<T>(), driver.c_str(), jobz, n, low, high,
                    p.info, p.m, hash_of(p));
      }
}

template <class T>
void not_finite(const std::string& driver) {
  std::mt19937 random(1);
  const auto number = [&random] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  const double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
  for (const int n : {1, 7, 24, 40})
    for (const char jobz : {'V', 'N'})
      for (const char uplo : {'U', 'L'})
        for (const int bad : {0, n / 2, n - 1})
          for (const double x : odd) {
            const int lda = n + 2, other = bad / 2, row = uplo == 'U' ? other : bad, col = uplo == 'U' ? bad : other;
            Problem<T> p{.jobz = jobz,
                         .uplo = uplo,
                         .range = 'A',
                         .n = n,
                         .lda = lda,
                         .A = std::vector<T>(static_cast<std::size_t>(lda) * static_cast<std::size_t>(n))};
            for (T& a : p.A) a = make<T>(number(), number());
            p.A[static_cast<std::size_t>(row + col * lda)] = make<T>(x, number());
            p.solve(driver);
            std::printf("%c%s %c%c %d, %g at %d %d: info %d, m %d, %llx\n", letter<T>(), driver.c_str(), jobz, uplo, n,
                        x, row, col, p.info, p.m, hash_of(p));
          }
}

}  // namespace

int main(int argc, char** arguments) {
  if (argc < 2) return 2;
  const bool in_intervals = std::strcmp(arguments[1], "interval") == 0;
  const std::string driver = arguments[argc - 1];
  const auto run = [&]<class T>(T) { in_intervals ? intervals<T>(driver) : not_finite<T>(driver); };
  run(float());
  run(double());
  run(std::complex<float>());
  run(std::complex<double>());
  const char* between = "calls {";
  for (const auto& [name, count] : calls)
    std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), count);
  std::printf("}\nok\n");
}
