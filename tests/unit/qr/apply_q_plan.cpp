// Plans of products with Q: that check() passes them in every order that `after` allows, and nothing else.
#include "impl/qr/apply_q_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/support/random.hpp"

namespace blaslift::apply_q_plan_tests {
namespace {

struct Shape {
  QProduct product;
  index block, panel, part;
  index window = 0;  ///< 0: all of C, and of the reflectors
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  const auto add = [&all](const QProduct& product, index block, index panel, index part) {
    all.push_back({product, block, panel, part});
    for (const index window : {part, 2 * part - 1, product.length()})
      if (window <= product.length()) all.push_back({product, block, panel, part, window});
  };
  for (const bool left : {true, false})
    for (const bool adjoint : {true, false})
      for (const auto& [order, length, k] : {std::array<index, 3>{1, 1, 1}, {9, 7, 5}, {12, 5, 12}, {20, 11, 17}})
        for (const auto& [block, panel, part] : {std::array<index, 3>{4, 2, 3}, {8, 3, 20}, {20, 5, 4}, {3, 3, 6}})
          add({left, adjoint, left ? order : length, left ? length : order, k}, block, panel, part);
  for (const auto& [m, n, k] : {std::array<index, 3>{1, 1, 1}, {9, 9, 9}, {12, 7, 5}, {20, 17, 17}})
    for (const auto& [block, panel, part] : {std::array<index, 3>{4, 2, 3}, {8, 3, 20}, {20, 5, 4}, {3, 3, 6}})
      add({true, false, m, n, k, true}, block, panel, part);
  return all;
}

QPlan plan_of(const Shape& s) {
  return s.window == 0 ? plan_q(s.product, s.block, s.panel, s.part)
                       : plan_q(s.product, s.block, s.panel, s.part, s.window, true);
}

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

TEST(QPlan, InWindowsIsPrinted) {
  EXPECT_EQ(to_string(plan_q({true, true, 9, 5, 6}, 2, 2, 2, 3, true)),
            "Q^H C m=9 n=5 k=6 in blocks of 2, panels of 2, parts of 2, windows of 3\n"
            "0: tau\n"
            "1: reflectors [0, 2)\n"
            "2: upload [0, 2)\n"
            "3: upload [2, 3)\n"
            "4: reflectors [2, 4)\n"
            "5: panel [0, 2) in the second stream after 1 0\n"
            "6: update [0, 2) on [0, 2) after 5 2\n"
            "7: update [0, 2) on [2, 3) after 5 3\n"
            "8: reflectors [4, 6) after 5\n"
            "9: panel [2, 4) in the second stream after 4 0\n"
            "10: update [2, 4) on [0, 3) after 9 7 6\n"
            "11: panel [4, 6) in the second stream after 8 7 6\n"
            "12: update [4, 6) on [0, 2) after 11 10\n"
            "13: download [0, 2) after 12\n"
            "14: update [4, 6) on [2, 3) after 11 10\n"
            "15: download [2, 3) after 14\n"
            "16: reflectors [0, 2) after 11\n"
            "17: upload [3, 5) after 13\n"
            "18: panel [0, 2) in the second stream after 16 14 12\n"
            "19: update [0, 2) on [3, 5) after 18 17\n"
            "20: reflectors [4, 6) after 18\n"
            "21: update [2, 4) on [3, 5) after 19\n"
            "22: panel [4, 6) in the second stream after 20 19\n"
            "23: update [4, 6) on [3, 5) after 22 21\n"
            "24: download [3, 5) after 23\n");
}

TEST(QPlan, IsCutForTheMemoryThereIs) {
  const QrWidths widths{64, 16};
  for (const QProduct& product : {QProduct{true, true, 700, 900, 300},
                                  {false, true, 900, 700, 300},
                                  {true, false, 800, 500, 400, true},
                                  {true, false, 500, 400, 300, true, true},
                                  {true, true, 300, 500, 300, false, false, true},
                                  {true, false, 300, 300, 300, true, false, true}}) {
    const index length = product.length();
    const auto bytes = [&](const QCut& c) {
      return plan_q(product, c.block, c.panel, c.part, c.window, c.streamed).bytes(8);
    };
    const QCut whole{64, product.reversed ? 64 : 16, q_part(length), length, false};
    EXPECT_EQ(q_cut(product, widths, 8, bytes(whole)), whole);
    EXPECT_EQ(q_cut(product, widths, 8, 4096), whole) << "nothing fits";
    index windows = 1, streamed = 0;
    for (std::size_t memory = bytes(whole) - 1; memory > 250'000; memory = memory * 9 / 10) {
      const QCut cut = q_cut(product, widths, 8, memory);
      ASSERT_TRUE(cut.streamed);
      EXPECT_LE(bytes(cut), memory);
      EXPECT_EQ(check(plan_q(product, cut.block, cut.panel, cut.part, cut.window, true)), "");
      // No fewer windows would do.
      const index count = (length + cut.window - 1) / cut.window,
                  fewer = (length + count - 2) / std::max<index>(1, count - 1);
      if (count > 1) {
        EXPECT_GT(bytes({cut.block, cut.panel, cut.part, fewer, true}), memory);
      }
      if (cut.block == 64) {
        EXPECT_GE(cut.window, std::min<index>(length, 4 * 64) / 2);
      }
      EXPECT_GE(count, cut.block == 64 ? windows : 1);
      windows = std::max(windows, count);
      ++streamed;
    }
    EXPECT_GT(windows, 2);
    EXPECT_GT(streamed, 5);
  }
}

TEST(QPlan, IsNotCutIntoMoreThanAListCanHold) {
  const QProduct product{true, true, 20000, 20000, 20000};
  const std::size_t memory = std::size_t{64} << 20;
  const QCut cut = q_cut(product, {512, 64}, 8, memory);
  EXPECT_FALSE(cut.streamed);
  EXPECT_EQ(cut.window, 20000);
  EXPECT_TRUE(q_cut(product, {512, 64}, 8, 16 * memory).streamed);
}

TEST(QPlan, NarrowsBlocksOnlyWhereReflectorsAreSentAgain) {
  const QProduct product{true, true, 100000, 2000, 128};
  const std::size_t memory = std::size_t{300} << 20;
  EXPECT_EQ(q_cut(product, {64, 64}, 8, memory).block, 64);
  EXPECT_EQ(sent_again(product, q_cut(product, {64, 64}, 8, memory), 8), 0);
  const QProduct more{true, true, 100000, 2000, 129};
  EXPECT_LT(q_cut(more, {64, 64}, 8, memory).block, 64);
  EXPECT_GT(sent_again(more, q_cut(more, {64, 64}, 8, memory), 8), 0);
}

TEST(QPlan, LongListsHold) {
  // More steps than it is known of in which order they come; the last ones first, where they may.
  const QPlan plan = plan_q({true, true, 300, 400, 296}, 8, 2, 8, 8, true);
  ASSERT_GT(plan.steps.size(), 16384u);
  EXPECT_EQ(check(plan), "");
  std::vector<std::size_t> waits(plan.steps.size()), order;
  std::vector<std::vector<std::size_t>> before(plan.steps.size());
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    waits[i] = plan.after[i].size();
    for (const std::int32_t e : plan.after[i]) before[static_cast<std::size_t>(e)].push_back(i);
    if (waits[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    order.push_back(ready.back());
    ready.pop_back();
    for (const std::size_t i : before[order.back()])
      if (--waits[i] == 0) ready.push_back(i);
  }
  ASSERT_EQ(order.size(), plan.steps.size());
  EXPECT_EQ(check(reordered(plan, order)), "");
}

TEST(QPlan, SaysWhatIsSentAgain) {
  for (const Shape& s : shapes()) {
    if (s.window == 0) continue;
    const QPlan plan = plan_of(s);
    double elements = 0;
    for (const QStep& step : plan.steps)
      if (step.kind == QStepKind::reflectors) elements += static_cast<double>(step.cols);
    const double once = static_cast<double>(s.product.k), order = static_cast<double>(s.product.order()),
                 again = sent_again(s.product, {s.block, s.panel, s.part, s.window, true}, 1) / order;
    EXPECT_LE(elements, once + again);
    // But for what is held by two sets.
    EXPECT_GE(elements + static_cast<double>(2 * s.block * (s.product.length() / s.window)), once + again);
  }
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
    if (!s.product.of_identity || s.window > 0) continue;  // in windows it is not taken
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
    // A last block that is narrower leaves some of what was in its set for the next window.
    if (s.window > 0 && s.product.k > s.block && s.product.k % s.block != 0) continue;
    const QPlan good = plan_of(s);
    for (std::size_t i = 0; i < good.steps.size(); ++i) {
      const QStepKind kind = good.steps[i].kind;
      const auto caught = [&](const QPlan& bad) { ASSERT_NE(check(bad), "") << i << "\n" << to_string(bad); };
      QPlan bad = good;
      bad.steps.erase(bad.steps.begin() + static_cast<std::ptrdiff_t>(i));
      caught(bad);
      bad = good;
      bad.steps.insert(bad.steps.begin() + static_cast<std::ptrdiff_t>(i), good.steps[i]);
      // The same V and T again, or the same reflectors.
      if (kind != QStepKind::join && kind != QStepKind::panel && !(s.window > 0 && kind == QStepKind::reflectors))
        caught(bad);
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
}  // namespace blaslift::apply_q_plan_tests
