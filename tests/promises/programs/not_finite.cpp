// Products with a triangle in whose B one element is not finite, for xtrmm: a line for each with what it leaves.
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

#define TRMM(name, T)                                                                                           \
  extern "C" void name##_(const char*, const char*, const char*, const char*, const int*, const int*, const T*, \
                          const T*, const int*, T*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
#include "api/routines.def"

using namespace promises;

namespace {

std::map<std::string, int> calls;

#define TRMM(name, T)                                                                        \
  void raw_trmm(char side, char uplo, char trans, int n, const T& alpha, const T* A, T* B) { \
    ++calls[#name];                                                                          \
    name##_(&side, &uplo, &trans, "N", &n, &n, &alpha, A, &n, B, &n, 1, 1, 1, 1);            \
  }
#include "api/routines.def"

std::mt19937 random_bits(1);
double number() { return static_cast<double>(random_bits() % 2001 + 1) / 1001 - 1; }

template <class T>
void one(char side, char uplo, char trans, int n, double odd) {
  std::vector<T> A(static_cast<std::size_t>(n * n)), B(A.size());
  for (T& a : A) a = make<T>(number(), number());
  for (T& b : B) b = make<T>(number(), number());
  B[random_bits() % B.size()] = T(static_cast<Real<T>>(odd));
  raw_trmm(side, uplo, trans, n, make<T>(0.5, -0.25), A.data(), B.data());
  unsigned long long hash = 14695981039346656037ULL;
  const auto* bytes = reinterpret_cast<const unsigned char*>(B.data());
  for (std::size_t i = 0; i < B.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  std::printf("%ctrmm %c%c%c %d: %llx\n", letter<T>(), side, uplo, trans, n, hash);
}

template <class T>
void all() {
  for (const int n : {1, 7, 64, 90})
    for (const char side : {'L', 'R'})
      for (const char uplo : {'U', 'L'})
        for (const char trans : {'N', 'T', 'C'})
          for (const double odd : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
            one<T>(side, uplo, trans, n, odd);
}

}  // namespace

int main() {
  all<float>();
  all<double>();
  all<std::complex<float>>();
  all<std::complex<double>>();
  const char* between = "calls {";
  for (const auto& [name, made] : calls) std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), made);
  std::printf("}\nok\n");
  return 0;
}
