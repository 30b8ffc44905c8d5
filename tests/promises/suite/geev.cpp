// A V = V diag(w) of a general A, or w alone.  Calls with left eigenvectors stay (general_eigen.py).
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T>
struct Geev : Routine<Geev<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of A nothing moves back, and of eigenvalues nothing is counted
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static std::string name() { return named<T>("geev"); }

  char jobvl = 'N', jobvr;
  index n;
  Matrix<T> A, w, wi, VL, VR, work;
  Matrix<Real<T>> rwork;
  Info info;

  explicit Geev(Draw& draw)
      : jobvr(draw.letter("VN")),
        n(draw.nothing(0) ? 0 : draw.size()),
        A(draw, "A", Role::output, n, n),
        w(draw, is_complex<T> ? "w" : "wr", Role::output, n, 1),
        wi(draw, "wi", Role::output, is_complex<T> ? 0 : n, 1),
        VL(draw, "VL", Role::output, 0, 0),
        VR(draw, "VR", Role::output, jobvr == 'V' ? n : 0, jobvr == 'V' ? n : 0),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() * (draw.pick(2) ? 33 : 1), 1),
        rwork(draw, "rwork", Role::workspace, std::max<index>(1, 2 * n), 1) {
    A.use([](index, index) { return updated; });
    for (Operand* output : {static_cast<Operand*>(&w), static_cast<Operand*>(&wi), static_cast<Operand*>(&VR)})
      output->use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    if constexpr (is_complex<T>) return {&A, &w, &VL, &VR, &work, &rwork};
    return {&A, &w, &wi, &VL, &VR, &work};
  }
  std::string describe() const override { return text(name(), "%c%c n=%ld", jobvl, jobvr, long(n)); }
  index least_work() const { return std::max<index>(1, (is_complex<T> ? 2 : jobvr == 'V' ? 4 : 3) * n); }

  void make() override {
    info = {};
    if constexpr (is_complex<T>)
      fortran(name(), jobvl, jobvr, n, A.data(), A.leading(), w.data(), VL.data(), VL.leading(), VR.data(),
              VR.leading(), work.data(), work.leading(), rwork.data(), info.address());
    else
      fortran(name(), jobvl, jobvr, n, A.data(), A.leading(), w.data(), wi.data(), VL.data(), VL.leading(), VR.data(),
              VR.leading(), work.data(), work.leading(), info.address());
  }

  using Number = std::complex<long double>;
  static Number number(const T& x) { return {std::real(x), std::imag(x)}; }
  Number value(index i) const {
    if constexpr (is_complex<T>)
      return number(w(i, 0));
    else
      return {w(i, 0), wi(i, 0)};
  }
  /// Of a real matrix's pair both columns are one vector, and its conjugate.
  Number element(index i, index j) const {
    if (is_complex<T> || value(j).imag() == 0) return number(VR(i, j));
    const bool first = value(j).imag() > 0;
    const Number x(std::real(VR(i, first ? j : j - 1)), std::real(VR(i, first ? j + 1 : j)));
    return first ? x : std::conj(x);
  }

  /// Backward stable: what is computed is that of a matrix within a few n eps |A|, by Frobenius's norm (LAPACK Users'
  /// Guide, 4.8).  How far eigenvalues themselves are off, this does not say; it does of the sum of them, which is the
  /// trace, and of their squares.
  void judge(const Geev& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(least_work()));
    for (index i = 0; i < (is_complex<T> ? 0 : n); ++i) {
      if (value(i).imag() == 0) continue;
      const bool pair = value(i).imag() > 0 && i + 1 < n && value(i + 1) == std::conj(value(i));
      judge.check("complex eigenvalues are not in pairs", pair);
      if (!pair) return;
      ++i;
    }
    const auto a = [&](index i, index j) { return number(was.A(i, j)); };
    long double squares = 0;
    Number sum = 0, sum_of_squares = 0;
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < n; ++i) squares += std::norm(a(i, j)), sum_of_squares -= a(i, j) * a(j, i);
      sum += value(j) - a(j, j);
      sum_of_squares += value(j) * value(j);
    }
    const long double size = std::sqrt(squares), few = 8 * unit<T>(n), order = static_cast<long double>(n);
    judge.at_most("sum of eigenvalues", static_cast<double>(std::abs(sum)),
                  static_cast<double>(few * size * std::sqrt(order)));
    judge.at_most("sum of squared eigenvalues", static_cast<double>(std::abs(sum_of_squares)),
                  static_cast<double>(2 * few * squares));
    for (index j = 0; jobvr == 'V' && j < n; ++j) {
      long double off = 0, length = 0, greatest = 0, nearest = 1;
      for (index i = 0; i < n; ++i) {
        Number rest = -value(j) * element(i, j);
        for (index k = 0; k < n; ++k) rest += a(i, k) * element(k, j);
        off += std::norm(rest);
        length += std::norm(element(i, j));
        greatest = std::max(greatest, std::abs(element(i, j)));
      }
      for (index i = 0; i < n; ++i)
        if (std::abs(element(i, j)) >= greatest * (1 - few))
          nearest = std::min(nearest, std::fabs(element(i, j).imag()));
      judge.at_most("|A v - w v|", static_cast<double>(std::sqrt(off)), static_cast<double>(few * size));
      judge.at_most("|v| is not 1", static_cast<double>(std::fabs(std::sqrt(length) - 1)), static_cast<double>(few));
      judge.at_most("v's largest element is not real", static_cast<double>(nearest), static_cast<double>(few));
    }
  }

  std::string query() override {
    work.tell(-1);
    make();
    if (info.value() != 0) return "info is not 0";
    return std::real(work(0, 0)) >= Real<T>(least_work()) ? "" : "the workspace is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return jobvl = 'X', true;
      case 1: return jobvr = 'X', true;
      case 2: return n = -1, true;
      case 3: return A.tell(n - 1), true;
      case 4: return VL.tell(0), true;
      case 5: return jobvl = 'V', VL.tell(n - 1), true;
      case 6: return VR.tell(0), true;
      case 7: return jobvr = 'V', VR.tell(n - 1), true;
      case 8: return work.tell(0), true;
      case 9: return work.tell(-2), true;
      case 10: return n = -1, work.tell(-1), true;
      default: return false;
    }
  }
};

JOIN(geev, Geev<float>, Geev<double>, Geev<std::complex<float>>, Geev<std::complex<double>>);

}  // namespace
}  // namespace suite
