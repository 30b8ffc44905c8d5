// B := alpha op(A) B or alpha B op(A), with a triangle A.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T>
struct Trmm : Routine<Trmm<T>> {
  static constexpr int ways_to_nothing = 3;
  static constexpr bool poison_of_results = false;  // the library underneath makes the call then
  static constexpr index largest = 40;
  static constexpr bool dealt = true;
  // A arrives in strips for each panel of B.
  static constexpr std::string_view modes = "blocks BLASLIFT_MEMORY=10K", fault_memory = "4K";
  static std::string name() { return named<T>("trmm"); }

  char side, uplo, trans, diag;
  index m, n, order;
  T alpha;
  Matrix<T> A, B;

  explicit Trmm(Draw& draw)
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

  void make() override {
    if (this->via == Via::fortran)
      return fortran(name(), side, uplo, trans, diag, m, n, &alpha, A.data(), A.leading(), B.data(), B.leading());
    // In row-major the same storage is the transposed product's.
    const bool row_major = this->via == Via::row_major;
    const auto code = [](char letter, char first, int of_first, char second) {
      return letter == first ? of_first : letter == second ? of_first + 1 : int(letter);
    };
    const int on = code(side, 'L', 141, 'R'), ones = code(diag, 'N', 131, 'U');
    cblas(name(), this->via, row_major && (on == 141 || on == 142) ? 283 - on : on,
          uplo_code(row_major ? flipped(uplo) : uplo), op_code(trans), ones, row_major ? n : m, row_major ? m : n,
          scalar(alpha), A.data(), A.leading(), B.data(), B.leading());
  }

  bool stored(index i, index j) const { return trans == 'N' ? in_triangle(i, j) : in_triangle(j, i); }
  bool in_triangle(index i, index j) const { return uplo == 'U' ? i <= j : i >= j; }
  Wide<T> op(index i, index j) const {
    if (diag == 'U' && i == j) return Wide<T>(1);
    const Wide<T> a = widen(trans == 'N' ? A(i, j) : A(j, i));
    return trans == 'C' ? promises::conjugate<T>(a) : a;
  }
  void judge(const Trmm& was, Judge& judge) const {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) {
        Sum<T> sum;
        for (index p = 0; p < order && alpha != T(0); ++p) {
          if (!(side == 'L' ? stored(i, p) : stored(p, j))) continue;
          sum.add(side == 'L' ? was.op(i, p) : was.op(p, j), widen(side == 'L' ? was.B(p, j) : was.B(i, p)));
        }
        sum = {widen(alpha) * sum.value, promises::size_of(widen(alpha)) * sum.size};
        if (alpha == T(0)) sum = {};
        judge.near(B, i, j, B(i, j), sum.value, unit<T>(order) * sum.size);
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

JOIN(trmm, Trmm<float>, Trmm<double>, Trmm<std::complex<float>>, Trmm<std::complex<double>>);

}  // namespace
}  // namespace suite
