// Plans: what check() lets through, that the order holds what it must, and nothing that follows.
#include "impl/plan/plan.hpp"

#include <gtest/gtest.h>

#include "impl/solve/trsm_plan.hpp"
#include "tests/unit/support/random.hpp"

namespace blaslift::plan_tests {
namespace {

Plan any_plan(Random& r) {
  const TrsmShape shape{
      r.coin(),   r.coin() ? Uplo::upper : Uplo::lower, r.coin() ? Op::none : Op::transpose, r.coin(), r.up_to(20),
      r.up_to(20)};
  return plan_trsm(shape, Precision::d, {r.up_to(shape.order()), r.up_to(shape.others()), r.coin()});
}

bool conflict(const Plan::Step& x, const Plan::Step& y) {
  for (const Plan::Access& a : x.accesses)
    for (const Plan::Access& b : y.accesses)
      if (a.region.area == b.region.area && overlap(a.region.block, b.region.block) &&
          (a.mode != AccessMode::read || b.mode != AccessMode::read))
        return true;
  return false;
}

TEST(Plan, EveryConflictIsWaitedForAndNothingTwice) {
  Random r(1);
  int waits = 0;
  for (int round = 0; round < 60; ++round) {
    const Plan plan = any_plan(r);
    const std::size_t count = plan.steps.size();
    ASSERT_EQ(plan.after.size(), count);
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::int32_t step : plan.after[i]) {
        const auto e = static_cast<std::size_t>(step);
        ASSERT_LT(e, i);
        ASSERT_TRUE(conflict(plan.steps[e], plan.steps[i])) << to_string(plan);
        for (const std::int32_t other : plan.after[i])
          ASSERT_FALSE(before[static_cast<std::size_t>(other)][e]) << "follows from another: " << to_string(plan);
        before[i][e] = true;
        ++waits;
      }
      for (std::size_t e = 0; e < i; ++e)
        for (std::size_t f = e + 1; f < i; ++f)
          if (before[i][f] && before[f][e]) before[i][e] = true;
      for (std::size_t e = 0; e < i; ++e)
        ASSERT_TRUE(before[i][e] || !conflict(plan.steps[e], plan.steps[i])) << e << ", " << i << "\n"
                                                                             << to_string(plan);
    }
  }
  EXPECT_GT(waits, 1000);
}

TEST(Plan, WhatIsOnlyReadStays) {
  Random r(2);
  int staying_uploads = 0, others = 0;
  for (int round = 0; round < 60; ++round) {
    const Plan plan = any_plan(r);
    const std::vector<bool> stays = staying(plan);
    ASSERT_EQ(stays.size(), plan.steps.size());
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const Plan::Step& step = plan.steps[i];
      if (step.kind != Plan::Kind::upload) {
        ASSERT_FALSE(stays[i]);
        continue;
      }
      bool written = plan.operands[static_cast<std::size_t>(step.transfer.operand)].result;
      const Plan::Region& there = step.accesses[0].region;
      for (std::size_t e = 0; e < plan.steps.size(); ++e)
        for (const Plan::Access& x : plan.steps[e].accesses)
          written |= e != i && x.mode != AccessMode::read && x.region.area == there.area &&
                     overlap(x.region.block, there.block);
      ASSERT_EQ(stays[i], !written) << i << "\n" << to_string(plan);
      ++(stays[i] ? staying_uploads : others);
    }
  }
  EXPECT_GT(staying_uploads, 20);
  EXPECT_GT(others, 20);
}

TEST(Plan, CheckMissesNoTransferNorWhatIsMadeOnce) {
  Random r(2);
  int dropped = 0, twice = 0, late = 0;
  for (int round = 0; round < 60; ++round) {
    const Plan good = any_plan(r);
    ASSERT_EQ(check(good), "");
    for (std::size_t i = 0; i < good.steps.size(); ++i) {
      const Plan::Step& step = good.steps[i];
      Plan bad = good;
      bad.steps.erase(bad.steps.begin() + static_cast<std::ptrdiff_t>(i));
      if (step.kind != Plan::Kind::compute) {
        // What was sent before may still be there.
        const bool again = std::any_of(
            good.steps.begin(), good.steps.begin() + static_cast<std::ptrdiff_t>(i), [&](const Plan::Step& earlier) {
              return earlier.kind == step.kind && earlier.transfer.operand == step.transfer.operand &&
                     earlier.transfer.block == step.transfer.block;
            });
        const bool caught = !check(bad).empty();
        dropped += caught;
        EXPECT_TRUE(caught || again) << i << ": " << to_string(good);
      }
      if (step.kind == Plan::Kind::download) {
        ++twice;
        bad = good;
        bad.steps.push_back(step);
        EXPECT_NE(check(bad), "");
        // Home before it is final.
        for (std::size_t e = i; e-- > 0;)
          if (good.steps[e].kind == Plan::Kind::compute && conflict(good.steps[e], step)) {
            bad = good;
            std::rotate(bad.steps.begin() + static_cast<std::ptrdiff_t>(e),
                        bad.steps.begin() + static_cast<std::ptrdiff_t>(i),
                        bad.steps.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            ++late;
            EXPECT_NE(check(bad), "") << to_string(bad);
            break;
          }
      }
    }
  }
  EXPECT_GT(dropped, 500);
  EXPECT_GT(twice, 300);
  EXPECT_GT(late, 300);
}

/// Two columns: one is sent, the other computed from it.
Plan small_plan() {
  Plan plan{.operands = {{"A", 4, 1, false}, {"B", 4, 2, true}}};
  const int a = plan.add_area("A", 4, 1), b = plan.add_area("B", 4, 2);
  plan.upload({a, 0}, {0, 0, 4, 1});
  plan.upload({b, 1}, {0, 0, 4, 2});
  plan.compute(Gemm{},
               {{{a, {0, 0, 4, 1}}, AccessMode::read, {0, 0, 0}},
                {{b, {0, 0, 4, 1}}, AccessMode::read},
                {{b, {0, 1, 4, 1}}, AccessMode::update}},
               Scalar::one);
  plan.download({b, 1}, {0, 0, 4, 2});
  return plan;
}

TEST(Plan, CheckNamesTheFault) {
  const auto fault = [](const auto& change) {
    Plan plan = small_plan();
    change(plan);
    return check(plan);
  };
  EXPECT_EQ(fault([](Plan&) {}), "");
  EXPECT_EQ(fault([](Plan& p) { p.steps[0].accesses[0].region.block.rows = 5; }),
            "0: upload A(0:4, 0) to A(0:5, 0): no such region");
  EXPECT_EQ(fault([](Plan& p) { p.steps[0].transfer.block.row = 1; }),
            "0: upload A(1:5, 0) to A(0:4, 0): no such block");
  EXPECT_EQ(fault([](Plan& p) { p.steps[0].transfer.block.rows = 3; }),
            "0: upload A(0:3, 0) to A(0:4, 0): another size");
  EXPECT_EQ(fault([](Plan& p) { p.steps.erase(p.steps.begin()); }),
            "1: gemm A(0:4, 0) B(0:4, 0) B(0:4, 1)*: reads what nobody has written");
  EXPECT_EQ(fault([](Plan& p) { std::swap(p.steps[2], p.steps[3]); }),
            "3: gemm A(0:4, 0) B(0:4, 0) B(0:4, 1)*: writes what has been brought home");
  EXPECT_EQ(fault([](Plan& p) {
              std::swap(p.steps[2], p.steps[3]);
              p.steps[3].accesses[2].mode = AccessMode::write;
            }),
            "3: gemm A(0:4, 0) B(0:4, 0) B(0:4, 1)*: writes what has been brought home");
  EXPECT_EQ(fault([](Plan& p) {
              std::swap(p.steps[2], p.steps[3]);
              p.steps[3].accesses[2].mode = AccessMode::write;
              p.steps[3].accesses[2].of = {0};
            }),
            "")
      << "something else takes its place";
  EXPECT_EQ(fault([](Plan& p) { p.steps[3].transfer.operand = 0; }),
            "3: download A(0:4, 0:2) from B(0:4, 0:2): no such block");
  EXPECT_EQ(fault([](Plan& p) {
              p.steps[3].transfer = {0, {0, 0, 4, 1}};
              p.steps[3].accesses[0] = p.steps[2].accesses[0];
            }),
            "3: download A(0:4, 0) from A(0:4, 0): not a result");
  EXPECT_EQ(fault([](Plan& p) {
              p.steps[3].transfer.block = {0, 0, 4, 1};
              p.steps[3].accesses[0].region.block = {0, 1, 4, 1};
            }),
            "3: download B(0:4, 0) from B(0:4, 1): something else is there");
  EXPECT_EQ(fault([](Plan& p) { p.steps.push_back(p.steps[3]); }),
            "4: download B(0:4, 0:2) from B(0:4, 0:2): home already");
  EXPECT_EQ(fault([](Plan& p) { p.steps.pop_back(); }), "part of the result does not come home");
  EXPECT_EQ(fault([](Plan& p) {
              p.areas[1] = {"B", 4, 3, 1};
              p.steps[1].accesses[0].region.block.col = 1;
            }),
            "1: upload B(0:4, 0:2) to B(0:4, 1:3): not in the operand's own place");
}

}  // namespace
}  // namespace blaslift::plan_tests
