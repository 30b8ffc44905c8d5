// A = L L^H or U^H U, in a triangle's place.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T>
struct Potrf : Routine<Potrf<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr index largest = 48;
  // Earlier panels come again in strips.
  static constexpr std::string_view modes = "parts BLASLIFT_MEMORY=12K", fault_memory = "6K";
  static std::string name() { return named<T>("potrf"); }

  char uplo;
  index n;
  Matrix<T> A;
  Info info;

  explicit Potrf(Draw& draw)
      : uplo(draw.letter("UL")), n(draw.nothing(0) ? 0 : draw.size()), A(draw, "A", Role::output, n, n) {
    A.use([&](index i, index j) { return in_triangle(i, j) ? updated : unused; });
  }
  std::vector<Operand*> operands() override { return {&A}; }
  std::string describe() const override { return text(name(), "%c n=%ld", uplo, long(n)); }
  bool in_triangle(index i, index j) const { return uplo == 'U' ? i <= j : i >= j; }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Definite since each diagonal element is more than its row's others together; a diagonal's imaginary part is
  /// anything.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (!in_triangle(i, j)) continue;
        const auto share = static_cast<Real<T>>(1) / static_cast<Real<T>>(2 * n);
        A(i, j) = promises::make<T>(draw.number(), draw.number()) * share + (i == j ? T(3) : T(0));
      }
  }

  void make() override {
    info = {};
    fortran(name(), uplo, n, A.data(), A.leading(), info.address());
  }

  /// Of a matrix as it is stored: one of L, or L^H.
  static Wide<T> full(const Potrf& x, index i, index j) {
    const bool there = x.in_triangle(i, j);
    const Wide<T> a = widen(there ? x.A(i, j) : x.A(j, i));
    if (i == j) return Wide<T>(std::real(a));
    return there ? a : promises::conjugate<T>(a);
  }
  /// |A - L L^H| <= gamma(n + 1) |L| |L^H|, element by element (Higham, Accuracy and Stability, theorem 10.3).
  void judge(const Potrf& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    const auto factor = [&](index i, index k) {  // L
      return uplo == 'L' ? widen(A(i, k)) : promises::conjugate<T>(widen(A(k, i)));
    };
    for (index j = 0; j < n; ++j)
      for (index i = j; i < n; ++i) {
        Sum<T> sum;
        for (index k = 0; k <= j; ++k) sum.add(factor(i, k), promises::conjugate<T>(factor(j, k)));
        sum.add(Wide<T>(-1), full(was, i, j));
        judge.check("L L^H is not A", promises::size_of(sum.value) <= unit<T>(n + 1) * sum.size);
        if (i == j) judge.check("the diagonal is not real", std::imag(factor(i, i)) == 0);
      }
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return uplo = 'X', true;
      case 1: return n = -1, true;
      case 2: return A.tell(n - 1), true;
      default: return false;
    }
  }
};

JOIN(potrf, Potrf<float>, Potrf<double>, Potrf<std::complex<float>>, Potrf<std::complex<double>>);

}  // namespace
}  // namespace suite
