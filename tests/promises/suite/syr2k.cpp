// C := alpha A op(B) + alpha B op(A) + beta C, of which one triangle is stored: syr2k, and her2k with alpha's conjugate
// in the second product and a real beta.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T, bool hermitian>
struct Rank2K : Routine<Rank2K<T, hermitian>> {
  using Factor = std::conditional_t<hermitian, Real<T>, T>;
  static constexpr int ways_to_nothing = 3;
  static constexpr index largest = 40;
  static constexpr std::string_view modes = "blocks BLASLIFT_MEMORY=4096";
  static constexpr std::string_view fault_memory = "3000";
  static std::string name() { return named<T>(hermitian ? "her2k" : "syr2k"); }

  char uplo, trans;
  index n, k;
  T alpha;
  Factor beta;
  Matrix<T> A, B, C;

  explicit Rank2K(Draw& draw)
      : uplo(draw.letter("UL")),
        trans(draw.letter(hermitian       ? "NC"
                          : is_complex<T> ? "NT"
                                          : "NTC")),
        n(draw.nothing(0) ? 0 : draw.size()),
        k(draw.nothing(1) ? 0 : draw.size()),
        alpha(draw.nothing(2) ? T(0) : draw.alpha<T>()),
        beta(draw.beta<Factor>()),
        A(draw, "A", Role::input, trans == 'N' ? n : k, trans == 'N' ? k : n),
        B(draw, "B", Role::input, trans == 'N' ? n : k, trans == 'N' ? k : n),
        C(draw, "C", Role::output, n, n) {
    const bool multiplies = alpha != T(0) && k > 0;
    A.use([&](index, index) { return multiplies ? read : unused; });
    B.use([&](index, index) { return multiplies ? read : unused; });
    // The other triangle is neither read nor written; the imaginary parts of a Hermitian diagonal are not read.
    C.use([&](index i, index j) {
      if (uplo == 'U' ? i > j : i < j) return int(unused);
      if (beta == Factor(1) && !multiplies) return int(unused);
      return beta == Factor(0) ? written : updated | (hermitian && i == j ? real : 0);
    });
  }
  std::vector<Operand*> operands() override { return {&A, &B, &C}; }
  std::string describe() const override {
    return text(name(), "%c%c n=%ld k=%ld beta=%.2g", uplo, trans, long(n), long(k), double(std::real(beta)));
  }

  T conjugate_if_hermitian(T x) const {
    if constexpr (hermitian) return std::conj(x);
    return x;
  }
  void make() override {
    if (this->via == Via::fortran)
      return fortran(name(), uplo, trans, n, k, &alpha, A.data(), A.leading(), B.data(), B.leading(), &beta, C.data(),
                     C.leading());
    // In row-major the same storage is the transposed C's, of the transposed A and B.
    const bool row_major = this->via == Via::row_major;
    const char op = !row_major || trans == 'X' ? trans : trans != 'N' ? 'N' : hermitian ? 'C' : 'T';
    const T factor = row_major ? conjugate_if_hermitian(alpha) : alpha;
    cblas(name(), this->via, uplo_code(row_major ? flipped(uplo) : uplo), op_code(op), n, k, scalar(factor), A.data(),
          A.leading(), B.data(), B.leading(), scalar(beta), C.data(), C.leading());
  }

  Wide<T> op(const Matrix<T>& X, index i, index p) const {
    const Wide<T> x = widen(trans == 'N' ? X(i, p) : X(p, i));
    return trans == 'C' ? promises::conjugate<T>(x) : x;
  }
  Sum<T> product(const Matrix<T>& left, const Matrix<T>& right, index i, index j, T factor) const {
    Sum<T> sum;
    for (index p = 0; p < k; ++p) {
      const Wide<T> x = op(right, j, p);
      sum.add(op(left, i, p), hermitian ? promises::conjugate<T>(x) : x);
    }
    return {widen(factor) * sum.value, promises::size_of(widen(factor)) * sum.size};
  }
  void judge(const Rank2K& was, Judge& judge) const {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (!(C.use_of(i, j) & written)) continue;
        Sum<T> sum;
        if (alpha != T(0)) {
          const Sum<T> second = product(was.B, was.A, i, j, conjugate_if_hermitian(alpha));
          sum = product(was.A, was.B, i, j, alpha);
          sum = {sum.value + second.value, sum.size + second.size};
        }
        if (beta != Factor(0)) {
          Wide<T> c = widen(was.C(i, j));
          if (hermitian && i == j) c = std::real(c);
          sum.add(Wide<T>(widen(beta)), c);
        }
        if (hermitian && i == j) sum.value = std::real(sum.value);
        judge.near(C, i, j, C(i, j), sum.value, unit<T>(2 * k) * sum.size);
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
      case 5: return B.tell(B.rows() - 1), true;
      case 6: return C.tell(n - 1), true;
      case 7: return n = 0, k = -1, true;
      case 8: return n = 0, C.tell(0), true;
      default: return false;
    }
  }
};

JOIN(syr2k, Rank2K<float, false>, Rank2K<double, false>, Rank2K<std::complex<float>, false>,
     Rank2K<std::complex<double>, false>);
JOIN(her2k, Rank2K<std::complex<float>, true>, Rank2K<std::complex<double>, true>);

}  // namespace
}  // namespace suite
