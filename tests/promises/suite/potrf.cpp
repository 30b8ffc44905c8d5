// A = L L^H or U^H U, in a triangle's place.
#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Potrf : Routine<Potrf<T>> {
  static constexpr bool dealt = true, together = true;
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
    A.use([&](index i, index j) { return in_triangle(uplo, i, j) ? updated : unused; });
  }
  std::vector<Operand*> operands() override { return {&A}; }
  std::string describe() const override { return text(name(), "%c n=%ld", uplo, long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  void restore(Draw& draw) override { make_definite(draw, uplo, A); }

  void make() override {
    info = {};
    fortran(name(), uplo, n, A.data(), A.leading(), info.address());
  }

  void judge(const Potrf& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    judge_cholesky(judge, uplo, was.A, A);
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
