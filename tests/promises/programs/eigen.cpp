// Symmetric and Hermitian matrices that are not finite, for xsyevd and xheevd: a line for each with what it leaves.
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

using namespace promises;

// Real and complex ones have different arguments.
#define REAL(name, T)                                                                                                 \
  extern "C" void name##_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, \
                          int*, std::size_t, std::size_t);
#define COMPLEX(name, T)                                                                                            \
  extern "C" void name##_(const char*, const char*, const int*, T*, const int*, Real<T>*, T*, const int*, Real<T>*, \
                          const int*, int*, const int*, int*, std::size_t, std::size_t);
REAL(ssyevd, float)
REAL(dsyevd, double)
COMPLEX(cheevd, std::complex<float>)
COMPLEX(zheevd, std::complex<double>)
#undef REAL
#undef COMPLEX

namespace {

std::map<std::string, int> calls;

template <class T>
struct Memory {
  explicit Memory(std::size_t n)
      : work(1 + 6 * n + 2 * n * n),
        rwork(1 + 5 * n + 2 * n * n),
        iwork(3 + 5 * n),
        lwork(static_cast<int>(work.size())),
        lrwork(static_cast<int>(rwork.size())),
        liwork(static_cast<int>(iwork.size())) {}
  std::vector<T> work;
  std::vector<Real<T>> rwork;
  std::vector<int> iwork;
  const int lwork, lrwork, liwork;
  int info = -99;
};

#define REAL(name, T)                                                                                         \
  int eigenvalues(char jobz, char uplo, int n, T* A, int lda, T* w) {                                         \
    ++calls[#name];                                                                                           \
    Memory<T> m(static_cast<std::size_t>(n));                                                                 \
    name##_(&jobz, &uplo, &n, A, &lda, w, m.work.data(), &m.lwork, m.iwork.data(), &m.liwork, &m.info, 1, 1); \
    return m.info;                                                                                            \
  }
#define COMPLEX(name, T)                                                                                      \
  int eigenvalues(char jobz, char uplo, int n, T* A, int lda, Real<T>* w) {                                   \
    ++calls[#name];                                                                                           \
    Memory<T> m(static_cast<std::size_t>(n));                                                                 \
    name##_(&jobz, &uplo, &n, A, &lda, w, m.work.data(), &m.lwork, m.rwork.data(), &m.lrwork, m.iwork.data(), \
            &m.liwork, &m.info, 1, 1);                                                                        \
    return m.info;                                                                                            \
  }
REAL(ssyevd, float)
REAL(dsyevd, double)
COMPLEX(cheevd, std::complex<float>)
COMPLEX(zheevd, std::complex<double>)

unsigned long long hash_of(const void* at, std::size_t count, unsigned long long hash) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

template <class T>
void all() {
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
            std::vector<T> A(static_cast<std::size_t>(lda) * static_cast<std::size_t>(n));
            std::vector<Real<T>> w(static_cast<std::size_t>(n));
            for (T& a : A) a = make<T>(number(), number());
            A[static_cast<std::size_t>(row + col * lda)] = make<T>(x, number());
            const int info = eigenvalues(jobz, uplo, n, A.data(), lda, w.data());
            const unsigned long long hash = hash_of(w.data(), w.size() * sizeof(Real<T>),
                                                    hash_of(A.data(), A.size() * sizeof(T), 14695981039346656037ULL));
            std::printf("%csyevd %c%c %d, %g at %d %d: info %d, %llx\n", letter<T>(), jobz, uplo, n, x, row, col, info,
                        hash);
          }
}

}  // namespace

int main() {
  all<float>();
  all<double>();
  all<std::complex<float>>();
  all<std::complex<double>>();
  const char* between = "calls {";
  for (const auto& [name, count] : calls)
    std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), count);
  std::printf("}\nok\n");
}
