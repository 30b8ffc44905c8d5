// geqr and gemqr: LAPACK's compact format, which only the two know, whoever has made T.  One call here is three: of
// geqr, of gemqr with what that has left, and of gemqr with an identity, which is what the second is judged by.
#include "tests/promises/suite/reflectors.hpp"

namespace suite {
namespace {

template <class T>
struct Gemqr : Routine<Gemqr<T>> {
  static constexpr int ways_to_nothing = 0;  // gemqr of what geqr had nothing to do with: tests/promises/compact.py
  static constexpr bool poison = false;
  static constexpr bool overlap = false;
  static constexpr bool moves_outputs = false;  // of T only what T has to hold
  static constexpr index largest = 32;
  static constexpr bool dealt = false;  // by other names the library would be asked with other words
  static std::string name() { return named<T>("gemqr"); }
  static std::vector<std::string> routines() { return {name(), named<T>("geqr")}; }

  char side, trans;
  index m, n, other;
  reference::Kind kind;
  bool refused = false;  ///< geqr has a mistake, and leaves no T
  bool least;            ///< the smallest T and workspaces that there may be
  Matrix<T> A, t, C, identity, work;
  Info geqr_info, gemqr_info, identity_info;

  explicit Gemqr(Draw& draw)
      : side(draw.letter("LR")),
        trans(draw.letter(is_complex<T> ? "NC" : "NT")),
        m(draw.size()),
        n(draw.size()),
        other(draw.size()),
        kind(draw.pick(2) ? reference::Kind::random : reference::Kind::zero_column),
        least(draw.pick(2) == 0),
        A(draw, "A", Role::output, m, n),
        t(draw, "T", Role::output, least ? n + 5 : (n + 5) * 33 + 5, 1),
        C(draw, "C", Role::output, side == 'L' ? m : other, side == 'L' ? other : m),
        identity(draw, "I", Role::output, m, m),
        // On the right LAPACK asks for as many as A has rows.
        work(draw, "work", Role::workspace, std::max(std::max(m, n), other) * (least ? 1 : 33), 1) {
    t.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override { return {&A, &t, &C, &identity, &work}; }
  std::string describe() const override {
    return text(name(), "%c%c m=%ld n=%ld other=%ld", side, trans, long(m), long(n), long(other));
  }
  void prepare(Draw& draw) override {
    Call::prepare(draw);
    const auto hard = reference::matrix_of<T>(kind, m, n, static_cast<unsigned>(draw.below(1000)));
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) A(i, j) = hard(i, j);
    restore(draw);
  }
  void restore(Draw&) override {
    for (index j = 0; j < m; ++j)
      for (index i = 0; i < m; ++i) identity(i, j) = T(i == j);
  }
  bool once() const override { return true; }

  void apply(char on, char op, const Matrix<T>& to, Info& info) {
    const index k = std::min(m, n);
    fortran(name(), on, op, to.rows(), to.cols(), k, A.data(), A.leading(), t.data(), t.leading(), to.data(),
            to.leading(), work.data(), work.leading(), info.address());
  }
  void make() override {
    geqr_info = gemqr_info = identity_info = {};
    fortran(named<T>("geqr"), m, n, A.data(), A.leading(), t.data(), t.leading(), work.data(), work.leading(),
            geqr_info.address());
    if (refused) return;
    apply(side, trans, C, gemqr_info);
    apply('L', 'N', identity, identity_info);
  }
  void judge(const Gemqr& was, Judge& judge) const {
    judge.check("info is not 0", geqr_info.value() == 0 && gemqr_info.value() == 0 && identity_info.value() == 0);
    const index k = std::min(m, n);
    const double allowed = of_reflectors<T>(m, k);
    const Dense<T> q = wide(identity), a = wide(was.A), c = wide(was.C), op = trans == 'N' ? q : q.adjoint();
    judge.at_most("||Q^H A - R||", (q.adjoint() * a - reference::upper_part(m, n, A.data(), A.ld())).norm(),
                  2 * allowed * a.norm());
    judge.at_most("||Q^H Q - I||", reference::orthogonality(q), 2 * allowed * std::sqrt(static_cast<double>(m)));
    judge.at_most("||C - op(Q) C||", (wide(C) - (side == 'L' ? op * c : c * op)).norm(), 2 * allowed * c.norm());
  }

  std::string query() override {
    const index k = std::min(m, n);
    t.tell(-1), work.tell(-1);
    geqr_info = {};
    fortran(named<T>("geqr"), m, n, A.data(), A.leading(), t.data(), t.leading(), work.data(), work.leading(),
            geqr_info.address());
    const bool enough = std::real(t(0, 0)) >= static_cast<Real<T>>(n + 5) &&
                        std::real(work(0, 0)) >= static_cast<Real<T>>(std::max<index>(1, n));
    t.tell(t.rows());
    apply(side, trans, C, gemqr_info);
    const bool room = k == 0 || std::real(work(0, 0)) >= static_cast<Real<T>>(std::min(m, other));
    return geqr_info.value() != 0 || gemqr_info.value() != 0 ? "info is not 0" : enough && room ? "" : "too small";
  }
  bool mistake(int which) override {
    refused = true;
    switch (which) {
      case 0: return A.tell(m - 1), true;
      case 1: return t.tell(n + 4), true;
      case 2: return t.tell(0), true;
      case 3: return work.tell(0), true;
      case 4: return work.tell(-2), true;
      default: return false;
    }
  }
};

JOIN(gemqr, Gemqr<float>, Gemqr<double>, Gemqr<std::complex<float>>, Gemqr<std::complex<double>>);

}  // namespace
}  // namespace suite
