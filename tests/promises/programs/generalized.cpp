// Generalized symmetric-definite eigenproblems by LAPACK's drivers: some whose matrices will not do, or the
// eigenvalues of all three types in intervals; a line for each with what it leaves.
//
//   generalized not_definite|not_finite gvd|gv|gvx
//   generalized interval gvx
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

using namespace promises;

#define DRIVERS(X, name) X(name, gvd) X(name, gv) X(name, gvx)
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

unsigned long long hash_of(const void* at, std::size_t count, unsigned long long hash) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

/// What a call is made with, and what it leaves.
template <class T>
struct Problem {
  int itype;
  char jobz, uplo, range;
  int n, lda, ldb;
  Real<T> vl = 0, vu = 1;
  std::vector<T> A{}, B{}, Z{};
  std::vector<Real<T>> w{};
  int info = -99, m = -99;

  Problem(int type, char job, char triangle, char which, int order, std::mt19937& random)
      : itype(type), jobz(job), uplo(triangle), range(which), n(order), lda(order + 2), ldb(order + 1) {
    const auto number = [&random] { return static_cast<double>(random() % 2001) / 1000 - 1; };
    for (int i = 0; i < lda * n; ++i) A.push_back(make<T>(number(), number()));
    for (int i = 0; i < ldb * n; ++i) B.push_back(make<T>(number() / n / 2, number() / n / 2));
    for (int i = 0; i < n; ++i) b(i, i) = T(3);
  }
  T& a(int i, int j) { return A[static_cast<std::size_t>(i + j * lda)]; }
  T& b(int i, int j) { return B[static_cast<std::size_t>(i + j * ldb)]; }

  void solve(const std::string& driver) {
    constexpr std::size_t one = 1;
    const auto size = static_cast<std::size_t>(n);
    const int least = 1 + 8 * n + 2 * n * n, integers = 3 + 5 * n, reals = 1 + 7 * n + 2 * n * n, ldz = n + 3, il = 0;
    const Real<T> abstol = 0;
    std::vector<T> work(static_cast<std::size_t>(least));
    std::vector<Real<T>> rwork(static_cast<std::size_t>(reals));
    std::vector<int> iwork(static_cast<std::size_t>(integers)), ifail(size);
    w.assign(size, Real<T>(5));
    Z.assign(static_cast<std::size_t>(ldz) * size, T(7));
    const Function f = function_of<T>(driver);
    int *const i = iwork.data(), *const v = ifail.data();
    const auto some = [&](auto... rest) {
      f(&itype, &jobz, &range, &uplo, &n, A.data(), &lda, B.data(), &ldb, &vl, &vu, &il, &il, &abstol, &m, w.data(),
        Z.data(), &ldz, work.data(), &least, rest..., i, v, &info, one, one, one);
    };
    const auto all = [&](auto... rest) {
      f(&itype, &jobz, &uplo, &n, A.data(), &lda, B.data(), &ldb, w.data(), work.data(), &least, rest..., &info, one,
        one);
    };
    if constexpr (Scalars<T>::is_complex) {
      Real<T>* const r = rwork.data();
      if (driver == "gvd") all(r, &reals, i, &integers);
      if (driver == "gv") all(r);
      if (driver == "gvx") some(r);
    } else {
      if (driver == "gvd") all(i, &integers);
      if (driver == "gv") all();
      if (driver == "gvx") some();
    }
    unsigned long long hash = 14695981039346656037ULL;
    for (const auto* x : {&A, &Z}) hash = hash_of(x->data(), x->size() * sizeof(T), hash);
    hash = hash_of(w.data(), w.size() * sizeof(Real<T>), hash);
    std::printf("%c%s %c%c%c %d of type %d: info %d, m %d, %llx, B %llx\n", letter<T>(), driver.c_str(), jobz, uplo,
                range, n, itype, info, m, hash, hash_of(B.data(), B.size() * sizeof(T), 0));
  }
};

template <class T>
void run(const std::string& what, const std::string& driver) {
  std::mt19937 random(3);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const int n : {1, 7, 24, 40})
    for (const char jobz : {'V', 'N'})
      for (const char uplo : {'U', 'L'}) {
        if (what == "interval")
          for (const int itype : {1, 2, 3})
            for (const auto& [low, high] : {std::pair{900, 901}, {0, 2}, {-900, 900}}) {
              Problem<T> p(itype, jobz, uplo, 'V', n, random);
              p.vl = Real<T>(low);
              p.vu = Real<T>(high);
              p.solve(driver);
            }
        for (const int bad : {0, n / 2, n - 1}) {
          if (what == "not_definite")
            for (const double pivot : {-2.0, 0.0, -infinity}) {
              Problem<T> p(1, jobz, uplo, 'A', n, random);
              p.b(bad, bad) = T(static_cast<Real<T>>(pivot));
              std::printf("pivot %d: ", bad + 1);
              p.solve(driver);
            }
          if (what == "not_finite")
            for (const double odd : {std::numeric_limits<double>::quiet_NaN(), infinity}) {
              Problem<T> p(1, jobz, uplo, 'A', n, random);
              const int other = bad / 2;
              (uplo == 'U' ? p.a(other, bad) : p.a(bad, other)) = make<T>(odd, 0);
              p.solve(driver);
            }
        }
      }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string what = arguments[1], driver = arguments[2];
  run<float>(what, driver);
  run<double>(what, driver);
  run<std::complex<float>>(what, driver);
  run<std::complex<double>>(what, driver);
  const char* between = "calls {";
  for (const auto& [name, number] : calls)
    std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), number);
  std::printf("}\nok\n");
}
