// C := alpha A op(A) + beta C, of which one triangle is stored: syrk, and herk with real scalars.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T, bool hermitian>
struct RankK : Routine<RankK<T, hermitian>> {
  using Factor = std::conditional_t<hermitian, Real<T>, T>;
  static constexpr int ways_to_nothing = 3;
  static constexpr index largest = 40;
  static constexpr bool dealt = true;
  /// A herk that reads C is not computed by residues.
  static constexpr std::string_view modes =
      hermitian ? "blocks BLASLIFT_MEMORY=4096;residues-without-C BLASLIFT_PRODUCTS=residues;levels BLASLIFT_STRASSEN=2"
                : "blocks BLASLIFT_MEMORY=4096;residues BLASLIFT_PRODUCTS=residues;levels BLASLIFT_STRASSEN=2";
  static constexpr std::string_view fault_memory = "3000";
  static std::string name() { return named<T>(hermitian ? "herk" : "syrk"); }

  char uplo, trans;
  index n, k;
  Factor alpha, beta;
  Matrix<T> A, C;

  explicit RankK(Draw& draw)
      : uplo(draw.letter("UL")),
        trans(draw.letter(hermitian       ? "NC"
                          : is_complex<T> ? "NT"
                                          : "NTC")),
        n(draw.nothing(0) ? 0 : draw.size()),
        k(draw.nothing(1) ? 0 : draw.size()),
        alpha(draw.nothing(2) ? Factor(0) : draw.alpha<Factor>()),
        beta(draw.beta<Factor>()),
        A(draw, "A", Role::input, trans == 'N' ? n : k, trans == 'N' ? k : n),
        C(draw, "C", Role::output, n, n) {
    const bool multiplies = alpha != Factor(0) && k > 0;
    A.use([&](index, index) { return multiplies ? read : unused; });
    // The other triangle is neither read nor written; the imaginary parts of a Hermitian diagonal are not read.
    C.use([&](index i, index j) {
      if (uplo == 'U' ? i > j : i < j) return int(unused);
      if (beta == Factor(1) && !multiplies) return int(unused);
      return beta == Factor(0) ? written : updated | (hermitian && i == j ? real : 0);
    });
  }
  std::vector<Operand*> operands() override { return {&A, &C}; }
  std::string describe() const override {
    return text(name(), "%c%c n=%ld k=%ld beta=%.2g", uplo, trans, long(n), long(k), double(std::real(beta)));
  }

  void make() override {
    if (this->via == Via::fortran)
      return fortran(name(), uplo, trans, n, k, &alpha, A.data(), A.leading(), &beta, C.data(), C.leading());
    // In row-major the same storage is the transposed C's, of the transposed A.
    const bool row_major = this->via == Via::row_major;
    const char op = !row_major || trans == 'X' ? trans : trans != 'N' ? 'N' : hermitian ? 'C' : 'T';
    cblas(name(), this->via, uplo_code(row_major ? flipped(uplo) : uplo), op_code(op), n, k, scalar(alpha), A.data(),
          A.leading(), scalar(beta), C.data(), C.leading());
  }

  Wide<T> op(index i, index p) const {
    const Wide<T> a = widen(trans == 'N' ? A(i, p) : A(p, i));
    return trans == 'C' ? promises::conjugate<T>(a) : a;
  }
  void judge(const RankK& was, Judge& judge) const {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (!(C.use_of(i, j) & written)) continue;
        Sum<T> product, sum;
        for (index p = 0; p < k && alpha != Factor(0); ++p) {
          const Wide<T> b = was.op(j, p);
          product.add(was.op(i, p), hermitian ? promises::conjugate<T>(b) : b);
        }
        sum = {product.value * Wide<T>(widen(alpha)), product.size * promises::size_of(widen(alpha))};
        if (beta != Factor(0)) {
          Wide<T> c = widen(was.C(i, j));
          if (hermitian && i == j) c = std::real(c);
          sum.add(Wide<T>(widen(beta)), c);
        }
        judge.near(C, i, j, C(i, j), sum.value, unit<T>(k) * judge.terms(sum.size, k));
        if (hermitian && i == j && promises::finite(sum.value))
          judge.check("a diagonal's imaginary part is not zero", std::imag(C(i, j)) == 0);
      }
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return uplo = 'X', true;
      case 1: return trans = 'X', true;
      case 2: return n = -1, true;
      case 3: return k = -2000000000, true;
      case 4: return A.tell(A.rows() - 1), true;
      case 5: return C.tell(n - 1), true;
      case 6: return n = 0, k = -1, true;
      case 7: return n = 0, C.tell(0), true;
      default: return false;
    }
  }
};

JOIN(syrk, RankK<float, false>, RankK<double, false>, RankK<std::complex<float>, false>,
     RankK<std::complex<double>, false>);
JOIN(herk, RankK<std::complex<float>, true>, RankK<std::complex<double>, true>);

}  // namespace
}  // namespace suite
