// A = Q B P^H, in LAPACK's format: a bidiagonal B in its place and in d and e, reflectors of Q below and of P beside
// it.
#include <cmath>
#include <utility>
#include <vector>

#include "tests/promises/suite/reflectors.hpp"

namespace suite {
namespace {

template <class T>
struct Gebrd : Routine<Gebrd<T>> {
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of the vectors nothing is counted
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  /// At which no matrix is as small as vectors are: these lie in the host's memory, when all matrices lie in a
  /// device's.
  static constexpr index least_on_device = 16, bytes_on_device = 800;
  static std::string name() { return named<T>("gebrd"); }

  index m, n, k;
  Matrix<T> A;
  Matrix<Real<T>> d, e;
  Matrix<T> tauq, taup, work;
  Info info;

  explicit Gebrd(Draw& draw)
      : m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.nothing(1) ? 0 : draw.size()),
        k(std::min(m, n)),
        A(draw, "A", Role::output, m, n),
        d(draw, "d", Role::output, k, 1),
        e(draw, "e", Role::output, std::max<index>(0, k - 1), 1),
        tauq(draw, "tauq", Role::output, k, 1),
        taup(draw, "taup", Role::output, k, 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least() * (draw.pick(2) ? 33 : 1), 1) {
    A.use([this](index, index) { return k > 0 ? updated : unused; });
    for (Operand* vector : {static_cast<Operand*>(&d), static_cast<Operand*>(&e), static_cast<Operand*>(&tauq),
                            static_cast<Operand*>(&taup)})
      vector->use([](index, index) { return written; });
  }
  index least() const { return std::max({index{1}, m, n}); }
  std::vector<Operand*> operands() override { return {&A, &d, &e, &tauq, &taup, &work}; }
  std::string describe() const override { return text(name(), "m=%ld n=%ld", long(m), long(n)); }

  void make() override {
    info = {};
    fortran(name(), m, n, A.data(), A.leading(), d.data(), e.data(), tauq.data(), taup.data(), work.data(),
            work.leading(), info.address());
  }

  static Wide<T> adjoint_of(Wide<T> x) { return promises::conjugate<T>(x); }
  /// Of Q or P the i-th reflector's j-th element, with the `shift` with which these begin below the diagonal.
  Wide<T> reflector(bool of_q, index shift, index i, index j) const {
    if (j <= i + shift) return Wide<T>(j == i + shift ? 1 : 0);
    return of_q ? widen(A(j, i)) : adjoint_of(widen(A(i, j)));
  }
  void check_unitary(Judge& judge, const std::vector<Wide<T>>& v, Wide<T> tau) const {
    long double squares = 0;
    for (const Wide<T>& x : v) squares += std::norm(x);
    judge.at_most("a reflector is not unitary",
                  static_cast<double>(std::fabs(std::norm(tau) * squares - 2 * std::real(tau))),
                  static_cast<double>(4 * unit<T>(std::max(m, n))));
  }

  /// Backward stable: |A - Q B P^H| within a few max(m, n) eps of |A|, by Frobenius's norm (Higham, Accuracy and
  /// Stability, 19.3).
  void judge(const Gebrd& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (k == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(least()));
    std::vector<Wide<T>> product(static_cast<std::size_t>(m * n));
    const auto at = [&](index i, index j) -> Wide<T>& { return product[static_cast<std::size_t>(i + j * m)]; };
    const bool tall = m >= n;
    for (index i = 0; i < k; ++i) {
      at(i, i) = Wide<T>(d(i, 0));
      judge.check("A's diagonal is not d", std::real(A(i, i)) == d(i, 0) && std::imag(A(i, i)) == 0);
      if (i + 1 == k) break;
      const index row = tall ? i : i + 1, col = tall ? i + 1 : i;
      at(row, col) = Wide<T>(e(i, 0));
      judge.check("what is beside A's diagonal is not e",
                  std::real(A(row, col)) == e(i, 0) && std::imag(A(row, col)) == 0);
    }
    for (index i = k; i-- > 0;) {
      for (const bool of_q : {true, false}) {
        const index order = of_q ? m : n, others = of_q ? n : m, shift = of_q == tall ? 0 : 1;
        const Wide<T> tau = widen(of_q ? tauq(i, 0) : taup(i, 0));
        if (shift == 1 && i + 1 == k) {
          judge.check("the last reflector is one", tau == Wide<T>{});
          continue;
        }
        std::vector<Wide<T>> v;
        for (index j = 0; j < order; ++j) v.push_back(reflector(of_q, shift, i, j));
        check_unitary(judge, v, tau);
        // H C, or C G^H: the same of C's rows with everything conjugated.
        for (index q = 0; q < others; ++q) {
          const auto element = [&](index j) -> Wide<T>& { return of_q ? at(j, q) : at(q, j); };
          const auto factor = [&](index j) { return of_q ? v[std::size_t(j)] : adjoint_of(v[std::size_t(j)]); };
          Sum<T> sum;
          for (index j = 0; j < order; ++j) sum.add(adjoint_of(factor(j)), element(j));
          const Wide<T> scaled = (of_q ? tau : adjoint_of(tau)) * sum.value;
          for (index j = 0; j < order; ++j) element(j) -= scaled * factor(j);
        }
      }
    }
    long double squares = 0, off = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) {
        squares += std::norm(widen(was.A(i, j)));
        off += std::norm(at(i, j) - widen(was.A(i, j)));
      }
    judge.at_most("|A - Q B P^H|", static_cast<double>(std::sqrt(off)),
                  static_cast<double>(8 * unit<T>(std::max(m, n)) * std::sqrt(squares)));
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
      case 5: return work.tell(0), true;
      case 6: return work.tell(-2), true;
      case 7: return m = -1, work.tell(-1), true;
      default: return false;
    }
  }
};

JOIN(gebrd, Gebrd<float>, Gebrd<double>, Gebrd<std::complex<float>>, Gebrd<std::complex<double>>);

}  // namespace
}  // namespace suite
