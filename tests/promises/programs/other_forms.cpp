// Products with the Q of a reduction whose reflectors are not as geqrf leaves them, and that Q itself: of the upper
// triangle of sytrd, and P, of the rows of gebrd.  A line for each with what it leaves.
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

using namespace promises;

#define ORMTR(name, type) extern "C" void name##_(...);
#define ORGTR(name, type) extern "C" void name##_(...);
#define ORGBR(name, type) extern "C" void name##_(...);
#include "api/routines.def"

namespace {

std::map<std::string, int> calls;
constexpr std::size_t one = 1;  // a letter's length

unsigned long long hash_of(const void* at, std::size_t count) {
  unsigned long long hash = 14695981039346656037ULL;
  const auto* bytes = static_cast<const unsigned char*>(at);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

template <class T>
class Operands {
 public:
  explicit Operands(int n) : A(size(n)), C(size(n)), tau(size(1)), work(size(n)), lda(n + 3), lwork(40 * n) {
    std::mt19937 random(static_cast<unsigned>(n));
    for (auto* x : {&A, &C, &tau})
      for (T& element : *x) element = make<T>(number(random), number(random));
  }
  void tell(const char* name, const std::vector<T>& result) {
    ++calls[name];
    std::printf("%s of %d: info %d, %llx\n", name, lda - 3, info, hash_of(result.data(), result.size() * sizeof(T)));
  }
  std::vector<T> A, C, tau, work;
  int lda, lwork, info = -99;

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n + 60) * 60; }
  static double number(std::mt19937& random) { return static_cast<double>(random() % 2001) / 1000 - 1; }
};

template <class T>
constexpr char adjoint = Scalars<T>::is_complex ? 'C' : 'T';

template <class T, class Multiply, class Make>
void of_tridiagonal(const char* name, const char* made, const Multiply& multiply, const Make& make_q) {
  for (int n : {2, 9, 33}) {
    for (const char* side = "LR"; *side; ++side)
      for (const char trans : {'N', adjoint<T>}) {
        Operands<T> x(n);
        multiply(side, "U", &trans, &n, &n, x.A.data(), &x.lda, x.tau.data(), x.C.data(), &x.lda, x.work.data(),
                 &x.lwork, &x.info, one, one, one);
        x.tell(name, x.C);
      }
    Operands<T> x(n);
    make_q("U", &n, x.A.data(), &x.lda, x.tau.data(), x.work.data(), &x.lwork, &x.info, one);
    x.tell(made, x.A);
  }
}

template <class T, class Make>
void of_bidiagonal(const char* made, const Make& make_p) {
  for (int n : {2, 9, 33})
    for (int k : {n / 2, n + 4}) {
      Operands<T> x(n);
      make_p("P", &n, &n, &k, x.A.data(), &x.lda, x.tau.data(), x.work.data(), &x.lwork, &x.info, one);
      x.tell(made, x.A);
    }
}

}  // namespace

int main() {
  of_tridiagonal<float>("sormtr", "sorgtr", sormtr_, sorgtr_);
  of_tridiagonal<double>("dormtr", "dorgtr", dormtr_, dorgtr_);
  of_tridiagonal<std::complex<float>>("cunmtr", "cungtr", cunmtr_, cungtr_);
  of_tridiagonal<std::complex<double>>("zunmtr", "zungtr", zunmtr_, zungtr_);
  of_bidiagonal<float>("sorgbr", sorgbr_);
  of_bidiagonal<double>("dorgbr", dorgbr_);
  of_bidiagonal<std::complex<float>>("cungbr", cungbr_);
  of_bidiagonal<std::complex<double>>("zungbr", zungbr_);
  const char* between = "calls {";
  for (const auto& [name, number] : calls)
    std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), number);
  std::printf("}\nok\n");
}
