// A triangle's inverse, in its place.
#include "tests/promises/suite/inverse.hpp"

namespace suite {
namespace {

template <class T>
struct Trtri : Routine<Trtri<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // a diagonal of ones moves, too, and keeps its bits
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr std::string_view modes = "panels BLASLIFT_MEMORY=24K", fault_memory = "8K", fault_sizes = "13 16";
  static std::string name() { return named<T>("trtri"); }

  char uplo, diag;
  index n;
  Matrix<T> A;
  Info info;

  explicit Trtri(Draw& draw)
      : uplo(draw.letter("UL")),
        diag(draw.letter("NU")),
        n(draw.nothing(0) ? 0 : draw.size()),
        A(draw, "A", Role::output, n, n) {
    // Neither the other triangle nor a diagonal of ones is read or written.
    A.use([&](index i, index j) { return in_triangle(i, j) && !(diag == 'U' && i == j) ? updated : unused; });
  }
  bool in_triangle(index i, index j) const { return uplo == 'U' ? i <= j : i >= j; }
  std::vector<Operand*> operands() override { return {&A}; }
  std::string describe() const override { return text(name(), "%c%c n=%ld", uplo, diag, long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Inverses that stay in range: what is beside the diagonal is small, and the diagonal is not.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (A.use_of(i, j) & read)
          A(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(n) + (i == j ? T(2) : T(0));
  }
  void make() override {
    info = {};
    fortran(name(), uplo, diag, n, A.data(), A.leading(), info.address());
  }
  Wide<T> element(index i, index j) const {
    if (!in_triangle(i, j)) return {};
    return diag == 'U' && i == j ? Wide<T>(1) : widen(A(i, j));
  }
  void judge(const Trtri& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    judge_inverse<T>(
        judge, n, [&](index i, index j) { return was.element(i, j); }, [&](index i, index j) { return element(i, j); });
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return uplo = 'X', true;
      case 1: return diag = 'X', true;
      case 2: return n = -1, true;
      case 3: return A.tell(n - 1), true;
      default: return false;
    }
  }
};

JOIN(trtri, Trtri<float>, Trtri<double>, Trtri<std::complex<float>>, Trtri<std::complex<double>>);

}  // namespace
}  // namespace suite
