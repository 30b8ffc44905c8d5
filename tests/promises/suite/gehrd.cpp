// A = Q H Q^H, in LAPACK's format: H in A's place, zero below what is beside its diagonal, where reflectors of Q lie.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/promises/suite/values.hpp"

namespace suite {
namespace {

template <class T>
struct Gehrd : Routine<Gehrd<T>> {
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of the vector nothing is counted
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  /// At which no matrix is as small as vectors are: these lie in the host's memory, when all matrices lie in a
  /// device's.
  static constexpr index least_on_device = 24, bytes_on_device = 1100;
  static std::string name() { return named<T>("gehrd"); }

  index n, ilo, ihi;
  Matrix<T> A, tau, work;
  Info info;

  explicit Gehrd(Draw& draw)
      : n(draw.nothing(0) ? 0 : std::max<index>(draw.nothing(1) ? 1 : 2, draw.size())),
        ilo(1 + (draw.pick(2) ? left_out(draw, n - 1) : 0)),
        ihi(draw.nothing(1) ? std::min(n, ilo) : n - (draw.pick(2) ? left_out(draw, n - ilo) : 0)),
        A(draw, "A", Role::output, n, n),
        tau(draw, "tau", Role::output, std::max<index>(0, n - 1), 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least() * (draw.pick(2) ? 33 : 1), 1) {
    A.use([this](index i, index j) { return is_touched(i, j) ? updated : unused; });
    tau.use([](index, index) { return written; });
  }
  /// So many columns on a side that some are left.  In device memory not many, so that A is no small matrix.
  static index left_out(Draw& draw, index most) {
    return most < 1
               ? 0
               : draw.below(static_cast<int>(std::getenv("INJECTED_DEVICE_MEMORY") ? std::min<index>(4, most) : most));
  }
  index least() const { return std::max<index>(1, n); }
  index first() const { return ilo - 1; }
  index reflectors() const { return std::max<index>(0, ihi - ilo); }
  bool is_touched(index i, index j) const {
    return reflectors() > 0 && j >= first() && i < ihi && (i >= ilo || (j > first() && j < ihi));
  }
  std::vector<Operand*> operands() override { return {&A, &tau, &work}; }
  std::string describe() const override { return text(name(), "n=%ld ilo=%ld ihi=%ld", long(n), long(ilo), long(ihi)); }

  void make() override {
    info = {};
    fortran(name(), n, ilo, ihi, A.data(), A.leading(), tau.data(), work.data(), work.leading(), info.address());
  }

  /// Backward stable: |A - Q H Q^H| within a few n eps of |A|, by Frobenius's norm (Higham, Accuracy and Stability,
  /// 19.3), and every reflector unitary.
  void judge(const Gehrd& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    const index k = reflectors();
    if (!judge.in_device_memory)
      judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(k > 0 ? least() : 1));
    for (index i = 0; i + 1 < n; ++i)
      judge.check("tau of no reflector", (i >= first() && i < first() + k) || tau(i, 0) == T(0));
    std::vector<Wide<T>> product(static_cast<std::size_t>(n * n));
    const auto at = [&](index i, index j) -> Wide<T>& { return product[static_cast<std::size_t>(i + j * n)]; };
    const auto of_h = [&](index i, index j) { return is_touched(i, j) && (j >= ihi || i <= j + 1); };
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (of_h(i, j)) at(i, j) = widen(A(i, j));
    const auto conjugate = [](Wide<T> x) { return promises::conjugate<T>(x); };
    for (index r = first() + k; r-- > first();) {
      const Wide<T> factor = widen(tau(r, 0));
      std::vector<Wide<T>> v(static_cast<std::size_t>(n));
      long double squares = 0;
      for (index i = r + 1; i < ihi; ++i) {
        v[static_cast<std::size_t>(i)] = i == r + 1 ? Wide<T>(1) : widen(A(i, r));
        squares += std::norm(v[static_cast<std::size_t>(i)]);
      }
      if (is_complex<T>) judge.check("H beside its diagonal is not real", std::imag(A(r + 1, r)) == 0);
      judge.at_most("a reflector is not unitary",
                    static_cast<double>(std::fabs(std::norm(factor) * squares - 2 * std::real(factor))),
                    static_cast<double>(4 * unit<T>(n)));
      for (index j = 0; j < n; ++j) {  // from the left
        Sum<T> sum;
        for (index i = r + 1; i < ihi; ++i) sum.add(conjugate(v[static_cast<std::size_t>(i)]), at(i, j));
        for (index i = r + 1; i < ihi; ++i) at(i, j) -= factor * sum.value * v[static_cast<std::size_t>(i)];
      }
      for (index i = 0; i < n; ++i) {  // its adjoint from the right
        Sum<T> sum;
        for (index j = r + 1; j < ihi; ++j) sum.add(at(i, j), v[static_cast<std::size_t>(j)]);
        for (index j = r + 1; j < ihi; ++j)
          at(i, j) -= conjugate(factor) * sum.value * conjugate(v[static_cast<std::size_t>(j)]);
      }
    }
    long double squares = 0, off = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (is_touched(i, j)) {
          squares += std::norm(widen(was.A(i, j)));
          off += std::norm(at(i, j) - widen(was.A(i, j)));
        }
    judge.at_most("|A - Q H Q^H|", static_cast<double>(std::sqrt(off)),
                  static_cast<double>(8 * unit<T>(n) * std::sqrt(squares)));
  }

  std::string query() override {
    work.tell(-1);
    make();
    const bool enough = std::real(work(0, 0)) >= static_cast<Real<T>>(reflectors() > 0 ? least() : 1);
    return info.value() != 0 ? "info is not 0" : enough ? "" : "work(1) is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return n = -1, true;
      case 1: return ilo = 0, true;
      case 2: return ilo = least() + 1, true;
      case 3: return ihi = std::min(ilo, n) - 1, true;
      case 4: return ihi = n + 1, true;
      case 5: return A.tell(n - 1), true;
      case 6: return work.tell(least() - 1), true;
      case 7: return work.tell(-2), true;
      case 8: return n = -1, work.tell(-1), true;
      default: return false;
    }
  }
};

JOIN(gehrd, Gehrd<float>, Gehrd<double>, Gehrd<std::complex<float>>, Gehrd<std::complex<double>>);

}  // namespace
}  // namespace suite
