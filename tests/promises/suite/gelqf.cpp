// A = L Q, in LAPACK's format: L below, reflectors as conjugate rows right of the diagonal, their factors in tau; and
// Q's first rows in the place of such reflectors.
#include "tests/promises/suite/reflectors.hpp"

namespace suite {
namespace {

template <class T, bool makes_q>
struct Lq : Routine<Lq<T, makes_q>> {
  static constexpr bool calls_others = true;
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of vectors nothing is counted
  static constexpr index largest = 32;
  static constexpr index beyond = 1;  ///< columns: OpenBLAS reads beyond the last one (cgemv)
  /// At which no matrix is as small as vectors are: these lie in the host's memory, when all matrices lie in a
  /// device's.
  static constexpr index least_on_device = 24, bytes_on_device = 1100;
  static std::string name() {
    return named<T>(std::string(!makes_q ? "ge" : is_complex<T> ? "un" : "or") + (makes_q ? "glq" : "lqf"));
  }

  index one, other, m, n, k;
  reference::Kind kind;
  Matrix<T> A, tau, work;
  Info info;

  explicit Lq(Draw& draw)
      : one(draw.size()),
        other(tall(draw)),
        m(draw.nothing(0) ? 0
          : makes_q       ? std::min(one, other)
                          : one),
        n(makes_q           ? std::max(one, other)
          : draw.nothing(1) ? 0
                            : other),
        k(!makes_q          ? std::min(m, n)
          : draw.nothing(1) ? 0
                            : std::min(m, draw.size())),
        kind(reference::kinds[draw.pick(int(std::size(reference::kinds)))]),
        A(draw, "A", Role::output, m, n + beyond),
        tau(draw, "tau", makes_q ? Role::input : Role::output, k, 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, std::max<index>(1, m) * (draw.pick(2) ? 33 : 1), 1) {
    A.use([this](index i, index j) { return j >= n ? unused : !makes_q || (i < k && j > i) ? updated : written; });
    if (!makes_q) tau.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override { return {&A, &tau, &work}; }
  std::string describe() const override {
    return text(name(), "m=%ld n=%ld k=%ld kind %d", long(m), long(n), long(k), static_cast<int>(kind));
  }
  /// Matrices whose adjoints are hard on a QR; on the way they may be anything.
  void prepare(Draw& draw) override {
    if (makes_q) {
      Call::prepare(draw);
      return restore(draw);
    }
    const auto hard = reference::matrix_of<T>(kind, n, m, static_cast<unsigned>(draw.below(1000)));
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) A(i, j) = hard(j, i);
  }
  void restore(Draw& draw) override {
    if (makes_q) make_tau(draw, A, tau, true, beyond);
  }
  bool once() const override { return makes_q; }

  void make() override {
    info = {};
    if constexpr (makes_q)
      fortran(name(), m, n, k, A.data(), A.leading(), tau.data(), work.data(), work.leading(), info.address());
    else
      fortran(name(), m, n, A.data(), A.leading(), tau.data(), work.data(), work.leading(), info.address());
  }
  Dense<T> rows(const Matrix<T>& x) const { return Dense<T>::of(m, n, x.data(), x.ld()); }
  void judge(const Lq& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (m == 0 || n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= static_cast<Real<T>>(m));
    const std::vector<T> columns = as_columns(makes_q ? was.A : A, true);
    if (!makes_q) return judge_factors<T>(judge, rows(was.A).adjoint(), columns.data(), n + beyond, tau.data());
    Dense<T> Q(n, m);
    for (index j = 0; j < m; ++j) Q(j, j) = 1;
    reference::apply_lapack_q(false, n, k, columns.data(), n + beyond, tau.data(), Q);
    judge.at_most("||Q - its reflectors'||", (rows(A).adjoint() - Q).norm(),
                  of_reflectors<T>(n, k) * std::sqrt(static_cast<double>(m)));
  }

  std::string query() override {
    work.tell(-1);
    make();
    const bool enough = std::real(work(0, 0)) >= static_cast<Real<T>>(std::max<index>(1, m));
    return info.value() != 0 ? "info is not 0" : enough ? "" : "work(1) is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return m = -1, true;
      case 1: return n = makes_q ? m - 1 : -1, true;
      case 2: return A.tell(m - 1), true;
      case 3: return A.tell(0), true;
      case 4: return work.tell(m - 1), true;
      case 5: return work.tell(0), true;
      case 6: return work.tell(-2), true;
      case 7: return m = -1, work.tell(-1), true;
      case 8: return makes_q && (k = m + 1, true);
      case 9: return k = -1, true;
      default: return false;
    }
  }
};

template <class T>
using Gelqf = Lq<T, false>;
template <class T>
using Orglq = Lq<T, true>;
JOIN(gelqf, Gelqf<float>, Gelqf<double>, Gelqf<std::complex<float>>, Gelqf<std::complex<double>>);
JOIN(orglq, Orglq<float>, Orglq<double>, Orglq<std::complex<float>>, Orglq<std::complex<double>>);

}  // namespace
}  // namespace suite
