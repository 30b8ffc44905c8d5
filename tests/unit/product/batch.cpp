// Batches of products on a backend's lane: every way in which their matrices lie, every cut, in whatever order the lane
// runs things; what is not to be read is NaN, and nothing of the caller's changes if anything fails.
#include <gtest/gtest.h>

#include <cmath>

#include "impl/product/batch.hpp"
#include "impl/product/batch_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift {
namespace {

using namespace reference;

/// The matrices of a batch, as one matrix.
template <class T>
Matrix<T> batch_of(BatchForm form, index rows, index cols, index count, index gap) {
  switch (form) {
    case BatchForm::side_by_side: return Matrix<T>(rows, cols * count, gap);
    case BatchForm::as_columns: return Matrix<T>(rows * cols, count, gap);
    case BatchForm::one_below_another: return Matrix<T>(rows * count, cols, gap);
    default: return Matrix<T>(rows, cols, gap);
  }
}

template <class T>
struct Batch {
  BatchForm form_a, form_b, form_c;
  Op transa, transb;
  index m, n, k, count;
  Matrix<T> A, B, C0, C;
  GemmBatchArgs<T> args{};
  BatchShape shape{};
  BatchCut cut{};

  static BatchForm any(Random& r, bool alone) {
    return static_cast<BatchForm>((alone ? 1 : 2) + r.below(alone ? 4 : 3));
  }

  Batch(Random& r, unsigned seed)
      : form_a(any(r, true)),
        form_b(any(r, true)),
        form_c(any(r, false)),
        transa(ops[r.below(3)]),
        transb(ops[r.below(3)]),
        m(r.up_to(7)),
        n(r.up_to(7)),
        k(r.up_to(7)),
        count(r.up_to(12)),
        A(batch_of<T>(form_a, transa == Op::none ? m : k, transa == Op::none ? k : m, count, r.up_to(4) - 1)),
        B(batch_of<T>(form_b, transb == Op::none ? k : n, transb == Op::none ? n : k, count, r.up_to(4) - 1)),
        C0(batch_of<T>(form_c, m, n, count, r.up_to(4) - 1)),
        C(C0) {
    A.random(seed);
    B.random(seed + 1);
    args = {transa, transb, m, n, k, scalar<T>(0.75, -0.5), nullptr, 0, 0, nullptr, 0, 0, T(0), nullptr, 0, 0, count};
    if (r.coin()) args.beta = scalar<T>(-1.25, 0.25), C0.random(seed + 2);
    C = C0;
    const auto lay = [](BatchForm form, index rows, index cols, index ld, index& own, index& stride) {
      own = form == BatchForm::as_columns ? rows : ld;
      stride = form == BatchForm::side_by_side ? cols * ld : form == BatchForm::as_columns ? ld : 0;
      if (form == BatchForm::one_below_another) stride = rows;
    };
    lay(form_a, transa == Op::none ? m : k, transa == Op::none ? k : m, A.ld(), args.lda, args.stride_a);
    lay(form_b, transb == Op::none ? k : n, transb == Op::none ? n : k, B.ld(), args.ldb, args.stride_b);
    lay(form_c, m, n, C.ld(), args.ldc, args.stride_c);
    args.A = A.data(), args.B = B.data(), args.C = C0.data();
    shape = shape_of(args);
    cut = {r.up_to(count), r.up_to(3)};
  }
  Plan plan(const BatchHeld& held = {}) const {
    Plan plan = plan_batch(shape, precision_of<T>, cut, held);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Placed& b = {}, const Placed& c = {}) {
    const auto operand = [](T* at, const BatchLayout& x, const Placed& placed) {
      return CallOperand<T>{at, x.ld, placed};
    };
    return run_leased<T>(
        plan, {operand(A.data(), args.a(), a), operand(B.data(), args.b(), b), operand(C.data(), args.c(), c)},
        {.alpha = args.alpha, .beta = args.beta}, lane);
  }
  std::string text() const {
    return std::to_string(count) + " of " + static_cast<char>(transa) + static_cast<char>(transb) + " " +
           std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", forms " +
           std::to_string(static_cast<int>(form_a)) + std::to_string(static_cast<int>(form_b)) +
           std::to_string(static_cast<int>(form_c)) + (shape.reads_c ? "" : ", beta = 0") + ", by " +
           std::to_string(cut.width) + " in " + std::to_string(cut.slots);
  }
  void expect_multiplied() const {
    for (index p = 0; p < count; ++p) {
      const GemmArgs<T> product = args.product(p);
      const T* const result = C.data() + p * args.stride_c;
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < m; ++i)
          ASSERT_LE(element(product, i, j).excess(result[i + j * args.ldc]), 1)
              << text() << ", number " << p << " at " << i << ", " << j;
    }
    ASSERT_TRUE(C.canaries_intact()) << text();
  }
};

template <class T>
class BatchExecute : public testing::Test {};
TYPED_TEST_SUITE(BatchExecute, Precisions);

TYPED_TEST(BatchExecute, MultipliesInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int many = 0, shared = 0;
  for (unsigned round = 0; round < 200; ++round) {
    Batch<T> x(r, 3 * round);
    ASSERT_TRUE(x.args.regular()) << x.text();
    const Plan plan = x.plan();
    many += x.cut.groups(x.shape) > 3;
    shared += x.count > 1 && x.shape.a == BatchForm::alone;
    Matrix<T> first = x.C0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.C = x.C0;
      Shuffled lane(seed);
      const Outcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      x.expect_multiplied();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.C;
      ASSERT_TRUE(x.C == first) << "other bits: " << x.text();
      const auto bytes = [](const BatchLayout& of) { return static_cast<double>(of.rows * of.cols) * sizeof(T); };
      EXPECT_EQ(outcome.bytes_out, bytes(x.args.c()));
      EXPECT_EQ(outcome.bytes_in, bytes(x.args.a()) + bytes(x.args.b()) + (x.shape.reads_c ? bytes(x.args.c()) : 0))
          << x.text();
    }
  }
  EXPECT_GT(many, 30);
  EXPECT_GT(shared, 30);
}

TYPED_TEST(BatchExecute, InMemoryOfTheirOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 60; ++round) {
    Batch<T> x(r, round);
    const Matrix<T> A = x.A, B = x.B;
    const Plan plan = x.plan({true, true, true, false});
    Shuffled lane(round);
    const auto own = [](Matrix<T>& matrix, const BatchLayout& of) {
      return Placed{.device = matrix.data(), .ld = of.ld, .in_place = true};
    };
    const Outcome outcome = x.run(plan, lane, own(x.A, x.args.a()), own(x.B, x.args.b()), own(x.C, x.args.c()));
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in + outcome.bytes_out, 0);
    ASSERT_TRUE(x.A == A && x.B == B) << x.text();
    x.expect_multiplied();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(BatchExecute, AFailureLeavesWhatIsComputedAndTheRestAlone) {
  using T = TypeParam;
  Random r(3);
  int failed = 0, finished = 0;
  for (unsigned round = 0; round < 12; ++round) {
    Batch<T> x(r, round);
    const Plan plan = x.plan();
    Shuffled whole(round);
    ASSERT_EQ(x.run(plan, whole).status, Status::done);
    const Matrix<T> good = x.C;
    PlanOutcome outcome;
    failed += with_each_operation_failing([&] { x.C = x.C0, outcome = {}; },
                                          [&](Lane& lane) { return outcome = x.run(plan, lane); },
                                          [&] { ASSERT_TRUE(x.C == good) << x.text(); },
                                          [&] {
                                            finished += !outcome.finished.empty();
                                            Matrix<T> expected = x.C0;
                                            const index ld = x.args.c().ld;
                                            for (const Block& b : outcome.finished)
                                              for (index j = b.col; j < b.col + b.cols; ++j)
                                                for (index i = b.row; i < b.row + b.rows; ++i)
                                                  expected.data()[i + j * ld] = good.data()[i + j * ld];
                                            ASSERT_TRUE(x.C == expected) << x.text();
                                          });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(failed, 60);
  EXPECT_GT(finished, 10);
}

TEST(BatchCut, FitsAnyMemoryOrSaysSo) {
  Random r(4);
  int none = 0, several = 0, fewer_slots = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto size = [&r] { return index{1} << r.below(9) | static_cast<index>(r.below(10)); };
    const auto form = [&r](std::uint32_t first) { return static_cast<BatchForm>(first + r.below(5 - first)); };
    const BatchShape s{ops[r.below(3)], ops[r.below(3)], size(),  size(),  size(),
                       size(),          form(1),         form(1), form(2), r.coin()};
    const auto precision = static_cast<Precision>(r.below(4));
    const std::size_t memory = std::size_t{1} << (10 + r.below(20));
    const BatchHeld there{r.below(4) == 0, r.below(4) == 0, r.below(4) == 0};
    const BatchCut cut = batch_cut(s, precision, memory, there);
    if (cut.width == 0) {
      ++none;
      const std::size_t element = element_size(precision);
      EXPECT_GT((there.a ? 0 : leased_bytes(s.m, s.k, element)) + (there.b ? 0 : leased_bytes(s.k, s.n, element)) +
                    (there.c ? 0 : leased_bytes(s.m, s.n, element)),
                memory);
      continue;
    }
    several += cut.groups(s) > 1;
    fewer_slots += cut.slots < 3;
    EXPECT_TRUE(cut.width <= s.count && cut.slots >= 1 && cut.slots <= 3);
    EXPECT_LE(plan_batch(s, precision, cut, there).bytes(element_size(precision)), memory);
  }
  EXPECT_GT(none, 50);
  EXPECT_GT(several, 500);
  EXPECT_GT(fewer_slots, 20);
}

TEST(BatchPlan, SaysWhoWaitsForWhom) {
  const BatchShape shape{
      Op::none, Op::transpose, 2, 3, 4, 5, BatchForm::side_by_side, BatchForm::alone, BatchForm::one_below_another,
      true};
  EXPECT_EQ(to_string(plan_batch(shape, Precision::d, {2, 2})),
            "0: upload A(0:2, 0:8) to A0(0:2, 0:8)\n"
            "1: upload B(0:3, 0:4) to B0(0:3, 0:4)\n"
            "2: upload C(0:4, 0:3) to C0(0:4, 0:3)\n"
            "3: batch A0(0:2, 0:8) B0(0:3, 0:4) C0(0:4, 0:3)* after 2 1 0\n"
            "4: download C(0:4, 0:3) from C0(0:4, 0:3) after 3\n"
            "5: upload A(0:2, 8:16) to A1(0:2, 0:8)\n"
            "6: upload C(4:8, 0:3) to C1(0:4, 0:3)\n"
            "7: batch A1(0:2, 0:8) B0(0:3, 0:4) C1(0:4, 0:3)* after 6 5 1\n"
            "8: download C(4:8, 0:3) from C1(0:4, 0:3) after 7\n"
            "9: upload A(0:2, 16:20) to A0(0:2, 0:4) after 3\n"
            "10: upload C(8:10, 0:3) to C0(0:2, 0:3) after 4\n"
            "11: batch A0(0:2, 0:4) B0(0:3, 0:4) C0(0:2, 0:3)* after 10 9\n"
            "12: download C(8:10, 0:3) from C0(0:2, 0:3) after 11\n");
}

TEST(BatchLayout, IsOneMatrixOrNone) {
  const auto form = [](index rows, index cols, index ld, index stride, index count) {
    return layout_of_batch(rows, cols, ld, stride, count).form;
  };
  EXPECT_EQ(form(3, 4, 5, 20, 6), BatchForm::side_by_side);
  EXPECT_EQ(form(3, 4, 3, 12, 6), BatchForm::side_by_side);
  EXPECT_EQ(form(3, 4, 3, 13, 6), BatchForm::as_columns);
  EXPECT_EQ(form(3, 1, 9, 4, 6), BatchForm::as_columns) << "of one column nothing lies ld apart";
  EXPECT_EQ(form(3, 4, 18, 3, 6), BatchForm::one_below_another);
  EXPECT_EQ(form(3, 4, 17, 3, 6), BatchForm::apart) << "they overlap";
  EXPECT_EQ(form(3, 4, 20, 4, 5), BatchForm::apart) << "with gaps between them";
  EXPECT_EQ(form(3, 4, 5, 21, 6), BatchForm::apart) << "with gaps of two kinds";
  EXPECT_EQ(form(3, 4, 5, 19, 6), BatchForm::apart);
  EXPECT_EQ(form(3, 4, 3, 11, 6), BatchForm::apart) << "they overlap";
  EXPECT_EQ(form(3, 4, 3, -12, 6), BatchForm::apart) << "backwards";
  EXPECT_EQ(form(3, 4, 5, 0, 6), BatchForm::alone);
  EXPECT_EQ(form(3, 4, 5, -7, 1), BatchForm::alone);
  EXPECT_EQ(form(3, INT64_MAX, INT64_MAX, 1, 6), BatchForm::apart) << "what nobody has memory for";
  EXPECT_EQ(form(1, index{1} << 40, 1, index{1} << 40, index{1} << 40), BatchForm::apart) << "likewise";
  const BatchLayout none = layout_of_batch(0, 4, 1, 20, 6);
  EXPECT_EQ(none.rows * none.cols, 0);
  double x[100];
  GemmBatchArgs<double> args{Op::none, Op::none, 2, 2, 2, 1, x, 2, 0, x, 2, 4, 0, x, 2, 0, 3};
  EXPECT_TRUE(args.valid());
  EXPECT_FALSE(args.regular()) << "results in the same place";
  args.count = 1;
  EXPECT_TRUE(args.regular());
  args.count = -1;
  EXPECT_FALSE(args.valid());
}

TEST(BatchFamily, CountsWhatMovesAndSmallProductsAsSlow) {
  const auto problem = [](index size, index count, bool same) {
    return counted({.routine = Routine::dgemm_batch_strided,
                    .element = Element::d,
                    .m = size,
                    .n = size,
                    .k = size,
                    .beta_zero = true,
                    .count = count,
                    .same_a = same});
  };
  const Problem p = problem(10, 7, true);
  EXPECT_EQ(p.flops, 2e3 * 7);
  EXPECT_EQ(p.volume, 1e3 * 7);
  EXPECT_EQ(p.bytes_in, 100 * 8 * 8);
  EXPECT_EQ(p.bytes_out, 100 * 8 * 7);
  EXPECT_EQ(to_string(p), "dgemm_batch_strided m=10 n=10 k=10 batch=7 beta=0");
  EXPECT_TRUE(problem(10, 0, false).empty);
  const Profile profile = built_in_profile("sm_90");
  Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1};
  facts.result_stays = true;
  const auto seconds = [&](index size, index count) {
    const Problem x = problem(size, count, false);
    return batch_family.cost(x, facts, {}, x.bytes_in).seconds;
  };
  EXPECT_GT(seconds(64, 1 << 15), 2 * seconds(1024, 8)) << "the same flops";
  EXPECT_GT(seconds(65, 1 << 15), seconds(64, 1 << 15));
  EXPECT_GT(seconds(33, 1 << 15), seconds(32, 1 << 15));
  EXPECT_NEAR(seconds(4096, 8), 8 * 2 * std::pow(4096, 3) / profile.gemm_rate[1], 0.1 * seconds(4096, 8));
}

}  // namespace
}  // namespace blaslift
