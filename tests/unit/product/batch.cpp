// Batches of products on a backend's lane: every way in which their matrices lie, every cut, in whatever order the lane
// runs things; what is not to be read is NaN, and nothing of the caller's changes if anything fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "impl/core/batch_call.hpp"
#include "impl/product/batch.hpp"
#include "impl/product/batch_plan.hpp"
#include "kernels/systolic.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::batch_tests {
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
  std::vector<index> order_a, order_b, order_c;  ///< which of the matrices in memory is the plan's
  bool apart_a = false, apart_b = false, apart_c = false;

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
    const auto mix = [&](BatchForm form, std::vector<index>& order, bool& apart) {
      for (index p = 0; p < count; ++p) order.push_back(p);
      apart = form == BatchForm::side_by_side && r.coin();
      for (std::size_t p = order.size(); apart && p > 1; --p)
        std::swap(order[p - 1], order[r.below(static_cast<std::uint32_t>(p))]);
    };
    mix(form_a, order_a, apart_a);
    mix(form_b, order_b, apart_b);
    mix(form_c, order_c, apart_c);
  }
  void put_in_order() {
    for (auto* order : {&order_a, &order_b, &order_c}) std::sort(order->begin(), order->end());
    apart_a = apart_b = apart_c = false;
  }
  Plan plan(const BatchHeld& held = {}) const {
    Plan plan = plan_batch(shape, precision_of<T>, cut, held);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Placed& b = {}, const Placed& c = {}) {
    std::vector<const T*> each[3];
    const auto operand = [&](int i, T* at, const BatchLayout& x, const Placed& placed, bool apart, index stride,
                             const std::vector<index>& order) {
      CallOperand<T> all{at, x.ld, placed};
      for (const index p : order) each[i].push_back(at + p * stride);
      if (apart) all.apart = {each[i].data(), nullptr, 0, x.cols / count};
      return all;
    };
    return run_leased<T>(plan,
                         {operand(0, A.data(), args.a(), a, apart_a, args.stride_a, order_a),
                          operand(1, B.data(), args.b(), b, apart_b, args.stride_b, order_b),
                          operand(2, C.data(), args.c(), c, apart_c, args.stride_c, order_c)},
                         {.alpha = args.alpha, .beta = args.beta}, lane);
  }
  std::string text() const {
    return std::to_string(count) + " of " + static_cast<char>(transa) + static_cast<char>(transb) + " " +
           std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", forms " +
           std::to_string(static_cast<int>(form_a)) + std::to_string(static_cast<int>(form_b)) +
           std::to_string(static_cast<int>(form_c)) + (apart_a ? ", A apart" : "") + (apart_b ? ", B apart" : "") +
           (apart_c ? ", C apart" : "") + (shape.reads_c ? "" : ", beta = 0") + ", by " + std::to_string(cut.width) +
           " in " + std::to_string(cut.slots);
  }
  /// A column of the plan's C.
  index in_memory(index col) const { return apart_c ? order_c[static_cast<std::size_t>(col / n)] * n + col % n : col; }
  void expect_multiplied() const {
    for (index p = 0; p < count; ++p) {
      GemmArgs<T> product = args.product(p);
      const auto at = static_cast<std::size_t>(p);
      product.A = args.a_at(order_a[at]), product.B = args.b_at(order_b[at]), product.C = args.c_at(order_c[at]);
      const T* const result = C.data() + order_c[at] * args.stride_c;
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
  int many = 0, shared = 0, apart = 0;
  for (unsigned round = 0; round < 200; ++round) {
    Batch<T> x(r, 3 * round);
    ASSERT_TRUE(x.args.regular()) << x.text();
    const Plan plan = x.plan();
    many += x.cut.groups(x.shape) > 3;
    shared += x.count > 1 && x.shape.a == BatchForm::alone;
    apart += x.count > 2 && x.apart_a + x.apart_b + x.apart_c > 0;
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
  EXPECT_GT(apart, 30);
}

TYPED_TEST(BatchExecute, InMemoryOfTheirOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 60; ++round) {
    Batch<T> x(r, round);
    x.put_in_order();
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
                                              for (index col = b.col; col < b.col + b.cols; ++col)
                                                for (index i = b.row; i < b.row + b.rows; ++i) {
                                                  const index j = x.in_memory(col);
                                                  expected.data()[i + j * ld] = good.data()[i + j * ld];
                                                }
                                            ASSERT_TRUE(x.C == expected) << x.text();
                                          });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(failed, 60);
  EXPECT_GT(finished, 10);
}

template <class T>
void multiply_by_arrays() {
  Random r(5);
  int asked = 0, forms = 0, groups = 0;
  for (unsigned round = 0; round < 400; ++round) {
    Batch<T> x(r, round);
    x.shape.systolic = systolic::can_multiply(precision_of<T>, x.transa, x.transb, x.m, x.n, x.k);
    ASSERT_EQ(x.shape.systolic, x.transa == Op::none && x.transb == Op::none);
    if (!x.shape.systolic) continue;
    const Plan plan = x.plan();
    Shuffled lane(round);
    ASSERT_EQ(x.run(plan, lane).status, Status::done);
    ASSERT_EQ(lane.by_arrays, x.cut.groups(x.shape));
    EXPECT_NE(to_string(plan).find(": systolic batch A0("), std::string::npos) << to_string(plan);
    asked += lane.by_arrays;
    forms |= 1 << static_cast<int>(x.form_a) | 1 << static_cast<int>(x.form_b) | 1 << static_cast<int>(x.form_c);
    groups += lane.by_arrays > 1;
    for (index p = 0; p < x.count; ++p) {
      const auto at = static_cast<std::size_t>(p);
      const T *A = x.args.a_at(x.order_a[at]), *B = x.args.b_at(x.order_b[at]);
      const index c = x.order_c[at] * x.args.stride_c;
      for (index j = 0; j < x.n; ++j)
        for (index i = 0; i < x.m; ++i) {
          T sum = 0;
          for (index v = 0; v < x.k; ++v) sum = std::fma(A[i + v * x.args.lda], B[v + j * x.args.ldb], sum);
          const index place = c + i + j * x.args.ldc;
          const T scaled = x.args.alpha * sum,
                  due = x.args.beta == 0 ? scaled : std::fma(x.args.beta, x.C0.data()[place], scaled);
          ASSERT_TRUE(same_bits(x.C.data()[place], due)) << x.text() << ", number " << p;
        }
    }
    ASSERT_TRUE(x.C.canaries_intact()) << x.text();
  }
  EXPECT_GT(asked, 60);
  EXPECT_GT(groups, 10);
  EXPECT_EQ(forms, 0b11110) << "of all ways in which matrices lie";
}
TEST(BatchByArrays, HasTheBitsOfASumInTheOrderOfK) {
  multiply_by_arrays<float>();
  multiply_by_arrays<double>();
}

TEST(BatchByArrays, IsOfRealProductsWithNothingTransposed) {
  const auto can = [](Precision precision, Op a, Op b, index m = 5, index n = 6, index k = 7) {
    return systolic::can_multiply(precision, a, b, m, n, k);
  };
  EXPECT_TRUE(can(Precision::s, Op::none, Op::none));
  EXPECT_TRUE(can(Precision::d, Op::none, Op::none));
  EXPECT_FALSE(can(Precision::c, Op::none, Op::none) || can(Precision::z, Op::none, Op::none));
  for (const Op other : {Op::transpose, Op::conjugate})
    EXPECT_FALSE(can(Precision::d, other, Op::none) || can(Precision::d, Op::none, other));
  EXPECT_FALSE(can(Precision::d, Op::none, Op::none, 0) || can(Precision::d, Op::none, Op::none, 1, 0) ||
               can(Precision::d, Op::none, Op::none, 1, 1, 0));
  EXPECT_TRUE(can(Precision::d, Op::none, Op::none, 1, 65535 * 16));
  EXPECT_FALSE(can(Precision::d, Op::none, Op::none, 1, 65535 * 16 + 1)) << "more blocks than a grid has";
  EXPECT_FALSE(can(Precision::d, Op::none, Op::none, index{1} << 40)) << "no overflow";
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

TEST(BatchArgs, ArraysOfAddressesWithADistanceAreAStride) {
  double x[100];
  const double* even[] = {x, x + 7, x + 14};
  const double* uneven[] = {x, x + 7, x + 15};
  const double* same[] = {x, x, x};
  double* results[] = {x + 30, x + 25, x + 20};
  GemmBatchArgs<double> args{Op::none, Op::none, 2, 2, 2, 1, nullptr, 2, 0, nullptr, 2, 0, 0, nullptr, 2, 0, 3};
  args.each_a = even, args.each_b = uneven, args.each_c = results;
  EXPECT_EQ(args.a().form, BatchForm::apart);
  EXPECT_EQ(args.product(1).A, x + 7);
  GemmBatchArgs<double> settled = args.evenly();
  EXPECT_EQ(settled.a().form, BatchForm::as_columns);
  EXPECT_EQ(settled.stride_a, 7);
  EXPECT_EQ(settled.b().form, BatchForm::apart);
  EXPECT_EQ(settled.c().form, BatchForm::apart) << "backwards";
  EXPECT_EQ(settled.stride_c, -5);
  for (index i = 0; i < 3; ++i) {
    EXPECT_EQ(settled.product(i).A, args.product(i).A);
    EXPECT_EQ(settled.product(i).B, args.product(i).B);
    EXPECT_EQ(settled.product(i).C, args.product(i).C);
  }
  args.each_a = same;
  EXPECT_EQ(args.evenly().a().form, BatchForm::alone);
  EXPECT_FALSE(args.evenly().regular());
}

template <class Int>
struct GroupsExample {
  char ops[3] = {'n', 'T', 'C'};
  Int m[3] = {2, 1, 0}, n[3] = {2, 3, 2}, k[3] = {2, 2, 2}, ld[3] = {3, 3, 3}, sizes[3] = {2, 1, 4};
  double alpha[3] = {1, 0, 2}, beta[3] = {0, 1, 2}, x[100];
  const double* in[7] = {x, x + 9, nullptr, nullptr, nullptr, nullptr, nullptr};
  double* out[7] = {x + 30, x + 40, x + 50, nullptr, nullptr, nullptr, nullptr};
  GemmGroupsArgs<double> args() {
    const auto of = [](Int* all) { return Integers{all, sizeof(Int) == 8}; };
    return {true, ops, ops, of(m), of(n), of(k), alpha, in, of(ld), in, of(ld), beta, out, of(ld), 3, of(sizes)};
  }
};

template <class Int>
void look_at_groups() {
  GroupsExample<Int> x;
  const GemmGroupsArgs<double> args = x.args();
  EXPECT_TRUE(args.valid());
  std::vector<GemmBatchArgs<double>> groups;
  args.for_each([&](const GemmBatchArgs<double>& group) { groups.push_back(group); });
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].transa, Op::none);
  EXPECT_EQ(groups[0].product(1).A, x.x + 9);
  EXPECT_EQ(groups[1].transa, Op::transpose);
  EXPECT_EQ(groups[1].product(0).A, nullptr) << "alpha is zero";
  EXPECT_EQ(groups[1].product(0).C, x.x + 50);
  EXPECT_EQ(groups[2].each_c, nullptr) << "it has no results";
  const auto refuses = [&](auto& place, auto value) {
    const auto kept = std::exchange(place, value);
    EXPECT_FALSE(args.valid());
    place = kept;
  };
  refuses(x.ops[2], 'X');
  refuses(x.m[1], Int{-1});
  refuses(x.ld[0], Int{1});
  refuses(x.sizes[2], Int{-1});
  GemmGroupsArgs<double> none = args;
  none.groups = 0;
  EXPECT_TRUE(none.valid());
  none.groups = -1;
  EXPECT_FALSE(none.valid());
}
TEST(BatchArgs, GroupsAreTheCallersArrays) {
  look_at_groups<std::int32_t>();
  look_at_groups<std::int64_t>();
}

TEST(BatchCall, ListsEachMatrixThatLiesApartAndWhatIsTouched) {
  GroupsExample<std::int32_t> x;
  x.sizes[0] = 3, x.sizes[2] = 0;
  x.in[1] = x.x + 4, x.in[2] = x.x + 9;
  x.out[1] = x.x + 36, x.out[2] = x.x + 42;
  x.out[3] = x.x + 80;
  const BatchCall<double> call(x.args());
  std::string names;
  for (const CheckedOperand& one : call.operands) names += std::string(one.name) + ' ';
  EXPECT_EQ(names, "A.1.1 A.1.2 A.1.3 B.1.1 B.1.2 B.1.3 C.1 C.2 ");
  EXPECT_EQ(call.operands[2].stored, (Stored{x.x + 9, 2, 2, 3, sizeof(double)}));
  EXPECT_EQ(call.operands[7].stored.at, x.x + 80);
  EXPECT_EQ(call.words(),
            "batches=2 transa.1=N transb.1=N m.1=2 n.1=2 k.1=2 alpha.1=1 lda.1=3 stridea.1=0 ldb.1=3 strideb.1=0 "
            "beta.1=0 ldc.1=3 stridec.1=6 batch_size.1=3 apart.1=AB transa.2=T transb.2=T m.2=1 n.2=3 k.2=2 alpha.2=0 "
            "lda.2=3 stridea.2=0 ldb.2=3 strideb.2=0 beta.2=1 ldc.2=3 stridec.2=0 batch_size.2=1 apart.2=-");
  double other[8];
  void* at[8];
  for (std::size_t i = 0; i < 8; ++i) at[i] = other + i;
  const auto moved = call.at(at);
  EXPECT_EQ(moved[0].args.a_at(2), other + 2);
  EXPECT_EQ(moved[0].args.b_at(0), other + 3);
  EXPECT_EQ(moved[0].args.c_at(1), other + 6 + 6);
  EXPECT_EQ(moved[1].args.c_at(0), other + 7);
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
  Problem apart = problem(256, 100, false);
  const double together = batch_family.cost(apart, facts, {}, 0).seconds;
  apart.apart = 200;
  EXPECT_GE(batch_family.cost(apart, facts, {}, 0).seconds, together + 200 * profile.step_seconds)
      << "each matrix moves by itself";
  apart.batches = 3;
  EXPECT_GT(batch_family.cost(apart, facts, {}, 0).seconds, together + 2 * profile.latency_seconds)
      << "one batch after the other";
  EXPECT_EQ(to_string(apart), "dgemm_batch_strided m=256 n=256 k=256 batch=100 groups=3 beta=0");
  EXPECT_NEAR(seconds(4096, 8), 8 * 2 * std::pow(4096, 3) / profile.gemm_rate[1], 0.1 * seconds(4096, 8));
}

}  // namespace
}  // namespace blaslift::batch_tests
