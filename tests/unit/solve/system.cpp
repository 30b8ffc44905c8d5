// Linear systems with factors of A on a backend's lane, given or made there: every cut, in whatever order the lane runs
// things; what is not to be read is NaN, and nothing of the caller's changes if anything fails.
#include <gtest/gtest.h>

#include <chrono>

#include "impl/solve/system_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::system_tests {
namespace {

using namespace reference;

template <class T>
struct System {
  SystemShape shape;
  SystemCut cut;
  Matrix<T> original;  ///< A, all of it
  Matrix<T> A0, A, B0, B;
  std::vector<T> pivots, failed, kept;

  System(Random& r, unsigned seed)
      : shape{.lu = r.coin(),
              .factored = r.coin(),
              .trans = ops[r.below(3)],
              .uplo = r.coin() ? Uplo::upper : Uplo::lower,
              .n = r.up_to(24),
              .nrhs = r.up_to(20)},
        original(shape.n, shape.n),
        A0(shape.n, shape.n, r.up_to(4) - 1),
        A(A0),
        B0(shape.n, shape.nrhs, r.up_to(4) - 1),
        B(B0) {
    const index n = shape.n;
    if (!shape.factored || !shape.lu) shape.trans = Op::none;
    shape.in_order = shape.lu && shape.factored && r.coin();
    cut = {r.up_to(n), r.up_to(shape.nrhs)};
    original.random(seed);
    if (!shape.lu) {
      const auto share = static_cast<Real<T>>(1) / static_cast<Real<T>>(2 * n);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i <= j; ++i) {
          if (i == j) {
            original(i, i) = scalar<T>(2 + r.below(1000) / 1e3, 0);
            continue;
          }
          original(i, j) *= share;
          original(j, i) = conjugate(original(i, j));
        }
    }
    B0.random(seed + 1);
    set_a();
    A = A0;
    B = B0;
    const index panels = (n + cut.panel - 1) / cut.panel;
    failed.assign(static_cast<std::size_t>(panels), T(0));
  }

  static T conjugate(const T& x) {
    if constexpr (complex_type<T>)
      return std::conj(x);
    else
      return x;
  }
  bool stored(index i, index j) const {
    return shape.lu || ((shape.uplo == Uplo::upper ? i <= j : i >= j) && !(shape.unit && i == j));
  }

  /// Its factors come in strips.
  void cut_into_strips(Random& r) {
    cut.strip = r.up_to(shape.factored ? shape.n : cut.panel);
    if (!shape.factored) cut.width = std::min(cut.width, cut.panel);
  }

  /// Instead, a triangular A.
  void make_triangular(Op trans, bool unit, unsigned seed) {
    shape.lu = shape.in_order = false;
    shape.factored = shape.triangle = true;
    shape.trans = trans;
    shape.unit = unit;
    original.random(seed);
    const auto share = static_cast<Real<T>>(1) / static_cast<Real<T>>(2 * shape.n);
    for (index j = 0; j < shape.n; ++j)
      for (index i = 0; i < shape.n; ++i)
        original(i, j) = i == j         ? T(unit ? 1 : 2) + (unit ? T(0) : original(i, j) * share)
                         : stored(i, j) ? original(i, j) * share
                                        : T(0);
    set_a();
    A = A0;
  }

  /// What the call gets: A, or factors that are made the slow way; without exchanges those of A with its rows in that
  /// order.
  void set_a() {
    const index n = shape.n;
    Matrix<T> f = original;
    pivots.assign(shape.lu ? static_cast<std::size_t>(n) : 0, T(0));
    for (index k = 0; shape.factored && !shape.triangle && k < n; ++k) {
      if (shape.lu) {
        index row = k;
        for (index i = k; i < n; ++i)
          if (std::abs(f(i, k)) > std::abs(f(row, k))) row = i;
        for (index j = 0; j < n; ++j) {
          std::swap(f(k, j), f(row, j));
          if (shape.in_order) std::swap(original(k, j), original(row, j));
        }
        pivots[static_cast<std::size_t>(k)] = T(static_cast<Real<T>>(row - k / cut.panel * cut.panel + 1));
        for (index i = k + 1; i < n; ++i) f(i, k) /= f(k, k);
        for (index j = k + 1; j < n; ++j)
          for (index i = k + 1; i < n; ++i) f(i, j) -= f(i, k) * f(k, j);
        continue;
      }
      f(k, k) = std::sqrt(std::real(f(k, k)));
      for (index i = k + 1; i < n; ++i) f(i, k) /= f(k, k);
      for (index j = k + 1; j < n; ++j)
        for (index i = j; i < n; ++i) f(i, j) -= f(i, k) * conjugate(f(j, k));
      for (index i = k + 1; i < n; ++i) f(k, i) = conjugate(f(i, k));
    }
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (stored(i, j))
          A0(i, j) = f(i, j);
        else
          fill_with_canaries(&A0(i, j), sizeof(T));
  }

  Plan plan(const SystemHeld& held = {}) const {
    Plan plan = cut.streamed() ? plan_system_streamed(shape, precision_of<T>, cut)
                               : plan_system(shape, precision_of<T>, cut, held);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}, const Placed& b = {},
                  const Sound& is_sound = sound) {
    std::vector<CallOperand<T>> operands{{A.data(), A.ld(), a}, {B.data(), B.ld(), b}};
    if (shape.exchanges()) operands.push_back({pivots.data(), shape.n});
    if (!shape.factored) operands.push_back({failed.data(), static_cast<index>(failed.size())});
    if (cut.streamed() && shape.lu && !shape.factored) {
      const std::vector<KeptFactors> blocks = kept_factors(shape.n, shape.n, {cut.panel, cut.strip});
      index elements = 0;
      for (const KeptFactors& x : blocks) elements += x.rows * x.cols;
      kept.assign(static_cast<std::size_t>(elements), std::numeric_limits<Real<T>>::quiet_NaN());
      const T* at = kept.data();
      for (const KeptFactors& x : blocks) operands.push_back({at, x.rows}), at += x.rows * x.cols;
    }
    return run_leased<T>(plan, operands, {}, lane, is_sound);
  }
  std::string text() const {
    return std::string(shape.lu ? "LU " : "Cholesky ") +
           (shape.in_order   ? "in order "
            : shape.factored ? "given "
                             : "made ") +
           static_cast<char>(shape.trans) + static_cast<char>(shape.uplo) + " n " + std::to_string(shape.n) +
           ", nrhs " + std::to_string(shape.nrhs) + ", panels of " + std::to_string(cut.panel) + ", of B " +
           std::to_string(cut.width) + (cut.streamed() ? ", strips of " + std::to_string(cut.strip) : "");
  }

  using Number = std::complex<long double>;
  static Number wide(const T& x) { return {std::real(x), std::imag(x)}; }
  Number op(index i, index j) const {
    if (shape.trans == Op::none) return wide(original(i, j));
    return shape.trans == Op::conjugate ? std::conj(wide(original(j, i))) : wide(original(j, i));
  }
  /// |B - op(A) X| is small beside |L| |U| |X|, of which 2^n |A| |X| is a coarse bound and n |A| |X| what random
  /// matrices come to (Higham, Accuracy and Stability, 9.3): with wrong factors, rows or operations it is as large as
  /// B.
  void expect_solved() const {
    const index n = shape.n;
    const double allowed = 20.0 * static_cast<double>(n + 3) * static_cast<double>(n) *
                           static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
    long double largest = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) largest = std::max(largest, std::abs(op(i, j)));
    for (index j = 0; j < shape.nrhs; ++j) {
      long double size = 0;
      for (index i = 0; i < n; ++i) size += std::abs(wide(B(i, j)));
      for (index i = 0; i < n; ++i) {
        Number rest = wide(B0(i, j));
        for (index k = 0; k < n; ++k) rest -= op(i, k) * wide(B(k, j));
        ASSERT_LE(std::abs(rest), allowed * largest * size) << text() << " at " << i << ", " << j;
      }
    }
    ASSERT_TRUE(B.canaries_intact()) << text();
    ASSERT_TRUE(A.canaries_intact()) << text();
    if (shape.factored) {
      ASSERT_TRUE(A == A0) << text();
    }
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i)
        if (!stored(i, j)) {
          ASSERT_TRUE(same_bits(A(i, j), A0(i, j))) << text() << " at " << i << ", " << j;
        }
  }
};

template <class T>
class SystemExecute : public testing::Test {};
TYPED_TEST_SUITE(SystemExecute, Precisions);

/// Its system, from the beginning each time.
/// @param moved  void(const PlanOutcome&, double a, double b): looks at what has moved, beside bytes of A and of B
template <class T, class Moved>
void expect_solved_in_every_order(System<T>& x, const Plan& plan, const Moved& moved) {
  Matrix<T> first = x.B0;
  for (unsigned seed = 0; seed < 3; ++seed) {
    x.A = x.A0;
    x.B = x.B0;
    std::fill(x.failed.begin(), x.failed.end(), T(7));
    Shuffled lane(seed);
    const PlanOutcome outcome = x.run(plan, lane);
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_FALSE(outcome.taken_back);
    ASSERT_TRUE(lane.well_prepared) << x.text();
    for (const T& f : x.failed) ASSERT_EQ(f, x.shape.factored ? T(7) : T(0)) << x.text();
    x.expect_solved();
    if (testing::Test::HasFatalFailure()) return;
    if (seed == 0) first = x.B;
    ASSERT_TRUE(x.B == first) << "other bits: " << x.text();
    const double n = static_cast<double>(x.shape.n);
    moved(outcome, (x.shape.lu ? n * n : n * (n + 1) / 2) * sizeof(T),
          n * static_cast<double>(x.shape.nrhs) * sizeof(T));
  }
}

TYPED_TEST(SystemExecute, SolvesInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int kinds[2][2] = {}, transposed = 0, panels = 0;
  for (unsigned round = 0; round < 160; ++round) {
    System<T> x(r, round);
    const Plan plan = x.plan();
    kinds[x.shape.lu][x.shape.factored] += x.shape.n > 2 * x.cut.panel && x.shape.nrhs > 2 * x.cut.width;
    transposed += x.shape.lu && x.shape.factored && x.shape.trans != Op::none && x.shape.n > 2 * x.cut.panel;
    panels += x.shape.nrhs > 3 * x.cut.width;
    expect_solved_in_every_order(x, plan, [&](const PlanOutcome& outcome, double a, double b) {
      EXPECT_EQ(outcome.bytes_in, a + b) << x.text();
      EXPECT_EQ(outcome.bytes_out, x.shape.factored ? b : a + b) << x.text();
    });
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const auto& of : kinds)
    for (const int count : of) EXPECT_GT(count, 4);
  EXPECT_GT(transposed, 4);
  EXPECT_GT(panels, 20);
}

TYPED_TEST(SystemExecute, OfWhatThereIsNoRoomForFactorsComeInStrips) {
  using T = TypeParam;
  Random r(7);
  int kinds[2][2] = {}, transposed = 0, panels = 0;
  for (unsigned round = 0; round < 160; ++round) {
    System<T> x(r, 300 + round);
    x.cut_into_strips(r);
    const Plan plan = x.plan();
    const index n = x.shape.n;
    kinds[x.shape.lu][x.shape.factored] += n > x.cut.panel && n > 2 * x.cut.strip;
    transposed += x.shape.lu && x.shape.factored && x.shape.trans != Op::none && n > 2 * x.cut.strip;
    panels += x.shape.nrhs > 3 * x.cut.width;
    expect_solved_in_every_order(x, plan, [&](const PlanOutcome& outcome, double a, double b) {
      EXPECT_EQ(outcome.bytes_in + outcome.bytes_out,
                (x.shape.factored ? 1 : 2) * a + 2 * b + sent_again(x.shape, x.cut, sizeof(T)))
          << x.text();
    });
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const auto& of : kinds)
    for (const int count : of) EXPECT_GT(count, 4);
  EXPECT_GT(transposed, 4);
  EXPECT_GT(panels, 20);
}

TYPED_TEST(SystemExecute, InMemoryOfTheirOwnNothingMoves) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 60; ++round) {
    System<T> x(r, round);
    x.cut.width = x.shape.nrhs;
    Shuffled lane(round);
    const PlanOutcome outcome =
        x.run(x.plan({true, true}), lane, {.device = x.A.data(), .ld = x.A.ld(), .in_place = !x.shape.factored},
              {.device = x.B.data(), .ld = x.B.ld(), .in_place = true});
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    x.expect_solved();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(SystemExecute, SolvesWithATriangle) {
  using T = TypeParam;
  Random r(6);
  int transposed = 0, of_ones = 0;
  for (unsigned round = 0; round < 80; ++round) {
    System<T> x(r, round);
    x.make_triangular(ops[r.below(3)], r.coin(), round);
    transposed += x.shape.trans != Op::none;
    of_ones += x.shape.unit;
    Shuffled lane(round);
    ASSERT_EQ(x.run(x.plan(), lane).status, Status::done);
    ASSERT_TRUE(lane.well_prepared) << x.text();
    x.expect_solved();
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(transposed, 30);
  EXPECT_GT(of_ones, 20);
}

TYPED_TEST(SystemExecute, WithAMatrixThatWillNotDoNothingChanges) {
  using T = TypeParam;
  Random r(3);
  int struck = 0;
  for (unsigned round = 0; round < 80; ++round) {
    System<T> x(r, round);
    if (x.shape.factored) continue;
    if (round % 2 == 0) x.cut_into_strips(r);
    ++struck;
    const index bad = r.below(static_cast<std::size_t>(x.shape.n));
    for (index i = 0; i < x.shape.n; ++i)
      for (const auto& [row, col] : {std::pair{i, bad}, std::pair{bad, i}})
        if (x.stored(row, col) && (x.shape.lu ? col == bad : true)) x.A0(row, col) = T(0);
    x.A = x.A0;
    std::vector<T> said;
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(), lane, {}, {}, [&] { return said = x.failed, false; });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_TRUE(outcome.taken_back);
    ASSERT_EQ(said[static_cast<std::size_t>(bad / x.cut.panel)], T(static_cast<Real<T>>(bad % x.cut.panel + 1)))
        << x.text();
    ASSERT_TRUE(x.A == x.A0) << x.text();
    ASSERT_TRUE(x.B == x.B0) << x.text();
  }
  EXPECT_GT(struck, 20);
}

TYPED_TEST(SystemExecute, AFaultAtEveryOperationLeavesEverythingAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 12; ++round) {
    System<T> x(r, 90 + round);
    if (round >= 6) x.cut_into_strips(r);
    const Plan plan = x.plan();
    const std::vector<T> given = x.pivots;
    struck += with_each_operation_failing(
        [&] {
          x.A = x.A0;
          x.B = x.B0;
          x.pivots = given;
        },
        [&](Lane& lane) { return x.run(plan, lane); }, [&] { x.expect_solved(); },
        [&] {
          ASSERT_TRUE(x.A == x.A0) << x.text();
          ASSERT_TRUE(x.B == x.B0) << x.text();
        });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

TEST(SystemCut, OfStripsFitsAnyMemoryOrSaysSo) {
  int streamed = 0, none = 0, narrow = 0;
  const auto try_one = [&](const SystemShape& shape, std::size_t memory) {
    if (system_cut(shape, Precision::d, memory).width > 0) return;
    const SystemCut cut = system_cut_streamed(shape, Precision::d, memory);
    if (cut.width == 0) return void(++none);
    ASSERT_TRUE(cut.streamed());
    ++streamed;
    narrow += cut.width < shape.nrhs;
    if (shape.n / cut.strip * ((shape.nrhs - 1) / cut.width + 1) > 400) return;  // the list of steps would take long
    const Plan plan = plan_system_streamed(shape, Precision::d, cut);
    EXPECT_LE(plan.bytes(sizeof(double)), memory) << shape.n << ", " << shape.nrhs;
    EXPECT_EQ(check(plan), "") << shape.n << ", " << shape.nrhs;
  };
  for (const bool lu : {false, true})
    for (const bool factored : {false, true})
      for (const Uplo uplo : {Uplo::upper, Uplo::lower}) {
        for (const index n : {1, 7, 100, 511, 2049})
          for (const index nrhs : {1, 65, 3000})
            for (std::size_t memory = 1 << 10; memory < std::size_t{1} << 26; memory *= 3)
              try_one({.lu = lu, .factored = factored, .trans = Op::none, .uplo = uplo, .n = n, .nrhs = nrhs}, memory);
        for (const index nrhs : {2100, 5001})
          for (std::size_t memory = 20000000; memory < 33000000; memory += 1370000)
            try_one({.lu = lu, .factored = factored, .trans = Op::none, .uplo = uplo, .n = 2049, .nrhs = nrhs}, memory);
      }
  EXPECT_GT(streamed, 80);
  EXPECT_GT(narrow, 40);
  EXPECT_GT(none, 40);
}

/// Factors that are there come once for each panel of B: no cut of fewer panels has room.
TEST(SystemCut, OfFactorsThatAreThereHasTheFewestPanels) {
  int one = 0, more = 0;
  for (const index nrhs : {1000, 15000})
    for (double columns = 0.4; columns < 2.3; columns += 0.1) {  // of B, beside strips
      const SystemShape shape{
          .lu = true, .factored = true, .trans = Op::none, .uplo = Uplo::lower, .n = 100000, .nrhs = nrhs};
      const auto memory =
          static_cast<std::size_t>(100000 * 8.0 * (2 * 1024 + columns * static_cast<double>(nrhs) + 20));
      const SystemCut cut = system_cut_streamed(shape, Precision::d, memory);
      const index panels = (nrhs + cut.width - 1) / cut.width;
      one += panels == 1, more += panels > 1;
      if (panels == 1) continue;
      SystemCut fewer = cut;
      fewer.width = (nrhs + panels - 2) / (panels - 1);
      EXPECT_GT(plan_system_streamed(shape, Precision::d, fewer).bytes(8), memory) << nrhs << ", " << columns;
    }
  EXPECT_GT(one, 12);
  EXPECT_GT(more, 6);
}

/// A cut is found at once, however little is missing for a wider one, and uses what there is.
TEST(SystemCut, OfStripsIsFoundAtOnceForAnyMemory) {
  for (const bool lu : {false, true})
    for (const bool factored : {false, true})
      for (const Uplo uplo : {Uplo::lower, Uplo::upper})
        for (const index nrhs : {1000, 20000}) {
          const SystemShape shape{
              .lu = lu, .factored = factored, .trans = Op::none, .uplo = uplo, .n = 100000, .nrhs = nrhs};
          const std::size_t memory = std::size_t{16} << 30;
          const auto start = std::chrono::steady_clock::now();
          SystemCut cut = system_cut_streamed(shape, Precision::d, memory);
          ASSERT_GT(cut.width, 0);
          const std::size_t bytes = plan_system_streamed(shape, Precision::d, cut).bytes(8);
          EXPECT_LE(bytes, memory);
          const SystemCut less = system_cut_streamed(shape, Precision::d, bytes - 256);
          EXPECT_GT(less.width, 0);
          EXPECT_LE(plan_system_streamed(shape, Precision::d, less).bytes(8), bytes - 256);
          const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
          EXPECT_LT(took.count(), 10);
        }
}

TEST(SystemCut, FitsAnyMemoryOrSaysSo) {
  int narrow = 0, none = 0;
  for (const bool lu : {false, true})
    for (const bool factored : {false, true})
      for (const index n : {1, 7, 100, 511, 2049})
        for (const index nrhs : {1, 65, 3000})
          for (std::size_t memory = 1 << 10; memory < std::size_t{1} << 31; memory *= 3) {
            const SystemShape shape{
                .lu = lu, .factored = factored, .trans = Op::none, .uplo = Uplo::upper, .n = n, .nrhs = nrhs};
            const SystemCut cut = system_cut(shape, Precision::d, memory);
            if (cut.width == 0) {
              ++none;
              continue;
            }
            narrow += cut.width < nrhs;
            if (n / cut.panel > 40) continue;  // the list of steps would take long
            EXPECT_LE(plan_system(shape, Precision::d, cut).bytes(sizeof(double)), memory) << n << ", " << nrhs;
          }
  EXPECT_GT(narrow, 20);
  EXPECT_GT(none, 20);
}

}  // namespace
}  // namespace blaslift::system_tests
