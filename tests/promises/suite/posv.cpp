// A X = B by A = L L^H or U^H U, which replaces A's triangle.
#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Posv : Routine<Posv<T>> {
  static constexpr int ways_to_nothing = 1;  // without right-hand sides there is still a factor
  static constexpr bool poison = false;
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr std::string_view modes = "panels BLASLIFT_MEMORY=96K", fault_memory = "5K";
  static std::string name() { return named<T>("posv"); }

  char uplo;
  index n, nrhs;
  Matrix<T> A, B;
  Info info;

  explicit Posv(Draw& draw)
      : uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        nrhs(right_hand_sides(draw, largest)),
        A(draw, "A", Role::output, n, n),
        B(draw, "B", Role::output, n, nrhs) {
    A.use([&](index i, index j) { return in_triangle(uplo, i, j) ? updated : unused; });
  }
  std::vector<Operand*> operands() override { return {&A, &B}; }
  std::string describe() const override { return text(name(), "%c n=%ld nrhs=%ld", uplo, long(n), long(nrhs)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  void restore(Draw& draw) override { make_definite(draw, uplo, A); }

  void make() override {
    info = {};
    fortran(name(), uplo, n, nrhs, A.data(), A.leading(), B.data(), B.leading(), info.address());
  }
  void judge(const Posv& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    judge_cholesky(judge, uplo, was.A, A);
    judge_by_cholesky(judge, uplo, A, was.B, B);
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

JOIN(posv, Posv<float>, Posv<double>, Posv<std::complex<float>>, Posv<std::complex<double>>);

}  // namespace
}  // namespace suite
