// P A = L U, in A's place.
#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Getrf : Routine<Getrf<T>> {
  static constexpr bool dealt = true, together = true;
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool overlap = false;  // of pivots that change meanwhile LAPACK's own makes rows that there are not
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  // All of A is on the device, and panels narrow with its memory, of which the pivots of each take 16 KiB.
  static constexpr std::string_view modes = "panels BLASLIFT_MEMORY=96K", fault_memory = "40K", fault_sizes = "13 16";
  static constexpr index least_on_device = least_beside_pivots, bytes_on_device = bytes_beside_pivots;
  static std::string name() { return named<T>("getrf"); }

  index m, n;
  bool graded;  ///< rows of very different sizes
  Matrix<T> A;
  Pivots ipiv;
  Info info;

  explicit Getrf(Draw& draw)
      : m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.nothing(1) ? 0 : draw.size()),
        graded(draw.pick(2) == 1),
        A(draw, "A", Role::output, m, n),
        ipiv(draw, Role::output, std::min(m, n)) {
    if (m == 0 || n == 0) A.use([](index, index) { return unused; });
  }
  std::vector<Operand*> operands() override { return {&A, &ipiv}; }
  std::string describe() const override { return text(name(), "m=%ld n=%ld", long(m), long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    for (index j = 0; graded && j < n; ++j)
      for (index i = 0; i < m; ++i) A(i, j) *= std::ldexp(Real<T>(1), -static_cast<int>(7 * i % 20));
  }
  void make() override {
    info = {};
    fortran(name(), m, n, A.data(), A.leading(), ipiv.data(), info.address());
  }
  void judge(const Getrf& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (m > 0 && n > 0) judge_lu(judge, was.A, A, ipiv);
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return m = -1, true;
      case 1: return n = -1, true;
      case 2: return A.tell(m - 1), true;
      case 3: return A.tell(0), true;
      default: return false;
    }
  }
};

JOIN(getrf, Getrf<float>, Getrf<double>, Getrf<std::complex<float>>, Getrf<std::complex<double>>);

}  // namespace
}  // namespace suite
