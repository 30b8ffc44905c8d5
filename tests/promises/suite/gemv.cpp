// y := alpha op(A) x + beta y.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T>
struct Gemv : Routine<Gemv<T>> {
  static constexpr int ways_to_nothing = 3;
  static constexpr index largest = 90;
  static constexpr std::string_view mistake_of_device = "element:1e9";
  static std::string name() { return named<T>("gemv"); }

  char trans, by_rows;
  index m, n;
  T alpha, beta;
  Matrix<T> A;
  Vector<T> x, y;

  explicit Gemv(Draw& draw)
      : trans(draw.letter("NTC")),
        by_rows(draw.letter("TC")),
        m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.nothing(1) ? 0 : draw.size()),
        alpha(draw.nothing(2) ? T(0) : draw.alpha<T>()),
        beta(draw.beta<T>()),
        A(draw, "A", Role::input, m, n),
        x(draw, "x", Role::input, trans == 'N' ? n : m),
        y(draw, "y", Role::output, trans == 'N' ? m : n) {
    // Where there is no matrix y stays as it is, whatever beta is.
    const bool works = m > 0 && n > 0, multiplies = works && alpha != T(0);
    if (!works) by_rows = 'T';  // the reference's CBLAS would conjugate the elements of no vector without an end
    A.use([&](index, index) { return multiplies ? read : unused; });
    x.use([&](index, index) { return multiplies ? read : unused; });
    y.use([&](index, index) {
      return !works ? unused : beta == T(0) ? written : beta == T(1) && !multiplies ? unused : updated;
    });
  }
  std::vector<Operand*> operands() override { return {&A, &x, &y}; }
  std::string describe() const override {
    return text(name(), "%c%c m=%ld n=%ld incx=%ld incy=%ld beta=%.2g", trans, by_rows, long(m), long(n), long(x.inc()),
                long(y.inc()), double(std::real(beta)));
  }

  void make() override {
    if (this->via == Via::fortran)
      return fortran(name(), trans, m, n, &alpha, A.data(), A.leading(), x.data(), x.inc(), &beta, y.data(), y.inc());
    // In row-major the same storage is the transposed matrix's: what is not transposed here is transposed there, or
    // conjugate-transposed, which is A's conjugate.
    const bool row_major = this->via == Via::row_major;
    const char letter = !row_major ? trans : trans == 'N' ? by_rows : trans == 'T' || trans == 'C' ? 'N' : trans;
    cblas(name(), this->via, op_code(letter), row_major ? n : m, row_major ? m : n, scalar(alpha), A.data(),
          A.leading(), x.data(), x.inc(), scalar(beta), y.data(), y.inc());
  }

  /// Of op(A).
  Wide<T> element(index i, index j) const {
    const bool conjugated = this->via == Via::row_major ? trans == 'N' && by_rows == 'C' : trans == 'C';
    const Wide<T> a = widen(trans == 'N' ? A(i, j) : A(j, i));
    return conjugated ? promises::conjugate<T>(a) : a;
  }
  void judge(const Gemv& was, Judge& judge) const {
    const index results = trans == 'N' ? m : n, terms = trans == 'N' ? n : m;
    for (index i = 0; i < results; ++i) {
      if (!(y.use_of(0, i) & written)) continue;
      Sum<T> product, sum;
      for (index j = 0; j < terms && alpha != T(0); ++j) product.add(was.element(i, j), widen(was.x[j]));
      sum = {widen(alpha) * product.value, promises::size_of(widen(alpha)) * product.size};
      if (alpha == T(0)) sum = {};
      if (beta != T(0)) sum.add(widen(beta), widen(was.y[i]));
      judge.near(y, 0, i, y[i], sum.value, unit<T>(terms) * sum.size);
    }
  }

  bool mistake(int which) override {
    by_rows = 'T';  // otherwise the reference's CBLAS conjugates as many elements as it is told before anybody looks
    // Told of a wrong letter in column-major, the reference's cblas_sgemv goes on with one that it has not set.
    if (which == 0 && std::is_same_v<T, float> && this->via == Via::column_major) which = 1;
    switch (which) {
      case 0: return trans = 'X', true;
      case 1: return m = -1, true;
      case 2: return n = -1, true;
      case 3: return n = -2000000000, true;
      case 4: return A.tell(m - 1), true;
      case 5: return A.tell(0), true;
      case 6: return x.tell(0), true;
      case 7: return y.tell(0), true;
      case 8: return m = 0, y.tell(0), true;
      default: return false;
    }
  }
};

JOIN(gemv, Gemv<float>, Gemv<double>, Gemv<std::complex<float>>, Gemv<std::complex<double>>);

}  // namespace
}  // namespace suite
