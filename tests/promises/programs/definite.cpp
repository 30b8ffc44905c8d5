// Matrices that are not positive definite, for xpotrf or xposv: a line for each with what it says, and what it leaves.
//
//   definite potrf|posv
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
#define POSV(name, T) \
  extern "C" void name##_(const char*, const int*, const int*, T*, const int*, T*, const int*, int*, std::size_t);
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
#define POSV(name, T)                                                      \
  int raw_posv(char uplo, int n, int nrhs, T* A, int lda, T* B, int ldb) { \
    ++calls[#name];                                                        \
    int info = -99;                                                        \
    name##_(&uplo, &n, &nrhs, A, &lda, B, &ldb, &info, 1);                 \
    return info;                                                           \
  }
#include "api/routines.def"

template <class T>
unsigned long long hash_of(const std::vector<T>& x, unsigned long long hash) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(x.data());
  for (std::size_t i = 0; i < x.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

template <class T>
void all(bool solves) {
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
          const int nrhs = bad == n / 2 ? 0 : 3;
          std::vector<T> B(solves ? static_cast<std::size_t>(lda) * static_cast<std::size_t>(nrhs) : 0);
          for (T& b : B) b = make<T>(number(), number());
          const std::vector<T> was = B;
          const int info =
              solves ? raw_posv(uplo, n, nrhs, A.data(), lda, B.data(), lda) : raw_potrf(uplo, n, A.data(), lda);
          if (info > 0 && hash_of(B, 0) != hash_of(was, 0)) fail("info %d, and B was written", info);
          std::printf("%c%s %c %d pivot %d of %g: info %d, %llx\n", letter<T>(), solves ? "posv" : "potrf", uplo, n,
                      bad + 1, pivot, info, hash_of(B, hash_of(A, 14695981039346656037ULL)));
        }
}

}  // namespace

int main(int count, char** arguments) {
  const bool solves = count == 2 && std::strcmp(arguments[1], "posv") == 0;
  if (!solves && (count != 2 || std::strcmp(arguments[1], "potrf") != 0)) return 2;
  all<float>(solves);
  all<double>(solves);
  all<std::complex<float>>(solves);
  all<std::complex<double>>(solves);
  const char* between = "calls {";
  for (const auto& [name, made] : calls) std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), made);
  std::printf("}\n%s\n", failures.load() ? "WRONG" : "ok");
  return failures.load() ? 1 : 0;
}
