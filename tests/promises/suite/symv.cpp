// y := alpha A x + beta y, where one triangle of A is stored: symv, and of complex numbers hemv, and LAPACK's symv.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T, bool hermitian = is_complex<T>>
struct Symv : Routine<Symv<T, hermitian>> {
  static constexpr bool of_lapack = is_complex<T> && !hermitian;  // which has no CBLAS
  static constexpr int ways_to_nothing = 2;
  static constexpr index largest = 90;
  static constexpr std::string_view mistake_of_device = "element:1e9";
  static std::string name() { return named<T>(hermitian ? "hemv" : "symv"); }

  char uplo;
  index n;
  T alpha, beta;
  Matrix<T> A;
  Vector<T> x, y;

  explicit Symv(Draw& draw)
      : uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        alpha(draw.nothing(1) ? T(0) : draw.alpha<T>()),
        beta(draw.beta<T>()),
        A(draw, "A", Role::input, n, n),
        x(draw, "x", Role::input, n),
        y(draw, "y", Role::output, n) {
    const bool multiplies = alpha != T(0);
    A.use([&](index i, index j) {
      if (!multiplies || (uplo == 'U' ? i > j : i < j)) return int(unused);
      return read | (hermitian && i == j ? real : 0);
    });
    x.use([&](index, index) { return multiplies ? read : unused; });
    y.use([&](index, index) { return beta == T(0) ? written : beta == T(1) && !multiplies ? unused : updated; });
  }
  std::vector<Operand*> operands() override { return {&A, &x, &y}; }
  std::string describe() const override {
    return text(name(), "%c n=%ld incx=%ld incy=%ld beta=%.2g", uplo, long(n), long(x.inc()), long(y.inc()),
                double(std::real(beta)));
  }

  void make() override {
    if (of_lapack || this->via == Via::fortran)
      return fortran(name(), uplo, n, &alpha, A.data(), A.leading(), x.data(), x.inc(), &beta, y.data(), y.inc());
    cblas(name(), this->via, uplo_code(this->via == Via::row_major ? flipped(uplo) : uplo), n, scalar(alpha), A.data(),
          A.leading(), x.data(), x.inc(), scalar(beta), y.data(), y.inc());
  }

  /// Of the whole matrix; in row-major the same storage is the transposed one's.
  Wide<T> element(index i, index j) const {
    if (!of_lapack && this->via == Via::row_major) std::swap(i, j);
    const bool stored = uplo == 'U' ? i <= j : i >= j;
    const Wide<T> a = widen(stored ? A(i, j) : A(j, i));
    if (hermitian && i == j) return std::real(a);
    return stored || !hermitian ? a : promises::conjugate<T>(a);
  }
  void judge(const Symv& was, Judge& judge) const {
    for (index i = 0; i < n; ++i) {
      if (!(y.use_of(0, i) & written)) continue;
      Sum<T> product, sum;
      for (index j = 0; j < n && alpha != T(0); ++j) product.add(was.element(i, j), widen(was.x[j]));
      sum = {widen(alpha) * product.value, promises::size_of(widen(alpha)) * product.size};
      if (alpha == T(0)) sum = {};
      if (beta != T(0)) sum.add(widen(beta), widen(was.y[i]));
      judge.near(y, 0, i, y[i], sum.value, unit<T>(n) * sum.size);
    }
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return uplo = 'X', true;
      case 1: return n = -1, true;
      case 2: return n = -2000000000, true;
      case 3: return A.tell(n - 1), true;
      case 4: return A.tell(0), true;
      case 5: return x.tell(0), true;
      case 6: return y.tell(0), true;
      case 7: return n = 0, x.tell(0), true;
      default: return false;
    }
  }
};

JOIN(symv, Symv<float>, Symv<double>);
JOIN(hemv, Symv<std::complex<float>>, Symv<std::complex<double>>);
JOIN(csymv, Symv<std::complex<float>, false>, Symv<std::complex<double>, false>);

}  // namespace
}  // namespace suite
