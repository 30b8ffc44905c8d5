// Matrices that are singular, or have numbers that are none, for xgetrf or xgesv: a line for each with what it says,
// and what it leaves.
//
//   singular getrf|gesv|gesv_of_nothing        the last one also without right-hand sides
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

#define GETRF(name, T) extern "C" void name##_(const int*, const int*, T*, const int*, int*, int*);
#define GESV(name, T) extern "C" void name##_(const int*, const int*, T*, const int*, int*, T*, const int*, int*);
#include "api/routines.def"

using namespace promises;

namespace {

std::map<std::string, int> calls;

#define GETRF(name, T)                                    \
  int raw_getrf(int m, int n, T* A, int lda, int* ipiv) { \
    ++calls[#name];                                       \
    int info = -99;                                       \
    name##_(&m, &n, A, &lda, ipiv, &info);                \
    return info;                                          \
  }
#define GESV(name, T)                                                      \
  int raw_gesv(int n, int nrhs, T* A, int lda, int* ipiv, T* B, int ldb) { \
    ++calls[#name];                                                        \
    int info = -99;                                                        \
    name##_(&n, &nrhs, A, &lda, ipiv, B, &ldb, &info);                     \
    return info;                                                           \
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

/// Of a matrix that begins there: rows behind its own, and what lies around it.
template <class T>
bool same_beside(const std::vector<T>& x, const std::vector<T>& was, std::size_t begin, int rows, int ld) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool inside =
        i >= begin && i < x.size() - begin && static_cast<int>((i - begin) % static_cast<std::size_t>(ld)) < rows;
    if (!inside && std::memcmp(&x[i], &was[i], sizeof(T)) != 0) return false;
  }
  return true;
}

/// One matrix, of which a column is `odd` throughout or in one row; a column of zeros is one to the end, whatever is
/// subtracted, so that its pivot is zero and none before it is.
template <class T>
void one(bool solves, int m, int n, int bad, double odd, int row, int nrhs = 3) {
  constexpr int unset = 0x7fa5a5a5;
  constexpr std::size_t margin = 16;
  const int lda = m + 2, count = m < n ? m : n;
  const auto ld = static_cast<std::size_t>(lda);
  std::vector<T> A(ld * static_cast<std::size_t>(n) + 2 * margin),
      B(solves ? ld * static_cast<std::size_t>(nrhs) + 2 * margin : 2 * margin);
  for (T& a : A) a = make<T>(number(), number());
  for (T& b : B) b = make<T>(number(), number());
  for (int i = 0; i < m; ++i)
    if (row < 0 || i == row)
      A[margin + static_cast<std::size_t>(i) + static_cast<std::size_t>(bad) * ld] = T(static_cast<Real<T>>(odd));
  const std::vector<T> was = A, right = B;
  std::vector<int> ipiv(static_cast<std::size_t>(count) + 4, unset);
  T *const a = A.data() + margin, *const b = B.data() + margin;
  const int info = solves ? raw_gesv(n, nrhs, a, lda, ipiv.data(), b, lda) : raw_getrf(m, n, a, lda, ipiv.data());
  // In device memory nothing is taken back; matrices of so many bytes are there.
  const char* const least = std::getenv("INJECTED_DEVICE_MEMORY");
  const std::size_t bytes = (ld * static_cast<std::size_t>(nrhs) - 2) * sizeof(T);
  if (info > 0 && nrhs > 0 && (!least || bytes < std::strtoull(least, nullptr, 10)) &&
      hash_of(B, 0) != hash_of(right, 0))
    fail("info %d, and B was written", info);
  if (!same_beside(A, was, margin, m, lda) || !same_beside(B, right, margin, m, lda))
    fail("m=%d n=%d, column %d of %g: something beside A or B was written", m, n, bad + 1, odd);
  for (std::size_t i = 0; i < ipiv.size(); ++i) {
    const int pivot = ipiv[i], k = static_cast<int>(i);
    if (k < count ? pivot <= k || pivot > m : pivot != unset)
      fail("m=%d n=%d, column %d of %g: ipiv(%d) is %d", m, n, bad + 1, odd, k + 1, pivot);
  }
  std::printf("%c%s %d x %d pivot %d of %g in %d: info %d, %llx\n", letter<T>(), solves ? "gesv" : "getrf", m, n,
              bad + 1, odd, row, info, hash_of(ipiv, hash_of(B, hash_of(A, 14695981039346656037ULL))));
}

template <class T>
void all(bool solves, bool of_nothing) {
  constexpr std::pair<int, int> shapes[] = {{1, 1}, {7, 7}, {64, 64}, {90, 90}, {90, 40}, {40, 90}};
  const double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  for (const auto& [m, n] : shapes) {
    if (solves && m != n) continue;
    const int count = m < n ? m : n;
    for (const int bad : {0, count / 2, count - 1}) {
      one<T>(solves, m, n, bad, 0, -1);
      if (of_nothing) one<T>(solves, m, n, bad, 0, -1, 0);
      for (const double x : odd) one<T>(solves, m, n, bad, x, m / 3);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  // OpenBLAS makes no factors then.
  const bool of_nothing = count == 2 && std::strcmp(arguments[1], "gesv_of_nothing") == 0,
             solves = of_nothing || (count == 2 && std::strcmp(arguments[1], "gesv") == 0);
  if (!solves && (count != 2 || std::strcmp(arguments[1], "getrf") != 0)) return 2;
  all<float>(solves, of_nothing);
  all<double>(solves, of_nothing);
  all<std::complex<float>>(solves, of_nothing);
  all<std::complex<double>>(solves, of_nothing);
  const char* between = "calls {";
  for (const auto& [name, made] : calls) std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), made);
  std::printf("}\n%s\n", failures.load() ? "WRONG" : "ok");
  return failures.load() ? 1 : 0;
}
