// Products with a triangle in whose B one element is not finite, for xtrmm: a line for each with what it leaves; with
// the argument "wide" finite ones with many columns or rows, of whole numbers, so that their sums are exact.
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

#define TRMM(name, T)                                                                                \
  void raw_trmm(char side, char uplo, char trans, int m, int n, const T& alpha, const T* A, T* B) {  \
    ++calls[#name];                                                                                  \
    name##_(&side, &uplo, &trans, "N", &m, &n, &alpha, A, side == 'L' ? &m : &n, B, &m, 1, 1, 1, 1); \
  }
#include "api/routines.def"

std::mt19937 random_bits(1);
double number() { return static_cast<double>(random_bits() % 2001 + 1) / 1001 - 1; }

template <class T>
unsigned long long hash_of(const std::vector<T>& x) {
  unsigned long long hash = 14695981039346656037ULL;
  const auto* bytes = reinterpret_cast<const unsigned char*>(x.data());
  for (std::size_t i = 0; i < x.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

template <class T>
void one(char side, char uplo, char trans, int n, double odd) {
  std::vector<T> A(static_cast<std::size_t>(n * n)), B(A.size());
  for (T& a : A) a = make<T>(number(), number());
  for (T& b : B) b = make<T>(number(), number());
  B[random_bits() % B.size()] = T(static_cast<Real<T>>(odd));
  raw_trmm(side, uplo, trans, n, n, make<T>(0.5, -0.25), A.data(), B.data());
  std::printf("%ctrmm %c%c%c %d: %llx\n", letter<T>(), side, uplo, trans, n, hash_of(B));
}

/// What comes home of each column, or row, is more than a transfer brings.
template <class T>
void wide(char side) {
  constexpr int order = 2, others = 1'200'000;
  const auto whole = [] { return static_cast<double>(random_bits() % 9) - 4; };
  std::vector<T> A(order * order), B(std::size_t{order} * others);
  for (T& a : A) a = make<T>(whole(), whole());
  for (T& b : B) b = make<T>(whole(), whole());
  raw_trmm(side, 'L', 'T', side == 'L' ? order : others, side == 'L' ? others : order, T(1), A.data(), B.data());
  for (T& b : B) b += T(0);  // of zeros one sign
  std::printf("%ctrmm %c: %llx\n", letter<T>(), side, hash_of(B));
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

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "wide") {
    for (const char side : {'L', 'R'}) {
      wide<double>(side);
      wide<std::complex<float>>(side);
    }
  } else {
    all<float>();
    all<double>();
    all<std::complex<float>>();
    all<std::complex<double>>();
  }
  const char* between = "calls {";
  for (const auto& [name, made] : calls) std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), made);
  std::printf("}\nok\n");
  return 0;
}
