// Batches of products of the same sizes.
#include "kernels/systolic.hpp"
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::batches_tests {
namespace {

/// Matrices side by side, with columns between them that nobody reads; or the same one for all.
template <class T>
struct Matrices {
  Matrices(index rows_, index cols_, index count, index gap, bool same)
      : rows(rows_), cols(cols_), apart(cols + gap), all(rows, same ? cols : apart * count, gap), shared(same) {
    all.random(static_cast<unsigned>(rows + 3 * cols + gap));
    for (index j = 0; j < all.cols(); ++j)
      for (index i = 0; i < rows && !shared; ++i)
        if (j % apart >= cols) all(i, j) = scalar<T>(nan, nan);
  }
  index stride() const { return shared ? 0 : apart * all.ld(); }

  index rows, cols, apart;
  Matrix<T> all;
  bool shared;
};

template <class T>
class Batches : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::gemm_batch, precision_of<T>))
      GTEST_SKIP() << "not on this backend";
  }
};
TYPED_TEST_SUITE(Batches, Precisions, TypeNames);

/// What a systolic array makes of an element, to the bit.
template <class T>
T in_order_of_k(const GemmArgs<T>& x, index i, index j) {
  T sum = 0;
  for (index v = 0; v < x.k; ++v) sum = std::fma(x.A[i + v * x.lda], x.B[v + j * x.ldb], sum);
  const T c = x.C[i + j * x.ldc];
  return arithmetic::updated(x.alpha, sum, x.beta, &c);
}

template <class T>
void expect_right(Op transa, Op transb, index m, index n, index k, index count, T alpha, T beta, index turn,
                  bool by_arrays = false) {
  const bool plain_a = transa == Op::none, plain_b = transb == Op::none;
  Matrices<T> A(plain_a ? m : k, plain_a ? k : m, count, turn % 3, turn % 5 == 1),
      B(plain_b ? k : n, plain_b ? n : k, count, turn % 4, turn % 5 == 2), C(m, n, count, turn % 2, false);
  if (alpha == T(0)) A.all.fill(scalar<T>(nan, nan)), B.all.fill(scalar<T>(inf, nan));
  if (beta == T(0)) C.all.fill(scalar<T>(nan, nan));
  const index offset = turn % 3;
  Call call(room(A.all, offset) + room(B.all, offset) + room(C.all, offset) + 256);
  const Placed<T> a = call.put(A.all, offset), b = call.put(B.all, offset), c = call.put(C.all, offset);
  const Scalar<T> for_alpha{{}, alpha}, for_beta{{}, beta};
  const GemmBatch batch{.precision = precision_of<T>,
                        .transa = transa,
                        .transb = transb,
                        .m = m,
                        .n = n,
                        .k = k,
                        .count = count,
                        .alpha = &for_alpha.value,
                        .A = a.at,
                        .lda = A.all.ld(),
                        .stride_a = A.stride(),
                        .B = b.at,
                        .ldb = B.all.ld(),
                        .stride_b = B.stride(),
                        .beta = &for_beta.value,
                        .C = c.at,
                        .ldc = C.all.ld(),
                        .stride_c = C.stride(),
                        .systolic = by_arrays};
  const Ticket done = call.ask(batch, {a.ready, b.ready, c.ready});
  Matrix<T> result = C.all;
  call.get(result, c.at, {done});
  ASSERT_TRUE(result.canaries_intact());
  for (index p = 0; p < count; ++p) {
    const GemmArgs<T> product{transa,
                              transb,
                              m,
                              n,
                              k,
                              alpha,
                              A.all.data() + p * A.stride(),
                              A.all.ld(),
                              B.all.data() + p * B.stride(),
                              B.all.ld(),
                              beta,
                              C.all.data() + p * C.stride(),
                              C.all.ld()};
    for (index j = 0; j < C.apart; ++j)
      for (index i = 0; i < m; ++i) {
        const T& got = result(i, p * C.apart + j);
        if constexpr (std::is_floating_point_v<T>) {
          if (by_arrays && j < n) {
            ASSERT_TRUE(same_bits(got, in_order_of_k(product, i, j)))
                << "number " << p << ", " << m << " x " << n << " x " << k << " at " << i << ", " << j;
          }
        }
        if (j < n)
          ASSERT_LE(element(product, i, j).excess(got), 1)
              << "number " << p << " of " << count << ", " << m << " x " << n << " x " << k << " at " << i << ", " << j;
        else
          ASSERT_TRUE(same_bits(got, C.all(i, p * C.apart + j))) << "between them";
      }
  }
}

TYPED_TEST(Batches, AreTheirProductsWithOneMatrixForAllOrWithoutGapsOrWithGaps) {
  using T = TypeParam;
  const T alphas[] = {T(1), scalar<T>(-0.5, 0.25), T(0)}, betas[] = {T(0), T(1), scalar<T>(0.7, -0.3)};
  index turn = 0;
  for (const Op transa : ops)
    for (const Op transb : ops)
      for (const auto& [m, n, k, count] : {std::array<index, 4>{1, 1, 1, 3},
                                           {7, 5, 9, 4},
                                           {33, 64, 17, 3},
                                           {64, 64, 64, 5},
                                           {5, 3, 0, 2},
                                           {40, 1, 70, 6}}) {
        ++turn;
        expect_right<T>(transa, transb, m, n, k, count, alphas[turn % 3], betas[turn / 3 % 3], turn);
        if (testing::Test::HasFatalFailure()) return;
      }
}

TYPED_TEST(Batches, MayBeOfManyProducts) {
  using T = TypeParam;
  expect_right<T>(Op::none, Op::transpose, 2, 3, 2, 70000, scalar<T>(0.5, 0.5), T(0), 5);
}

template <class T>
class BatchesByArrays : public Batches<T> {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(BatchesByArrays, Reals, TypeNames);

TYPED_TEST(BatchesByArrays, HaveTheBitsOfASumInTheOrderOfK) {
  using T = TypeParam;
  const T alphas[] = {T(1), T(-0.5), T(0)}, betas[] = {T(0), T(1), T(0.7)};
  index turn = 0;
  for (const auto& [m, n, k, count] : {std::array<index, 4>{1, 1, 1, 3},
                                       {7, 5, 9, 4},
                                       {33, 64, 17, 3},
                                       {64, 64, 64, 5},
                                       {16, 16, 300, 2},
                                       {130, 70, 129, 2},
                                       {4, 4, 4, 5000}})
    for (int round = 0; round < 9; ++round) {
      ++turn;
      ASSERT_TRUE(systolic::can_multiply(precision_of<T>, Op::none, Op::none, m, n, k));
      expect_right<T>(Op::none, Op::none, m, n, k, count, alphas[round % 3], betas[round / 3], turn, true);
      if (testing::Test::HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace blaslift::conformance::batches_tests
