// Every list of steps as a product on the host backend: all precisions, transposes, scalars, awkward sizes and up to
// four levels, against a product in higher precision, within the bound that theory gives for so many levels.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <span>

#include "impl/core/arena.hpp"
#include "impl/product/execute.hpp"
#include "impl/product/streams.hpp"
#include "impl/product/tiling.hpp"
#include "kernels/host/host.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::levels_tests {
namespace {

using namespace reference;
using strassen::Level;

constexpr std::size_t little = 1000, memory = std::size_t{16} << 20;  // the calling thread moves a little by itself

struct Device {
  Backend& backend = *make_host_backend({.memory_limit = memory});
  Arena arena;
  Device() {
    arena.open(backend, {[](void*) { return false; }, nullptr});
  }
};
/// As long as the process, where a leak checker finds it.
Device& device() {
  static auto& made = *new Device;
  return made;
}

const UnderlyingBlas underlying{[](const void*, const Operation& x) { naive(*x.get<Gemm>()); }, nullptr};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool watched = true;  ///< every access is: slow
#else
constexpr bool watched = false;
#endif

/// Squares, odd, prime and thin ones, tiles and strips in every dimension.
constexpr index sizes[][3] = {{16, 16, 16}, {31, 29, 31}, {17, 37, 23}, {2, 19, 50}, {5, 33, 20}};

template <class T>
struct Problem {
  Op transa, transb;
  index m, n, k;
  T alpha = scalar<T>(-0.5, 0.25), beta;
  Matrix<T> A, B, C;
  std::vector<Expected<T>> expected;

  Problem(Op opa, Op opb, const index (&size)[3], bool beta_zero)
      : transa(opa),
        transb(opb),
        m(size[0]),
        n(size[1]),
        k(size[2]),
        beta(beta_zero ? T(0) : scalar<T>(0.7, -0.3)),
        A(opa == Op::none ? m : k, opa == Op::none ? k : m, 3),
        B(opb == Op::none ? k : n, opb == Op::none ? n : k, 2),
        C(m, n, 5) {
    A.random(1);
    B.random(2);
    if (beta_zero)
      C.fill(scalar<T>(std::numeric_limits<double>::quiet_NaN(), 0));
    else
      C.random(3);
    expected = product(args(C));
  }

  GemmArgs<T> args(Matrix<T>& c) {
    return {transa, transb, m, n, k, alpha, A.data(), A.ld(), B.data(), B.ld(), beta, c.data(), c.ld()};
  }

  /// By so many levels (as far as they fit), in the largest tiles.
  Tiling tiling(const Level& level, int levels, bool may_be_overwritten) const {
    const index smallest = std::min({m, n, k});
    while (smallest >> levels == 0) --levels;
    const index tile = smallest >> levels << levels;
    return {level.last ? strassen::chain(level, levels) : std::vector(static_cast<std::size_t>(levels), &level), tile,
            may_be_overwritten && may_overwrite(m, n, tile, {})};
  }

  GemmSchedule plan(const Tiling& tiling) const {
    return plan_levels(m, n, k, transa != Op::none, transb != Op::none, beta != T(0), sizeof(T), tiling, {},
                       std::size_t{1} << 20);
  }

  /// C, computed by this schedule.
  Matrix<T> compute(const GemmSchedule& schedule) {
    Matrix<T> c = C;
    EXPECT_EQ(outcome(schedule, args(c)).verdict, Verdict::sound);
    EXPECT_TRUE(c.canaries_intact());
    return c;
  }

  /// In no more device memory than the schedule says.
  static ProductOutcome outcome(const GemmSchedule& schedule, const GemmArgs<T>& a) {
    Placement placement;
    Status status = device().arena.take(schedule.bytes(sizeof(T)), true, placement.lease);
    EXPECT_EQ(status, Status::done);
    Lane* lane = device().backend.acquire(underlying, little, status);
    const ProductOutcome outcome = execute(schedule, a, placement, *lane, [] { return true; });
    device().backend.release(lane);
    device().arena.give_back(placement.lease, schedule.bytes(sizeof(T)));
    EXPECT_EQ(outcome.status, Status::done);
    return outcome;
  }

  /// Largest error in units of the bound for these levels.
  double worst(const Matrix<T>& c, const Tiling& tiling) const {
    const auto levels = static_cast<int>(tiling.levels.size());
    // Elements are at most 1, complex ones 2; alpha too; as many tile products as k holds are added up.
    const double more = strassen_bound<T>(levels, static_cast<double>(tiling.tile >> levels)) *
                        (complex_type<T> ? 4 : 1) * std::abs(alpha) * static_cast<double>(k / tiling.tile);
    std::vector<Expected<T>> allowed = expected;
    if (levels > 0)
      for (Expected<T>& e : allowed) e.bound += static_cast<typename Expected<T>::Wide>(more);
    return worst_excess(allowed, c);
  }
};

template <class T>
class Levels : public testing::Test {};
TYPED_TEST_SUITE(Levels, Precisions);

TYPED_TEST(Levels, EveryListEveryTransposeAndSizeWithinTheoryAndTheSameBitsTwice) {
  using T = TypeParam;
  std::map<int, int> products;
  int beside = 0;
  for (const index(&size)[3] : std::span(sizes).last(watched ? 1 : std::size(sizes)))
    for (const Op opa : ops)
      for (const Op opb : ops)
        for (const bool beta_zero : {true, false}) {
          if (watched && opa != opb) continue;
          // The real and the complex precisions of either length take turns.
          const auto turn = (&size - sizes) + static_cast<int>(opa) + static_cast<int>(opb) + beta_zero;
          if (turn % 2 != (sizeof(Real<T>) == 8) && !watched) continue;
          Problem<T> x(opa, opb, size, beta_zero);
          bool has_turn = turn / 2 % 2 != 0;
          for (const Level* level : strassen::levels()) {
            // Deep ones take long, and transposes are no different there: lists take turns.  Of what `auto` takes, all.
            has_turn = !has_turn;
            const bool deep = !watched && (level == &strassen::fused() || (opa != opb && beta_zero && has_turn));
            for (int levels = 0; levels <= (deep ? 4 : 2); ++levels) {
              const Tiling kept = x.tiling(*level, levels, false), overwritten = x.tiling(*level, levels, true);
              SCOPED_TRACE(testing::Message()
                           << describe(x.args(x.C)) << ", " << levels << " levels of " << level->name);
              const Matrix<T> c = x.compute(x.plan(kept));
              ASSERT_LE(x.worst(c, kept), 1.0);
              // Where the inputs may be destroyed other lists run at once; the same otherwise.
              if (overwritten.overwrite) {
                const Matrix<T> d = x.compute(x.plan(overwritten));
                ASSERT_LE(x.worst(d, overwritten), 1.0);
                if (!level->destroys_inputs) {
                  ASSERT_TRUE(c == d) << "where the support matrix lies makes no difference";
                }
              }
              if (levels == 2) {
                Tiling two_streams = kept;
                two_streams.two_streams = true;
                ASSERT_TRUE(x.compute(x.plan(two_streams)) == c) << "not the same bits twice, or in two streams";
                two_streams.at_all_levels = true;
                ASSERT_TRUE(x.compute(x.plan(two_streams)) == c) << "not the same bits in two streams at all levels";
                if (!strassen::says_streams(*level)) {
                  GemmSchedule apart = x.plan(kept);
                  spread(apart, sizeof(T), complex_type<T>, {1e9, 1e8, 1e8, 1e-6, 1e-7});
                  beside += std::any_of(apart.steps.begin(), apart.steps.end(),
                                        [](const Step& step) { return step.stream != 0; });
                  ASSERT_TRUE(x.compute(apart) == c) << "not the same bits with steps beside each other";
                }
              }
              ++products[static_cast<int>(kept.levels.size())];
              if (this->HasFailure()) return;
            }
          }
        }
  for (int levels = 0; levels <= 4 && !watched; ++levels) EXPECT_GT(products[levels], 50) << levels;
  EXPECT_GT(products[1], 40);
  if (!watched) {
    EXPECT_GT(beside, 10);
  }
}

TYPED_TEST(Levels, TakeNoMemoryBesideAandBandC) {
  // By the arena's own account, whatever the level.
  using T = TypeParam;
  constexpr index n = 64;
  Problem<T> x(Op::none, Op::none, {n, n, n}, true);
  const std::size_t operand = leased_bytes(n, n, sizeof(T));
  for (const Level* level : {&strassen::rum(), &strassen::absorbed(), &strassen::fused()})
    for (int levels = 1; levels <= 4; ++levels) {
      Tiling tiling = x.tiling(*level, levels, true);
      ASSERT_TRUE(tiling.overwrite);
      const std::size_t notes = leased_bytes((2 * (index{1} << levels) + 2) * n, 1, sizeof(T));
      device().arena.forget_most();
      x.compute(x.plan(tiling));
      EXPECT_EQ(device().arena.most_taken(), 3 * operand + notes) << level->name << levels;
      tiling.overwrite = false;
      x.compute(x.plan(tiling));
      EXPECT_EQ(device().arena.most_taken(), 4 * operand + notes) << level->name << levels;
    }
}

TYPED_TEST(Levels, AndNoLevelsInPlaceMoveNothingAndLeaveAWrongProductUndone) {
  // Operands where the device computes: here that is the same memory.
  using T = TypeParam;
  for (const bool beta_zero : {true, false})
    for (const bool poison : {false, true})
      for (const index k : {16, 19, 33})
        for (const int levels : {0, 1, 2}) {
          Problem<T> x(Op::transpose, Op::none, {17, 16, k}, beta_zero);
          if (poison) x.A(1, 2) = scalar<T>(std::numeric_limits<double>::infinity(), 0);
          const Matrix<T> A = x.A, B = x.B;
          Matrix<T> c = x.C;
          const Resident in_place{.whole = true, .in_place = true};
          const Residents residents{in_place, in_place, in_place};
          const Tiling tiling = x.tiling(strassen::fused(), levels, false);
          Cut cut;
          ASSERT_TRUE(cut_to_fit(x.m, x.n, k, sizeof(T), memory, residents, cut));
          const GemmSchedule schedule =
              levels > 0 ? plan_levels(x.m, x.n, k, true, false, !beta_zero, sizeof(T), tiling, residents, 4096)
                         : plan_gemm(x.m, x.n, k, !beta_zero, sizeof(T), cut, residents, 4096);
          Placement placement{.a = {x.A.data(), x.A.ld()}, .b = {x.B.data(), x.B.ld()}, .c = {c.data(), c.ld()}};
          const std::size_t bytes = schedule.bytes(sizeof(T));
          Status status = bytes ? device().arena.take(bytes, true, placement.lease) : Status::done;
          ASSERT_EQ(status, Status::done);
          Lane* lane = device().backend.acquire(underlying, little, status);
          const ProductOutcome outcome = execute(schedule, x.args(c), placement, *lane, [] { return true; });
          device().backend.release(lane);
          if (bytes) device().arena.give_back(placement.lease, bytes);
          SCOPED_TRACE(testing::Message() << describe(x.args(c)) << ", levels " << levels << ", poison " << poison);
          ASSERT_EQ(outcome.status, Status::done);
          ASSERT_EQ(outcome.bytes_in + outcome.bytes_out, 0);
          ASSERT_TRUE(x.A == A && x.B == B && c.canaries_intact());
          ASSERT_EQ(outcome.verdict, poison && levels > 0 ? Verdict::not_finite : Verdict::sound);
          if (!poison) {
            ASSERT_LE(x.worst(c, tiling), 1.0);
          } else if (levels > 0 && !beta_zero) {
            ASSERT_TRUE(c == x.C) << "the classical product needs it";
          }
        }
}

TYPED_TEST(Levels, WhatIsNotSoundIsNotBroughtBack) {
  using T = TypeParam;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {inf, nan, 1e-30})
    for (const bool in_a : {true, false})
      for (const bool beta_zero : {true, false}) {
        Problem<T> x(Op::none, Op::transpose, {17, 16, 18}, beta_zero);
        Matrix<T>& y = in_a ? x.A : x.B;
        if (bad == 1e-30)  // a row of op(A), a column of op(B)
          for (index j = 0; j < y.cols(); ++j) y(3, j) = scalar<T>(bad, 0);
        else
          y(5, 7) = scalar<T>(0.5, 0) + scalar<T>(complex_type<T> ? 0 : bad, bad);
        Matrix<T> c = x.C;
        const ProductOutcome outcome = x.outcome(x.plan(x.tiling(strassen::fused(), 2, false)), x.args(c));
        EXPECT_EQ(outcome.verdict, bad == 1e-30 ? Verdict::badly_scaled : Verdict::not_finite);
        EXPECT_TRUE(c == x.C && outcome.untouched()) << "beta zero: " << beta_zero;
      }
}

/// Magnitudes of blocks, at random, of a rows x k operand: slices of k, and groups of rows, as the guard has them.
struct BlockScales {
  index groups, slices;
  std::vector<double> scale;

  BlockScales(const GemmSchedule& s, index rows, std::mt19937& bits)
      : groups((rows - 1) / s.slice + 1), slices(s.slices()), scale(static_cast<std::size_t>(groups * slices)) {
    constexpr double one_of[] = {1, 1, 1, 0x1p-5, 0x1p-20, 0};
    for (double& x : scale) x = one_of[bits() % std::size(one_of)];
    scale[bits() % scale.size()] = 1;
  }
  double at(index group, index p) const { return scale.at(static_cast<std::size_t>(group + p * groups)); }
};

/// An operand with these blocks, its rows along the columns of its storage or not.
template <class T>
Matrix<T> scaled_blocks(const GemmSchedule& s, const BlockScales& scales, index rows, bool rows_across,
                        std::mt19937& bits) {
  Matrix<T> x(rows_across ? s.k : rows, rows_across ? rows : s.k, 1);
  for (index p = 0; p < s.k; ++p)
    for (index i = 0; i < rows; ++i) {
      const double value = scales.at(i / s.slice, s.slice_of(p)) * (0.75 + static_cast<double>(bits() % 65) / 256);
      (rows_across ? x(p, i) : x(i, p)) = complex_type<T> ? scalar<T>(value / 2, -value) : scalar<T>(-value, 0);
    }
  return x;
}

TYPED_TEST(Levels, SmallBlocksInsideOfLargeRowsAndColumnsAreSeen) {
  using T = TypeParam;
  std::mt19937 bits(13);
  std::map<Verdict, int> seen[2];
  for (int time = 0; time < 400; ++time) {
    const bool triangle = time % 4 == 0;
    const int levels = 1 + time % 2;
    const auto up_to = [&](int most) { return 1 + static_cast<index>(bits() % static_cast<unsigned>(most)); };
    const index tile = up_to(4) << levels, m = (triangle ? 2 : 1) * tile + up_to(12),
                n = triangle ? m : tile + up_to(12), k = tile + up_to(12);
    const bool transposed_a = bits() % 2 != 0, transposed_b = triangle ? !transposed_a : bits() % 2 != 0;
    const GemmSchedule s = plan_levels(m, n, k, transposed_a, transposed_b, false, sizeof(T),
                                       {std::vector(static_cast<std::size_t>(levels), &strassen::fused()), tile}, {},
                                       100 * sizeof(T), triangle ? Part::lower : Part::whole);
    ASSERT_EQ(s.slice, std::max<index>(1, tile >> levels));
    const BlockScales of_a(s, m, bits), of_b = triangle ? of_a : BlockScales(s, n, bits);
    const Matrix<T> A = scaled_blocks<T>(s, of_a, m, transposed_a, bits);
    const Matrix<T> B = triangle ? A : scaled_blocks<T>(s, of_b, n, !transposed_b, bits);
    Matrix<T> c(m, n, 0);
    c.fill(T(0));
    const auto op = [](bool transposed) { return transposed ? Op::transpose : Op::none; };
    const GemmArgs<T> args{op(transposed_a), op(transposed_b), m,      n,    k,        T(1),   A.data(),
                           A.ld(),           B.data(),         B.ld(), T(0), c.data(), c.ld(), s.cut.part};
    double least = 1;
    for (index i = 0; i < of_a.groups; ++i)
      for (index j = 0; j < of_b.groups; ++j) {
        double scale = 0;
        for (index p = 0; p < of_a.slices; ++p) scale = std::max(scale, of_a.at(i, p) * of_b.at(j, p));
        least = std::min(least, scale);
      }
    const Verdict expected = least >= 0x1p-5 ? Verdict::sound : Verdict::badly_scaled;
    ASSERT_EQ(Problem<T>::outcome(s, args).verdict, expected)
        << describe(args) << ", " << levels << " levels in tiles of " << tile << ", scales down to " << least;
    ++seen[triangle][expected];
  }
  for (const auto& verdicts : seen) {
    EXPECT_GT(verdicts.at(Verdict::sound), 10);
    EXPECT_GT(verdicts.at(Verdict::badly_scaled), 10);
  }
}

}  // namespace
}  // namespace blaslift::levels_tests
