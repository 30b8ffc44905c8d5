// op(A) X = B with a triangle A on whose diagonal there is no zero.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

template <class T>
struct Trtrs : Routine<Trtrs<T>> {
  static constexpr int ways_to_nothing = 2;
  static constexpr bool poison = false;  // a residual of what is not finite says nothing
  static constexpr bool calls_others = true;
  static constexpr index largest = 40;
  // A arrives in strips for each panel of B; a failure leaves some panels solved.
  static constexpr std::string_view modes = "blocks BLASLIFT_MEMORY=10K", fault_memory = "3K";
  static std::string name() { return named<T>("trtrs"); }

  char uplo, trans, diag;
  index n, nrhs;
  Matrix<T> A, B;
  Info info;

  explicit Trtrs(Draw& draw)
      : uplo(draw.letter("UL")),
        trans(draw.letter("NTC")),
        diag(draw.letter("NU")),
        n(draw.nothing(0) ? 0 : draw.size()),
        nrhs(draw.nothing(1) ? 0 : draw.size()),
        A(draw, "A", Role::input, n, n),
        B(draw, "B", Role::output, n, nrhs) {
    // Neither the other triangle nor a diagonal of ones is read; without right-hand sides nothing else.
    A.use([&](index i, index j) {
      if (i == j) return diag == 'U' ? unused : read;
      return nrhs == 0 || (uplo == 'U' ? i > j : i < j) ? unused : read;
    });
    B.use([](index, index) { return updated; });
  }
  std::vector<Operand*> operands() override { return {&A, &B}; }
  std::string describe() const override {
    return text(name(), "%c%c%c n=%ld nrhs=%ld", uplo, trans, diag, long(n), long(nrhs));
  }
  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Solutions that stay in range: what is beside the diagonal is small, and the diagonal is not.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (A.use_of(i, j) & read)
          A(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(n) + (i == j ? T(2) : T(0));
  }
  void make() override {
    info = {};
    fortran(name(), uplo, trans, diag, n, nrhs, A.data(), A.leading(), B.data(), B.leading(), info.address());
  }

  Wide<T> op(index i, index j) const {
    if (trans != 'N') std::swap(i, j);
    if (uplo == 'U' ? i > j : i < j) return {};
    if (diag == 'U' && i == j) return Wide<T>(1);
    const Wide<T> a = widen(A(i, j));
    return trans == 'C' ? promises::conjugate<T>(a) : a;
  }
  /// |B - op(A) X| <= gamma(n) |op(A)| |X|, whatever the condition of A (Higham, Accuracy and Stability, 8.5).
  void judge(const Trtrs& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    for (index j = 0; j < nrhs; ++j)
      for (index i = 0; i < n; ++i) {
        Sum<T> sum;
        for (index p = 0; p < n; ++p)
          if (const Wide<T> a = was.op(i, p); a != Wide<T>{}) sum.add(a, widen(B(p, j)));
        sum.add(Wide<T>(-1), widen(was.B(i, j)));
        judge.check("op(A) X is not B", promises::size_of(sum.value) <= unit<T>(n) * sum.size);
      }
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return uplo = 'X', true;
      case 1: return trans = 'X', true;
      case 2: return diag = 'X', true;
      case 3: return n = -1, true;
      case 4: return nrhs = -1, true;
      case 5: return A.tell(n - 1), true;
      case 6: return B.tell(n - 1), true;
      default: return false;
    }
  }
};

JOIN(trtrs, Trtrs<float>, Trtrs<double>, Trtrs<std::complex<float>>, Trtrs<std::complex<double>>);

}  // namespace
}  // namespace suite
