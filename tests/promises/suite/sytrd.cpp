// A = Q T Q^H, in LAPACK's format: a tridiagonal T in its place and in d and e, reflectors of Q beside it.
#include <cmath>
#include <vector>

#include "tests/promises/suite/eigen.hpp"

namespace suite {
namespace {

template <class T>
struct Sytrd : Routine<Sytrd<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of the vectors nothing is counted
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  /// At which no matrix is as small as vectors are: these lie in the host's memory, when all matrices lie in a
  /// device's.
  static constexpr index least_on_device = 17, bytes_on_device = 1100;
  static std::string name() { return named<T>(is_complex<T> ? "hetrd" : "sytrd"); }

  char uplo;
  index n, beside;
  Hermitian<T> A;
  Matrix<Real<T>> d, e;
  Matrix<T> tau, work;
  Info info;

  explicit Sytrd(Draw& draw)
      : uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        beside(std::max<index>(0, n - 1)),
        A(draw, uplo, n, false),
        d(draw, "d", Role::output, n, 1),
        e(draw, "e", Role::output, beside, 1),
        tau(draw, "tau", Role::output, beside, 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, draw.pick(2) ? 33 * std::max<index>(1, n) : 1, 1) {
    for (Operand* vector : {static_cast<Operand*>(&d), static_cast<Operand*>(&e), static_cast<Operand*>(&tau)})
      vector->use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override { return {&A, &d, &e, &tau, &work}; }
  std::string describe() const override { return text(name(), "%c n=%ld", uplo, long(n)); }

  void make() override {
    info = {};
    fortran(name(), uplo, n, A.data(), A.leading(), d.data(), e.data(), tau.data(), work.data(), work.leading(),
            info.address());
  }

  /// Backward stable: |A - Q T Q^H| within a few n eps of |A|, by Frobenius's norm (Higham, Accuracy and Stability,
  /// 19.3), and every reflector unitary.
  void judge(const Sytrd& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= 1);
    // Of an upper triangle LAPACK begins at the other end: rows and columns in reverse.
    const bool lower = uplo == 'L';
    const auto turned = [&](index i) { return lower ? i : n - 1 - i; };
    const auto next = [&](index i) { return lower ? i : n - 2 - i; };
    std::vector<Wide<T>> product(static_cast<std::size_t>(n * n));
    const auto at = [&](index i, index j) -> Wide<T>& { return product[static_cast<std::size_t>(i + j * n)]; };
    for (index i = 0; i < n; ++i) {
      at(i, i) = Wide<T>(d(turned(i), 0));
      // The reference may leave an imaginary part, which nobody reads.
      judge.check("A's diagonal is not d", std::real(A(turned(i), turned(i))) == d(turned(i), 0));
      if (i + 1 == n) break;
      const T off = A(turned(i + 1), turned(i));
      at(i + 1, i) = at(i, i + 1) = Wide<T>(e(next(i), 0));
      judge.check("what is beside A's diagonal is not e", std::real(off) == e(next(i), 0) && std::imag(off) == 0);
    }
    const auto conjugate = [](Wide<T> x) { return promises::conjugate<T>(x); };
    for (index i = beside; i-- > 0;) {
      const Wide<T> factor = widen(tau(next(i), 0));
      std::vector<Wide<T>> v(static_cast<std::size_t>(n));
      long double squares = 0;
      for (index j = i + 1; j < n; ++j) {
        v[static_cast<std::size_t>(j)] = j == i + 1 ? Wide<T>(1) : widen(A(turned(j), turned(i)));
        squares += std::norm(v[static_cast<std::size_t>(j)]);
      }
      judge.at_most("a reflector is not unitary",
                    static_cast<double>(std::fabs(std::norm(factor) * squares - 2 * std::real(factor))),
                    static_cast<double>(4 * unit<T>(n)));
      for (int side = 0; side < 2; ++side) {  // H C, and of that the adjoint
        for (index q = 0; q < n; ++q) {
          Sum<T> sum;
          for (index j = i + 1; j < n; ++j) sum.add(conjugate(v[static_cast<std::size_t>(j)]), at(j, q));
          for (index j = i + 1; j < n; ++j) at(j, q) -= factor * sum.value * v[static_cast<std::size_t>(j)];
        }
        for (index q = 0; q < n; ++q)
          for (index j = 0; j <= q; ++j) {
            const Wide<T> x = at(j, q);
            at(j, q) = conjugate(at(q, j));
            at(q, j) = conjugate(x);
          }
      }
    }
    long double squares = 0, off = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        const Wide<T> a = was.A.full(turned(i), turned(j));
        squares += std::norm(a);
        off += std::norm(at(i, j) - a);
      }
    judge.at_most("|A - Q T Q^H|", static_cast<double>(std::sqrt(off)),
                  static_cast<double>(8 * unit<T>(n) * std::sqrt(squares)));
  }

  std::string query() override {
    work.tell(-1);
    make();
    const bool enough = std::real(work(0, 0)) >= 1;
    return info.value() != 0 ? "info is not 0" : enough ? "" : "work(1) is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return uplo = 'X', true;
      case 1: return n = -1, true;
      case 2: return A.tell(n - 1), true;
      case 3: return work.tell(0), true;
      case 4: return work.tell(-2), true;
      case 5: return n = -1, work.tell(-1), true;
      default: return false;
    }
  }
};

JOIN(sytrd, Sytrd<float>, Sytrd<double>, Sytrd<std::complex<float>>, Sytrd<std::complex<double>>);

}  // namespace
}  // namespace suite
