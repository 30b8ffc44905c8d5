// A^-1 with the triangle that potrf leaves, in its place.
#include "tests/promises/suite/inverse.hpp"

namespace suite {
namespace {

template <class T>
struct Potri : Routine<Potri<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr index beyond = 1;  ///< columns: OpenBLAS reads beyond the last one (cdotc)
  static constexpr std::string_view fault_memory = "10K", fault_sizes = "13 16";
  static std::string name() { return named<T>("potri"); }

  char uplo;
  index n;
  Matrix<T> A;
  Info info;

  explicit Potri(Draw& draw)
      : uplo(draw.letter("UL")), n(draw.nothing(0) ? 0 : draw.size()), A(draw, "A", Role::output, n, n + beyond) {
    A.use([&](index i, index j) { return j < n && in_triangle(i, j) ? updated : unused; });
  }
  bool in_triangle(index i, index j) const { return uplo == 'U' ? i <= j : i >= j; }
  std::vector<Operand*> operands() override { return {&A}; }
  std::string describe() const override { return text(name(), "%c n=%ld", uplo, long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Inverses that stay in range, of factors with a real diagonal.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (i == j)
          A(i, j) = T(Real<T>(2 + draw.number() / 2));
        else if (in_triangle(i, j))
          A(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(n);
  }
  void make() override {
    info = {};
    fortran(name(), uplo, n, A.data(), A.leading(), info.address());
  }
  void judge(const Potri& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    std::vector<Wide<T>> product(static_cast<std::size_t>(n * n));  // L L^H
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        Sum<T> sum;
        for (index k = 0; k <= std::min(i, j); ++k)
          sum.add(cholesky_l(uplo, was.A, i, k), promises::conjugate<T>(cholesky_l(uplo, was.A, j, k)));
        product[static_cast<std::size_t>(i + j * n)] = sum.value;
      }
    for (index j = 0; j < n; ++j) judge.check("the diagonal is not real", std::imag(A(j, j)) == 0);
    judge_inverse<T>(
        judge, n, [&](index i, index j) { return product[static_cast<std::size_t>(i + j * n)]; },
        [&](index i, index j) { return in_triangle(i, j) ? widen(A(i, j)) : promises::conjugate<T>(widen(A(j, i))); });
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

JOIN(potri, Potri<float>, Potri<double>, Potri<std::complex<float>>, Potri<std::complex<double>>);

}  // namespace
}  // namespace suite
