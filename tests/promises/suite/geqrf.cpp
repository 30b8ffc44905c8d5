// A = Q R, in LAPACK's format: R above, reflectors below the diagonal, their factors in tau.
#include "tests/promises/suite/reflectors.hpp"

namespace suite {
namespace {

template <class T>
struct Geqrf : Routine<Geqrf<T>> {
  static constexpr bool dealt = true, together = true;
  static constexpr bool calls_others = true;
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr index largest = 32;
  static constexpr std::string_view modes = "parts BLASLIFT_MEMORY=50K SUITE_TALL=no";
  static std::string name() { return named<T>("geqrf"); }

  index m, n;
  reference::Kind kind;
  Matrix<T> A, tau, work;
  Info info;

  explicit Geqrf(Draw& draw)
      : m(draw.nothing(0) ? 0 : tall(draw)),
        n(draw.nothing(1) ? 0 : draw.size()),
        kind(reference::kinds[draw.pick(int(std::size(reference::kinds)))]),
        A(draw, "A", Role::output, m, n),
        tau(draw, "tau", Role::output, std::min(m, n), 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, std::max<index>(1, n) * (draw.pick(2) ? 33 : 1), 1) {
    tau.use([](index, index) { return written; });
    if (m == 0 || n == 0) A.use([](index, index) { return unused; });
  }
  std::vector<Operand*> operands() override { return {&A, &tau, &work}; }
  std::string describe() const override {
    return text(name(), "m=%ld n=%ld kind %d", long(m), long(n), static_cast<int>(kind));
  }
  /// Matrices that are hard on a QR; on the way they may be anything.
  void prepare(Draw& draw) override {
    const auto hard = reference::matrix_of<T>(kind, m, n, static_cast<unsigned>(draw.below(1000)));
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) A(i, j) = hard(i, j);
  }

  void make() override {
    info = {};
    fortran(name(), m, n, A.data(), A.leading(), tau.data(), work.data(), work.leading(), info.address());
  }
  void judge(const Geqrf& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (m == 0 || n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= static_cast<Real<T>>(n));
    judge_factors<T>(judge, wide(was.A), A, tau.data());
  }

  std::string query() override {
    work.tell(-1);
    make();
    const bool enough = std::real(work(0, 0)) >= static_cast<Real<T>>(std::max<index>(1, n));
    return info.value() != 0 ? "info is not 0" : enough ? "" : "work(1) is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return m = -1, true;
      case 1: return n = -1, true;
      case 2: return A.tell(m - 1), true;
      case 3: return A.tell(0), true;
      case 4: return work.tell(n - 1), true;
      case 5: return work.tell(0), true;
      case 6: return work.tell(-2), true;
      case 7: return m = -1, work.tell(-1), true;
      default: return false;
    }
  }
};

JOIN(geqrf, Geqrf<float>, Geqrf<double>, Geqrf<std::complex<float>>, Geqrf<std::complex<double>>);

}  // namespace
}  // namespace suite
