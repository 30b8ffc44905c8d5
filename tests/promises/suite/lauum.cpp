// L^H L or U U^H, in the triangle's place.
#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Lauum : Routine<Lauum<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr std::string_view fault_memory = "10K", fault_sizes = "13 16";
  static std::string name() { return named<T>("lauum"); }

  char uplo;
  index n;
  Matrix<T> A;
  Info info;

  explicit Lauum(Draw& draw)
      : uplo(draw.letter("UL")), n(draw.nothing(0) ? 0 : draw.size()), A(draw, "A", Role::output, n, n + beyond) {
    A.use([&](index i, index j) { return j < n && in_triangle(uplo, i, j) ? updated : unused; });
  }
  static constexpr index beyond = 1;  ///< columns: OpenBLAS reads beyond the last one (cdotc)
  std::vector<Operand*> operands() override { return {&A}; }
  std::string describe() const override { return text(name(), "%c n=%ld", uplo, long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// The reference reads the diagonal's imaginary parts in large matrices and not in small ones: they are zero, as in
  /// factors by Cholesky.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (in_triangle(uplo, i, j))
          A(i, j) = i == j ? T(static_cast<Real<T>>(draw.number())) : promises::make<T>(draw.number(), draw.number());
  }
  void make() override {
    info = {};
    fortran(name(), uplo, n, A.data(), A.leading(), info.address());
  }
  void judge(const Lauum& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    for (index j = 0; j < n; ++j) {
      judge.check("the diagonal is not real", std::imag(A(j, j)) == 0);
      for (index i = 0; i < n; ++i) {
        if (!in_triangle(uplo, i, j)) continue;
        Sum<T> sum;  // of L^H L, with the L that U is the adjoint of
        for (index k = std::max(i, j); k < n; ++k)
          sum.add(promises::conjugate<T>(cholesky_l(uplo, was.A, k, i)), cholesky_l(uplo, was.A, k, j));
        judge.near(A, i, j, A(i, j), sum.value, unit<T>(n) * sum.size);
      }
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

JOIN(lauum, Lauum<float>, Lauum<double>, Lauum<std::complex<float>>, Lauum<std::complex<double>>);

}  // namespace
}  // namespace suite
