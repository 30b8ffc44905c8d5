// B := alpha op(A)^-1 B or alpha B op(A)^-1, with a triangle A.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T>
struct Trsm : Routine<Trsm<T>> {
  static constexpr int ways_to_nothing = 3;
  static constexpr bool poison = false;  // a residual of what is not finite says nothing
  static constexpr index largest = 40;
  static constexpr bool dealt = true;
  // A arrives in strips for each panel of B; a failure leaves some panels solved.
  static constexpr std::string_view modes = "blocks BLASLIFT_MEMORY=10K", fault_memory = "3K";
  static std::string name() { return named<T>("trsm"); }

  char side, uplo, trans, diag;
  index m, n, order;
  T alpha;
  Matrix<T> A, B;

  explicit Trsm(Draw& draw)
      : side(draw.letter("LR")),
        uplo(draw.letter("UL")),
        trans(draw.letter("NTC")),
        diag(draw.letter("NU")),
        m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.nothing(1) ? 0 : draw.size()),
        order(side == 'L' ? m : n),
        alpha(draw.nothing(2) ? T(0) : draw.alpha<T>()),
        A(draw, "A", Role::input, order, order),
        B(draw, "B", Role::output, m, n) {
    // Neither the other triangle nor a diagonal of ones is read; with alpha = 0 nothing is.
    A.use([&](index i, index j) {
      return alpha == T(0) || (uplo == 'U' ? i > j : i < j) || (diag == 'U' && i == j) ? unused : read;
    });
    B.use([&](index, index) { return alpha == T(0) ? written : updated; });
  }
  std::vector<Operand*> operands() override { return {&A, &B}; }
  std::string describe() const override {
    return text(name(), "%c%c%c%c m=%ld n=%ld", side, uplo, trans, diag, long(m), long(n));
  }
  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Solutions that stay in range: what is beside the diagonal is small, and the diagonal is not.
  void restore(Draw& draw) override {
    for (index j = 0; j < order; ++j)
      for (index i = 0; i < order; ++i) {
        if (!(A.use_of(i, j) & read)) continue;
        const Real<T> scale = Real<T>(1) / static_cast<Real<T>>(order);
        A(i, j) = promises::make<T>(draw.number(), draw.number()) * scale + (i == j ? T(2) : T(0));
      }
  }

  void make() override {
    if (this->via == Via::fortran)
      return fortran(name(), side, uplo, trans, diag, m, n, &alpha, A.data(), A.leading(), B.data(), B.leading());
    // In row-major the same storage is the transposed equation's.
    const bool row_major = this->via == Via::row_major;
    const auto code = [](char letter, char first, int of_first, char second) {
      return letter == first ? of_first : letter == second ? of_first + 1 : int(letter);
    };
    const int on = code(side, 'L', 141, 'R'), ones = code(diag, 'N', 131, 'U');
    cblas(name(), this->via, row_major && (on == 141 || on == 142) ? 283 - on : on,
          uplo_code(row_major ? flipped(uplo) : uplo), op_code(trans), ones, row_major ? n : m, row_major ? m : n,
          scalar(alpha), A.data(), A.leading(), B.data(), B.leading());
  }

  Wide<T> op(index i, index j) const {
    if (trans != 'N') std::swap(i, j);
    if (uplo == 'U' ? i > j : i < j) return {};
    if (diag == 'U' && i == j) return Wide<T>(1);
    const Wide<T> a = widen(A(i, j));
    return trans == 'C' ? promises::conjugate<T>(a) : a;
  }
  /// |alpha B - op(A) X| <= gamma(k) |op(A)| |X|, whatever the condition of A (Higham, Accuracy and Stability, 8.5).
  void judge(const Trsm& was, Judge& judge) const {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) {
        Sum<T> sum;
        if (alpha != T(0)) {
          for (index p = 0; p < order; ++p) {
            const Wide<T> a = side == 'L' ? was.op(i, p) : was.op(p, j);
            if (a != Wide<T>{}) sum.add(a, widen(side == 'L' ? B(p, j) : B(i, p)));
          }
          sum.add(-widen(alpha), widen(was.B(i, j)));
          judge.check("op(A) X is not alpha B", promises::size_of(sum.value) <= unit<T>(order) * sum.size);
        } else {
          judge.check("alpha = 0 leaves something", B(i, j) == T(0));
        }
      }
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return side = 'X', true;
      case 1: return uplo = 'X', true;
      case 2: return trans = 'X', true;
      case 3: return diag = 'X', true;
      case 4: return m = -1, true;
      case 5: return n = -2000000000, true;
      case 6: return A.tell(order - 1), true;
      case 7: return B.tell(m - 1), true;
      default: return false;
    }
  }
};

JOIN(trsm, Trsm<float>, Trsm<double>, Trsm<std::complex<float>>, Trsm<std::complex<double>>);

}  // namespace
}  // namespace suite
