// C := alpha op(A) op(B) + beta C, of which one triangle is read and written: gemmt and, by its other name, gemmtr.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

enum class Name { gemmt, gemmtr };

template <class T, Name which>
struct Gemmt : Routine<Gemmt<T, which>> {
  static constexpr int ways_to_nothing = 3;
  static constexpr index largest = 40;
  static constexpr bool dealt = true;
  static constexpr std::string_view modes =
      "blocks BLASLIFT_MEMORY=4096;residues BLASLIFT_PRODUCTS=residues;levels BLASLIFT_STRASSEN=2";
  static constexpr std::string_view fault_memory = "3000";
  static std::string name() { return named<T>(which == Name::gemmt ? "gemmt" : "gemmtr"); }

  char uplo, transa, transb;
  index n, k;
  T alpha, beta;
  Matrix<T> A, B, C;

  explicit Gemmt(Draw& draw)
      : uplo(draw.letter("UL")),
        transa(draw.letter("NTC")),
        transb(draw.letter("NTC")),
        n(draw.nothing(0) ? 0 : draw.size()),
        k(draw.nothing(1) ? 0 : draw.size()),
        alpha(draw.nothing(2) ? T(0) : draw.alpha<T>()),
        beta(draw.beta<T>()),
        A(draw, "A", Role::input, transa == 'N' ? n : k, transa == 'N' ? k : n),
        B(draw, "B", Role::input, transb == 'N' ? k : n, transb == 'N' ? n : k),
        C(draw, "C", Role::output, n, n) {
    const bool multiplies = alpha != T(0) && k > 0;
    A.use([&](index, index) { return multiplies ? read : unused; });
    B.use([&](index, index) { return multiplies ? read : unused; });
    // The other triangle is neither read nor written.
    C.use([&](index i, index j) {
      if (uplo == 'U' ? i > j : i < j) return unused;
      return beta == T(0) ? written : beta == T(1) && !multiplies ? unused : updated;
    });
  }
  std::vector<Operand*> operands() override { return {&A, &B, &C}; }
  std::string describe() const override {
    return text(name(), "%c%c%c n=%ld k=%ld beta=%.2g", uplo, transa, transb, long(n), long(k),
                double(std::real(beta)));
  }

  void make() override {
    if (this->via == Via::fortran)
      fortran(name(), uplo, transa, transb, n, k, &alpha, A.data(), A.leading(), B.data(), B.leading(), &beta, C.data(),
              C.leading());
    else if (this->via == Via::column_major)
      cblas(name(), this->via, uplo_code(uplo), op_code(transa), op_code(transb), n, k, scalar(alpha), A.data(),
            A.leading(), B.data(), B.leading(), scalar(beta), C.data(), C.leading());
    else  // the same storage is the transposed product's, and its other triangle
      cblas(name(), this->via, uplo_code(flipped(uplo)), op_code(transb), op_code(transa), n, k, scalar(alpha),
            B.data(), B.leading(), A.data(), A.leading(), scalar(beta), C.data(), C.leading());
  }

  static Wide<T> op(const Matrix<T>& X, char trans, index i, index j) {
    const Wide<T> x = widen(trans == 'N' ? X(i, j) : X(j, i));
    return trans == 'C' ? promises::conjugate<T>(x) : x;
  }
  void judge(const Gemmt& was, Judge& judge) const {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (!(C.use_of(i, j) & written)) continue;
        Sum<T> product, sum;
        for (index p = 0; p < k && alpha != T(0); ++p) product.add(op(was.A, transa, i, p), op(was.B, transb, p, j));
        sum = {widen(alpha) * product.value, promises::size_of(widen(alpha)) * product.size};
        if (alpha == T(0)) sum = {};
        if (beta != T(0)) sum.add(widen(beta), widen(was.C(i, j)));
        judge.near(C, i, j, C(i, j), sum.value, unit<T>(k) * judge.terms(sum.size, k));
      }
  }

  bool mistake(int argument) override {
    switch (argument) {
      case 0: return uplo = 'X', true;
      case 1: return transa = 'X', true;
      case 2: return transb = 'X', true;
      case 3: return n = -2000000000, true;
      case 4: return k = -1, true;
      case 5: return A.tell(A.rows() - 1), true;
      case 6: return B.tell(B.rows() - 1), true;
      case 7: return C.tell(n - 1), true;
      case 8: return n = 0, C.tell(0), true;
      default: return false;
    }
  }
};

JOIN(gemmt, Gemmt<float, Name::gemmt>, Gemmt<double, Name::gemmt>, Gemmt<std::complex<float>, Name::gemmt>,
     Gemmt<std::complex<double>, Name::gemmt>);
JOIN(gemmtr, Gemmt<float, Name::gemmtr>, Gemmt<double, Name::gemmtr>, Gemmt<std::complex<float>, Name::gemmtr>,
     Gemmt<std::complex<double>, Name::gemmtr>);

}  // namespace
}  // namespace suite
