// Products added to another matrix than the one they are written to.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::products_plus_e_tests {
namespace {

template <class T>
class ProductsPlusE : public Products<T> {};
TYPED_TEST_SUITE(ProductsPlusE, Precisions, TypeNames);

TYPED_TEST(ProductsPlusE, EveryTransposeScalarAndSize) {
  using T = TypeParam;
  constexpr index shapes[][3] = {{0, 4, 3}, {4, 0, 3},  {5, 4, 0},    {1, 1, 1},    {1, 7, 2},   {9, 1, 4},
                                 {2, 3, 5}, {8, 16, 4}, {17, 13, 11}, {65, 33, 64}, {64, 64, 3}, {33, 2, 129}};
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const T& alpha : {this->zero, this->one, this->some_alpha})
        for (const T& beta : {this->zero, this->one, this->some_beta})
          for (const auto& [m, n, k] : shapes) {
            Problem<T> p(ta, tb, m, n, k, alpha, beta);
            p.add_e();
            if (alpha == T(0)) {  // not read
              p.A.fill(scalar<T>(nan, nan));
              p.B.fill(scalar<T>(inf, -inf));
            }
            if (beta == T(0)) p.E->fill(scalar<T>(nan, inf));  // not read
            p.expect_right(little);
            if (testing::Test::HasFailure()) return;
          }
}

TYPED_TEST(ProductsPlusE, WhereverTheMatricesLie) {
  using T = TypeParam;
  for (const index offset : {index{1}, index{2}, index{3}})
    for (const index gap : {index{0}, index{1}, index{4}})
      for (const Op op : ops)
        for (const index size : {index{32}, index{47}, index{64}}) {
          Problem<T> p(op, Op::none, size, size, size, this->some_alpha, this->some_beta, gap);
          p.add_e();
          p.offset = offset;
          p.expect_right();
          if (testing::Test::HasFailure()) return;
        }
}

TYPED_TEST(ProductsPlusE, LargerThanTiles) {
  for (int op = 0; op < 3; ++op) {
    Problem<TypeParam> p(ops[op], ops[(op + 1) % 3], 301, 67, 305, this->some_alpha, this->some_beta, 19);
    p.add_e();
    p.expect_right();
  }
}

TYPED_TEST(ProductsPlusE, WithoutProductEIsCopiedExactly) {
  // alpha = 0 or k = 0: beta = 1 copies every bit, infinities and NaN payloads too.
  using T = TypeParam;
  for (const bool no_k : {false, true}) {
    Problem<T> p(Op::none, Op::none, 70, 41, no_k ? 0 : 6, no_k ? this->some_alpha : this->zero, this->one);
    p.A.fill(scalar<T>(nan, inf));
    p.B.fill(scalar<T>(inf, nan));
    p.add_e();
    (*p.E)(3, 3) = scalar<T>(inf, 0);
    (*p.E)(69, 40) = scalar<T>(1, -inf);
    (*p.E)(0, 7) = scalar<T>(nan, 1);
    (*p.E)(1, 7) = scalar<T>(-0.0, -0.0);
    std::memcpy(&(*p.E)(2, 7), p.C.data() + p.m, sizeof(T));  // a canary
    const Matrix<T> result = p.run();
    EXPECT_TRUE(result.canaries_intact());
    for (index j = 0; j < p.n; ++j)
      ASSERT_EQ(std::memcmp(&result(0, j), &(*p.E)(0, j), static_cast<std::size_t>(p.m) * sizeof(T)), 0) << j;
  }
}

TYPED_TEST(ProductsPlusE, PoisonInEStaysInItsElement) {
  using T = TypeParam;
  for (const index offset : {index{0}, index{1}}) {
    Problem<T> p(Op::transpose, Op::none, 66, 50, 70, this->some_alpha, this->some_beta);
    p.add_e();
    p.offset = offset;
    const auto clean = product(p.expected_args());
    (*p.E)(65, 7) = scalar<T>(inf, 0);
    const Matrix<T> result = p.run();
    for (index j = 0; j < p.n; ++j)
      for (index i = 0; i < p.m; ++i)
        if (i == 65 && j == 7)
          ASSERT_FALSE(finite(result(i, j)));
        else
          ASSERT_LE(clean[static_cast<std::size_t>(i + j * p.m)].excess(result(i, j)), 1.0) << i << "," << j;
  }
}

TYPED_TEST(ProductsPlusE, RepeatBitForBit) {
  // Promise 5; the second shape invites to add up parts of k.
  using T = TypeParam;
  for (const auto& [m, n, k] : {std::array<index, 3>{256, 128, 200}, std::array<index, 3>{32, 32, 3000}}) {
    Problem<T> p(Op::none, Op::transpose, m, n, k, this->some_alpha, this->some_beta, 0);
    p.add_e();
    const auto first = p.run();
    for (int time = 1; time < 10; ++time) ASSERT_TRUE(p.run() == first) << "differs the " << time + 1 << "th time";
    Call call(10 * p.bytes());
    for (int time = 0; time < 10; ++time)
      ASSERT_TRUE(p.run(call) == first) << "differs the " << time + 1 << "th time in one call";
  }
}

}  // namespace
}  // namespace blaslift::conformance::products_plus_e_tests
