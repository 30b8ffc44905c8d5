// A P = Q R with pivoting of columns, in LAPACK's format.
#include "tests/promises/suite/reflectors.hpp"

namespace suite {
namespace {

template <class T>
struct Geqp3 : Routine<Geqp3<T>> {
  static constexpr bool calls_others = true;
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of vectors nothing is counted
  static constexpr index largest = 32;
  /// At which no matrix is as small as vectors are: these lie in the host's memory, when all matrices lie in a
  /// device's.
  static constexpr index least_on_device = 24, bytes_on_device = 1100;
  static std::string name() { return named<T>("geqp3"); }

  index m, n;
  reference::Kind kind;
  int fixed;  ///< of so many columns one is, by chance; 0: none
  Matrix<T> A;
  Integers jpvt;
  Matrix<T> tau, work;
  Matrix<Real<T>> rwork;
  Info info;

  explicit Geqp3(Draw& draw)
      : m(draw.nothing(0) ? 0 : tall(draw)),
        n(draw.nothing(1) ? 0 : draw.size()),
        kind(reference::kinds[draw.pick(int(std::size(reference::kinds)))]),
        fixed(m == 0 ? 0 : std::array{0, 1, 4, 0}[std::size_t(draw.pick(4))]),
        A(draw, "A", Role::output, m, n),
        jpvt(draw, "jpvt", Role::output, n),
        tau(draw, "tau", Role::output, std::min(m, n), 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least() * (draw.pick(2) ? 33 : 1), 1),
        rwork(draw, "rwork", Role::workspace, std::max<index>(1, 2 * n), 1) {
    tau.use([](index, index) { return written; });
    jpvt.use([](index, index) { return updated; });
    if (m == 0 || n == 0) A.use([](index, index) { return unused; });
  }
  index least() const { return m == 0 || n == 0 ? 1 : (is_complex<T> ? 1 : 3) * n + 1; }
  std::vector<Operand*> operands() override {
    std::vector<Operand*> all{&A, &jpvt, &tau, &work};
    if constexpr (is_complex<T>) all.push_back(&rwork);
    return all;
  }
  std::string describe() const override {
    return text(name(), "m=%ld n=%ld kind %d fixed %d", long(m), long(n), static_cast<int>(kind), fixed);
  }
  /// Matrices that are hard on a QR; on the way they may be anything.
  void prepare(Draw& draw) override {
    const auto hard = reference::matrix_of<T>(kind, m, n, static_cast<unsigned>(draw.below(1000)));
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) A(i, j) = hard(i, j);
    restore(draw);
  }
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j) jpvt.set(j, fixed > 0 && draw.below(fixed) == 0 ? -3 : 0);
  }

  void make() override {
    info = {};
    const auto call = [&](auto... rest) {
      fortran(name(), m, n, A.data(), A.leading(), jpvt.data(), tau.data(), work.data(), work.leading(), rest...,
              info.address());
    };
    if constexpr (is_complex<T>)
      call(rwork.data());
    else
      call();
  }
  void judge(const Geqp3& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (m == 0 || n == 0) return;
    if (!judge.in_device_memory)
      judge.check("work(1) is too small", std::real(work(0, 0)) >= static_cast<Real<T>>(least()));
    // Fixed columns come first, by exchanges from left to right.
    std::vector<index> order, due, first;
    index count = 0;
    for (index j = 0; j < n; ++j) {
      first.push_back(j + 1);
      if (was.jpvt[j] != 0) std::swap(first.back(), first[static_cast<std::size_t>(count++)]);
      order.push_back(jpvt[j]);
      due.push_back(j + 1);
    }
    if (!std::is_permutation(order.begin(), order.end(), due.begin())) return judge.check("jpvt has no columns", false);
    judge.check("fixed columns are not the first ones",
                std::equal(first.begin(), first.begin() + count, order.begin()));
    const Dense<T> before = wide(was.A);
    Dense<T> AP(m, n);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) AP(i, j) = before(i, order[static_cast<std::size_t>(j)] - 1);
    judge_factors<T>(judge, AP, A, tau.data());
    // Norms are brought down from longer ones, and lose half of their digits before they are computed anew (LAPACK
    // Working Note 176).
    const double off = 4 * std::sqrt(static_cast<double>(m) * reference::eps<T>()),
                 around = 10 * of_reflectors<T>(m, n) * AP.norm();
    for (index j = count; j < n; ++j) {
      double length = 0;
      for (index i = std::min(j, m - 1); i >= count; --i) {
        length = std::hypot(length, static_cast<double>(std::abs(widen(A(i, j)))));
        judge.at_most("a column was to come before another one", length,
                      static_cast<double>(std::abs(widen(A(i, i)))) * (1 + off) + around);
      }
    }
  }

  std::string query() override {
    work.tell(-1);
    make();
    const bool enough = std::real(work(0, 0)) >= static_cast<Real<T>>(least());
    return info.value() != 0 ? "info is not 0" : enough ? "" : "work(1) is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return m = -1, true;
      case 1: return n = -1, true;
      case 2: return A.tell(m - 1), true;
      case 3: return A.tell(0), true;
      case 4: return work.tell(least() - 1), true;
      case 5: return work.tell(-2), true;
      case 6: return m = -1, work.tell(-1), true;
      default: return false;
    }
  }
};

JOIN(geqp3, Geqp3<float>, Geqp3<double>, Geqp3<std::complex<float>>, Geqp3<std::complex<double>>);

}  // namespace
}  // namespace suite
