// A X = B with the triangle that potrf leaves.
#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Potrs : Routine<Potrs<T>> {
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr bool dealt = true;
  static constexpr std::string_view modes = "panels BLASLIFT_MEMORY=96K", fault_memory = "4K";
  static std::string name() { return named<T>("potrs"); }

  char uplo;
  index n, nrhs;
  Matrix<T> A, B;
  Info info;

  explicit Potrs(Draw& draw)
      : uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        nrhs(draw.nothing(1) ? 0 : draw.size()),
        A(draw, "A", Role::input, n, n),
        B(draw, "B", Role::output, n, nrhs) {
    A.use([&](index i, index j) { return nrhs > 0 && in_triangle(uplo, i, j) ? read : unused; });
  }
  std::vector<Operand*> operands() override { return {&A, &B}; }
  std::string describe() const override { return text(name(), "%c n=%ld nrhs=%ld", uplo, long(n), long(nrhs)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Solutions that stay in range.  A diagonal need not be real: it is read as any triangle's.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (A.use_of(i, j) & read)
          A(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(n) + (i == j ? T(2) : T(0));
  }
  void make() override {
    info = {};
    fortran(name(), uplo, n, nrhs, A.data(), A.leading(), B.data(), B.leading(), info.address());
  }
  void judge(const Potrs& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (nrhs > 0) judge_by_cholesky(judge, uplo, was.A, was.B, B);
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return uplo = 'X', true;
      case 1: return n = -1, true;
      case 2: return nrhs = -1, true;
      case 3: return A.tell(n - 1), true;
      case 4: return B.tell(n - 1), true;
      default: return false;
    }
  }
};

JOIN(potrs, Potrs<float>, Potrs<double>, Potrs<std::complex<float>>, Potrs<std::complex<double>>);

}  // namespace
}  // namespace suite
