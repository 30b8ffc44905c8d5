// 1 / (|A| |A^-1|), estimated with the factors of A, by LU or Cholesky.
#pragma once
#include <algorithm>
#include <vector>

#include "tests/promises/suite/suite.hpp"

namespace suite {

template <class Self, class T, bool lu>
struct Condition : Routine<Self> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // rcond is one number
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr bool overlap = false;                                 // one number beside a matrix rarely does
  static constexpr std::string_view mistake_of_device = "element:1e20";  // of a solution, of which sums are taken
  /// At which no matrix is as small as rcond is, which lies in the host's memory, when all matrices lie in a device's.
  static constexpr index least_on_device = 12, bytes_on_device = 400;
  static std::string name() { return named<T>(lu ? "gecon" : "pocon"); }

  char choice;  ///< the norm, or the triangle
  index n;
  Real<T> anorm;
  Matrix<T> A;
  Matrix<Real<T>> rcond;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  Integers iwork;
  Info info;

  explicit Condition(Draw& draw)
      : choice(draw.letter(lu ? "1OI" : "UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        anorm(static_cast<Real<T>>(2 + draw.number())),
        A(draw, "A", Role::input, n, n),
        rcond(draw, "rcond", Role::output, 1, 1),
        work(draw, "work", Role::workspace,
             std::max<index>(1, (is_complex<T> ? 2
                                 : lu          ? 4
                                               : 3) *
                                    n),
             1),
        rwork(draw, "rwork", Role::workspace, std::max<index>(1, (lu ? 2 : 1) * n), 1),
        iwork(draw, "iwork", Role::workspace, std::max<index>(1, n)) {
    A.use([this](index i, index j) { return lu || (choice == 'U' ? i <= j : i >= j) ? read : unused; });
    rcond.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    if constexpr (is_complex<T>) return {&A, &rcond, &work, &rwork};
    return {&A, &rcond, &work, &iwork};
  }
  std::string describe() const override { return text(name(), "%c n=%ld", choice, long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Factors of a matrix that is far from singular.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (A.use_of(i, j) & read)
          A(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(n) + (i == j ? T(2) : T(0));
  }
  void make() override {
    info = {};
    if constexpr (is_complex<T>)
      fortran(name(), choice, n, A.data(), A.leading(), &anorm, rcond.data(), work.data(), rwork.data(),
              info.address());
    else
      fortran(name(), choice, n, A.data(), A.leading(), &anorm, rcond.data(), work.data(), iwork.data(),
              info.address());
  }

  /// x := A^-1 x, in higher precision.
  void solve(std::vector<Wide<T>>& x) const {
    const auto factor = [this](index i, index j) { return widen(A(i, j)); };
    const auto at = [&x](index i) -> Wide<T>& { return x[static_cast<std::size_t>(i)]; };
    const auto substitute = [&](bool down, const auto& of, bool unit_diagonal) {
      for (index step = 0; step < n; ++step) {
        const index i = down ? step : n - 1 - step;
        for (index j = down ? 0 : i + 1; j < (down ? i : n); ++j) at(i) -= of(i, j) * at(j);
        if (!unit_diagonal) at(i) /= of(i, i);
      }
    };
    const auto adjoint = [&](index i, index j) { return promises::conjugate<T>(factor(j, i)); };
    if (lu || choice == 'L')
      substitute(true, factor, lu);
    else
      substitute(true, adjoint, false);
    if (lu || choice == 'U')
      substitute(false, factor, false);
    else
      substitute(false, adjoint, false);
  }
  /// Of the norm that was asked for there is a lower bound, within a factor of ten (Higham, Accuracy and Stability,
  /// 15.3: of random matrices within three).
  void judge(const Condition&, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    const auto got = static_cast<double>(rcond(0, 0));
    if (n == 0) return judge.check("rcond is not 1", got == 1);
    std::vector<long double> rows(static_cast<std::size_t>(n));
    long double norm = 0;
    for (index j = 0; j < n; ++j) {
      std::vector<Wide<T>> x(static_cast<std::size_t>(n));
      x[static_cast<std::size_t>(j)] = Wide<T>(1);
      solve(x);
      long double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) rows[i] += std::abs(x[i]), sum += std::abs(x[i]);
      if (!lu || choice != 'I') norm = std::max(norm, sum);
    }
    if (lu && choice == 'I') norm = *std::max_element(rows.begin(), rows.end());
    const auto due = static_cast<double>(1 / (norm * static_cast<long double>(anorm)));
    // Undocumented, but LAPACK's xLATDF takes it from there: a vector that shows the estimate.
    long double length = 0;
    for (index i = 0; !judge.in_device_memory && i < n; ++i) length += std::abs(widen(work(n + i, 0)));
    judge.check("the workspace has no such vector",
                judge.in_device_memory || static_cast<double>(length) >= 0.9 / (got * static_cast<double>(anorm)));
    judge.check("rcond is too small", got >= due * (1 - 100 * static_cast<double>(unit<T>(n))));
    judge.check("rcond is too large", got <= 10 * due);
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return choice = 'X', true;
      case 1: return n = -1, true;
      case 2: return A.tell(n - 1), true;
      case 3: return anorm = -1, true;
      default: return false;
    }
  }
};

}  // namespace suite
