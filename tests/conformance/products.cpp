// Products, and triangles of products.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::products_tests {
namespace {

TYPED_TEST_SUITE(Products, Precisions, TypeNames);

TYPED_TEST(Products, EveryTransposeScalarAndSize) {
  using T = TypeParam;
  constexpr index shapes[][3] = {{0, 4, 3}, {4, 0, 3}, {0, 0, 0},    {5, 4, 0},    {1, 1, 1},   {1, 7, 2},
                                 {9, 1, 4}, {2, 3, 5}, {17, 13, 11}, {65, 33, 64}, {64, 65, 3}, {33, 2, 129}};
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const T& alpha : {this->zero, this->one, this->some_alpha})
        for (const T& beta : {this->zero, this->one, this->some_beta})
          for (const auto& [m, n, k] : shapes) {
            Problem<T> p(ta, tb, m, n, k, alpha, beta);
            if (alpha == T(0)) {  // not read
              p.A.fill(scalar<T>(nan, nan));
              p.B.fill(scalar<T>(inf, -inf));
            }
            if (beta == T(0)) p.C.fill(scalar<T>(nan, nan));  // not read
            p.expect_right();
            if (testing::Test::HasFailure()) return;
          }
}

TYPED_TEST(Products, OfLittleDataAreRightToo) {
  using T = TypeParam;
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const auto& [m, n, k] : {std::array<index, 3>{1, 1, 1}, std::array<index, 3>{17, 13, 11},
                                    std::array<index, 3>{65, 33, 64}, std::array<index, 3>{5, 4, 0}}) {
        Problem<T> p(ta, tb, m, n, k, this->some_alpha, this->some_beta);
        p.expect_right(little);
        const Matrix<T> by_threads = p.run();
        EXPECT_TRUE(p.run(little) == by_threads) << "not the same bits: " << describe(p.args());
        if (testing::Test::HasFailure()) return;
      }
}

TYPED_TEST(Products, LargerThanTiles) {
  for (const Op ta : ops)
    for (const Op tb : ops) {
      Problem<TypeParam> p(ta, tb, 301, 67, 305, this->some_alpha, this->some_beta, 19);
      p.expect_right();
    }
}

TYPED_TEST(Products, WithoutProductCIsScaledAloneAndExactly) {
  // alpha = 0 or k = 0: beta = 1 leaves every bit, infinities and NaN payloads too; beta = 0 clears them.
  using T = TypeParam;
  for (const bool no_k : {false, true})
    for (const T& beta : {this->one, this->zero}) {
      Problem<T> p(Op::none, Op::none, 70, 41, no_k ? 0 : 6, no_k ? this->some_alpha : this->zero, beta);
      p.A.fill(scalar<T>(nan, inf));
      p.B.fill(scalar<T>(inf, nan));
      p.C(3, 3) = scalar<T>(inf, 0);
      p.C(69, 40) = scalar<T>(1, -inf);
      p.C(0, 7) = scalar<T>(nan, 1);
      const Matrix<T> result = p.run();
      if (beta == T(1)) {
        EXPECT_TRUE(result == p.C) << describe(p.args());
      } else {
        for (index j = 0; j < p.n; ++j)
          for (index i = 0; i < p.m; ++i) ASSERT_EQ(result(i, j), T(0)) << i << "," << j;
        EXPECT_TRUE(result.canaries_intact());
      }
    }
}

TYPED_TEST(Products, PoisonStaysWhereTheClassicalProductPutsIt) {
  using T = TypeParam;
  const T poisons[] = {scalar<T>(nan, 0), scalar<T>(inf, 0), scalar<T>(-inf, inf), scalar<T>(0.5, nan)};
  enum Where { in_a, in_b, in_c };
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const auto& [m, n, k] : {std::array<index, 3>{19, 23, 31}, std::array<index, 3>{130, 66, 70}}) {
        Problem<T> p(ta, tb, m, n, k, this->some_alpha, this->some_beta);
        const auto clean = product(p.args());
        for (const T& poison : poisons) {
          if (finite(poison)) continue;  // its NaN was in the imaginary part that this type lacks
          for (const Where where : {in_a, in_b, in_c}) {
            const index row = m * 2 / 3, col = n - 1, at = k / 2;
            T& element = where == in_a ? p.op_a(row, at) : where == in_b ? p.op_b(at, col) : p.C(row, col);
            const T before = std::exchange(element, poison);
            const Matrix<T> result = p.run();
            element = before;
            for (index j = 0; j < n; ++j)
              for (index i = 0; i < m; ++i) {
                const bool poisoned = (where == in_b || i == row) && (where == in_a || j == col);
                const T& x = result(i, j);
                if (poisoned)
                  ASSERT_FALSE(finite(x)) << "poison lost at " << i << "," << j << " " << describe(p.args());
                else
                  ASSERT_LE(clean[static_cast<std::size_t>(i + j * m)].excess(x), 1.0)
                      << "poison spread to " << i << "," << j << " " << describe(p.args());
              }
            ASSERT_TRUE(result.canaries_intact());
          }
        }
      }
}

TYPED_TEST(Products, RepeatBitForBit) {
  // Promise 5, on one lane and on lanes given back and acquired again.
  Problem<TypeParam> p(Op::none, Op::transpose, 257, 129, 200, this->some_alpha, this->some_beta);
  const auto first = p.run();
  for (int time = 1; time < 10; ++time) ASSERT_TRUE(p.run() == first) << "differs the " << time + 1 << "th time";
  Call call(10 * p.bytes());
  for (int time = 0; time < 10; ++time)
    ASSERT_TRUE(p.run(call) == first) << "differs the " << time + 1 << "th time in one call";
}

// ---- triangles of products

template <class T>
class Triangles : public Products<T> {};
TYPED_TEST_SUITE(Triangles, Precisions, TypeNames);

TYPED_TEST(Triangles, OfEveryKindReadAndWriteNothingElse) {
  using T = TypeParam;
  constexpr index shapes[][2] = {{1, 1}, {2, 7}, {5, 0}, {17, 13}, {65, 3}, {130, 40}};
  for (const auto& [ta, tb] : {std::pair{Op::none, Op::transpose}, std::pair{Op::transpose, Op::none},
                               std::pair{Op::none, Op::conjugate}, std::pair{Op::conjugate, Op::none}})
    for (const Part part : {Part::upper, Part::lower})
      for (const auto& [alpha, beta] :
           {std::pair{-0.5, 0.0}, {-0.5, 1.0}, {-0.5, -0.7}, {0.0, 0.0}, {0.0, 1.0}, {0.0, -0.7}})
        for (const auto& [n, k] : shapes) {
          if (!complex_type<T> && (ta == Op::conjugate || tb == Op::conjugate)) continue;
          const bool hermitian = ta == Op::conjugate || tb == Op::conjugate;
          Matrix<T> A(ta == Op::none ? n : k, ta == Op::none ? k : n, 3), C(n, n, 2);
          A.random(1);
          C.random(2);
          GemmArgs<T> args{ta,
                           tb,
                           n,
                           n,
                           k,
                           scalar<T>(alpha, hermitian || alpha == 0 ? 0 : 0.25),
                           A.data(),
                           A.ld(),
                           A.data(),
                           A.ld(),
                           scalar<T>(beta, hermitian || beta == 0 ? 0 : 0.25),
                           C.data(),
                           C.ld(),
                           part};
          const auto counts = [part](index i, index j) { return part == Part::upper ? i <= j : i >= j; };
          std::vector<Expected<T>> expected;
          for (index j = 0; j < n; ++j)
            for (index i = 0; i < n; ++i) {
              if (hermitian && i == j) C(i, j) = std::real(C(i, j));
              expected.push_back(element(args, i, j));
              if (!counts(i, j) || beta == 0) C(i, j) = scalar<T>(nan, nan);
              // With nothing to add to C, BLAS does not touch it.
              if (hermitian && i == j && beta != 0 && ((k > 0 && alpha != 0) || beta != 1))
                C(i, j) = scalar<T>(std::real(C(i, j)), nan);
            }
          if (alpha == 0) A.fill(scalar<T>(nan, inf));  // not read
          Call call(room(A) + room(C) + 256);
          Gemm g = as_gemm(args);
          const Placed<T> a = call.put(A), c = call.put(C);
          g.A = g.B = a.at;
          g.C = c.at;
          const Ticket product = call.ask(g, {a.ready, c.ready});
          Matrix<T> result = C;
          call.get(result, c.at, {product});
          for (index j = 0; j < n; ++j)
            for (index i = 0; i < n; ++i) {
              const std::string where = describe(args) + ", part " + std::to_string(static_cast<int>(part)) + " at " +
                                        std::to_string(i) + "," + std::to_string(j);
              if (!counts(i, j)) {
                ASSERT_TRUE(same_bits(result(i, j), C(i, j))) << where;
              } else {
                ASSERT_LE(expected[static_cast<std::size_t>(i + j * n)].excess(result(i, j)), 1.0) << where;
              }
              if (hermitian && i == j) {
                ASSERT_EQ(std::imag(result(i, j)), 0) << where;
              }
            }
          ASSERT_TRUE(result.canaries_intact());
        }
}

/// Of two matrices: any product, or the sum of one and of the other way round.
template <class T>
void look_at_triangle(Update update, Part part, Op ta, Op tb, index n, index k, T alpha, T beta) {
  const bool twice = update == Update::rank_2k, hermitian = twice && (ta == Op::conjugate || tb == Op::conjugate);
  Matrix<T> A(ta == Op::none ? n : k, ta == Op::none ? k : n, 3), B(tb == Op::none ? k : n, tb == Op::none ? n : k, 1),
      C(n, n, 2);
  A.random(1);
  B.random(2);
  C.random(3);
  GemmArgs<T> args{ta, tb, n, n, k, alpha, A.data(), A.ld(), B.data(), B.ld(), beta, C.data(), C.ld(), part, update};
  // Both products as one: of [alpha A, alpha' B] and [B, A].  Scaling with these alphas does not round.
  Matrix<T> left(ta == Op::none ? n : 2 * k, ta == Op::none ? 2 * k : n),
      right(tb == Op::none ? 2 * k : n, tb == Op::none ? n : 2 * k);
  GemmArgs<T> one = args;
  if (twice) {
    for (index i = 0; i < n; ++i)
      for (index p = 0; p < k; ++p) {
        const auto of = [&](Matrix<T>& x, Op op, index at) -> T& { return op == Op::none ? x(i, at) : x(at, i); };
        const auto of_right = [&](Matrix<T>& x, index at) -> T& { return tb == Op::none ? x(at, i) : x(i, at); };
        T first = alpha, second = alpha;
        if constexpr (complex_type<T>) {
          if (ta == Op::conjugate) first = std::conj(alpha);
          if (tb == Op::conjugate) second = std::conj(alpha);
        }
        of(left, ta, p) = first * of(A, ta, p);
        of(left, ta, k + p) = second * of(B, ta, p);
        of_right(right, p) = of_right(B, p);
        of_right(right, k + p) = of_right(A, p);
      }
    one.k = 2 * k;
    one.alpha = T(1);
    one.A = left.data();
    one.lda = left.ld();
    one.B = right.data();
    one.ldb = right.ld();
  }
  const auto counts = [part](index i, index j) { return part == Part::upper ? i <= j : i >= j; };
  std::vector<Expected<T>> expected;
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) {
      if (hermitian && i == j) C(i, j) = std::real(C(i, j));
      if (counts(i, j)) expected.push_back(element(one, i, j));
      if (!counts(i, j) || beta == T(0)) C(i, j) = scalar<T>(nan, nan);
      if (hermitian && i == j && beta != T(0)) C(i, j) = scalar<T>(std::real(C(i, j)), nan);
    }
  if (alpha == T(0)) A.fill(scalar<T>(nan, inf)), B.fill(scalar<T>(nan, inf));  // not read
  Call call(room(A) + room(B) + room(C) + 256);
  Gemm g = as_gemm(args);
  const Placed<T> a = call.put(A), b = call.put(B), c = call.put(C);
  g.A = a.at;
  g.B = b.at;
  g.C = c.at;
  const Ticket product = call.ask(g, {a.ready, b.ready, c.ready});
  Matrix<T> result = C;
  call.get(result, c.at, {product});
  auto next = expected.begin();
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) {
      const std::string where = describe(args) + ", update " + std::to_string(static_cast<int>(update)) + ", part " +
                                std::to_string(static_cast<int>(part)) + " at " + std::to_string(i) + "," +
                                std::to_string(j);
      if (counts(i, j))
        ASSERT_LE((next++)->excess(result(i, j)), 1.0) << where;
      else
        ASSERT_TRUE(same_bits(result(i, j), C(i, j))) << where;
      if (hermitian && i == j) {
        ASSERT_EQ(std::imag(result(i, j)), 0) << where;
      }
    }
  ASSERT_TRUE(result.canaries_intact());
}

TYPED_TEST(Triangles, OfTwoMatricesReadAndWriteNothingElse) {
  using T = TypeParam;
  constexpr index shapes[][2] = {{1, 1}, {2, 7}, {5, 0}, {17, 13}, {65, 3}, {300, 5}};
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const Part part : {Part::upper, Part::lower})
        for (const auto& [alpha, beta] : {std::pair{-0.5, 0.0}, {-0.5, 1.0}, {-0.5, -0.75}, {0.0, 0.0}, {0.0, -0.75}})
          for (const auto& [n, k] : shapes) {
            if (n > 100 && (alpha == 0 || beta != -0.75)) continue;  // takes long
            look_at_triangle<T>(Update::product, part, ta, tb, n, k, scalar<T>(alpha, alpha == 0 ? 0 : 0.25),
                                scalar<T>(beta, beta == 0 ? 0 : 0.25));
          }
}

TYPED_TEST(Triangles, OfASumEitherWayRoundReadAndWriteNothingElse) {
  using T = TypeParam;
  constexpr index shapes[][2] = {{1, 1}, {2, 7}, {17, 13}, {65, 3}, {300, 5}, {5, 0}};
  for (const auto& [ta, tb] : {std::pair{Op::none, Op::transpose}, std::pair{Op::transpose, Op::none},
                               std::pair{Op::none, Op::conjugate}, std::pair{Op::conjugate, Op::none}})
    for (const Part part : {Part::upper, Part::lower})
      for (const double beta : {0.0, 1.0, -0.75})
        for (const auto& [n, k] : shapes) {
          const bool hermitian = ta == Op::conjugate || tb == Op::conjugate;
          if ((hermitian && !complex_type<T>) || (n > 100 && beta != 1)) continue;
          const T alpha = scalar<T>(complex_type<T> ? 0 : -0.5, -0.5);
          look_at_triangle<T>(Update::rank_2k, part, ta, tb, n, k, alpha,
                              scalar<T>(beta, hermitian || beta == 0 ? 0 : 0.25));
        }
}

/// Large enough for rectangles beside squares on a GPU.
TYPED_TEST(Triangles, OfTwoMatricesRepeatBitForBit) {
  using T = TypeParam;
  constexpr index n = 520, k = 30;
  Matrix<T> A(n, k), B(k, n), C(n, n);
  A.random(1);
  B.random(2);
  C.random(3);
  const GemmArgs<T> args{Op::none, Op::none, n,    n,        k,      scalar<T>(-0.5, 0.25), A.data(),       A.ld(),
                         B.data(), B.ld(),   T(1), C.data(), C.ld(), Part::lower,           Update::product};
  std::vector<T> first;
  for (int time = 0; time < 3; ++time) {
    Call call(room(A) + room(B) + room(C) + 256);
    Gemm g = as_gemm(args);
    const Placed<T> a = call.put(A), b = call.put(B), c = call.put(C);
    g.A = a.at;
    g.B = b.at;
    g.C = c.at;
    const Ticket product = call.ask(g, {a.ready, b.ready, c.ready});
    Matrix<T> result = C;
    call.get(result, c.at, {product});
    std::vector<T> now;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) now.push_back(result(i, j));
    if (time == 0) first = now;
    for (std::size_t i = 0; i < now.size(); ++i) ASSERT_TRUE(same_bits(now[i], first[i])) << "time " << time;
  }
}

}  // namespace
}  // namespace blaslift::conformance::products_tests
