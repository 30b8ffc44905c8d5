// Triangles, and factors, with a zero on the diagonal, for xtrtrs, xtrtri, xpotri or xgetri: a line for each with what
// it says, and what it leaves.
//
//   zeros trtrs|trtri|potri|getri
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

#define TRTRS(name, T)                                                                                             \
  extern "C" void name##_(const char*, const char*, const char*, const int*, const int*, const T*, const int*, T*, \
                          const int*, int*, std::size_t, std::size_t, std::size_t);
#define TRTRI(name, T) \
  extern "C" void name##_(const char*, const char*, const int*, T*, const int*, int*, std::size_t, std::size_t);
#define POTRI(name, T) extern "C" void name##_(const char*, const int*, T*, const int*, int*, std::size_t);
#define GETRI(name, T) extern "C" void name##_(const int*, T*, const int*, const int*, T*, const int*, int*);
#include "api/routines.def"

using namespace promises;

namespace {

std::map<std::string, int> calls;

#define TRTRS(name, T)                                                                                    \
  void raw_trtrs(char uplo, char trans, int n, int nrhs, const T* A, int lda, T* B, int ldb, int* info) { \
    ++calls[#name];                                                                                       \
    name##_(&uplo, &trans, "N", &n, &nrhs, A, &lda, B, &ldb, info, 1, 1, 1);                              \
  }
#define TRTRI(name, T)                                         \
  void raw_trtri(char uplo, int n, T* A, int lda, int* info) { \
    ++calls[#name];                                            \
    name##_(&uplo, "N", &n, A, &lda, info, 1, 1);              \
  }
#define POTRI(name, T)                                         \
  void raw_potri(char uplo, int n, T* A, int lda, int* info) { \
    ++calls[#name];                                            \
    name##_(&uplo, &n, A, &lda, info, 1);                      \
  }
#define GETRI(name, T)                                                                   \
  void raw_getri(int n, T* A, int lda, const int* ipiv, T* work, int lwork, int* info) { \
    ++calls[#name];                                                                      \
    name##_(&n, A, &lda, ipiv, work, &lwork, info);                                      \
  }
#include "api/routines.def"

template <class T>
unsigned long long hash_of(const std::vector<T>& x, unsigned long long hash) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(x.data());
  for (std::size_t i = 0; i < x.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

std::mt19937 random_bits(1);
double number() { return static_cast<double>(random_bits() % 2001 + 1) / 1001 - 1; }

/// One matrix, with zeros on the diagonal from `bad` on.
template <class T>
void one(const std::string& routine, char uplo, char trans, int n, int bad) {
  constexpr int nrhs = 3, ld_more = 2;
  const int lda = n + ld_more, lwork = 4 * n;
  std::vector<T> A(static_cast<std::size_t>(lda * n)), B(static_cast<std::size_t>(lda * nrhs)),
      work(static_cast<std::size_t>(lwork));
  for (T& a : A) a = make<T>(number(), number()) / static_cast<Real<T>>(n);
  for (T& b : B) b = make<T>(number(), number());
  std::vector<int> ipiv;
  for (int i = 0; i < n; ++i) {
    A[static_cast<std::size_t>(i * (lda + 1))] = T(i == bad || (i > bad && i % 3 == 0) ? 0 : 2);
    ipiv.push_back(i + 1 + (n - 1 - i) / 2);
  }
  const std::vector<T> was = A, right = B;
  int info = -99;
  if (routine == "trtrs")
    raw_trtrs(uplo, trans, n, nrhs, A.data(), lda, B.data(), lda, &info);
  else if (routine == "trtri")
    raw_trtri(uplo, n, A.data(), lda, &info);
  else if (routine == "potri")
    raw_potri(uplo, n, A.data(), lda, &info);
  else
    raw_getri(n, A.data(), lda, ipiv.data(), work.data(), lwork, &info);
  const auto same = [](const std::vector<T>& x, const std::vector<T>& y) { return hash_of(x, 0) == hash_of(y, 0); };
  if (info > 0 && !(same(A, was) && same(B, right))) fail("info %d, and something was written", info);
  std::printf("%c%s %c%c %d zero %d: info %d, %llx\n", letter<T>(), routine.c_str(), uplo, trans, n, bad + 1, info,
              hash_of(B, hash_of(A, 14695981039346656037ULL)));
}

template <class T>
void all(const std::string& routine) {
  for (const int n : {1, 7, 64, 90})
    for (const int bad : {0, n / 2, n - 1})
      for (const char uplo : {'U', 'L'})
        for (const char trans : {'N', 'T', 'C'})
          if (routine == "trtrs" || (trans == 'N' && (routine != "getri" || uplo == 'U')))
            one<T>(routine, uplo, trans, n, bad);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  all<float>(arguments[1]);
  all<double>(arguments[1]);
  all<std::complex<float>>(arguments[1]);
  all<std::complex<double>>(arguments[1]);
  const char* between = "calls {";
  for (const auto& [name, made] : calls) std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), made);
  std::printf("}\n%s\n", failures.load() ? "WRONG" : "ok");
  return failures.load() ? 1 : 0;
}
