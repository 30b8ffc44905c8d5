// op(A) X = B with the factors and pivots that getrf leaves.
#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Getrs : Routine<Getrs<T>> {
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr bool dealt = true;
  static constexpr std::string_view modes = "panels BLASLIFT_MEMORY=96K", fault_memory = "40K", fault_sizes = "13 16";
  static constexpr index least_on_device = least_beside_pivots, bytes_on_device = bytes_beside_pivots;
  static std::string name() { return named<T>("getrs"); }

  char trans;
  index n, nrhs;
  bool backwards = false;  ///< a pivot that no getrf leaves
  Matrix<T> A;
  Pivots ipiv;
  Matrix<T> B;
  Info info;

  explicit Getrs(Draw& draw)
      : trans(draw.letter("NTC")),
        n(draw.nothing(0) ? 0 : draw.size()),
        nrhs(draw.nothing(1) ? 0 : draw.size()),
        A(draw, "A", Role::input, n, n),
        ipiv(draw, Role::input, n),
        B(draw, "B", Role::output, n, nrhs) {
    if (nrhs == 0) A.use([](index, index) { return unused; });
  }
  std::vector<Operand*> operands() override { return {&A, &ipiv, &B}; }
  std::string describe() const override { return text(name(), "%c n=%ld nrhs=%ld", trans, long(n), long(nrhs)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Solutions that stay in range: what is beside the diagonal is small, and the diagonal is not.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < n && nrhs > 0; ++i)
        A(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(n) + (i == j ? T(2) : T(0));
      ipiv.set(j, j + 1 + draw.below(static_cast<int>(n - j)));
    }
  }
  void make() override {
    info = {};
    if (backwards) ipiv.set(n - 1, 1);
    fortran(name(), trans, n, nrhs, A.data(), A.leading(), ipiv.data(), B.data(), B.leading(), info.address());
  }
  void judge(const Getrs& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (nrhs > 0) judge_by_lu(judge, trans, was.A, was.ipiv, was.B, B);
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return trans = 'X', true;
      case 1: return n = -1, true;
      case 2: return nrhs = -1, true;
      case 3: return A.tell(n - 1), true;
      case 4: return B.tell(n - 1), true;
      case 5: return backwards = true;
      default: return false;
    }
  }
};

JOIN(getrs, Getrs<float>, Getrs<double>, Getrs<std::complex<float>>, Getrs<std::complex<double>>);

}  // namespace
}  // namespace suite
