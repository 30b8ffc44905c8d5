// C := alpha op(A) op(B) + beta C: gemm, and gemm3m, which may make a complex product of three real ones.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T, bool by_three = false>
struct Gemm : Routine<Gemm<T, by_three>> {
  static constexpr int ways_to_nothing = 4;
  static constexpr index largest = 40;
  static constexpr bool dealt = true;
  static constexpr bool goes_with_others = !by_three;
  static constexpr std::string_view modes =
      "blocks BLASLIFT_MEMORY=4096;residues BLASLIFT_PRODUCTS=residues;levels BLASLIFT_STRASSEN=2";
  static constexpr std::string_view fault_memory = "3000";
  static std::string name() { return named<T>(by_three ? "gemm3m" : "gemm"); }

  char transa, transb;
  index m, n, k;
  T alpha, beta;
  Matrix<T> A, B, C;

  explicit Gemm(Draw& draw)
      : transa(draw.letter("NTC")),
        transb(draw.letter("NTC")),
        m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.nothing(1) ? 0 : draw.size()),
        k(draw.nothing(2) ? 0 : draw.size()),
        alpha(draw.nothing(3) ? T(0) : draw.alpha<T>()),
        beta(draw.beta<T>()),
        A(draw, "A", Role::input, transa == 'N' ? m : k, transa == 'N' ? k : m),
        B(draw, "B", Role::input, transb == 'N' ? k : n, transb == 'N' ? n : k),
        C(draw, "C", Role::output, m, n) {
    // Neither operand is read where alpha is zero, nor C where beta is; with nothing to do to it, C is not written.
    const bool multiplies = alpha != T(0) && k > 0;
    A.use([&](index, index) { return multiplies ? read : unused; });
    B.use([&](index, index) { return multiplies ? read : unused; });
    C.use([&](index, index) { return beta == T(0) ? written : beta == T(1) && !multiplies ? unused : updated; });
  }
  std::vector<Operand*> operands() override { return {&A, &B, &C}; }
  std::string describe() const override {
    return text(name(), "%c%c m=%ld n=%ld k=%ld beta=%.2g", transa, transb, long(m), long(n), long(k),
                double(std::real(beta)));
  }

  void make() override {
    if (this->via == Via::fortran)
      fortran(name(), transa, transb, m, n, k, &alpha, A.data(), A.leading(), B.data(), B.leading(), &beta, C.data(),
              C.leading());
    else if (this->via == Via::column_major)
      cblas(name(), this->via, op_code(transa), op_code(transb), m, n, k, scalar(alpha), A.data(), A.leading(),
            B.data(), B.leading(), scalar(beta), C.data(), C.leading());
    else  // the same storage is the transposed product's
      cblas(name(), this->via, op_code(transb), op_code(transa), n, m, k, scalar(alpha), B.data(), B.leading(),
            A.data(), A.leading(), scalar(beta), C.data(), C.leading());
  }

  static Wide<T> op(const Matrix<T>& X, char trans, index i, index j) {
    const Wide<T> x = widen(trans == 'N' ? X(i, j) : X(j, i));
    return trans == 'C' ? promises::conjugate<T>(x) : x;
  }
  void judge(const Gemm& was, Judge& judge) const {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) {
        if (!(C.use_of(i, j) & written)) continue;
        Sum<T> product, sum;
        for (index p = 0; p < k && alpha != T(0); ++p) product.add(op(was.A, transa, i, p), op(was.B, transb, p, j));
        sum = {widen(alpha) * product.value, promises::size_of(widen(alpha)) * product.size};
        if (alpha == T(0)) sum = {};
        if (beta != T(0)) sum.add(widen(beta), widen(was.C(i, j)));
        // Three products, of sums, err by up to 3 k + 8 roundings (Higham, Accuracy and Stability, 23.2.4).
        judge.near(C, i, j, C(i, j), sum.value, unit<T>(k) * judge.terms(sum.size, k));
      }
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return transa = 'X', true;
      case 1: return transb = 'X', true;
      case 2: return m = -1, true;
      case 3: return n = -2000000000, true;
      case 4: return k = -1, true;
      case 5: return A.tell(A.rows() - 1), true;
      case 6: return B.tell(B.rows() - 1), true;
      case 7: return C.tell(C.rows() - 1), true;
      case 8: return C.tell(0), true;
      default: return false;
    }
  }
};

JOIN(gemm, Gemm<float>, Gemm<double>, Gemm<std::complex<float>>, Gemm<std::complex<double>>);
JOIN(gemm3m, Gemm<std::complex<float>, true>, Gemm<std::complex<double>, true>);

}  // namespace
}  // namespace suite
