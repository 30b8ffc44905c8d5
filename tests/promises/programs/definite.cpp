// Matrices that are not positive definite, for xpotrf: a line for each with what it says, and what it leaves.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

#define POTRF(name, T) extern "C" void name##_(const char*, const int*, T*, const int*, int*, std::size_t);
#include "api/routines.def"

using namespace promises;

namespace {

std::map<std::string, int> calls;

#define POTRF(name, T)                             \
  int raw_potrf(char uplo, int n, T* A, int lda) { \
    ++calls[#name];                                \
    int info = -99;                                \
    name##_(&uplo, &n, A, &lda, &info, 1);         \
    return info;                                   \
  }
#include "api/routines.def"

template <class T>
void all() {
  std::mt19937 random(1);
  const auto number = [&random] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  const double pivots[] = {-2, 0, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()};
  for (const int n : {1, 7, 64, 90})
    for (const char uplo : {'U', 'L'})
      for (const int bad : {0, n / 2, n - 1})
        for (const double pivot : pivots) {
          const int lda = n + 2;
          std::vector<T> A(static_cast<std::size_t>(lda) * static_cast<std::size_t>(n));
          for (T& a : A) a = make<T>(number() / n, number() / n);
          for (int i = 0; i < n; ++i)
            A[static_cast<std::size_t>(i) * static_cast<std::size_t>(lda + 1)] =
                make<T>(i == bad ? pivot : 3, number());
          const int info = raw_potrf(uplo, n, A.data(), lda);
          unsigned long long hash = 14695981039346656037ULL;
          const auto* bytes = reinterpret_cast<const unsigned char*>(A.data());
          for (std::size_t i = 0; i < A.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
          std::printf("%cpotrf %c %d pivot %d of %g: info %d, %llx\n", letter<T>(), uplo, n, bad + 1, pivot, info,
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
