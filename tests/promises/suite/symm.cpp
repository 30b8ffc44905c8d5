// C := alpha A B + beta C or alpha B A + beta C, where one triangle of A is stored: symm, and hemm of a Hermitian A.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T, bool hermitian>
struct Symm : Routine<Symm<T, hermitian>> {
  static constexpr int ways_to_nothing = 3;
  static constexpr index largest = 40;
  static constexpr bool dealt = true;
  // A arrives in strips for each panel of B and C; a failure leaves some panels computed.
  static constexpr std::string_view modes = "blocks BLASLIFT_MEMORY=18K", fault_memory = "5K", fault_sizes = "9 10";
  static std::string name() { return named<T>(hermitian ? "hemm" : "symm"); }

  char side, uplo;
  index m, n, order;
  T alpha, beta;
  Matrix<T> A, B, C;

  explicit Symm(Draw& draw)
      : side(draw.letter("LR")),
        uplo(draw.letter("UL")),
        m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.nothing(1) ? 0 : draw.size()),
        order(side == 'L' ? m : n),
        alpha(draw.nothing(2) ? T(0) : draw.alpha<T>()),
        beta(draw.beta<T>()),
        A(draw, "A", Role::input, order, order),
        B(draw, "B", Role::input, m, n),
        C(draw, "C", Role::output, m, n) {
    // The other triangle is not read, nor the imaginary parts of a Hermitian diagonal; with alpha = 0 nothing is.
    const bool multiplies = alpha != T(0);
    A.use([&](index i, index j) {
      if (!multiplies || (uplo == 'U' ? i > j : i < j)) return int(unused);
      return read | (hermitian && i == j ? real : 0);
    });
    B.use([&](index, index) { return multiplies ? read : unused; });
    C.use([&](index, index) { return beta == T(0) ? written : beta == T(1) && !multiplies ? unused : updated; });
  }
  std::vector<Operand*> operands() override { return {&A, &B, &C}; }
  std::string describe() const override {
    return text(name(), "%c%c m=%ld n=%ld beta=%.2g", side, uplo, long(m), long(n), double(std::real(beta)));
  }

  void make() override {
    if (this->via == Via::fortran)
      return fortran(name(), side, uplo, m, n, &alpha, A.data(), A.leading(), B.data(), B.leading(), &beta, C.data(),
                     C.leading());
    // In row-major the same storage is the transposed product's.
    const bool row_major = this->via == Via::row_major;
    const int on = side == 'L' ? 141 : side == 'R' ? 142 : int(side);
    cblas(name(), this->via, row_major && (on == 141 || on == 142) ? 283 - on : on,
          uplo_code(row_major ? flipped(uplo) : uplo), row_major ? n : m, row_major ? m : n, scalar(alpha), A.data(),
          A.leading(), B.data(), B.leading(), scalar(beta), C.data(), C.leading());
  }

  /// Of the whole matrix.
  Wide<T> element(index i, index j) const {
    const bool stored = uplo == 'U' ? i <= j : i >= j;
    const Wide<T> a = widen(stored ? A(i, j) : A(j, i));
    if (!hermitian) return a;
    return i == j ? Wide<T>(std::real(a)) : stored ? a : promises::conjugate<T>(a);
  }
  void judge(const Symm& was, Judge& judge) const {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) {
        if (!(C.use_of(i, j) & written)) continue;
        Sum<T> product, sum;
        for (index p = 0; p < order && alpha != T(0); ++p)
          product.add(side == 'L' ? was.element(i, p) : was.element(p, j),
                      widen(side == 'L' ? was.B(p, j) : was.B(i, p)));
        sum = {widen(alpha) * product.value, promises::size_of(widen(alpha)) * product.size};
        if (alpha == T(0)) sum = {};
        if (beta != T(0)) sum.add(widen(beta), widen(was.C(i, j)));
        judge.near(C, i, j, C(i, j), sum.value, unit<T>(order) * sum.size);
      }
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return side = 'X', true;
      case 1: return uplo = 'X', true;
      case 2: return m = -1, true;
      case 3: return n = -2000000000, true;
      case 4: return A.tell(order - 1), true;
      case 5: return B.tell(m - 1), true;
      case 6: return C.tell(m - 1), true;
      case 7: return m = 0, n = -1, true;
      default: return false;
    }
  }
};

JOIN(symm, Symm<float, false>, Symm<double, false>, Symm<std::complex<float>, false>,
     Symm<std::complex<double>, false>);
JOIN(hemm, Symm<std::complex<float>, true>, Symm<std::complex<double>, true>);

}  // namespace
}  // namespace suite
