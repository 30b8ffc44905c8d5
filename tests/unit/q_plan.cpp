// Plans of products with Q: that check() passes them in every order that `after` allows, and nothing else.
#include "impl/q_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/random.hpp"

namespace blaslift {
namespace {

struct Shape {
  QProduct product;
  index block, panel, part;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const bool left : {true, false})
    for (const bool adjoint : {true, false})
      for (const auto& [order, length, k] : {std::array<index, 3>{1, 1, 1}, {9, 7, 5}, {12, 5, 12}, {20, 11, 17}})
        for (const auto& [block, panel, part] : {std::array<index, 3>{4, 2, 3}, {8, 3, 20}, {20, 5, 4}, {3, 3, 6}})
          all.push_back({{left, adjoint, left ? order : length, left ? length : order, k}, block, panel, part});
  for (const auto& [m, n, k] : {std::array<index, 3>{1, 1, 1}, {9, 9, 9}, {12, 7, 5}, {20, 17, 17}})
    for (const auto& [block, panel, part] : {std::array<index, 3>{4, 2, 3}, {8, 3, 20}, {20, 5, 4}, {3, 3, 6}})
      all.push_back({{true, false, m, n, k, true}, block, panel, part});
  return all;
}

QPlan plan_of(const Shape& s) { return plan_q(s.product, s.block, s.panel, s.part); }

QPlan reordered(const QPlan& plan, const std::vector<std::size_t>& order) {
  QPlan other = plan;
  for (std::size_t i = 0; i < order.size(); ++i) other.steps[i] = plan.steps[order[i]];
  return other;
}

TEST(QPlan, ComputesAProduct) {
  for (const Shape& s : shapes()) EXPECT_EQ(check(plan_of(s)), "") << to_string(plan_of(s));
  EXPECT_EQ(check(plan_q({true, true, 5000, 700, 3000}, 512, 64, q_part(700))), "");
}

TEST(QPlan, IsPrinted) {
  EXPECT_EQ(to_string(plan_q({true, true, 9, 5, 6}, 4, 2, 3)),
            "Q^H C m=9 n=5 k=6 in blocks of 4, panels of 2, parts of 3\n"
            "0: tau\n"
            "1: reflectors [0, 4)\n"
            "2: upload [0, 3)\n"
            "3: upload [3, 5)\n"
            "4: reflectors [4, 6)\n"
            "5: panel [0, 2) in the second stream after 1 0\n"
            "6: panel [2, 4) in the second stream after 1 0\n"
            "7: join [0, 2) with [2, 4) in the second stream after 6 5\n"
            "8: update [0, 4) on [0, 3) after 7 2\n"
            "9: update [0, 4) on [3, 5) after 7 3\n"
            "10: panel [4, 6) in the second stream after 4 0\n"
            "11: update [4, 6) on [0, 3) after 10 8\n"
            "12: download [0, 3) after 11\n"
            "13: update [4, 6) on [3, 5) after 10 9\n"
            "14: download [3, 5) after 13\n");
}

TEST(QPlan, HoldsInEveryOrderThatIsAllowed) {
  Random random(7);
  for (const Shape& s : shapes()) {
    const QPlan plan = plan_of(s);
    for (int trial = 0; trial < 10; ++trial) {
      std::vector<std::size_t> order;
      std::vector<bool> done(plan.steps.size());
      while (order.size() < plan.steps.size()) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < plan.steps.size(); ++i)
          if (!done[i] && std::all_of(plan.after[i].begin(), plan.after[i].end(),
                                      [&](std::int32_t e) { return done[static_cast<std::size_t>(e)]; }))
            ready.push_back(i);
        order.push_back(random.coin() ? ready.back() : ready[random.below(ready.size())]);
        done[order.back()] = true;
      }
      ASSERT_EQ(check(reordered(plan, order)), "") << to_string(reordered(plan, order));
    }
  }
}

TEST(QPlan, ThePlaceOfTheReflectorsIsTakenOnceTheyAreRead) {
  for (const Shape& s : shapes()) {
    if (!s.product.of_identity) continue;
    const QPlan plan = plan_of(s);
    std::vector<std::vector<bool>> before(plan.steps.size(), std::vector<bool>(plan.steps.size()));
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      for (const std::int32_t e : plan.after[i]) {
        before[i][static_cast<std::size_t>(e)] = true;
        for (std::size_t x = 0; x < i; ++x)
          if (before[static_cast<std::size_t>(e)][x]) before[i][x] = true;
      }
      for (std::size_t e = 0; e < plan.steps.size(); ++e)
        if (plan.steps[i].kind == QStepKind::download && plan.steps[e].kind == QStepKind::panel) {
          ASSERT_TRUE(before[i][e]) << i << " " << e << "\n" << to_string(plan);
        }
    }
  }
}

TEST(QPlan, CheckCatchesEveryMutation) {
  for (const Shape& s : shapes()) {
    const QPlan good = plan_of(s);
    for (std::size_t i = 0; i < good.steps.size(); ++i) {
      const QStepKind kind = good.steps[i].kind;
      const auto caught = [&](const QPlan& bad) { ASSERT_NE(check(bad), "") << i << "\n" << to_string(bad); };
      QPlan bad = good;
      bad.steps.erase(bad.steps.begin() + static_cast<std::ptrdiff_t>(i));
      caught(bad);
      bad = good;
      bad.steps.insert(bad.steps.begin() + static_cast<std::ptrdiff_t>(i), good.steps[i]);
      if (kind != QStepKind::join && kind != QStepKind::panel) caught(bad);  // the same V and T again
      for (index QStep::*field : {&QStep::col, &QStep::cols, &QStep::to, &QStep::to_cols})
        for (const index by : {-1, 1}) {
          const bool of_reflectors = field == &QStep::col || field == &QStep::cols;
          if ((of_reflectors ? good.steps[i].cols : good.steps[i].to_cols) == 0) continue;
          bad = good;
          bad.steps[i].*field += by;
          caught(bad);
        }
    }
  }
}

}  // namespace
}  // namespace blaslift
