// What least squares by all of LAPACK's drivers have in common: what may be off, and the call.  gelsy has no matrices
// with more columns than rows: these stay (least_squares.py).
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/promises/suite/svd.hpp"

namespace suite {

enum class By { pivots, halves, iterations, full_rank };  ///< gelsy, gelsd, gelss, gels

/// xGELSY, xGELSD, xGELSS or xGELS.
template <class T, By by>
struct LeastSquares : Routine<LeastSquares<T, by>> {
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // R comes home, and A does not
  static constexpr bool calls_others = true;
  static constexpr bool in_device_memory = false;  // the library underneath solves with R
  static constexpr bool pivots = by == By::pivots, halves = by == By::halves, full_rank = by == By::full_rank;
  static constexpr index largest = 32;
  static std::string name() { return named<T>(pivots ? "gelsy" : halves ? "gelsd" : full_rank ? "gels" : "gelss"); }

  char trans;  ///< of gels
  index one, other;
  bool wide;
  index m, n, k, longer, nrhs;  ///< k: the shorter side
  bool deficient;               ///< A's last column is its first one; of a wide one its last row
  Real<T> rcond;
  Matrix<T> A, B;
  Integers jpvt;
  Matrix<Real<T>> s;
  Integers rank;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  Integers iwork;
  Info info;

  explicit LeastSquares(Draw& draw)
      : trans(full_rank && draw.pick(2) == 1 ? adjoint_letter : 'N'),
        one(draw.size()),
        other(draw.size()),
        wide(!pivots && draw.pick(full_rank ? 2 : 3) == 1),
        m(draw.nothing(0) || (wide && draw.nothing(1)) ? 0
          : wide                                       ? std::min(one, other)
                                                       : std::max(one, other)),
        n(draw.nothing(0) || (!wide && draw.nothing(1)) ? 0
          : wide                                        ? std::max(one, other)
                                                        : std::min(one, other)),
        k(std::min(m, n)),
        longer(std::max(m, n)),
        nrhs(1 + draw.below(5)),
        deficient(!full_rank && k > 2 && draw.pick(3) == 0),
        rcond(deficient ? Real<T>(1e-4)
                        : std::array<Real<T>, 3>{Real<T>(-1), 0, Real<T>(1e-5)}[std::size_t(draw.pick(3))]),
        A(draw, "A", Role::output, m, n),
        B(draw, "B", Role::output, longer, nrhs),
        jpvt(draw, "jpvt", Role::output, pivots ? n : 0),
        s(draw, "s", Role::output, pivots || full_rank ? 0 : k, 1),
        rank(draw, "rank", Role::output, 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() + (draw.pick(2) ? 66 * (longer + nrhs) : 0), 1),
        rwork(draw, "rwork", Role::workspace, least_rwork(), 1),
        iwork(draw, "iwork", Role::workspace, std::max<index>(1, k * (3 * levels() + 11))) {
    const bool nothing = m == 0 || n == 0;
    A.use([nothing](index, index) { return nothing ? unused : updated; });
    // Where A has no columns, gels makes B zero.
    // Below b there is room for x.
    B.use([nothing, rows = equations()](index i, index) {
      return nothing ? (full_rank ? written : unused) : i < rows ? updated : written;
    });
    jpvt.use([nothing](index, index) { return nothing ? unused : updated; });
    s.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    std::vector<Operand*> all{&A, &B, &work};
    if constexpr (full_rank) return all;
    all.push_back(&rank);
    pivots ? all.push_back(&jpvt) : all.push_back(&s);
    if constexpr (is_complex<T>) all.push_back(&rwork);
    if constexpr (halves) all.push_back(&iwork);
    return all;
  }
  std::string describe() const override {
    return text(name(), "trans=%c m=%ld n=%ld nrhs=%ld rcond=%g", trans, long(m), long(n), long(nrhs), double(rcond));
  }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  bool once() const override { return deficient; }
  void restore(Draw& draw) override {
    for (index i = 0; deficient && i < longer; ++i) (wide ? A(k - 1, i) : A(i, k - 1)) = wide ? A(0, i) : A(i, 0);
    // Mostly free ones; with the same column twice in front, a rank would stop there.
    for (index j = 0; pivots && j < n; ++j) jpvt.set(j, !deficient && draw.below(5) == 0 ? 3 : 0);
  }

  static constexpr char adjoint_letter = is_complex<T> ? 'C' : 'T';
  bool adjoint() const { return trans == adjoint_letter; }
  index equations() const { return adjoint() ? n : m; }
  index unknowns() const { return adjoint() ? m : n; }
  /// There are more unknowns than equations.
  bool shortest() const { return equations() < unknowns(); }

  // As the drivers have it.
  static constexpr index smallest = 25;
  index levels() const {
    const double size = static_cast<double>(std::max<index>(1, k)) / (smallest + 1);
    index parts = size > 0.5 ? 1 : 0;
    for (double rest = size; rest >= 2; rest /= 2) ++parts;
    return parts;
  }
  index least_work() const {
    if (full_rank) return std::max<index>(1, k + std::max(k, nrhs));
    // Of reals gelsy itself accepts less, with which its geqp3 fails.
    if (pivots && !is_complex<T>) return n == 0 ? 1 : n + std::max(3 * n + 1, n + nrhs);
    if (pivots) return n + std::max({2 * n, n + 1, n + nrhs});
    const index rows = m >= static_cast<index>(static_cast<float>(n) * 1.6f) ? n : m;  // of R
    if (halves) {
      const index of_side = wide ? (is_complex<T> ? n : m) : rows;
      if (is_complex<T>) return std::max<index>(1, 2 * k + std::max(of_side, k * nrhs));
      const index of_halves = 9 * k + 2 * k * smallest + 8 * k * levels() + k * nrhs + (smallest + 1) * (smallest + 1);
      return 3 * std::max<index>(1, k) + std::max({of_side, nrhs, of_halves});
    }
    if (k == 0) return 1;
    return is_complex<T> ? 2 * k + std::max(nrhs, longer) : std::max({3 * k + (wide ? n : rows), 3 * k + nrhs, 5 * k});
  }
  index least_rwork() const {
    if (!halves) return std::max<index>(1, (pivots ? 2 : 5) * k);
    return 10 * k + 2 * k * smallest + 8 * k * levels() + 3 * smallest * nrhs +
           std::max((smallest + 1) * (smallest + 1), k * (1 + nrhs) + 2 * nrhs);
  }

  void make() override {
    info = {};
    if constexpr (full_rank)
      return fortran(name(), trans, m, n, nrhs, A.data(), A.leading(), B.data(), B.leading(), work.data(),
                     work.leading(), info.address());
    const auto call = [&](void* values, auto... rest) {
      fortran(name(), m, n, nrhs, A.data(), A.leading(), B.data(), B.leading(), values, &rcond, rank.data(),
              work.data(), work.leading(), rest..., info.address());
    };
    void* const values = pivots ? jpvt.data() : static_cast<void*>(s.data());
    if constexpr (halves && is_complex<T>)
      call(values, rwork.data(), iwork.data());
    else if constexpr (halves)
      call(values, iwork.data());
    else if constexpr (is_complex<T>)
      call(values, rwork.data());
    else
      call(values);
  }

  /// As a backward stable method has it: A^H (b - A x) is within a few m eps of |A| (|A| |x| + |b|) (Higham, Accuracy
  /// and Stability, theorem 20.3), and so are singular values, of |A|.
  void judge(const LeastSquares& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (!full_rank && (m == 0 || n == 0)) judge.check("rank is not 0", rank[0] == 0);
    if (m == 0 || n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(told_least()));
    const index rows = equations(), cols = unknowns();
    std::vector<Wide<T>> matrix(static_cast<std::size_t>(m * n));  // or its adjoint
    const auto a = [&](index i, index j) -> Wide<T>& { return matrix[static_cast<std::size_t>(i + j * rows)]; };
    long double squares = 0;
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i)
        squares += std::norm(a(i, j) = adjoint() ? promises::conjugate<T>(widen(was.A(j, i))) : widen(was.A(i, j)));
    const long double few = 8 * unit<T>(longer), size = std::sqrt(squares);
    const std::vector<long double> due = singular_values_of(a);
    // gelsy's estimates of condition may be off by the order.
    const long double off = pivots ? 10 * static_cast<long double>(n) : 1,
                      cut = std::max<long double>(rcond, 0) * due[0];
    const auto above = [&](long double value) {
      return std::count_if(due.begin(), due.end(), [value](long double x) { return x > value; });
    };
    const index found = full_rank ? k : rank[0], least = full_rank ? k : above(cut * off + few * size),
                most = cut > 0 ? above(cut / off - few * size) : k;
    if (!full_rank) judge.check("rank is wrong", found >= least && found <= most);
    if (deficient) judge.check("the rank of a matrix with a column twice is full", found < k);
    for (index i = 0; !pivots && !full_rank && i < k; ++i)
      judge.at_most(
          "a singular value is off",
          static_cast<double>(std::fabs(static_cast<long double>(s(i, 0)) - due[static_cast<std::size_t>(i)])),
          static_cast<double>(few * size));
    if (pivots) check_pivots(was, judge);
    if (full_rank) check_triangle(was, squares, judge);
    if (by == By::iterations && leaves_vectors()) check_vectors(matrix, due, few, size, judge);
    const long double left_out = found < k ? due[static_cast<std::size_t>(found)] * off : 0;
    for (index j = 0; j < nrhs; ++j) {
      long double of_x = 0, of_b = 0, of_rest = 0, below = 0, of_gradient = 0;
      for (index i = 0; i < cols; ++i) of_x += std::norm(widen(B(i, j)));
      std::vector<Wide<T>> rest;
      for (index i = 0; i < rows; ++i) {
        Sum<T> sum;
        sum.add(widen(was.B(i, j)), Wide<T>(1));
        for (index q = 0; q < cols; ++q) sum.add(-a(i, q), widen(B(q, j)));
        rest.push_back(sum.value);
        of_rest += std::norm(sum.value);
        of_b += std::norm(widen(was.B(i, j)));
        if (i >= cols) below += std::norm(widen(B(i, j)));
      }
      for (index q = 0; q < cols; ++q) {
        Sum<T> sum;
        for (index i = 0; i < rows; ++i) sum.add(promises::conjugate<T>(a(i, q)), rest[static_cast<std::size_t>(i)]);
        of_gradient += std::norm(sum.value);
      }
      const long double x = std::sqrt(of_x), all = size * x + std::sqrt(of_b);
      judge.at_most("A^H (b - A x)", static_cast<double>(std::sqrt(of_gradient)),
                    static_cast<double>(few * size * all + left_out * all));
      if (found == k && !pivots && !shortest())
        judge.at_most("what is below x", static_cast<double>(std::fabs(std::sqrt(below) - std::sqrt(of_rest))),
                      static_cast<double>(few * all));
      // Of all solutions the shortest has the same there; and nothing that A maps to zero.
      if (shortest())
        judge.at_most(
            "x is not the shortest", static_cast<double>(beside_rows(a, j)),
            static_cast<double>(few * due[0] / due[static_cast<std::size_t>(std::clamp<index>(found, 1, k) - 1)] * x));
      if (deficient && !wide && found == n - 1)
        judge.at_most("x is not the shortest", static_cast<double>(std::abs(widen(B(0, j)) - widen(B(n - 1, j)))),
                      static_cast<double>(few * due[0] / due[static_cast<std::size_t>(n - 2)] * x));
    }
  }

  /// In descending order; of the adjoint they are the same.
  template <class Element>
  std::vector<long double> singular_values_of(const Element& a) const {
    std::vector<Wide<T>> columns;
    for (index j = 0; j < k; ++j)
      for (index i = 0; i < longer; ++i) columns.push_back(shortest() ? promises::conjugate<T>(a(j, i)) : a(i, j));
    return singular_values<T>(columns, longer, k);
  }

  /// The length of what a column of X has beside the span of A's rows, which are made orthogonal twice.
  template <class Element>
  long double beside_rows(const Element& a, index column) const {
    std::vector<std::vector<Wide<T>>> basis;
    const auto rest_of = [&](std::vector<Wide<T>> v) {
      for (int pass = 0; pass < 2; ++pass)
        for (const auto& q : basis) {
          Wide<T> sum(0);
          for (index i = 0; i < unknowns(); ++i) sum += promises::conjugate<T>(q[std::size_t(i)]) * v[std::size_t(i)];
          for (index i = 0; i < unknowns(); ++i) v[std::size_t(i)] -= sum * q[std::size_t(i)];
        }
      return v;
    };
    const auto length = [](const std::vector<Wide<T>>& v) {
      long double squares = 0;
      for (const Wide<T>& x : v) squares += std::norm(x);
      return std::sqrt(squares);
    };
    for (index row = 0; row < k - deficient; ++row) {
      std::vector<Wide<T>> v;
      for (index i = 0; i < unknowns(); ++i) v.push_back(promises::conjugate<T>(a(row, i)));
      v = rest_of(std::move(v));
      const Wide<T> size(static_cast<Real<Wide<T>>>(length(v)));
      for (Wide<T>& x : v) x /= size;
      basis.push_back(std::move(v));
    }
    std::vector<Wide<T>> x;
    for (index i = 0; i < unknowns(); ++i) x.push_back(widen(B(i, column)));
    return length(rest_of(std::move(x)));
  }

  void check_pivots(const LeastSquares& was, Judge& judge) const {
    std::vector<bool> seen(static_cast<std::size_t>(n));
    bool first = true;
    for (index j = 0; j < n; ++j) {
      const index column = jpvt[j] - 1;
      const bool right = column >= 0 && column < n && !seen[static_cast<std::size_t>(column)];
      judge.check("jpvt has no columns", right);
      if (!right) return;
      seen[static_cast<std::size_t>(column)] = true;
      const bool was_first = was.jpvt[column] != 0;
      judge.check("a column that comes first is behind others", first || !was_first);
      first = was_first;
    }
  }

  /// R^H R = A^H A of the R in A's upper triangle, or L L^H = A A^H of the L in its lower one.
  void check_triangle(const LeastSquares& was, long double squares, Judge& judge) const {
    const auto column = [this](const Matrix<T>& x, index i, index j) {
      return m < n ? promises::conjugate<T>(widen(x(j, i))) : widen(x(i, j));
    };
    for (index j = 0; j < k; ++j)
      for (index q = 0; q <= j; ++q) {
        Sum<T> sum;
        for (index i = 0; i < longer; ++i) sum.add(promises::conjugate<T>(column(was.A, i, q)), column(was.A, i, j));
        for (index i = 0; i <= q; ++i) sum.add(-promises::conjugate<T>(column(A, i, q)), column(A, i, j));
        judge.at_most("the triangle is not A's", static_cast<double>(std::abs(sum.value)),
                      static_cast<double>(8 * unit<T>(longer) * squares));
      }
  }

  /// Whether the library's gelss does as it is documented: with an LQ of many columns first it leaves that in A.
  bool leaves_vectors() const { return !wide || n < static_cast<index>(static_cast<float>(m) * 1.6f); }

  /// Right singular vectors in A's first rows.
  void check_vectors(const std::vector<Wide<T>>& matrix, const std::vector<long double>& due, long double few,
                     long double size, Judge& judge) const {
    for (index q = 0; q < k; ++q) {
      for (index p = 0; p <= q; ++p) {
        Sum<T> sum;
        for (index i = 0; i < n; ++i) sum.add(widen(A(p, i)), promises::conjugate<T>(widen(A(q, i))));
        judge.at_most("V^H V is not I", static_cast<double>(std::abs(sum.value - Wide<T>(p == q ? 1 : 0))),
                      static_cast<double>(few));
      }
      long double length = 0;
      for (index i = 0; i < m; ++i) {
        Sum<T> sum;
        for (index j = 0; j < n; ++j)
          sum.add(matrix[static_cast<std::size_t>(i + j * m)], promises::conjugate<T>(widen(A(q, j))));
        length += std::norm(sum.value);
      }
      judge.at_most("|A v| is not s",
                    static_cast<double>(std::fabs(std::sqrt(length) - due[static_cast<std::size_t>(q)])),
                    static_cast<double>(few * size));
    }
  }

  /// What any version tells.
  index told_least() const { return 2 * k; }
  std::string query() override {
    work.tell(-1);
    make();
    if (info.value() != 0) return "info is not 0";
    return std::real(work(0, 0)) >= Real<T>(least_work()) ? "" : "the workspace is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return m = -1, true;
      case 1: return n = -1, true;
      case 2: return nrhs = -1, true;
      case 3: return A.tell(m - 1), true;
      case 4: return B.tell(m - 1), true;
      case 5: return work.tell(0), true;
      case 6: return work.tell(-2), true;
      case 7: return m = -1, work.tell(-1), true;
      case 9: return full_rank ? trans = 'X', true : (m = -1, true);
      case 8: return pivots && !is_complex<T> ? work.tell(0) : work.tell(least_work() - 1), true;
      default: return false;
    }
  }
};

}  // namespace suite
