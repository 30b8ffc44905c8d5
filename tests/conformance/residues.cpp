// Products by residues: on every backend the bits that the definition says.
#include "kernels/residues.hpp"

#include "impl/core/blocks.hpp"
#include "tests/conformance/harness.hpp"
#include "tests/unit/support/by_residues.hpp"

namespace blaslift::conformance::residues_tests {
namespace {

using residues::Layout, residues::Tile;

template <class T>
class Residues : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::residues, precision_of<T>))
      GTEST_SKIP() << "not on this backend";
  }
};
TYPED_TEST_SUITE(Residues, Precisions, TypeNames);

/// A part of C, by a product of its own.
struct Cell {
  Block c;
  bool make_a, make_b;
  Part part = Part::whole;
};

/// Products by residues into one C, which use what is split together.
template <class T>
struct Run {
  Problem<T>& p;
  std::size_t sums;
  bool declined = false;

  Matrix<T> run(const std::vector<Cell>& cells) {
    constexpr Precision precision = precision_of<T>;
    const Layout of_a(precision, p.m, p.k), of_b(precision, p.n, p.k);
    const auto bytes = [](std::size_t x) { return static_cast<index>(x); };
    Call call(p.bytes() + of_a.bytes + of_b.bytes + sums + 3 * 256);
    const Placed<T> a = call.put(p.A, 1), b = call.put(p.B, 2), c = call.put(p.C, 3);
    const ResidueMemory split_a{call.part<char>(bytes(of_a.bytes)), p.m},
        split_b{call.part<char>(bytes(of_b.bytes)), p.n};
    char* const memory = call.part<char>(bytes(sums));
    const Scalar<T> alpha{{}, p.alpha}, beta{{}, p.beta};
    Tickets before{a.ready, b.ready, c.ready};
    for (const Cell& cell : cells) {
      GemmByResidues g{as_gemm(p.args())};
      g.alpha = &alpha.value;
      g.beta = &beta.value;
      g.m = cell.c.rows;
      g.n = cell.c.cols;
      g.A = a.at + cell.c.row * (p.transa == Op::none ? 1 : p.A.ld());
      g.B = b.at + cell.c.col * (p.transb == Op::none ? p.B.ld() : 1);
      g.C = c.at + cell.c.row + cell.c.col * p.C.ld();
      g.split_a = split_a;
      g.split_b = split_b;
      g.first_a = cell.c.row;
      g.first_b = cell.c.col;
      g.make_a = cell.make_a;
      g.make_b = cell.make_b;
      g.kept = cells.size() > 1;
      g.part = cell.part;
      g.sums = memory;
      g.sums_bytes = sums;
      g.declined = &declined;
      before = {call.ask(g, before)};
    }
    Matrix<T> result = p.C;
    call.get(result, c.at, before);
    return result;
  }
  Matrix<T> run() { return run({{{0, 0, p.m, p.n}, true, true}}); }

  Matrix<T> expected() {
    Matrix<T> c = p.C;
    const GemmArgs<T> args = p.args();
    Gemm g = as_gemm(args);
    g.C = c.data();
    by_residues<T>(g);
    return c;
  }
};

TYPED_TEST(Residues, HaveTheDefinitionsBits) {
  using T = TypeParam;
  constexpr index shapes[][3] = {{1, 1, 1}, {3, 2, 70}, {17, 13, 31}, {65, 33, 64}, {33, 130, 600}, {40, 9, 5000}};
  const T alphas[] = {T(1), scalar<T>(-0.5, 0.25)}, betas[] = {T(0), T(1), scalar<T>(0.7, -0.3)};
  int turn = 0;
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const auto& [m, n, k] : shapes) {
        ++turn;
        Problem<T> p(ta, tb, m, n, k, alphas[turn % 2], betas[turn % 3]);
        if (p.beta == T(0)) p.C.fill(scalar<T>(nan, nan));  // not read
        // One tile, or many.
        const std::size_t sums = turn % 2 ? Tile::bytes(precision_of<T>, m, n) : Tile::bytes(precision_of<T>, 16, 32);
        Run<T> products{p, sums};
        ASSERT_TRUE(products.run() == products.expected()) << describe(p.args());
        ASSERT_FALSE(products.declined) << describe(p.args());
      }
}

TYPED_TEST(Residues, OfMoreOfKThanASumHasRoomFor) {
  using T = TypeParam;
  using residues::most_in_a_sum;
  for (const index k : {most_in_a_sum, most_in_a_sum + 1, 2 * most_in_a_sum + 31}) {
    Problem<T> p(Op::transpose, Op::none, 5, 3, k, scalar<T>(-0.5, 0.25), scalar<T>(0.7, -0.3));
    Run<T> products{p, Tile::bytes(precision_of<T>, 5, 3)};
    ASSERT_TRUE(products.run() == products.expected()) << describe(p.args());
    ASSERT_FALSE(products.declined) << describe(p.args());
  }
}

TYPED_TEST(Residues, MayBeSplitForSeveralProducts) {
  using T = TypeParam;
  Problem<T> p(Op::none, Op::none, 50, 70, 90, scalar<T>(-0.5, 0.25), scalar<T>(0.7, -0.3));
  Run<T> products{p, Tile::bytes(precision_of<T>, 50, 70)};
  const Matrix<T> result = products.run({{{0, 0, 17, 20}, true, true},
                                         {{17, 0, 33, 20}, true, false},
                                         {{0, 20, 17, 50}, false, true},
                                         {{17, 20, 33, 50}, false, false}});
  EXPECT_TRUE(result == products.expected());
  EXPECT_FALSE(products.declined);
}

/// Numbers of any size that the precision has: rows and columns are scaled apart.
/// Of a herk, too, whose diagonal is real even where it overflows.
TYPED_TEST(Residues, OfATriangleHaveTheDefinitionsBits) {
  using T = TypeParam;
  constexpr index n = 33;
  const double large = sizeof(Real<T>) == 4 ? 1e19 : 1e160;
  for (const Part part : {Part::lower, Part::upper})
    for (const double size : {1.0, large}) {
      Problem<T> p(Op::none, Op::conjugate, n, n, 700, T(1), T(0));
      for (index j = 0; j < p.k; ++j)
        for (index i = 0; i < n; ++i) p.B(i, j) = p.A(i, j) *= static_cast<Real<T>>(size);
      p.C.fill(scalar<T>(nan, nan));
      Run<T> products{p, Tile::bytes(precision_of<T>, n, n)};
      const Matrix<T> result = products.run({{{0, 0, n, n}, true, true, part}}), expected = products.expected();
      ASSERT_FALSE(products.declined);
      for (index j = 0; j < n; ++j) {
        EXPECT_EQ(std::real(result(j, j)), std::real(expected(j, j))) << j;
        EXPECT_EQ(std::imag(result(j, j)), Real<T>(0)) << j;
        if (size > 1) {
          EXPECT_TRUE(std::isinf(std::real(result(j, j))));
          continue;
        }
        for (index i = 0; i < n; ++i)
          if (part == Part::lower ? i > j : i < j) {
            EXPECT_EQ(result(i, j), expected(i, j)) << i << ", " << j;
          }
      }
    }
}

TYPED_TEST(Residues, OfRowsAndColumnsOfAnyScale) {
  using T = TypeParam;
  constexpr int most = std::numeric_limits<Real<T>>::max_exponent - 2,
                least = std::numeric_limits<Real<T>>::min_exponent;
  for (const bool of_a : {true, false}) {
    const Op op = of_a ? Op::none : Op::transpose;
    Problem<T> p(op, op, 40, 30, 60, scalar<T>(1, 0), scalar<T>(0, 0));
    const auto scaled = [](T& x, int exponent) { x *= std::ldexp(Real<T>(1), exponent); };
    // Nothing overflows: of NaN a GPU has other bits.
    constexpr int other = -10;
    const auto any = [](index i, index count) { return static_cast<int>(least + i * (most - least) / count); };
    for (index h = 0; h < p.k; ++h) {
      for (index i = 0; i < p.m; ++i) scaled(p.op_a(i, h), of_a ? any(i, p.m) : other);
      for (index j = 0; j < p.n; ++j) scaled(p.op_b(h, j), of_a ? other : any(j, p.n));
    }
    // And such as have nothing, or integers.
    for (index h = 0; h < p.k; ++h) p.op_a(7, h) = T(0), p.op_a(8, h) = T(static_cast<Real<T>>(h % 5));
    Run<T> products{p, Tile::bytes(precision_of<T>, 40, 30)};
    EXPECT_TRUE(products.run() == products.expected());
    EXPECT_FALSE(products.declined);
  }
}

TYPED_TEST(Residues, AreDeclinedWhereTheyWouldLoseDigits) {
  using T = TypeParam;
  for (const int what : {0, 1, 2, 3})
    for (const bool in_a : {true, false}) {
      Problem<T> p(Op::none, Op::transpose, 40, 30, 60, scalar<T>(0.5, 0), scalar<T>(0.7, -0.3));
      T& one = in_a ? p.op_a(39, 31) : p.op_b(59, 28);
      one = what == 0   ? scalar<T>(nan, 0)
            : what == 1 ? scalar<T>(0, inf) + scalar<T>(inf, 0)
            : what == 2 ? scalar<T>(-inf, 1)
                        : scalar<T>(std::numeric_limits<float>::max() / 8.0, 0);  // beside numbers of about one
      Run<T> products{p, Tile::bytes(precision_of<T>, 40, 30)};
      const Matrix<T> result = products.run();
      EXPECT_TRUE(products.declined) << what;
      // Computed as any product.
      EXPECT_TRUE(result == p.run() || std::string_view(backend->facts().profile) != "host");
      if (what == 3) {
        EXPECT_LE(worst_excess(product(p.args()), result), 1.0);
      }
      EXPECT_TRUE(result.canaries_intact());
      // Beside zeros, too: classically they are NaN.
      if (what == 3) continue;
      for (index i = 0; i < (in_a ? p.B : p.A).rows(); ++i)
        for (index j = 0; j < (in_a ? p.B : p.A).cols(); ++j) (in_a ? p.B : p.A)(i, j) = T(0);
      products.declined = false;
      const Matrix<T> beside_zeros = products.run();
      EXPECT_TRUE(products.declined) << what;
      Matrix<T> classical = p.C;
      const GemmArgs<T> args = p.args();
      Gemm g = as_gemm(args);
      g.C = classical.data();
      naive(g);
      for (index j = 0; j < p.n; ++j)
        for (index i = 0; i < p.m; ++i)
          ASSERT_EQ(std::isnan(std::real(beside_zeros(i, j))), std::isnan(std::real(classical(i, j)))) << i << "," << j;
    }
}

/// Unused parts of what is split, and sums, are other calls' memory.
TYPED_TEST(Residues, RepeatBitForBitAndReadNothingElse) {
  using T = TypeParam;
  Problem<T> p(Op::none, Op::none, 131, 67, 257, scalar<T>(1, 0), scalar<T>(1, 0));
  Run<T> products{p, Tile::bytes(precision_of<T>, 131, 67)};
  const Matrix<T> first = products.run();
  for (int time = 0; time < 3; ++time) ASSERT_TRUE(products.run() == first);
}

}  // namespace
}  // namespace blaslift::conformance::residues_tests
