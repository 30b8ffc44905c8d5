// Products with the Q of a reduction, and that Q itself: ormtr, ormhr, ormbr, orgtr, orghr and orgbr, of reflectors as
// geqrf leaves them, as gelqf does (P), and as geqlf does (the upper triangle).
#include "tests/promises/suite/reflectors.hpp"

namespace suite {
namespace {

enum class Of { tridiagonal, hessenberg, bidiagonal };

/// Where a reduction's reflectors are, and which rows they change.
struct Reflectors {
  index order;           ///< of Q
  index k = 0;           ///< bidiagonal: what the call says
  index ilo = 1, ihi{};  ///< hessenberg
  index begin = 1;       ///< the first row that changes; the first reflector begins there
  index first = 0;       ///< its column
  index rows, count;     ///< that change; reflectors
  bool of_p;             ///< bidiagonal: rows of the matrix
  bool upper;            ///< tridiagonal: each ends above its column's diagonal, and Q is of the last one first

  Reflectors(Draw& draw, Of of, index of_order, bool none, bool p, bool in_upper)
      : order(of_order), rows(std::max<index>(0, order - 1)), count(rows), of_p(p), upper(in_upper) {
    if (upper) {
      begin = 0, first = 1;
    } else if (of == Of::hessenberg) {
      const bool all = draw.pick(2) == 1;
      ilo = all || order < 2 ? 1 : 1 + draw.below(int(order - 1));
      ihi = none ? std::min(ilo, order) : all ? order : std::min(order, ilo + 1 + draw.below(int(order - ilo)));
      begin = ilo, first = ilo - 1, rows = count = std::max<index>(0, ihi - ilo);
    } else if (of == Of::bidiagonal) {
      const bool longer = !none && order > 1 && draw.pick(2) == 1;
      k = none ? 0 : longer ? order + draw.size() - of_p : std::clamp<index>(order - of_p, 0, draw.size());
      if (!longer) begin = 0, rows = order, count = k;
    }
  }
  /// Of column j, or of P's row j.
  bool reads(index i, index j) const {
    return j >= first && j < first + count && (upper ? i < j - first : i > begin + j - first && i < begin + rows);
  }
  bool reads_tau(index j) const { return j >= first_tau() && j < first_tau() + count; }
  index first_tau() const { return upper ? 0 : first; }
  index taus(Of of) const { return of == Of::bidiagonal ? std::min(order, k) : std::max<index>(0, order - 1); }

  /// H = I - tau v v^H as suite::make_tau has it.
  template <class T>
  void make_tau(Draw& draw, const Matrix<T>& A, Matrix<T>& tau) const {
    for (index j = first; j < first + count; ++j) {
      Real<T> sum = 1;
      for (index i = 0; i < (of_p ? A.cols() : A.rows()); ++i)
        if (reads(i, j)) sum += std::norm(of_p ? A(j, i) : A(i, j));
      const double angle = 3 * draw.number();
      tau(j - first + first_tau(), 0) = draw.below(8) == 0 ? T(0)
                                        : is_complex<T>
                                            ? promises::make<T>((1 + std::cos(angle)) / static_cast<double>(sum),
                                                                std::sin(angle) / static_cast<double>(sum))
                                            : T(2 / sum);
    }
  }
  /// C := Q C or Q^H C, for the rows that change.
  template <class T>
  void apply(bool adjointly, const Matrix<T>& A, const Matrix<T>& tau, Dense<T>& C) const {
    const std::vector<T> columns = as_columns(A, of_p);
    const index ld = of_p ? A.cols() : A.rows();
    reference::apply_lapack_q(adjointly, rows, count, columns.data() + begin + first * ld, ld, tau.data() + first_tau(),
                              C, upper);
  }
};

template <class T>
std::string name_of(bool made, Of of) {
  const std::string stem = std::string(is_complex<T> ? "un" : "or") + (made ? "g" : "m");
  return named<T>(stem + (of == Of::tridiagonal ? "tr" : of == Of::hessenberg ? "hr" : "br"));
}

template <class T, Of of>
struct Product : Routine<Product<T, of>> {
  static constexpr bool calls_others = true;
  static constexpr int ways_to_nothing = 3;
  static constexpr bool poison = false;
  static constexpr index largest = 32;
  static constexpr bool shares = false;  // LAPACK's own puts ones on A's diagonal for a moment
  static constexpr std::string_view modes =
      of == Of::tridiagonal ? "parts BLASLIFT_MEMORY=32K SUITE_TALL=no" : "parts BLASLIFT_MEMORY=40K SUITE_TALL=no";
  static std::string name() { return name_of<T>(false, of); }

  char side, trans, uplo, vect;
  index m, n;
  Reflectors q;
  Matrix<T> A, tau, C, work;
  Info info;

  /// Rows, or columns, of C on Q's side.
  static index of_order(Draw& draw, bool none, bool of_p) {
    return of == Of::bidiagonal ? std::max<index>(of_p ? 2 : 1, tall(draw)) : none ? 1 : draw.size(2);
  }
  explicit Product(Draw& draw)
      : side(draw.letter("LR")),
        trans(draw.letter(is_complex<T> ? "NC" : "NT")),
        uplo(of == Of::tridiagonal ? draw.letter("LU") : 'L'),
        vect(of == Of::bidiagonal ? draw.letter("QP") : 'Q'),
        m(draw.nothing(0) ? 0
          : side == 'L'   ? of_order(draw, draw.nothing(2), vect == 'P')
                          : draw.size()),
        n(draw.nothing(1) ? 0
          : side == 'R'   ? of_order(draw, draw.nothing(2), vect == 'P')
                          : draw.size()),
        q(draw, of, side == 'L' ? m : n, draw.nothing(2), vect == 'P', uplo == 'U'),
        A(draw, "A", Role::input, rows_of_a(), q.of_p || of != Of::bidiagonal ? q.order : std::min(q.order, q.k)),
        tau(draw, "tau", Role::input, q.taus(of), 1),
        C(draw, "C", Role::output, m, n),
        work(draw, "work", Role::workspace, std::max<index>(1, side == 'L' ? n : m) * (draw.pick(2) ? 33 : 1), 1) {
    // What the matrix was reduced to shares A with the reflectors: nothing of it is read.
    const bool multiplies = m > 0 && n > 0 && q.count > 0;
    A.use([&](index i, index j) { return multiplies && (q.of_p ? q.reads(j, i) : q.reads(i, j)) ? read : unused; });
    tau.use([&](index j, index) { return multiplies && q.reads_tau(j) ? read : unused; });
    C.use([&](index i, index j) {
      const index along = side == 'L' ? i : j;
      return multiplies && along >= q.begin && along < q.begin + q.rows ? updated : unused;
    });
  }
  index rows_of_a() const { return q.of_p ? std::min(q.order, q.k) : q.order; }
  std::vector<Operand*> operands() override { return {&A, &tau, &C, &work}; }
  std::string describe() const override {
    return text(name(), "%c%c%c%c m=%ld n=%ld k=%ld ilo=%ld ihi=%ld", vect, uplo, side, trans, long(m), long(n),
                long(q.k), long(q.ilo), long(q.ihi));
  }
  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  void restore(Draw& draw) override {
    if (m > 0 && n > 0) q.make_tau(draw, A, tau);
  }

  void make() override {
    info = {};
    if constexpr (of == Of::tridiagonal)
      fortran(name(), side, uplo, trans, m, n, A.data(), A.leading(), tau.data(), C.data(), C.leading(), work.data(),
              work.leading(), info.address());
    else if constexpr (of == Of::hessenberg)
      fortran(name(), side, trans, m, n, q.ilo, q.ihi, A.data(), A.leading(), tau.data(), C.data(), C.leading(),
              work.data(), work.leading(), info.address());
    else
      fortran(name(), vect, side, trans, m, n, q.k, A.data(), A.leading(), tau.data(), C.data(), C.leading(),
              work.data(), work.leading(), info.address());
  }
  /// The part of C that changes, so that Q is on its left.
  Dense<T> part() const {
    const bool left = side == 'L';
    const Dense<T> x =
        Dense<T>::of(left ? q.rows : m, left ? n : q.rows, C.data() + (left ? q.begin : q.begin * C.ld()), C.ld());
    return left ? x : x.adjoint();  // C Q = (Q^H C^H)^H
  }
  void judge(const Product& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (m == 0 || n == 0 || q.count == 0) return;
    Dense<T> due = was.part();
    q.apply((side == 'L') == (trans != 'N'), was.A, was.tau, due);
    judge.at_most("||C - op(Q) C||", (part() - due).norm(), of_reflectors<T>(q.rows, q.count) * due.norm());
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
      case 5: return A.tell(rows_of_a() - 1), true;
      case 6: return C.tell(m - 1), true;
      case 7: return work.tell((side == 'L' ? n : m) - 1), true;
      case 8: return work.tell(-2), true;
      case 9: return (of == Of::tridiagonal ? uplo : of == Of::bidiagonal ? vect : side) = 'X', true;
      case 10: return (of == Of::hessenberg ? q.ilo : of == Of::bidiagonal ? q.k : m) = -1, true;
      case 11: return C.tell(m - 1), work.tell(-1), true;
      case 12: return of == Of::hessenberg && (q.ilo = q.order + 1, true);
      case 13: return q.ihi = q.order + 1, true;
      case 14: return q.ihi = q.ilo - 1, true;
      default: return false;
    }
  }
};

template <class T>
using Ormtr = Product<T, Of::tridiagonal>;
template <class T>
using Ormhr = Product<T, Of::hessenberg>;
template <class T>
using Ormbr = Product<T, Of::bidiagonal>;
JOIN(ormtr, Ormtr<float>, Ormtr<double>, Ormtr<std::complex<float>>, Ormtr<std::complex<double>>);
JOIN(ormhr, Ormhr<float>, Ormhr<double>, Ormhr<std::complex<float>>, Ormhr<std::complex<double>>);
JOIN(ormbr, Ormbr<float>, Ormbr<double>, Ormbr<std::complex<float>>, Ormbr<std::complex<double>>);

template <class T, Of of>
struct Made : Routine<Made<T, of>> {
  static constexpr bool calls_others = true;
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr index largest = 32;
  static constexpr bool moves_outputs = false;  // the identity's rows and columns are not sent
  static constexpr std::string_view modes = "parts BLASLIFT_MEMORY=40K SUITE_TALL=no";
  static std::string name() { return name_of<T>(true, of); }

  char uplo, vect;
  index shorter, longer, m, n;
  Reflectors q;
  Matrix<T> A, tau, work;
  Info info;

  /// What is longer than wide, or with P wider than long, may have more columns, or rows, than reflectors.
  explicit Made(Draw& draw)
      : uplo(of == Of::tridiagonal ? draw.letter("LU") : 'L'),
        vect(of == Of::bidiagonal ? draw.letter("QP") : 'Q'),
        shorter(draw.nothing(0)        ? 0
                : of == Of::bidiagonal ? draw.size(vect == 'P' ? 2 : 1)
                : draw.nothing(1)      ? 1
                                       : draw.size(2)),
        longer(of == Of::bidiagonal && draw.pick(2) ? shorter + tall(draw) - 1 : shorter),
        m(vect == 'P' ? shorter : longer),
        n(vect == 'P' ? longer : shorter),
        q(draw, of, longer, draw.nothing(1), vect == 'P', uplo == 'U'),
        A(draw, "A", Role::output, m, n),
        tau(draw, "tau", Role::input, (limit(), q.taus(of)), 1),
        work(draw, "work", Role::workspace, least() * (draw.pick(2) ? 33 : 1), 1) {
    A.use([&](index i, index j) { return (q.of_p ? q.reads(j, i) : q.reads(i, j)) ? updated : written; });
    tau.use([&](index j, index) { return q.reads_tau(j) ? read : unused; });
  }
  void limit() {
    if (of != Of::bidiagonal || m == n) return;
    q.k = q.count = std::min(shorter, q.k), q.begin = 0, q.rows = longer;
  }
  index least() const {
    return std::max<index>(1, of == Of::tridiagonal ? n - 1 : of == Of::hessenberg ? q.ihi - q.ilo : std::min(m, n));
  }
  std::vector<Operand*> operands() override { return {&A, &tau, &work}; }
  std::string describe() const override {
    return text(name(), "%c%c m=%ld n=%ld k=%ld ilo=%ld ihi=%ld", vect, uplo, long(m), long(n), long(q.k), long(q.ilo),
                long(q.ihi));
  }
  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  void restore(Draw& draw) override {
    if (shorter > 0) q.make_tau(draw, A, tau);
  }
  bool once() const override { return true; }

  void make() override {
    info = {};
    if constexpr (of == Of::tridiagonal)
      fortran(name(), uplo, n, A.data(), A.leading(), tau.data(), work.data(), work.leading(), info.address());
    else if constexpr (of == Of::hessenberg)
      fortran(name(), n, q.ilo, q.ihi, A.data(), A.leading(), tau.data(), work.data(), work.leading(), info.address());
    else
      fortran(name(), vect, m, n, q.k, A.data(), A.leading(), tau.data(), work.data(), work.leading(), info.address());
  }
  void judge(const Made& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (shorter == 0) return;
    Dense<T> due(q.rows, std::min(q.rows, shorter - q.begin));
    for (index j = 0; j < due.cols(); ++j) due(j, j) = 1;
    if (q.count > 0) q.apply(false, was.A, was.tau, due);
    if (q.of_p) due = due.adjoint();  // of the Q that a QR would have
    const auto inside = [&](index i) { return i >= q.begin && i < q.begin + q.rows; };
    bool is_identity = true;
    long double off = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i)
        if (inside(i) && inside(j))
          off += static_cast<long double>(std::norm(Number(A(i, j)) - Number(due(i - q.begin, j - q.begin))));
        else
          is_identity = is_identity && A(i, j) == T(i == j ? 1 : 0);
    judge.check("beside Q's part there is no identity", is_identity);
    judge.at_most("||A - Q||", static_cast<double>(std::sqrt(off)),
                  q.count == 0 ? 0 : of_reflectors<T>(q.rows, q.count) * due.norm());
  }
  using Number = std::complex<long double>;

  std::string query() override {
    work.tell(-1);
    make();
    const bool enough = std::real(work(0, 0)) >= static_cast<Real<T>>(least());
    return info.value() != 0 ? "info is not 0" : enough ? "" : "work(1) is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return n = -1, true;
      case 1: return A.tell(m - 1), true;
      case 2: return work.tell(least() - 1), true;
      case 3: return work.tell(-2), true;
      case 4: return (of == Of::tridiagonal ? uplo : vect) = 'X', of != Of::hessenberg || (n = -1, true);
      case 5: return (of == Of::hessenberg ? q.ilo : of == Of::bidiagonal ? q.k : n) = -1, true;
      case 6: return of != Of::tridiagonal && ((of == Of::hessenberg ? q.ihi : vect == 'P' ? m : n) = longer + 1, true);
      case 7: return of == Of::bidiagonal ? (m = -1, true) : (q.ilo = n + 1, true);
      case 8: return of == Of::hessenberg && (q.ihi = q.ilo - 1, true);
      default: return false;
    }
  }
};

template <class T>
using Orgtr = Made<T, Of::tridiagonal>;
template <class T>
using Orghr = Made<T, Of::hessenberg>;
template <class T>
using Orgbr = Made<T, Of::bidiagonal>;
JOIN(orgtr, Orgtr<float>, Orgtr<double>, Orgtr<std::complex<float>>, Orgtr<std::complex<double>>);
JOIN(orghr, Orghr<float>, Orghr<double>, Orghr<std::complex<float>>, Orghr<std::complex<double>>);
JOIN(orgbr, Orgbr<float>, Orgbr<double>, Orgbr<std::complex<float>>, Orgbr<std::complex<double>>);

}  // namespace
}  // namespace suite
