// The schedule of systolic products, run on the CPU: every variant has the bits of a sum in the order of k; steps and
// accesses are those of the formulas, whose printed values come out.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/host/systolic.hpp"
#include "kernels/systolic_model.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/systolic.hpp"

namespace blaslift::systolic_tests {
namespace {

using namespace systolic;
using reference::Matrix;

template <class T>
class Systolic : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Systolic, Reals);

TYPED_TEST(Systolic, EveryVariantHasTheBitsOfASumInTheOrderOfK) {
  using T = TypeParam;
  Random chance(1);
  int ragged = 0, whole = 0;
  for (const index count : {1, 3, 10})
    for (const int t : {1, 2, 3, 4, 7, 16, 32})
      for (const bool skips : {false, true}) {
        const auto size = [&] { return static_cast<int>(chance.coin() ? 16 * chance.up_to(2) : chance.up_to(40)); };
        const int m = size(), n = size(), k = size(), longer[] = {k, 2 * k - 1, k + 3};
        Products<T> x(m, n, k, count, static_cast<unsigned>(count) + static_cast<unsigned>(t), chance.coin());
        ragged += m % edge != 0 && n % edge != 0;
        whole += m % edge == 0 && n % edge == 0;
        const Matrix<T> C = x.C, due = x.expected(x.operands());
        ASSERT_FALSE(due == C);
        for (const Variant variant : all_variants) {
          const Schedule s{m, n, k, count, longer[chance.below(3)], t, skips};
          x.C = C;
          interpret(variant, s, x.operands(), chance.below(5));
          ASSERT_TRUE(x.C == due) << name_of(variant) << ", " << x.text() << ", t = " << t << ", g = " << s.g;
        }
      }
  EXPECT_GT(ragged, 5);
  EXPECT_GT(whole, 5);
}

TYPED_TEST(Systolic, CountsAlphaAndBeta) {
  using T = TypeParam;
  for (const double beta : {0.0, 1.0, -0.75})
    for (const Variant variant : all_variants) {
      if (!scales(variant)) continue;
      Products<T> x(19, 35, 21, 3, 7);
      if (beta == 0)
        for (index j = 0; j < x.C.cols(); ++j)
          for (index i = 0; i < x.C.rows(); ++i) x.C(i, j) = std::numeric_limits<T>::quiet_NaN();
      Operands<T> operands = x.operands();
      operands.from_c = false, operands.alpha = T(-1.5), operands.beta = static_cast<T>(beta);
      const Matrix<T> due = x.expected(operands);
      interpret(variant, {19, 35, 21, 3, 21, 4, true}, operands, 2);
      ASSERT_TRUE(x.C == due) << name_of(variant) << ", beta = " << beta;
    }
}

TEST(SystolicSchedule, TakesTheStepsOfTheFormulas) {
  for (const int N : {1, 5, 16, 64, 100, 1024})
    for (const index count : {1, 2, 10, 1000})
      for (const int g : {2 * N - 1, N})
        for (const bool skips : {false, true}) {
          const Schedule s{N, N, N, count, g, 1, skips};
          for (int J = 0; J < s.block_cols(); ++J)
            for (int I = 0; I < s.block_rows(); ++I) {
              const Cells x = s.cells(I, J);
              // The first and the last cell with something to do.
              const index begin = s.first_step(x), end = begin + s.steps(x) - 1;
              EXPECT_EQ(s.steps(x), (skips ? x.rows + x.cols + N - 2 : 3 * N - 2) + (count - 1) * g);
              const Cursor first = s.at(x.row, x.col, begin), after = s.at(x.row, x.col, begin - 1);
              const Cursor last = s.at(x.row + x.rows - 1, x.col + x.cols - 1, end);
              if (skips) {
                EXPECT_TRUE(s.works(first) && first.at == 0 && first.product == 0 && !s.works(after));
                EXPECT_TRUE(s.works(last) && last.at == N - 1 && last.product == count - 1);
              }
              if (x.rows == edge && x.cols == edge && skips) {
                EXPECT_EQ(s.steps(x), N + 2 * edge - 2 + (count - 1) * g);
              }
            }
          EXPECT_EQ(static_cast<double>(Schedule{N, N, N, count, g}.steps(s.cells(0, 0))),
                    steps_of(N, static_cast<double>(count), g));
        }
}

TEST(SystolicSchedule, ACursorIsWhereADivisionWouldPutIt) {
  Random chance(2);
  for (int round = 0; round < 2000; ++round) {
    const int k = static_cast<int>(chance.up_to(9)), g = k + static_cast<int>(chance.below(9));
    const Schedule s{40, 40, k, 1 + static_cast<index>(chance.below(5)), g};
    const int i = static_cast<int>(chance.below(40)), j = static_cast<int>(chance.below(40));
    index T = 0;
    Cursor x = s.at(i, j, T);
    for (int move = 0; move < 9; ++move) {
      const int by = static_cast<int>(chance.below(40));
      x.advance(by, g);
      T += by;
      const Cursor due = s.at(i, j, T);
      ASSERT_TRUE(x.at == due.at && x.product == due.product);
      const Cursor behind = x.behind(by, g), was = s.at(i, j, T - by);
      ASSERT_TRUE(behind.at == was.at && behind.product == was.product);
      EXPECT_EQ(s.works(x), meeting(s, i, j, T) == 1);
      bool all = true;
      for (int step = 0; step < 3; ++step) {
        const Cursor then = s.at(i, j, T + step);
        all = all && s.works(then) && then.product == x.product;
      }
      EXPECT_EQ(s.works(x, 3), all);
    }
  }
}

TEST(SystolicSchedule, ProductsNeedNotBeFurtherApartThanN) {
  const auto most = [](int N, int g) {
    const Schedule s{N, N, N, 4, g};
    index found = 0, busy = 0;
    for (index T = 0; T < s.steps(s.cells(0, 0)); ++T)
      for (int j = 0; j < N; ++j)
        for (int i = 0; i < N; ++i) {
          found = std::max(found, meeting(s, i, j, T));
          busy += meeting(s, i, j, T);
        }
    EXPECT_EQ(busy, 4 * index{N} * N * N);
    return found;
  };
  for (const int N : {2, 3, 5, 17}) {
    EXPECT_EQ(most(N, 2 * N - 1), 1);
    EXPECT_EQ(most(N, N), 1);
    EXPECT_EQ(most(N, N - 1), 2) << "two products meet in a cell";
  }
  // With N a cell is never idle between its first and its last term; with 2N - 1 it is, N - 1 steps for each product.
  for (const int g : {5, 9}) {
    const Schedule s{5, 5, 5, 3, g};
    index idle = 0;
    for (index T = 4; T < 4 + 5 + 2 * g; ++T) idle += meeting(s, 1, 3, T) == 0;
    EXPECT_EQ(idle, 2 * (g - 5));
  }
}

TEST(SystolicSchedule, WhatMeetsIsLost) {
  Products<double> x(20, 20, 20, 3, 1);
  const Matrix<double> due = x.expected(x.operands());
  const Matrix<double> C = x.C;
  for (const Variant variant : {Variant::g1, Variant::st, Variant::shuffled}) {
    x.C = C;
    interpret(variant, {20, 20, 20, 3, 19}, x.operands());
    EXPECT_FALSE(x.C == due) << name_of(variant);
    EXPECT_TRUE(x.C.canaries_intact());
  }
}

TEST(SystolicRing, AnyRingThatIsLongEnoughServes) {
  for (const int t : {1, 2, 3, 4, 7, 16, 17, 32}) {
    EXPECT_EQ(shortest_ring(t), edge + t - 1);
    EXPECT_GE(ring_slots(t), shortest_ring(t));
    EXPECT_EQ(ring_slots(t) & (ring_slots(t) - 1), 0) << "a power of two";
    EXPECT_EQ(ring_pitch(ring_slots(t)) % 32, 16) << "columns beside each other begin in other halves of the banks";
    Products<double> x(32, 32, 50, 2, 5);
    const Matrix<double> C = x.C, due = x.expected(x.operands());
    for (const int slots : {shortest_ring(t), ring_slots(t), ring_slots(t) + 1, shortest_ring(t) - 1}) {
      x.C = C;
      interpret(Variant::st, {32, 32, 50, 2, 50, t}, x.operands(), 3, slots);
      EXPECT_EQ(x.C == due, slots >= shortest_ring(t)) << t << ", " << slots;
    }
  }
}

TEST(SystolicDeal, DealsOutEveryProductOnce) {
  for (const index count : {1, 2, 7, 64, 1000})
    for (const index arrays : {1, 2, 3, 7, 60}) {
      const Deal rows{count, std::min(arrays, count)};
      index found = 0;
      for (index i = 0; i < rows.arrays; ++i) {
        if (rows.size(i) > 0) {
          EXPECT_EQ(rows.begin(i), found);
        }
        found += rows.size(i);
      }
      EXPECT_EQ(found, count);
    }
}

/// What the interpreter does is what the first lines of the formulas count, idle cells included.
TEST(SystolicModel, CountsTheAccessesThatAreMade) {
  struct Case {
    int N;
    index count;
    int g, t;
  };
  // With as many steps as t divides.
  for (const Case& x : {Case{32, 1, 63, 2}, {32, 1, 63, 47}, {16, 10, 31, 5}, {16, 10, 31, 13}, {48, 3, 48, 2}})
    for (const Variant variant : all_variants) {
      Products<double> products(x.N, x.N, x.N, x.count, 1);
      const Schedule s{x.N, x.N, x.N, x.count, x.g, x.t};
      const Counts counts = interpret(variant, s, products.operands());
      const double blocks = s.block_rows() * s.block_cols(), N = x.N, count = static_cast<double>(x.count),
                   steps = steps_of(N, count, x.g);
      const Work work{N, count, steps, has_steps(variant) ? static_cast<double>(x.t) : 1};
      const Accesses model = accesses(variant, work, true), printed = accesses(variant, work, false);
      const auto global = static_cast<double>(counts.global), turns = static_cast<double>(counts.global_turns),
                 shared = static_cast<double>(counts.shared), shared_turns = static_cast<double>(counts.shared_turns);
      SCOPED_TRACE(testing::Message() << name_of(variant) << ", " << products.text() << ", t = " << x.t);
      const double moves_c = 2 * count * N * N;
      switch (variant) {
        case Variant::g1:
        case Variant::gt:
          EXPECT_EQ(turns, model.global);
          EXPECT_EQ(model.global, printed.global);
          EXPECT_EQ(steps * blocks, static_cast<double>(counts.steps));
          EXPECT_LT(global, turns) << "idle cells have turns";
          if (variant == Variant::g1) {
            EXPECT_EQ(global, 4 * count * N * N * N);
          }
          break;
        case Variant::s1:
        case Variant::st:
          EXPECT_EQ(turns + moves_c, model.global);
          EXPECT_EQ(turns + 2 * N * N, printed.global) << "which moves C once";
          EXPECT_EQ(shared_turns, model.shared * blocks);
          EXPECT_EQ(model.shared, printed.shared);
          EXPECT_EQ(global, 2 * count * N * N * N / edge + moves_c);
          break;
        case Variant::l1: EXPECT_EQ(global, printed.global); break;
        case Variant::lr: EXPECT_EQ(global, model.global); break;
        case Variant::ls:
          EXPECT_EQ(global, model.global);
          // Ours has its sum in a register, for which the rules of formula 3 count two accesses a step.
          EXPECT_EQ(shared + 2 * count * N * N * N, model.shared * blocks);
          EXPECT_GT(model.shared, 10 * printed.shared);
          break;
        case Variant::shuffled: {
          index warps_steps = 0;
          for (int J = 0; J < s.block_cols(warp_columns); ++J)
            for (int I = 0; I < s.block_rows(warp); ++I) warps_steps += s.steps(s.cells(I, J, warp, warp_columns));
          EXPECT_EQ(counts.steps, warps_steps);
          if (x.N % warp == 0) {
            EXPECT_EQ(turns + moves_c, model.global);
          }
          break;
        }
      }
    }
}

TEST(SystolicModel, ExpansionsAgreeWithTheFirstLines) {
  for (const double N : {256.0, 1024.0, 4096.0})
    for (const double S : {1.0, 10.0, 100.0})
      for (const double t : {1.0, 4.0, 32.0}) {
        const double T = steps_of(N, S, 2 * N - 1), root = 16, p = 256, wk = 256, w = 16;
        const auto model = [&](Variant variant, double steps_at_once) {
          const Work work{N, S, T, steps_at_once};
          return seconds(accesses(variant, work, false), work, thesis_machine, false);
        };
        const auto near = [](double x, double due) { EXPECT_NEAR(x / due, 1, 1e-12); };
        const double lgm = thesis_machine.lgm, lsm = thesis_machine.lsm, N2 = N * N, N3 = N2 * N;
        const double row = 4 * S * N + 2 * N - 2 * S - 2;
        near(model(Variant::g1, 1), (4 * (2 * S + 1) * N3 - 4 * (S + 1) * N2) / wk * lgm);
        near(model(Variant::gt, t), ((4 * S + 2) * (t + 1) * N3 - 2 * (S + 1) * (t + 1) * N2) / (wk * t) * lgm);
        const double edges = ((4 * S + 2) * N3 + (2 * root - 2 * S - 2) * N2) / (wk * root) * lgm;
        near(model(Variant::s1, 1), edges + (2 * p + root) * row / w * lsm);
        near(model(Variant::st, t), edges + ((p + root) * row + p * row / t) / w * lsm);
        near(model(Variant::l1, 1), 4 * S * N3 / wk * lgm);
        near(model(Variant::ls, 1), (2 * S * N3 + 2 * root * N2) / (wk * root) * lgm + 6 * root * S * N / w * lsm);
      }
}

/// What the formulas give with the constants in print, reckoned apart from this, to four digits.
TEST(SystolicModel, HasTheValuesThatItsConstantsGive) {
  struct Row {
    double N, S, g1, gt4, gt32, l1, s1, st4, ls;
  };
  const Row rows[] = {{256, 1, 0.4686, 0.2929, 0.2416, 0.1566, 0.01736, 0.01649, 0.005273},
                      {512, 1, 3.753, 2.346, 1.935, 1.253, 0.1234, 0.1216, 0.04052},
                      {1024, 1, 30.05, 18.78, 15.49, 10.02, 0.9536, 0.9500, 0.3184},
                      {2048, 1, 240.5, 150.3, 124.0, 80.18, 7.553, 7.546, 2.526},
                      {4096, 1, 1924, 1202, 992, 641.4, 60.24, 60.23, 20.12},
                      {1024, 10, 210.4, 131.5, 108.5, 100.2, 6.646, 6.622, 3.140},
                      {1024, 1000, 20040, 12530, 10340, 10020, 632.9, 630.5, 313.5}};
  for (const Row& x : rows) {
    const auto check = [&](Variant variant, double t, double due) {
      const Work work{x.N, x.S, steps_of(x.N, x.S, 2 * x.N - 1), t};
      EXPECT_NEAR(seconds(accesses(variant, work, false), work, thesis_machine, false) / due, 1, 6e-4)
          << name_of(variant) << " " << x.N << " " << x.S << " " << t;
    };
    check(Variant::g1, 1, x.g1);
    check(Variant::gt, 4, x.gt4);
    check(Variant::gt, 32, x.gt32);
    check(Variant::l1, 1, x.l1);
    check(Variant::s1, 1, x.s1);
    check(Variant::st, 4, x.st4);
    check(Variant::ls, 1, x.ls);
  }
  // G1 over L1: 2 with many products 2N - 1 apart, 1 with N.
  const auto ratio = [](double S, double g) {
    const Work work{1024, S, steps_of(1024, S, g), 1};
    return accesses(Variant::g1, work, false).global / accesses(Variant::l1, work, false).global;
  };
  EXPECT_NEAR(ratio(1000, 2047), 2.00, 5e-3);
  EXPECT_NEAR(ratio(10, 1024), 1.20, 5e-3);
  EXPECT_NEAR(ratio(1000, 1024), 1.002, 5e-4);
}

TEST(SystolicModel, CorrectionsSayWhatIsMissing) {
  const auto added = [](Variant variant, double N, double S) {
    const Work work{N, S, steps_of(N, S, 2 * N - 1), 1};
    Machine machine = thesis_machine;
    const auto time = [&](bool corrected) {
      return seconds({accesses(variant, work, corrected).global, 0}, work, machine, false);
    };
    return time(true) / time(false) - 1;
  };
  EXPECT_NEAR(added(Variant::s1, 1024, 1000), 0.008, 5e-4);
  EXPECT_NEAR(added(Variant::ls, 1024, 1000), 0.016, 5e-4);
  EXPECT_NEAR(added(Variant::ls, 256, 1000), 0.06, 4e-3);
  // Fewer multiprocessors than blocks: shared memory is shared.
  const Work work{1024, 1, steps_of(1024, 1, 2047), 1};
  Machine few{.lgm = 0, .lsm = 1, .multiprocessors = 128};
  const Accesses x{0, 160};
  EXPECT_EQ(seconds(x, work, few, false), 10);
  EXPECT_EQ(seconds(x, work, few, true), 10.0 * 4096 / 128);
}

}  // namespace
}  // namespace blaslift::systolic_tests
