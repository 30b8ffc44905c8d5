// C := op(Q) C or C op(Q), and the first columns of Q, of reflectors as geqrf leaves them; and products with the Q of
// those that gelqf leaves.
#include "tests/promises/suite/reflectors.hpp"

namespace suite {
namespace {

template <class T, bool rows>
struct Applied : Routine<Applied<T, rows>> {
  static constexpr bool calls_others = true;
  static constexpr int ways_to_nothing = 3;
  static constexpr bool poison = false;
  static constexpr index largest = 32;
  static constexpr bool dealt = true;
  static constexpr bool shares = false;  // LAPACK's own puts ones on A's diagonal for a moment
  static constexpr std::string_view modes = "parts BLASLIFT_MEMORY=50K SUITE_TALL=no";
  static std::string name() { return named<T>(std::string(is_complex<T> ? "un" : "or") + (rows ? "mlq" : "mqr")); }

  char side, trans;
  index m, n, order, k;
  Matrix<T> A, tau, C, work;
  Info info;

  explicit Applied(Draw& draw)
      : side(draw.letter("LR")),
        trans(draw.letter(is_complex<T> ? "NC" : "NT")),
        m(draw.nothing(0) ? 0
          : side == 'L'   ? tall(draw)
                          : draw.size()),
        n(draw.nothing(1) ? 0
          : side == 'R'   ? tall(draw)
                          : draw.size()),
        order(side == 'L' ? m : n),
        k(draw.nothing(2) ? 0 : std::min(order, draw.size())),
        A(draw, "A", Role::input, rows ? k : order, rows ? order : k),
        tau(draw, "tau", Role::input, k, 1),
        C(draw, "C", Role::output, m, n),
        work(draw, "work", Role::workspace, std::max<index>(1, side == 'L' ? n : m) * (draw.pick(2) ? 33 : 1), 1) {
    // Of R or L, which shares A with the reflectors, nothing is read.
    const bool multiplies = m > 0 && n > 0 && k > 0;
    A.use([&](index i, index j) { return multiplies && (rows ? j > i : i > j) ? read : unused; });
    C.use([&](index, index) { return multiplies ? updated : unused; });
  }
  std::vector<Operand*> operands() override { return {&A, &tau, &C, &work}; }
  std::string describe() const override {
    return text(name(), "%c%c m=%ld n=%ld k=%ld", side, trans, long(m), long(n), long(k));
  }
  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  void restore(Draw& draw) override { make_tau(draw, A, tau, rows); }

  void make() override {
    info = {};
    fortran(name(), side, trans, m, n, k, A.data(), A.leading(), tau.data(), C.data(), C.leading(), work.data(),
            work.leading(), info.address());
  }
  void judge(const Applied& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (m == 0 || n == 0 || k == 0) return;
    Dense<T> due = wide(was.C);
    if (side == 'R') due = due.adjoint();  // C Q = (Q^H C^H)^H
    const std::vector<T> columns = as_columns(was.A, rows);
    // An LQ's Q is the adjoint of a QR's with the same reflectors.
    const bool adjointly = (side == 'L') == ((trans != 'N') != rows);
    reference::apply_lapack_q(adjointly, order, k, columns.data(), order, was.tau.data(), due);
    if (side == 'R') due = due.adjoint();
    judge.at_most("||C - op(Q) C||", (wide(C) - due).norm(), of_reflectors<T>(order, k) * due.norm());
  }

  std::string query() override {
    work.tell(-1);
    make();
    const index least = std::max<index>(1, side == 'L' ? n : m);
    const bool enough = std::real(work(0, 0)) >= static_cast<Real<T>>(least);
    return info.value() != 0 ? "info is not 0" : enough ? "" : "work(1) is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return side = 'X', true;
      case 1: return trans = 'X', true;
      case 2: return trans = is_complex<T> ? 'T' : 'C', true;
      case 3: return m = -1, true;
      case 4: return n = -1, true;
      case 5: return k = -1, true;
      case 6: return k = order + 1, true;
      case 7: return A.tell((rows ? k : order) - 1), true;
      case 8: return C.tell(m - 1), true;
      case 9: return work.tell((side == 'L' ? n : m) - 1), true;
      case 10: return work.tell(-2), true;
      case 11: return k = order + 1, work.tell(-1), true;
      default: return false;
    }
  }
};

template <class T>
using Ormqr = Applied<T, false>;
template <class T>
using Ormlq = Applied<T, true>;
JOIN(ormlq, Ormlq<float>, Ormlq<double>, Ormlq<std::complex<float>>, Ormlq<std::complex<double>>);
JOIN(ormqr, Ormqr<float>, Ormqr<double>, Ormqr<std::complex<float>>, Ormqr<std::complex<double>>);

template <class T>
struct Orgqr : Routine<Orgqr<T>> {
  static constexpr bool calls_others = true;
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr index largest = 32;
  static constexpr std::string_view modes = "parts BLASLIFT_MEMORY=40K SUITE_TALL=no";
  static std::string name() { return named<T>(is_complex<T> ? "ungqr" : "orgqr"); }

  index n, m, k;
  Matrix<T> A, tau, work;
  Info info;

  explicit Orgqr(Draw& draw)
      : n(draw.nothing(0) ? 0 : draw.size()),
        m(n + tall(draw) - 1),
        k(draw.nothing(1) ? 0 : std::min(n, draw.size())),
        A(draw, "A", Role::output, m, n),
        tau(draw, "tau", Role::input, k, 1),
        work(draw, "work", Role::workspace, std::max<index>(1, n) * (draw.pick(2) ? 33 : 1), 1) {
    A.use([&](index i, index j) { return j < k && i > j ? updated : written; });
  }
  std::vector<Operand*> operands() override { return {&A, &tau, &work}; }
  std::string describe() const override { return text(name(), "m=%ld n=%ld k=%ld", long(m), long(n), long(k)); }
  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  void restore(Draw& draw) override { make_tau(draw, A, tau); }
  bool once() const override { return true; }

  void make() override {
    info = {};
    fortran(name(), m, n, k, A.data(), A.leading(), tau.data(), work.data(), work.leading(), info.address());
  }
  void judge(const Orgqr& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    Dense<T> due(m, n);
    for (index j = 0; j < n; ++j) due(j, j) = 1;
    reference::apply_lapack_q(false, m, k, was.A.data(), was.A.ld(), was.tau.data(), due);
    judge.at_most("||A - Q||", (wide(A) - due).norm(), k == 0 ? 0 : of_reflectors<T>(m, k) * due.norm());
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
      case 2: return k = -1, true;
      case 3: return n = m + 1, true;
      case 4: return k = n + 1, true;
      case 5: return A.tell(m - 1), true;
      case 6: return work.tell(n - 1), true;
      case 7: return work.tell(-2), true;
      default: return false;
    }
  }
};

JOIN(orgqr, Orgqr<float>, Orgqr<double>, Orgqr<std::complex<float>>, Orgqr<std::complex<double>>);

}  // namespace
}  // namespace suite
