// A generalized eigenproblem's A becomes that of the standard problem, with B's factor by Cholesky.
#include "tests/promises/suite/eigen.hpp"
#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Sygst : Routine<Sygst<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static std::string name() { return named<T>(is_complex<T> ? "hegst" : "sygst"); }

  index itype;
  char uplo;
  index n;
  Hermitian<T> A;
  Matrix<T> B;
  Info info;

  explicit Sygst(Draw& draw)
      : itype(1 + draw.pick(3)),
        uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        A(draw, uplo, n, false),
        B(draw, "B", Role::input, n, n) {
    B.use([&](index i, index j) { return in_triangle(uplo, i, j) ? read : unused; });
  }
  std::vector<Operand*> operands() override { return {&A, &B}; }
  std::string describe() const override { return text(name(), "%ld%c n=%ld", long(itype), uplo, long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// A factor with a real diagonal, well-conditioned, by which no number leaves its range.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (i == j)
          B(i, j) = T(static_cast<Real<T>>(1 + draw.number() / 4));
        else if (in_triangle(uplo, i, j))
          B(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(2 * n);
  }
  void make() override {
    info = {};
    fortran(name(), itype, uplo, n, A.data(), A.leading(), B.data(), B.leading(), info.address());
  }

  /// Two solutions, or products, with a factor of condition 8 at most, so of norms within 4 of one: 16 gamma(n) of |A|
  /// (Higham, Accuracy and Stability, 8.2 and 3.5), twice.
  void judge(const Sygst& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    const auto place = [this](index i, index j) { return static_cast<std::size_t>(i + j * n); };
    const auto conjugate = [](Wide<T> x) { return promises::conjugate<T>(x); };
    const auto l = [&](index i, index j) { return cholesky_l(uplo, B, i, j); };
    std::vector<Wide<T>> c(static_cast<std::size_t>(n * n));
    long double squares = 0, off = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) squares += std::norm(c[place(i, j)] = was.A.full(i, j));
    for (int side = 0; side < 2; ++side) {  // L^-1 C or L^H C, and of that the adjoint
      std::vector<Wide<T>> adjoint(c.size());
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) {
          Wide<T>& x = c[place(i, j)];
          if (itype == 1) {
            for (index k = 0; k < i; ++k) x -= l(i, k) * c[place(k, j)];
            x /= l(i, i);
          } else {
            x *= conjugate(l(i, i));
            for (index k = i + 1; k < n; ++k) x += conjugate(l(k, i)) * c[place(k, j)];
          }
          adjoint[place(j, i)] = conjugate(x);
        }
      c = adjoint;
    }
    for (index j = 0; j < n; ++j) {
      judge.check("the diagonal is not real", std::imag(A(j, j)) == 0);
      for (index i = 0; i < n; ++i) off += std::norm(A.full(i, j) - c[place(i, j)]);
    }
    judge.at_most("A is off", static_cast<double>(std::sqrt(off)),
                  static_cast<double>(32 * unit<T>(n) * std::sqrt(squares)));
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return itype = 0, true;
      case 1: return itype = 4, true;
      case 2: return uplo = 'X', true;
      case 3: return n = -1, true;
      case 4: return A.tell(n - 1), true;
      case 5: return B.tell(n - 1), true;
      default: return false;
    }
  }
};

JOIN(sygst, Sygst<float>, Sygst<double>, Sygst<std::complex<float>>, Sygst<std::complex<double>>);

}  // namespace
}  // namespace suite
