// y := x.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

/// In steps of any length.
template <class T>
struct Strided : Matrix<T> {
  Strided(Draw& draw, std::string_view operand, Role as, index n, index step, bool runs_backward)
      : Matrix<T>(draw, operand, as, n, step, 0), backward(runs_backward) {}
  bool backward;
  index inc() const { return backward ? -this->leading() : this->leading(); }
  const T& operator[](index i) const { return (*this)(0, backward ? this->cols() - 1 - i : i); }
};

template <class T>
struct Copy : Routine<Copy<T>> {
  static constexpr bool of_host = true;
  static constexpr int ways_to_nothing = 2;
  static std::string name() { return named<T>("copy"); }

  /// Half of the calls: from this size on, forward, and one of the vectors in steps of 256 bytes or more.
  static constexpr index least = 2048, step = 256 / static_cast<index>(sizeof(T));

  bool large;
  int steps;  ///< of large ones: x's, y's, or both are long
  index n;
  Strided<T> x, y;

  explicit Copy(Draw& draw)
      : large(draw.pick(2) == 0),
        steps(draw.pick(3)),
        n(draw.nothing(0)   ? 0
          : draw.nothing(1) ? -3
                            : draw.size() * (large ? 5 : 1) + (large ? least : 0)),
        x(draw, "x", Role::input, std::max<index>(0, n), large ? long_or_not(draw, steps != 1) : any(draw, 0),
          !large && draw.pick(2) == 1),
        y(draw, "y", Role::output, std::max<index>(0, n), large ? long_or_not(draw, steps != 0) : any(draw, 1),
          !large && draw.pick(2) == 1) {
    y.use([](index, index) { return written; });
  }
  static index long_or_not(Draw& draw, bool is_long) {
    return is_long ? step + std::array<index, 3>{0, 1, 29}[std::size_t(draw.below(3))] : 1 + draw.below(3);
  }
  static index any(Draw& draw, index least_step) {
    return std::max(least_step, std::array<index, 4>{0, 1, 3, step + 5}[std::size_t(draw.pick(4))]);
  }
  std::vector<Operand*> operands() override { return {&x, &y}; }
  std::string describe() const override {
    return text(name(), "n=%ld incx=%ld incy=%ld", long(n), long(x.inc()), long(y.inc()));
  }

  void make() override {
    if (this->via == Via::fortran) return fortran(name(), n, x.data(), x.inc(), y.data(), y.inc());
    // Without a layout.
    using Function = void (*)(index, const T*, index, T*, index);
    reinterpret_cast<Function>(symbol("cblas_" + name()))(padded(n), x.data(), padded(x.inc()), y.data(),
                                                          padded(y.inc()));
  }

  /// The same bits.
  void judge(const Copy& was, Judge& judge) const {
    for (index i = 0; i < n; ++i) judge.check("not x's bits", std::memcmp(&y[i], &was.x[i], sizeof(T)) == 0);
  }
};

JOIN(copy, Copy<float>, Copy<double>, Copy<std::complex<float>>, Copy<std::complex<double>>);

}  // namespace
}  // namespace suite
