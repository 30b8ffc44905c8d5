// General matrices by LAPACK's xGEEV: some that are not finite, or with left eigenvectors; a line for each with what it
// leaves.
//
//   general_eigen not_finite|left
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

using namespace promises;

extern "C" void sgeev_(...);
extern "C" void dgeev_(...);
extern "C" void cgeev_(...);
extern "C" void zgeev_(...);

/// LAPACK's GEBAL takes NaN for a mistake of the caller, and the library's own would end the program.
extern "C" [[gnu::visibility("default")]] void xerbla_(...) {}

namespace {

std::map<std::string, int> calls;

using Function = void (*)(...);
template <class T>
Function function() {
  static const std::map<char, Function> all{{'s', sgeev_}, {'d', dgeev_}, {'c', cgeev_}, {'z', zgeev_}};
  ++calls[letter<T>() + std::string("geev")];
  return all.at(letter<T>());
}

unsigned long long hash_of(const void* at, std::size_t count, unsigned long long hash) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

/// With a number in place of one of A's elements, if it is NaN or infinite.
template <class T>
void solve(char jobvl, char jobvr, int n, int at, double odd, std::mt19937& random) {
  const auto number = [&random] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  const int lda = n + 2, ldvl = n + 1, ldvr = n + 3, lwork = 40 * n;
  const auto size = static_cast<std::size_t>(n + 3);
  std::vector<T> A(size * size), w(size, T(5)), wi(size, T(6)), VL(size * size, T(7)), VR(size * size, T(8)),
      work(static_cast<std::size_t>(lwork));
  std::vector<Real<T>> rwork(2 * size);
  int info = -99;
  for (T& a : A) a = make<T>(number(), number());
  if (odd != 0) A[static_cast<std::size_t>(at % n + at / n * lda)] = make<T>(odd, number());
  const Function f = function<T>();
  constexpr std::size_t one = 1;
  if constexpr (Scalars<T>::is_complex)
    f(&jobvl, &jobvr, &n, A.data(), &lda, w.data(), VL.data(), &ldvl, VR.data(), &ldvr, work.data(), &lwork,
      rwork.data(), &info, one, one);
  else
    f(&jobvl, &jobvr, &n, A.data(), &lda, w.data(), wi.data(), VL.data(), &ldvl, VR.data(), &ldvr, work.data(), &lwork,
      &info, one, one);
  unsigned long long hash = 14695981039346656037ULL;
  for (const auto* x : {&A, &w, &wi, &VL, &VR}) hash = hash_of(x->data(), x->size() * sizeof(T), hash);
  std::printf("%cgeev %c%c %d, %g at %d: info %d, %llx\n", letter<T>(), jobvl, jobvr, n, odd, at, info, hash);
}

template <class T>
void run(bool left) {
  std::mt19937 random(1);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const int n : {1, 7, 24, 40})
    for (const char jobvr : {'V', 'N'}) {
      if (left) {
        solve<T>('V', jobvr, n, 0, 0, random);
        continue;
      }
      for (const int at : {0, n * n / 2, n * n - 1}) solve<T>('N', jobvr, n, at, nan, random);
    }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const bool left = std::strcmp(arguments[1], "left") == 0;
  run<float>(left);
  run<double>(left);
  run<std::complex<float>>(left);
  run<std::complex<double>>(left);
  const char* between = "calls {";
  for (const auto& [name, number] : calls)
    std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), number);
  std::printf("}\nok\n");
}
