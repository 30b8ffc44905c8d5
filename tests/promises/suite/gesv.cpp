// A X = B by P A = L U, which replaces A.
#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Gesv : Routine<Gesv<T>> {
  static constexpr int ways_to_nothing = 1;  // without right-hand sides there are still factors
  static constexpr bool poison = false;
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr std::string_view modes = "panels BLASLIFT_MEMORY=96K", fault_memory = "40K", fault_sizes = "13 16";
  static constexpr index least_on_device = least_beside_pivots, bytes_on_device = bytes_beside_pivots;
  static std::string name() { return named<T>("gesv"); }

  index n, nrhs;
  Matrix<T> A;
  Pivots ipiv;
  Matrix<T> B;
  Info info;

  explicit Gesv(Draw& draw)
      : n(draw.nothing(0) ? 0 : draw.size()),
        nrhs(right_hand_sides(draw, largest)),
        A(draw, "A", Role::output, n, n),
        ipiv(draw, Role::output, n),
        B(draw, "B", Role::output, n, nrhs) {}
  std::vector<Operand*> operands() override { return {&A, &ipiv, &B}; }
  std::string describe() const override { return text(name(), "n=%ld nrhs=%ld", long(n), long(nrhs)); }

  void make() override {
    info = {};
    fortran(name(), n, nrhs, A.data(), A.leading(), ipiv.data(), B.data(), B.leading(), info.address());
  }
  void judge(const Gesv& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    judge_lu(judge, was.A, A, ipiv);
    judge_by_lu(judge, 'N', A, ipiv, was.B, B);
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return n = -1, true;
      case 1: return nrhs = -1, true;
      case 2: return A.tell(n - 1), true;
      case 3: return B.tell(n - 1), true;
      case 4: return B.tell(0), true;
      default: return false;
    }
  }
};

JOIN(gesv, Gesv<float>, Gesv<double>, Gesv<std::complex<float>>, Gesv<std::complex<double>>);

}  // namespace
}  // namespace suite
