// 1 / (|A| |A^-1|), estimated, of a triangular matrix.
#include <algorithm>
#include <vector>

#include "tests/promises/suite/factors.hpp"

namespace suite {
namespace {

template <class T>
struct Trcon : Routine<Trcon<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // rcond is one number
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static constexpr bool overlap = false;                                 // one number beside a matrix rarely does
  static constexpr std::string_view mistake_of_device = "element:1e20";  // of a solution, of which sums are taken
  /// At which no matrix is as small as rcond is, which lies in the host's memory, when all matrices lie in a device's.
  static constexpr index least_on_device = 12, bytes_on_device = 400;
  static std::string name() { return named<T>("trcon"); }

  char norm, uplo, diag;
  index n;
  Matrix<T> A;
  Matrix<Real<T>> rcond;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  Integers iwork;
  Info info;

  explicit Trcon(Draw& draw)
      : norm(draw.letter("1OI")),
        uplo(draw.letter("UL")),
        diag(draw.letter("NU")),
        n(draw.nothing(0) ? 0 : draw.size()),
        A(draw, "A", Role::input, n, n),
        rcond(draw, "rcond", Role::output, 1, 1),
        work(draw, "work", Role::workspace, std::max<index>(1, (is_complex<T> ? 2 : 3) * n), 1),
        rwork(draw, "rwork", Role::workspace, std::max<index>(1, n), 1),
        iwork(draw, "iwork", Role::workspace, std::max<index>(1, n)) {
    // Neither the other triangle nor a diagonal of ones is read, not even for the norm.
    A.use([this](index i, index j) { return in_triangle(uplo, i, j) && !(diag == 'U' && i == j) ? read : unused; });
    rcond.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    if constexpr (is_complex<T>) return {&A, &rcond, &work, &rwork};
    return {&A, &rcond, &work, &iwork};
  }
  std::string describe() const override { return text(name(), "%c%c%c n=%ld", norm, uplo, diag, long(n)); }

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    restore(draw);
  }
  /// Far from singular, with rows and columns of different norms.
  void restore(Draw& draw) override {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (A.use_of(i, j) & read)
          A(i, j) = promises::make<T>(draw.number(), draw.number()) / static_cast<Real<T>>(n) + (i == j ? T(2) : T(0));
  }
  void make() override {
    info = {};
    const auto call = [&](auto* last) {
      fortran(name(), norm, uplo, diag, n, A.data(), A.leading(), rcond.data(), work.data(), last, info.address());
    };
    if constexpr (is_complex<T>)
      call(rwork.data());
    else
      call(iwork.data());
  }

  Wide<T> element(index i, index j) const {
    if (!in_triangle(uplo, i, j)) return {};
    return diag == 'U' && i == j ? Wide<T>(1) : widen(A(i, j));
  }
  /// The norm asked for, of a matrix by its elements.
  template <class Of>
  long double norm_of(const Of& of) const {
    long double found = 0;
    for (index line = 0; line < n; ++line) {
      long double sum = 0;
      for (index other = 0; other < n; ++other) sum += std::abs(norm == 'I' ? of(line, other) : of(other, line));
      found = std::max(found, sum);
    }
    return found;
  }
  /// |A| is what it is, and of |A^-1| there is a lower bound, within a factor of ten (Higham, Accuracy and Stability,
  /// 15.3: of random matrices within three).
  void judge(const Trcon&, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    const auto got = static_cast<double>(rcond(0, 0));
    if (n == 0) return judge.check("rcond is not 1", got == 1);
    std::vector<Wide<T>> inverse(static_cast<std::size_t>(n * n));
    const auto at = [&](index i, index j) -> Wide<T>& { return inverse[static_cast<std::size_t>(i + j * n)]; };
    for (index j = 0; j < n; ++j)
      for (index step = 0; step < n; ++step) {
        const index i = uplo == 'L' ? step : n - 1 - step;
        Wide<T> rest(i == j ? 1 : 0);
        for (index k = uplo == 'L' ? 0 : i + 1; k < (uplo == 'L' ? i : n); ++k) rest -= element(i, k) * at(k, j);
        at(i, j) = rest / element(i, i);
      }
    const long double size = norm_of([&](index i, index j) { return element(i, j); });
    const auto due = static_cast<double>(1 / (size * norm_of(at)));
    judge.check("rcond is too small", got >= due * (1 - 100 * static_cast<double>(unit<T>(n))));
    judge.check("rcond is too large", got <= 10 * due);
  }

  bool mistake(int which) override {
    switch (which) {
      case 0: return norm = 'X', true;
      case 1: return uplo = 'X', true;
      case 2: return diag = 'X', true;
      case 3: return n = -1, true;
      case 4: return A.tell(n - 1), true;
      default: return false;
    }
  }
};

JOIN(trcon, Trcon<float>, Trcon<double>, Trcon<std::complex<float>>, Trcon<std::complex<double>>);

}  // namespace
}  // namespace suite
