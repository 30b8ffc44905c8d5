// Products with a symmetric or Hermitian matrix on a backend's lane: every cut, streamed or not, in whatever order the
// lane runs things; what is not to be read is NaN, and nothing of the caller's changes if anything fails.
#include "impl/product/symm_plan.hpp"

#include <gtest/gtest.h>

#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::symm_tests {
namespace {

using namespace reference;

template <class T>
struct Product {
  SymmArgs<T> args{};
  Matrix<T> A, B, C0, C;
  SymmShape shape{};
  SymmCut cut{};

  Product(Random& r, unsigned seed)
      : args{.hermitian = is_complex(precision_of<T>) && r.coin(),
             .left = r.coin(),
             .uplo = r.coin() ? Uplo::upper : Uplo::lower,
             .m = r.up_to(30),
             .n = r.up_to(30),
             .alpha = scalar<T>(0.75, -0.5),
             .A = nullptr,
             .lda = 0,
             .B = nullptr,
             .ldb = 0,
             .beta = r.coin() ? scalar<T>(-1.25, 0.25) : T(0),
             .C = nullptr,
             .ldc = 0},
        A(args.order(), args.order(), r.up_to(4) - 1),
        B(args.m, args.n, r.up_to(4) - 1),
        C0(args.m, args.n, r.up_to(4) - 1),
        C(C0) {
    // Whatever is not written here is NaN: the other triangle, a Hermitian diagonal's imaginary parts, C with beta = 0.
    const auto number = [&r] { return static_cast<double>(r.below(1000)) / 500 - 1; };
    for (index j = 0; j < args.order(); ++j)
      for (index i = 0; i < args.order(); ++i)
        if (args.uplo == Uplo::upper ? i <= j : i >= j)
          A(i, j) = scalar<T>(number(), args.hermitian && i == j ? std::nan("") : number());
    B.random(seed);
    if (args.beta != T(0)) C0.random(seed + 1);
    C = C0;
    shape = {args.hermitian, args.left, args.uplo, args.m, args.n, args.beta != T(0)};
    cut = {r.up_to(args.order()), r.up_to(shape.others()), r.coin()};
  }
  Plan plan(const SymmHeld& held = {}) const {
    Plan plan = plan_symm(shape, precision_of<T>, cut, held);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Placed& b = {}, const Placed& c = {}) {
    return run_leased<T>(plan, {{A.data(), A.ld(), a}, {B.data(), B.ld(), b}, {C.data(), C.ld(), c}},
                         {.alpha = args.alpha, .beta = args.beta}, lane);
  }
  index tiles() const { return cut.tiles(shape); }
  index panels() const { return cut.panels(shape); }
  std::string text() const {
    return std::string(args.hermitian ? "hermitian " : "") + "RL"[args.left] + static_cast<char>(args.uplo) + " " +
           std::to_string(args.m) + " x " + std::to_string(args.n) + (shape.reads_c ? "" : ", beta = 0") +
           ", tiles of " + std::to_string(cut.tile) + ", panels of " + std::to_string(cut.width) +
           (cut.streamed ? ", streamed" : "");
  }
  using Number = std::complex<long double>;
  static Number number(const T& x) { return {std::real(x), std::imag(x)}; }
  Number element(index i, index j) const {
    const bool stored = args.uplo == Uplo::upper ? i <= j : i >= j;
    const Number a = number(stored ? A(i, j) : A(j, i));
    if (!args.hermitian) return a;
    return i == j ? Number(a.real()) : stored ? a : std::conj(a);
  }
  void expect_multiplied() const {
    const double allowed =
        2 * static_cast<double>(args.order() + 4) * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
    for (index j = 0; j < args.n; ++j)
      for (index i = 0; i < args.m; ++i) {
        Number rest = number(C(i, j));
        long double size = 0;
        const auto take = [&](const Number& term) {
          rest -= term;
          size += std::abs(term);
        };
        for (index p = 0; p < args.order(); ++p)
          take(number(args.alpha) * (args.left ? element(i, p) * number(B(p, j)) : number(B(i, p)) * element(p, j)));
        if (shape.reads_c) take(number(args.beta) * number(C0(i, j)));
        ASSERT_LE(std::abs(rest), allowed * size) << text() << " at " << i << ", " << j;
      }
    ASSERT_TRUE(C.canaries_intact()) << text();
  }
};

template <class T>
class SymmExecute : public testing::Test {};
TYPED_TEST_SUITE(SymmExecute, Precisions);

TYPED_TEST(SymmExecute, MultipliesInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int streamed = 0, tiles = 0, panels = 0;
  for (unsigned round = 0; round < 120; ++round) {
    Product<T> x(r, round);
    const Plan plan = x.plan();
    streamed += x.cut.streamed && x.panels() > 1;
    tiles += x.tiles() > 3;
    panels += x.panels() > 3;
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
      const double c = static_cast<double>(x.args.m * x.args.n) * sizeof(T), n = static_cast<double>(x.shape.order());
      EXPECT_EQ(outcome.bytes_out, c);
      const double times = static_cast<double>(x.cut.streamed ? x.panels() : 1);
      EXPECT_EQ(outcome.bytes_in, (x.shape.reads_c ? 2 : 1) * c + times * n * (n + 1) / 2 * sizeof(T)) << x.text();
    }
  }
  EXPECT_GT(streamed, 20);
  EXPECT_GT(tiles, 20);
  EXPECT_GT(panels, 20);
}

TYPED_TEST(SymmExecute, InMemoryOfTheirOwnNothingMovesAndAIsLeftAlone) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Product<T> x(r, round);
    x.cut.streamed = false;
    Matrix<T> A = x.A;
    const Plan plan = x.plan({true, true, true, false});
    Shuffled lane(round);
    const auto own = [](Matrix<T>& matrix) {
      return Placed{.device = matrix.data(), .ld = matrix.ld(), .in_place = true};
    };
    const Outcome outcome = x.run(plan, lane, own(x.A), own(x.B), own(x.C));
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in + outcome.bytes_out, 0);
    ASSERT_TRUE(x.A == A) << x.text();
    x.expect_multiplied();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(SymmExecute, AFailureLeavesWhatIsComputedAndTheRestAlone) {
  using T = TypeParam;
  Random r(3);
  int failed = 0, finished = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Product<T> x(r, round);
    const Plan plan = x.plan();
    Shuffled whole(round);
    ASSERT_EQ(x.run(plan, whole).status, Status::done);
    const Matrix<T> good = x.C;
    PlanOutcome outcome;
    failed += with_each_operation_failing(
        [&] { x.C = x.C0, outcome = {}; }, [&](Lane& lane) { return outcome = x.run(plan, lane); },
        [&] { ASSERT_TRUE(x.C == good) << x.text(); },
        [&] {
          ASSERT_TRUE(x.C.canaries_intact());
          std::vector<bool> lines(static_cast<std::size_t>(x.shape.others()));
          for (const Block& b : outcome.finished)
            for (index i = 0; i < (x.args.left ? b.cols : b.rows); ++i)
              lines[static_cast<std::size_t>((x.args.left ? b.col : b.row) + i)] = true;
          finished += !outcome.finished.empty();
          Matrix<T> expected = x.C0;
          for (index j = 0; j < x.args.n; ++j)
            for (index i = 0; i < x.args.m; ++i)
              if (lines[static_cast<std::size_t>(x.args.left ? j : i)]) expected(i, j) = good(i, j);
          ASSERT_TRUE(x.C == expected) << x.text();
        });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(failed, 60);
  EXPECT_GT(finished, 20);
}

TEST(SymmCut, FitsAnyMemoryOrSaysSo) {
  Random r(4);
  int streamed = 0, none = 0, in_place = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto size = [&r] { return index{1} << r.below(15) | static_cast<index>(r.below(100)); };
    const SymmShape s{r.coin(), r.coin(), r.coin() ? Uplo::upper : Uplo::lower, size(), size(), r.coin()};
    const auto precision = static_cast<Precision>(r.below(4));
    const std::size_t memory = std::size_t{1} << (10 + r.below(26));
    const SymmHeld there{r.below(4) == 0, r.below(4) == 0, r.below(4) == 0};
    const SymmCut cut = symm_cut(s, precision, memory, there);
    const auto strip = leased_bytes(s.order(), 1, element_size(precision));
    if (cut.tile == 0) {
      ++none;
      // The least: a tile of one row, or of each of them, and A's strips; a panel of B and one of C, or three.
      const std::size_t a = there.a ? 1 : 3, panels = static_cast<std::size_t>(std::min<index>(s.others(), 3));
      EXPECT_GT((a + (there.b ? 0 : panels) + (there.c ? 0 : panels)) * strip, memory);
      continue;
    }
    streamed += cut.streamed;
    in_place += there.b && there.c;
    EXPECT_FALSE(cut.streamed && there.a);
    EXPECT_TRUE(cut.tile >= 1 && cut.tile <= s.order() && cut.width >= 1 && cut.width <= s.others());
    if ((s.order() / cut.tile) * (s.others() / cut.width) > 2000) continue;  // the plan's own time
    EXPECT_LE(plan_symm(s, precision, cut, there).bytes(element_size(precision)), memory);
  }
  EXPECT_GT(streamed, 200);
  EXPECT_GT(none, 20);
  EXPECT_GT(in_place, 20);
}

TEST(SymmPlan, SaysWhoWaitsForWhom) {
  const SymmShape shape{true, true, Uplo::lower, 4, 2, true};
  EXPECT_EQ(to_string(plan_symm(shape, Precision::z, {2, 2, false})),
            "0: upload B(0:4, 0:2) to b0(0:4, 0:2)\n"
            "1: upload C(0:4, 0:2) to c0(0:4, 0:2)\n"
            "2: upload A(0:2, 0:2) to A(0:2, 0:2)\n"
            "3: upload A(2:4, 0:2) to A(2:4, 0:2)\n"
            "4: upload A(2:4, 2:4) to A(2:4, 2:4)\n"
            "5: assign A(0:2, 0:2) mirrored(0:2, 0:2)* after 2\n"
            "6: mirror mirrored(0:2, 0:2)* after 5\n"
            "7: gemm mirrored(0:2, 0:2) b0(0:2, 0:2) c0(0:2, 0:2)* after 6 1 0\n"
            "8: gemm A(2:4, 0:2) b0(2:4, 0:2) c0(0:2, 0:2)* after 7 3\n"
            "9: gemm A(2:4, 0:2) b0(0:2, 0:2) c0(2:4, 0:2)* after 3 1 0\n"
            "10: assign A(2:4, 2:4) mirrored(0:2, 2:4)* after 4\n"
            "11: mirror mirrored(0:2, 2:4)* after 10\n"
            "12: gemm mirrored(0:2, 2:4) b0(2:4, 0:2) c0(2:4, 0:2)* after 11 9\n"
            "13: download C(0:4, 0:2) from c0(0:4, 0:2) after 12 8\n");
}

}  // namespace
}  // namespace blaslift::symm_tests
