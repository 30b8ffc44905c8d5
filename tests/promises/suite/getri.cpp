// A^-1 with the factors and pivots that getrf leaves, in their place.
#include "tests/promises/suite/inverse.hpp"

namespace suite {
namespace {

template <class T>
struct Getri : Routine<Getri<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr index beyond = 1;  ///< columns, and elements of work: OpenBLAS reads beyond the last one (cgemv)
  static constexpr std::string_view modes = "panels BLASLIFT_MEMORY=64K", fault_memory = "26K", fault_sizes = "15 16";
  static constexpr index least_on_device = least_beside_pivots, bytes_on_device = bytes_beside_pivots;
  static std::string name() { return named<T>("getri"); }

  index n, lwork;
  bool backwards = false;  ///< a pivot that no getrf leaves
  Matrix<T> A;
  Pivots ipiv;
  Matrix<T> work;
  Info info;

  explicit Getri(Draw& draw)
      : n(draw.nothing(0) ? 0 : draw.size()),
        // The least that there may be, or more.
        lwork(std::max<index>(1, n) + (draw.pick(2) ? 66 * n : 0)),
        A(draw, "A", Role::output, n, n + beyond),
        ipiv(draw, Role::input, n),
        work(draw, "work", Role::workspace, lwork + 16 * beyond, 1) {
    A.use([&](index, index j) { return j < n ? updated : unused; });
  }
  std::vector<Operand*> operands() override { return {&A, &ipiv, &work}; }
  std::string describe() const override { return text(name(), "n=%ld", long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Inverses that stay in range: what is beside the diagonal is small, and the diagonal is not.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < n; ++i)
        A(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(n) + (i == j ? T(2) : T(0));
      ipiv.set(j, j + 1 + draw.below(static_cast<int>(n - j)));
    }
  }
  void make() override {
    info = {};
    if (backwards) ipiv.set(n - 1, 1);
    fortran(name(), n, A.data(), A.leading(), ipiv.data(), work.data(), lwork, info.address());
  }
  void judge(const Getri& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(n));
    if (!was.ipiv.valid(n)) return judge.check("ipiv is none", false);
    const std::vector<index> from = was.ipiv.order(n);
    std::vector<Wide<T>> product(static_cast<std::size_t>(n * n));  // P^T L U
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        Sum<T> sum;
        for (index k = 0; k <= std::min(i, j); ++k) sum.add(in_lower(was.A, i, k, true), in_upper(was.A, k, j));
        product[static_cast<std::size_t>(from[static_cast<std::size_t>(i)] + j * n)] = sum.value;
      }
    judge_inverse<T>(
        judge, n, [&](index i, index j) { return product[static_cast<std::size_t>(i + j * n)]; },
        [&](index i, index j) { return widen(A(i, j)); });
  }

  std::string query() override {
    lwork = -1;
    make();
    if (info.value() != 0) return "info is not 0";
    return std::real(work(0, 0)) >= Real<T>(std::max<index>(1, n)) ? "" : "the workspace is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return n = -1, true;
      case 1: return A.tell(n - 1), true;
      case 2: return lwork = n - 1, true;
      case 3: return lwork = -2, true;
      case 4: return backwards = true;
      default: return false;
    }
  }
};

JOIN(getri, Getri<float>, Getri<double>, Getri<std::complex<float>>, Getri<std::complex<double>>);

}  // namespace
}  // namespace suite
