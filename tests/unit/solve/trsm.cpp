// Triangular systems on a backend's lane: every cut, streamed or not, in whatever order the lane runs things; what is
// not to be read is NaN, and nothing of the caller's changes if anything fails.
#include "impl/solve/trsm_plan.hpp"

#include <gtest/gtest.h>

#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"
#include "tests/unit/support/triangular.hpp"

namespace blaslift::trsm_tests {
namespace {

using namespace reference;

template <class T>
struct System {
  TrsmArgs<T> args{};
  Matrix<T> A, B0, B;
  TrsmShape shape{};
  TrsmCut cut{};

  System(Random& r, unsigned seed)
      : args{any_triangular<T>(r)},
        A(args.order(), args.order(), r.up_to(4) - 1),
        B0(args.m, args.n, r.up_to(4) - 1),
        B(B0) {
    for (index j = 0; j < args.order(); ++j)
      for (index i = 0; i < args.order(); ++i)
        if (args.uplo == Uplo::upper ? i < j : i > j)
          A(i, j) = scalar<T>(r.below(1000) / 1e4 - 0.05, r.below(1000) / 1e4 - 0.05);
        else if (i == j && !args.unit)
          A(i, j) = scalar<T>(1 + r.below(1000) / 1e3, r.below(1000) / 1e3);
    B0.random(seed);
    B = B0;
    shape = {args.left, args.uplo, args.trans, args.unit, args.m, args.n};
    cut = {r.up_to(args.order()), r.up_to(shape.others()), r.coin()};
    args.A = A.data();
    args.lda = A.ld();
  }
  Plan plan(const TrsmHeld& held = {}) const {
    Plan plan = plan_trsm(shape, precision_of<T>, cut, held);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Placed& b = {}) {
    return run_leased<T>(plan, {{A.data(), A.ld(), a}, {B.data(), B.ld(), b}}, {.alpha = args.alpha}, lane);
  }
  index tiles() const { return cut.tiles(shape); }
  index panels() const { return cut.panels(shape); }
  /// Of B.
  Block panel(index number) const {
    const index first = number * cut.width, count = std::min(cut.width, shape.others() - first);
    return args.left ? Block{0, first, args.m, count} : Block{first, 0, count, args.n};
  }
  std::string text() const {
    return std::string(1, "RL"[args.left]) + static_cast<char>(args.uplo) + static_cast<char>(args.trans) +
           (args.unit ? "U " : "N ") + std::to_string(args.m) + " x " + std::to_string(args.n) + ", tiles of " +
           std::to_string(cut.tile) + ", panels of " + std::to_string(cut.width) + (cut.streamed ? ", streamed" : "");
  }
  using Number = std::complex<long double>;
  Number op(index i, index j) const {
    if (args.trans != Op::none) std::swap(i, j);
    if (i == j && args.unit) return 1;
    if (args.uplo == Uplo::upper ? i > j : i < j) return 0;
    const Number a(std::real(A(i, j)), std::imag(A(i, j)));
    return args.trans == Op::conjugate ? std::conj(a) : a;
  }
  /// |alpha B - op(A) X| <= gamma |op(A)| |X| (Higham, Accuracy and Stability, 8.5).
  void expect_solved() const {
    const double allowed =
        2 * static_cast<double>(args.order() + 3) * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
    for (index j = 0; j < args.n; ++j)
      for (index i = 0; i < args.m; ++i) {
        Number rest =
            Number(std::real(args.alpha), std::imag(args.alpha)) * Number(std::real(B0(i, j)), std::imag(B0(i, j)));
        long double size = std::abs(rest);
        for (index p = 0; p < args.order(); ++p) {
          const T& x = args.left ? B(p, j) : B(i, p);
          const Number term = (args.left ? op(i, p) : op(p, j)) * Number(std::real(x), std::imag(x));
          rest -= term;
          size += std::abs(term);
        }
        ASSERT_LE(std::abs(rest), allowed * size) << text() << " at " << i << ", " << j;
      }
    ASSERT_TRUE(B.canaries_intact()) << text();
  }
};

template <class T>
class TrsmExecute : public testing::Test {};
TYPED_TEST_SUITE(TrsmExecute, Precisions);

TYPED_TEST(TrsmExecute, SolvesInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int streamed = 0, tiles = 0, panels = 0;
  for (unsigned round = 0; round < 120; ++round) {
    System<T> x(r, round);
    const Plan plan = x.plan();
    streamed += x.cut.streamed && x.panels() > 1;
    tiles += x.tiles() > 3;
    panels += x.panels() > 3;
    Matrix<T> first = x.B0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.B = x.B0;
      Shuffled lane(seed);
      const Outcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      x.expect_solved();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.B;
      ASSERT_TRUE(x.B == first) << "other bits: " << x.text();
      const double b = static_cast<double>(x.args.m * x.args.n) * sizeof(T), n = static_cast<double>(x.shape.order());
      EXPECT_EQ(outcome.bytes_out, b);
      const double again = static_cast<double>(x.cut.streamed ? x.panels() : 1);
      EXPECT_EQ(outcome.bytes_in, b + again * n * (n + 1) / 2 * sizeof(T)) << x.text();
    }
  }
  EXPECT_GT(streamed, 20);
  EXPECT_GT(tiles, 20);
  EXPECT_GT(panels, 20);
}

TYPED_TEST(TrsmExecute, InMemoryOfTheirOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    System<T> x(r, round);
    x.cut.streamed = false;
    const Plan plan = x.plan({true, true, false});
    Shuffled lane(round);
    const Placed a{.device = x.A.data(), .ld = x.A.ld(), .in_place = true},
        b{.device = x.B.data(), .ld = x.B.ld(), .in_place = true};
    const Outcome outcome = x.run(plan, lane, a, b);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in + outcome.bytes_out, 0);
    x.expect_solved();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(TrsmExecute, AFailureLeavesWhatIsSolvedAndTheRestAlone) {
  using T = TypeParam;
  static auto& faults = *new FaultPlan;
  static Backend& backend = *make_host_backend({.memory_limit = std::size_t{1} << 20}, &faults);
  const UnderlyingBlas underlying{[](const void*, const Operation& o) { naive(*o.get<Gemm>()); }, nullptr};
  faults.scribble = true;
  Random r(3);
  int failed = 0, solved = 0;
  for (unsigned round = 0; round < 12; ++round) {
    System<T> x(r, round);
    const Plan plan = x.plan();
    Shuffled whole(round);
    ASSERT_EQ(x.run(plan, whole).status, Status::done);
    const Matrix<T> good = x.B;
    for (long at = 1;; at += 1 + at / 4) {
      x.B = x.B0;
      faults.seen = 0;
      faults.at = at;
      faults.status = at % 2 == 0 ? Status::no_memory : Status::lost;
      Status status;
      Lane* lane = backend.acquire(underlying, std::size_t{1} << 30, status);
      PlanOutcome outcome;
      if (lane) {
        outcome = x.run(plan, *lane);
        backend.release(lane);
        if (outcome.status == Status::done) break;
      }
      ++failed;
      // What is solved is right, the rest is what it was.
      ASSERT_TRUE(x.B.canaries_intact());
      const auto is_solved = [&](index line) {
        return std::any_of(outcome.finished.begin(), outcome.finished.end(), [&](const Block& b) {
          return x.shape.left ? line >= b.col && line < b.col + b.cols : line >= b.row && line < b.row + b.rows;
        });
      };
      std::vector<bool> lines;
      for (index line = 0; line < x.shape.others(); ++line) lines.push_back(is_solved(line));
      solved += std::find(lines.begin(), lines.end(), true) != lines.end();
      for (index j = 0; j < x.B.cols(); ++j)
        for (index i = 0; i < x.B.rows(); ++i)
          ASSERT_EQ(x.B(i, j), lines[static_cast<std::size_t>(x.shape.left ? j : i)] ? good(i, j) : x.B0(i, j))
              << x.text() << " fails at " << at;
    }
    x.expect_solved();
    if (testing::Test::HasFatalFailure()) return;
  }
  faults.at = 0;
  EXPECT_GT(failed, 60);
  EXPECT_GT(solved, 20);
}

TYPED_TEST(TrsmExecute, AFailureLeavesAllOfBAloneWhereTheHostCannotReachA) {
  using T = TypeParam;
  static auto& faults = *new FaultPlan;
  static Backend& backend = *make_host_backend({.memory_limit = std::size_t{1} << 20}, &faults);
  const UnderlyingBlas underlying{[](const void*, const Operation& o) { naive(*o.get<Gemm>()); }, nullptr};
  faults.scribble = true;
  Random r(5);
  int failed = 0, panels = 0;
  for (unsigned round = 0; round < 12; ++round) {
    System<T> x(r, round);
    x.cut = {x.shape.order(), std::max<index>(1, x.shape.others() / 7), false};
    const Plan plan = x.plan({.a = true, .finishable = false});
    panels += x.panels() > 5;
    const Placed a{.device = x.A.data(), .ld = x.A.ld(), .in_place = true};
    for (long at = 1;; at += 1 + at / 4) {
      x.B = x.B0;
      faults.seen = 0;
      faults.at = at;
      faults.status = at % 2 == 0 ? Status::no_memory : Status::lost;
      Status status;
      Lane* lane = backend.acquire(underlying, std::size_t{1} << 30, status);
      if (lane) {
        const PlanOutcome outcome = x.run(plan, *lane, a);
        backend.release(lane);
        if (outcome.status == Status::done) break;
        ASSERT_TRUE(outcome.finished.empty());
      }
      ++failed;
      ASSERT_TRUE(x.B == x.B0) << x.text() << " fails at " << at;
    }
    x.expect_solved();
    if (testing::Test::HasFatalFailure()) return;
  }
  faults.at = 0;
  EXPECT_GT(failed, 40);
  EXPECT_GT(panels, 3);
}

TEST(TrsmCut, FitsAnyMemoryOrSaysSo) {
  Random r(4);
  int streamed = 0, none = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto size = [&r] { return index{1} << r.below(15) | static_cast<index>(r.below(100)); };
    const TrsmShape s{r.coin(), r.coin() ? Uplo::upper : Uplo::lower, ops[r.below(3)], r.coin(), size(), size()};
    const auto precision = static_cast<Precision>(r.below(4));
    const std::size_t memory = std::size_t{1} << (10 + r.below(26));
    const TrsmCut cut = trsm_cut(s, precision, memory);
    if (cut.tile == 0) {
      ++none;
      // The least: a workspace for each row of A, two strips, three panels.
      const auto strip = leased_bytes(s.order(), 1, element_size(precision));
      EXPECT_GT(static_cast<std::size_t>(2 + std::min<index>(s.others(), 3)) * strip, memory);
      continue;
    }
    streamed += cut.streamed;
    EXPECT_TRUE(cut.tile >= 1 && cut.tile <= s.order() && cut.width >= 1 && cut.width <= s.others());
    if ((s.order() / cut.tile) * (s.others() / cut.width) > 2000) continue;  // the plan's own time
    EXPECT_LE(plan_trsm(s, precision, cut).bytes(element_size(precision)), memory);
  }
  EXPECT_GT(streamed, 200);
  EXPECT_GT(none, 20);
}

TEST(TrsmPlan, SaysWhoWaitsForWhom) {
  TrsmShape shape{true, Uplo::lower, Op::none, false, 4, 4};
  const Plan plan = plan_trsm(shape, Precision::d, {2, 2, false});
  EXPECT_EQ(to_string(plan),
            "0: upload B(0:4, 0:2) to panel0(0:4, 0:2)\n"
            "1: upload A(0:2, 0:2) to A(0:2, 0:2)\n"
            "2: upload A(2:4, 0:2) to A(2:4, 0:2)\n"
            "3: upload A(2:4, 2:4) to A(2:4, 2:4)\n"
            "4: upload B(0:4, 2:4) to panel1(0:4, 0:2)\n"
            "5: trsm A(0:2, 0:2) panel0(0:2, 0:2)* after 1 0\n"
            "6: gemm A(2:4, 0:2) panel0(0:2, 0:2) panel0(2:4, 0:2)* after 5 2\n"
            "7: trsm A(2:4, 2:4) panel0(2:4, 0:2)* after 6 3\n"
            "8: download B(0:4, 0:2) from panel0(0:4, 0:2) after 7\n"
            "9: trsm A(0:2, 0:2) panel1(0:2, 0:2)* after 4 1\n"
            "10: gemm A(2:4, 0:2) panel1(0:2, 0:2) panel1(2:4, 0:2)* after 9 2\n"
            "11: trsm A(2:4, 2:4) panel1(2:4, 0:2)* after 10 3\n"
            "12: download B(0:4, 2:4) from panel1(0:4, 0:2) after 11\n");
  // Rows, of which what is overwritten is kept, go home as they become known.
  shape.left = false;
  const std::string by_rows = to_string(plan_trsm(shape, Precision::d, {2, 2, false}));
  EXPECT_NE(by_rows.find("6: download B(0:2, 2:4) from panel0(0:2, 2:4) after 5\n"), std::string::npos) << by_rows;
}

}  // namespace
}  // namespace blaslift::trsm_tests
