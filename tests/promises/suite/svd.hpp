// What singular value decompositions by both of LAPACK's drivers have in common: what may be off, and the call.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/promises/suite/values.hpp"

namespace suite {

/// xGESDD or, otherwise, xGESVD.
template <class T, bool halves>
struct SingularValues : Routine<SingularValues<T, halves>> {
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of A nothing moves as a rule, and of s nothing is counted
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static std::string name() { return named<T>(halves ? "gesdd" : "gesvd"); }

  char jobu, jobvt;  ///< as they are asked for
  index m, n, k, longer;
  char u, vt;  ///< and what that comes to
  Matrix<T> A;
  Matrix<Real<T>> s;
  Matrix<T> U, VT, work;
  Matrix<Real<T>> rwork;
  Integers iwork;
  Info info;

  explicit SingularValues(Draw& draw)
      : jobu(draw.letter("ASON")),
        jobvt(halves ? jobu : draw.letter(jobu == 'O' ? "ASN" : "ASON")),
        m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.nothing(1) ? 0 : draw.size()),
        k(std::min(m, n)),
        longer(std::max(m, n)),
        u(halves && jobu == 'O' && m < n ? 'A' : jobu),
        vt(halves && jobvt == 'O' && m >= n ? 'A' : jobvt),
        A(draw, "A", Role::output, m, n),
        s(draw, "s", Role::output, k, 1),
        U(draw, "U", Role::output, apart(u) ? m : 0, apart(u) ? vectors(u, m) : 0),
        VT(draw, "VT", Role::output, apart(vt) ? vectors(vt, n) : 0, apart(vt) ? n : 0),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() + (draw.pick(2) ? 66 * longer : 0), 1),
        rwork(draw, "rwork", Role::workspace, least_rwork(), 1),
        iwork(draw, "iwork", Role::workspace, std::max<index>(1, 8 * k)) {
    A.use([this](index, index) { return k > 0 ? updated : unused; });
    s.use([](index, index) { return written; });
    for (Operand* matrix : {&U, &VT}) matrix->use([this](index, index) { return k > 0 ? written : unused; });
  }
  static bool apart(char job) { return job == 'A' || job == 'S'; }
  index vectors(char job, index all) const { return job == 'A' ? all : job == 'N' ? 0 : k; }
  std::vector<Operand*> operands() override {
    std::vector<Operand*> all{&A, &s, &U, &VT, &work};
    if constexpr (is_complex<T>) all.push_back(&rwork);
    if constexpr (halves) all.push_back(&iwork);
    return all;
  }
  std::string describe() const override { return text(name(), "%c%c m=%ld n=%ld", jobu, jobvt, long(m), long(n)); }
  /// As LAPACK's documentation has it.
  index least_work() const {
    index least = is_complex<T> ? 2 * k + longer : std::max(3 * k + longer, 5 * k);
    if constexpr (halves) switch (jobu) {
        case 'N': least = is_complex<T> ? 2 * k + longer : 3 * k + std::max(longer, 7 * k); break;
        case 'O':
          least = is_complex<T> ? 2 * k * k + 2 * k + longer : 3 * k + std::max(longer, 5 * k * k + 4 * k);
          break;
        case 'S': least = is_complex<T> ? k * k + 3 * k : 4 * k * k + 7 * k; break;
        default: least = is_complex<T> ? k * k + 2 * k + longer : 4 * k * k + 6 * k + longer;
      }
    return std::max<index>(1, least);
  }
  /// What any version tells: gesdd's tell less than their documentation.
  Real<T> told_least() const { return static_cast<Real<T>>(halves ? 2 * k : least_work()); }
  index least_rwork() const {
    if (!halves) return std::max<index>(1, 5 * k);
    return jobu == 'N' ? std::max<index>(1, 7 * k)
                       : std::max({index{1}, 5 * k * k + 7 * k, 2 * longer * k + 2 * k * k + k});
  }

  void make() override {
    info = {};
    const auto call = [&](auto... letters) {
      const auto with = [&](auto... rest) {
        fortran(name(), letters..., m, n, A.data(), A.leading(), s.data(), U.data(), U.leading(), VT.data(),
                VT.leading(), work.data(), work.leading(), rest..., info.address());
      };
      if constexpr (halves && is_complex<T>)
        with(rwork.data(), iwork.data());
      else if constexpr (halves)
        with(iwork.data());
      else if constexpr (is_complex<T>)
        with(rwork.data());
      else
        with();
    };
    if constexpr (halves)
      call(jobu);
    else
      call(jobu, jobvt);
  }

  /// Backward stable: everything within a few max(m, n) eps of |A|, by Frobenius's norm (LAPACK Users' Guide, 4.9).
  void judge(const SingularValues& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (k == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= told_least());
    std::vector<Wide<T>> matrix(static_cast<std::size_t>(m * n));
    const auto a = [&](index i, index j) -> Wide<T>& { return matrix[static_cast<std::size_t>(i + j * m)]; };
    long double squares = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) squares += std::norm(a(i, j) = widen(was.A(i, j)));
    const long double few = 8 * unit<T>(longer), size = std::sqrt(squares);
    // Vectors of both sides, with what is judged of them, leave no choice of values (Weyl).
    const index left = vectors(u, m), right = vectors(vt, n);
    std::vector<long double> due;
    if (left == 0 || right == 0) due = singular_values<T>(matrix, m, n);
    for (index i = 0; i < k; ++i) {
      if (!due.empty())
        judge.at_most(
            "a singular value is off",
            static_cast<double>(std::fabs(static_cast<long double>(s(i, 0)) - due[static_cast<std::size_t>(i)])),
            static_cast<double>(few * size));
      judge.check("s does not descend to 0", s(i, 0) >= (i + 1 < k ? s(i + 1, 0) : Real<T>(0)));
    }
    // Left vectors in columns, right ones in rows.
    const auto of_u = [&](index i, index j) { return widen((u == 'O' ? A : U)(i, j)); };
    const auto of_vt = [&](index i, index j) { return widen((vt == 'O' ? A : VT)(i, j)); };
    const auto check_unitary = [&](const char* what, index count, index order, const auto& element) {
      for (index q = 0; q < count; ++q)
        for (index p = 0; p <= q; ++p) {
          Sum<T> product;
          for (index i = 0; i < order; ++i) product.add(promises::conjugate<T>(element(i, p)), element(i, q));
          judge.at_most(what, static_cast<double>(std::abs(product.value - Wide<T>(p == q ? 1 : 0))),
                        static_cast<double>(few));
        }
    };
    check_unitary("U^H U is not I", left, m, of_u);
    check_unitary("V^H V is not I", right, n, [&](index i, index j) { return promises::conjugate<T>(of_vt(j, i)); });
    if (left > 0 && right > 0) {
      long double off = 0;
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < m; ++i) {
          Sum<T> rest;
          for (index q = 0; q < k; ++q) rest.add(of_u(i, q) * widen(s(q, 0)), of_vt(q, j));
          off += std::norm(rest.value - a(i, j));
        }
      judge.at_most("|A - U diag(s) V^H|", static_cast<double>(std::sqrt(off)), static_cast<double>(few * size));
      return;
    }
    // Of one side: A A^H u = s^2 u, or A^H A v = s^2 v.
    for (index q = 0; q < (left > 0 || right > 0 ? k : 0); ++q) {
      const index order = left > 0 ? m : n, others = left > 0 ? n : m;
      std::vector<Wide<T>> x, y;
      for (index i = 0; i < order; ++i) x.push_back(left > 0 ? of_u(i, q) : promises::conjugate<T>(of_vt(q, i)));
      for (index j = 0; j < others; ++j) {
        Sum<T> sum;
        for (index i = 0; i < order; ++i)
          sum.add(left > 0 ? promises::conjugate<T>(a(i, j)) : a(j, i), x[static_cast<std::size_t>(i)]);
        y.push_back(sum.value);
      }
      long double off = 0;
      for (index i = 0; i < order; ++i) {
        Sum<T> sum;
        for (index j = 0; j < others; ++j)
          sum.add(left > 0 ? a(i, j) : promises::conjugate<T>(a(j, i)), y[static_cast<std::size_t>(j)]);
        const WideReal<T> value = s(q, 0);
        off += std::norm(sum.value - x[static_cast<std::size_t>(i)] * (value * value));
      }
      judge.at_most("|A A^H u - s^2 u|", static_cast<double>(std::sqrt(off)), static_cast<double>(few * squares));
    }
  }

  std::string query() override {
    work.tell(-1);
    make();
    if (info.value() != 0) return "info is not 0";
    return std::real(work(0, 0)) >= told_least() ? "" : "the workspace is too small";
  }
  bool mistake(int which) override {
    const auto ask_for = [this](char job) { jobu = job, jobvt = job; };
    switch (which) {
      case 0: return ask_for('X'), true;
      case 1: return m = -1, true;
      case 2: return n = -1, true;
      case 3: return A.tell(m - 1), true;
      case 4: return U.tell(0), true;
      case 5: return VT.tell(0), true;
      case 6: return ask_for('A'), U.tell(m - 1), VT.tell(n), true;
      case 7: return ask_for('A'), U.tell(m), VT.tell(n - 1), true;
      case 8: return ask_for('S'), U.tell(m), VT.tell(k - 1), true;
      case 9: return work.tell(0), true;
      case 10: return work.tell(-2), true;
      case 11: return m = -1, work.tell(-1), true;
      case 12: return halves ? A.tell(0) : ask_for('O'), true;
      default: return false;
    }
  }
};

}  // namespace suite
