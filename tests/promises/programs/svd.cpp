// Matrices with NaN by LAPACK's drivers of singular value decompositions; a line for each with what it
// leaves.
//
//   svd gesdd|gesvd
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

using namespace promises;

#define DECLARE(p)                \
  extern "C" void p##gesdd_(...); \
  extern "C" void p##gesvd_(...);
DECLARE(s)
DECLARE(d)
DECLARE(c)
DECLARE(z)
#undef DECLARE

namespace {

std::map<std::string, int> calls;

using Function = void (*)(...);
template <class T>
Function function_of(const std::string& driver) {
  static const std::map<std::string, Function> all{{"sgesdd", sgesdd_}, {"dgesdd", dgesdd_}, {"cgesdd", cgesdd_},
                                                   {"zgesdd", zgesdd_}, {"sgesvd", sgesvd_}, {"dgesvd", dgesvd_},
                                                   {"cgesvd", cgesvd_}, {"zgesvd", zgesvd_}};
  const std::string name = letter<T>() + driver;
  ++calls[name];
  return all.at(name);
}

unsigned long long hash_of(const void* at, std::size_t count, unsigned long long hash) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

template <class T>
void not_finite(const std::string& driver) {
  std::mt19937 random(1);
  const auto number = [&random] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();  // with infinities LAPACK does not come to an end
  for (const auto& [m, n] : {std::pair{1, 1}, {7, 7}, {24, 9}, {9, 24}, {40, 40}})
    for (const char job : {'A', 'S', 'O', 'N'})
      for (const int bad : {0, m * n / 2, m * n - 1}) {
        const int lda = m + 2, ldu = m + 1, ldvt = n + 1, lwork = 20000, k = std::min(m, n);
        const auto size = static_cast<std::size_t>(std::max(m, n) + 2);
        std::vector<T> A(size * size), U(size * size, T(7)), VT(size * size, T(7)), work(lwork);
        std::vector<Real<T>> s(size, Real<T>(5)), rwork(lwork);
        std::vector<int> iwork(8 * size);
        int info = -99;
        for (T& a : A) a = make<T>(number(), number());
        A[static_cast<std::size_t>(bad % m + bad / m * lda)] = make<T>(nan, number());
        const char other = job == 'O' || job == 'N' ? 'S' : job;  // of gesvd, which without vectors stops at NaN
        const Function f = function_of<T>(driver);
        constexpr std::size_t one = 1;
        const auto both = [&](auto... rest) {
          if (driver == "gesdd")
            f(&job, &m, &n, A.data(), &lda, s.data(), U.data(), &ldu, VT.data(), &ldvt, work.data(), &lwork, rest...,
              iwork.data(), &info, one);
          else
            f(&job, &other, &m, &n, A.data(), &lda, s.data(), U.data(), &ldu, VT.data(), &ldvt, work.data(), &lwork,
              rest..., &info, one, one);
        };
        if constexpr (Scalars<T>::is_complex)
          both(rwork.data());
        else
          both();
        unsigned long long hash = hash_of(s.data(), static_cast<std::size_t>(k) * sizeof s[0], 14695981039346656037ULL);
        for (const auto* matrix : {&A, &U, &VT}) hash = hash_of(matrix->data(), matrix->size() * sizeof(T), hash);
        std::printf("%c%s %c %d x %d, NaN at %d: info %d, %llx\n", letter<T>(), driver.c_str(), job, m, n, bad, info,
                    hash);
      }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string driver = arguments[1];
  not_finite<float>(driver);
  not_finite<double>(driver);
  not_finite<std::complex<float>>(driver);
  not_finite<std::complex<double>>(driver);
  const char* between = "calls {";
  for (const auto& [name, number] : calls)
    std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), number);
  std::printf("}\nok\n");
}
