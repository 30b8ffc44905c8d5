// Plans of blocked QR: that check() passes them in every order that `after` allows, and nothing else.
#include "impl/qr/qr_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/support/random.hpp"

namespace blaslift::qr_plan_tests {
namespace {

struct Shape {
  index m, n, block, panel;
  index part = n;
  index lead = 0;
};
constexpr Shape shapes[] = {{2, 29, 1, 1},         {3, 50, 2, 2},         {40, 37, 3, 3, 37, 2}, {20, 60, 2, 1, 60, 2},
                            {70, 33, 4, 2, 33, 1}, {90, 90, 4, 2, 90, 4},

                            {1, 1, 1, 1},          {9, 1, 4, 2},          {1, 9, 4, 2},          {8, 8, 4, 4},
                            {30, 20, 8, 2},        {20, 30, 8, 2},        {25, 25, 8, 3},        {40, 17, 6, 6},
                            {17, 40, 16, 4},       {50, 13, 13, 4},       {24, 24, 24, 1},       {12, 40, 5, 2},
                            {9, 7, 2, 2, 4},       {30, 20, 8, 2, 8},     {40, 41, 6, 3, 12},    {12, 40, 4, 2, 8},
                            {40, 13, 4, 4, 4},     {21, 45, 7, 2, 14}};

QrPlan plan_of(const Shape& s) { return plan_qr(s.m, s.n, s.block, s.panel, s.part, s.lead); }

/// The plan's steps in another order.
QrPlan reordered(const QrPlan& plan, const std::vector<std::size_t>& order) {
  QrPlan other = plan;
  for (std::size_t i = 0; i < order.size(); ++i) other.steps[i] = plan.steps[order[i]];
  other.after.assign(order.size(), {});
  return other;
}

TEST(QrPlan, ComputesAQr) {
  for (const Shape& s : shapes) EXPECT_EQ(check(plan_of(s)), "") << to_string(plan_of(s));
  EXPECT_EQ(check(plan_qr(5000, 3000, 512, 64)), "");
  // The last block of reflectors is a narrower one.
  EXPECT_EQ(check(plan_qr(13, 40, 4, 2, 8)), "");
  EXPECT_EQ(check(plan_qr(20, 45, 7, 2, 14)), "");
}

TEST(QrPlan, IsPrinted) {
  EXPECT_EQ(to_string(plan_qr(9, 7, 4, 2)),
            "geqrf m=9 n=7 in blocks of 4, panels of 2\n"
            "0: upload [0, 4)\n"
            "1: upload [4, 7)\n"
            "2: panel [0, 2) after 0\n"
            "3: update [0, 2) on [2, 4) after 2\n"
            "4: panel [2, 4) after 3\n"
            "5: join [0, 2) with [2, 4) after 4\n"
            "6: update [0, 4) on [4, 7) after 5 1\n"
            "7: download [0, 4) after 4\n"
            "8: panel [4, 6) after 6\n"
            "9: update [4, 6) on [6, 7) after 8\n"
            "10: panel [6, 7) after 9\n"
            "11: download [4, 7) after 10\n");
}

TEST(QrPlan, InPartsIsPrinted) {
  EXPECT_EQ(to_string(plan_qr(9, 7, 2, 1, 4)),
            "geqrf m=9 n=7 in blocks of 2, panels of 1, parts of 4\n"
            "0: upload [0, 2)\n"
            "1: upload [2, 4)\n"
            "2: panel [0, 1) after 0\n"
            "3: update [0, 1) on [1, 2) after 2\n"
            "4: panel [1, 2) after 3\n"
            "5: join [0, 1) with [1, 2) after 4\n"
            "6: update [0, 2) on [2, 4) after 5 1\n"
            "7: download [0, 2) after 4\n"
            "8: panel [2, 3) after 6\n"
            "9: update [2, 3) on [3, 4) after 8\n"
            "10: panel [3, 4) after 9\n"
            "11: join [2, 3) with [3, 4) after 10\n"
            "12: download [2, 4) after 10\n"
            "13: upload [4, 6) after 7\n"
            "14: upload [6, 7) after 12\n"
            "15: update [0, 2) on [4, 7) after 14 13\n"
            "16: update [2, 4) on [4, 7) after 15 11\n"
            "17: panel [4, 5) after 16\n"
            "18: update [4, 5) on [5, 6) after 17\n"
            "19: panel [5, 6) after 18\n"
            "20: join [4, 5) with [5, 6) after 19\n"
            "21: update [4, 6) on [6, 7) after 20\n"
            "22: download [4, 6) after 19\n"
            "23: panel [6, 7) after 21\n"
            "24: download [6, 7) after 23\n");
}

TEST(QrPlan, OfOnePlaceOfSeveralIsPrinted) {
  EXPECT_EQ(to_string(plan_qr_together(9, 7, 2, 2, 0, 2)),
            "geqrf m=9 n=7 in blocks of 2, panels of 2, place 0 of 2\n"
            "0: upload [0, 2)\n"
            "1: upload [4, 6)\n"
            "2: panel [0, 2) after 0\n"
            "3: share [0, 2) after 2\n"
            "4: download [0, 2) after 2\n"
            "5: update [0, 2) on [4, 6) after 2 1\n"
            "6: fetch [2, 4)\n"
            "7: update [2, 4) on [4, 6) after 6 5\n"
            "8: panel [4, 6) after 7\n"
            "9: share [4, 6) after 8\n"
            "10: download [4, 6) after 8\n");
}

TEST(QrPlan, OfSeveralPlacesComputesAQr) {
  for (const int places : {2, 3, 4, 7})
    for (const Shape& s : shapes)
      for (int place = 0; place < places; ++place) {
        const QrPlan plan = plan_qr_together(s.m, s.n, s.block, s.panel, place, places);
        EXPECT_EQ(check(plan), "") << to_string(plan);
        // Without any of its steps it does not.
        for (std::size_t i = 0; i < plan.steps.size(); ++i) {
          QrPlan less = plan;
          less.steps.erase(less.steps.begin() + static_cast<std::ptrdiff_t>(i));
          less.after.clear();
          EXPECT_NE(check(less), "") << i << "\n" << to_string(plan);
        }
      }
}

TEST(QrCut, IsForSeveralPlacesWhereEachHasRoomAndABlock) {
  const QrWidths widths{512, 128};
  for (const int places : {2, 3, 8})
    for (const auto& [m, n] : {std::pair<index, index>{1, 1},
                               {5, 5},
                               {7, 100},
                               {100, 7},
                               {8192, 8192},
                               {32768, 32768},
                               {131072, 2048},
                               {1048576, 64}}) {
      const QrCut cut = qr_cut_together(m, n, widths, sizeof(double), std::size_t{1} << 40, places);
      const index k = std::min(m, n);
      EXPECT_EQ(cut.block > 0, k >= places) << m << " x " << n << " by " << places;
      if (cut.block == 0) continue;
      EXPECT_GE((k + cut.block - 1) / cut.block, places);
      EXPECT_LE(cut.block, widths.block);
      EXPECT_LE(cut.panel, widths.panel);
      EXPECT_TRUE(cut.block < 128 || cut.block % cut.panel == 0) << cut.block;
    }
  EXPECT_EQ(qr_cut_together(1000, 1000, widths, sizeof(double), 1 << 20, 2).block, 0);
  EXPECT_EQ(qr_cut_together(131072, 2048, widths, sizeof(double), std::size_t{1} << 40, 2).block, 128);
  EXPECT_EQ(qr_cut_together(1048576, 64, widths, sizeof(double), std::size_t{1} << 40, 2).block, 32);
}

TEST(QrPlan, AStreamIsPrinted) {
  EXPECT_EQ(to_string(plan_qr(8, 16, 2, 2, 16, 1)),
            "geqrf m=8 n=16 in blocks of 2, panels of 2, a stream of 1\n"
            "0: upload [0, 2)\n"
            "1: upload [2, 4)\n"
            "2: upload [4, 6)\n"
            "3: upload [6, 8)\n"
            "4: upload [8, 10)\n"
            "5: upload [10, 12)\n"
            "6: upload [12, 14)\n"
            "7: upload [14, 16)\n"
            "8: panel [0, 2) after 0\n"
            "9: download [0, 2) after 8\n"
            "10: update [0, 2) on [2, 4) after 8 1\n"
            "11: panel [2, 4) after 10\n"
            "12: update [0, 2) on [4, 12) in the second stream after 8 5 4 3 2\n"
            "13: update [0, 2) on [12, 16) in the second stream after 8 7 6\n"
            "14: update [2, 4) on [4, 6) after 12 11\n"
            "15: update [2, 4) on [6, 16) in the second stream after 13 12 11\n"
            "16: download [2, 4) after 11\n"
            "17: panel [4, 6) after 14 13\n"
            "18: update [4, 6) on [6, 8) after 17 15\n"
            "19: update [4, 6) on [8, 16) in the second stream after 17 15\n"
            "20: download [4, 6) after 17\n"
            "21: panel [6, 8) after 18\n"
            "22: update [6, 8) on [8, 10) after 21 19\n"
            "23: update [6, 8) on [10, 16) in the second stream after 21 19\n"
            "24: download [6, 8) after 21\n"
            "25: download [8, 10) after 22\n"
            "26: download [10, 12) after 23\n"
            "27: download [12, 14) after 23\n"
            "28: download [14, 16) after 23\n");
}

TEST(QrPlan, AStreamsUpdatesNeedNotWaitForAllColumns) {
  const index n = 100, block = 4;
  for (const index lead : {1, 2, 4}) {
    const QrPlan plan = plan_qr(n, n, block, 2, n, lead);
    EXPECT_EQ(plan.sets(), std::max<index>(2, lead + 1));
    std::vector<index> needs;  // by step: columns up to which have to be there
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const QrStep& s = plan.steps[i];
      index end = s.kind == QrStepKind::upload ? s.col + s.cols : 0;
      for (const std::int32_t e : plan.after[i]) end = std::max(end, needs[static_cast<std::size_t>(e)]);
      needs.push_back(end);
      if (s.kind == QrStepKind::update && s.col < lead * block) {
        EXPECT_LE(end, s.to + s.to_cols) << i << "\n" << to_string(plan);
      }
      if (s.kind == QrStepKind::panel && s.col < (lead + 1) * block) {
        EXPECT_LE(end, s.col + block) << i << "\n" << to_string(plan);
      }
    }
  }
}

TEST(QrPlan, IsAStreamWhereThereIsRoom) {
  EXPECT_EQ(stream_lead(16384, 512), 4);
  EXPECT_EQ(stream_lead(4096, 512), 2);
  EXPECT_EQ(stream_lead(3 * 64, 64), 0);
  const QrCut bulk{64, 16, 600};
  const std::size_t all = plan_qr(700, 600, 64, 16, 600, 2).bytes(8);
  EXPECT_EQ(as_stream(700, 600, bulk, 8, all), (QrCut{64, 16, 600, 2}));
  EXPECT_EQ(as_stream(700, 600, bulk, 8, all - 1), bulk);
  const QrCut in_parts{64, 16, 256};
  EXPECT_EQ(as_stream(700, 600, in_parts, 8, all), in_parts);
}

TEST(QrPlan, SendsReflectorsAgainUnlessTheyAreThere) {
  // Of the last two blocks V and T are there still: those of all blocks before the second part.
  const QrPlan plan = plan_qr(12, 12, 2, 2, 4);
  std::vector<index> again;
  double elements = 0;
  for (const QrStep& s : plan.steps)
    if (s.kind == QrStepKind::reflectors) again.push_back(s.col), elements += static_cast<double>(12 * s.cols);
  EXPECT_EQ(again, (std::vector<index>{0, 2, 4, 6}));
  EXPECT_LE(elements * 8, sent_again(12, 12, {2, 2, 4}, 8));
  EXPECT_EQ(sent_again(12, 12, {2, 2, 12}, 8), 0);
}

TEST(QrPlan, IsCutForTheMemoryThereIs) {
  for (const auto& [m, n] : {std::pair<index, index>{300, 200}, {5000, 3000}, {200, 300}, {40000, 100}}) {
    const auto [block, panel] = qr_widths(std::min(m, n));
    const std::size_t all = plan_qr(m, n, block, panel).bytes(8);
    EXPECT_EQ(qr_cut(m, n, {block, panel}, 8, all), (QrCut{block, panel, n}));
    bool parts = false;
    index part = n;
    for (std::size_t memory = all - 1; memory > all / 4; memory = memory / 10 * 9) {
      const QrCut cut = qr_cut(m, n, {block, panel}, 8, memory);
      if (cut.part == n) {  // there is no way
        EXPECT_EQ(cut, (QrCut{block, panel, n}));
        continue;
      }
      parts = true;
      EXPECT_EQ(cut.part % cut.block, 0);
      EXPECT_LE(cut.panel, cut.block);
      EXPECT_LT(cut.part, n);
      const QrPlan plan = plan_qr(m, n, cut.block, cut.panel, cut.part);
      EXPECT_LE(plan.bytes(8), memory);
      if (n <= 300) {
        EXPECT_EQ(check(plan), "");
      }
      part = cut.part;
    }
    EXPECT_TRUE(parts && part < n) << m << " x " << n;
    EXPECT_EQ(qr_cut(m, n, {block, panel}, 8, 1000), (QrCut{block, panel, n}));
  }
}

TEST(QrPlan, TheNextBlockDoesNotWaitForTheOthers) {
  const QrPlan plan = plan_qr(40, 40, 8, 8);
  const auto is = [](QrStepKind kind, index col) {
    return [=](const QrStep& s) { return s.kind == kind && s.col == col; };
  };
  const auto panel = std::find_if(plan.steps.begin(), plan.steps.end(), is(QrStepKind::panel, 8)) - plan.steps.begin();
  std::vector<std::int32_t> open = plan.after[static_cast<std::size_t>(panel)];
  while (!open.empty()) {
    const auto i = static_cast<std::size_t>(open.back());
    open.pop_back();
    EXPECT_EQ(plan.steps[i].stream, 0);
    open.insert(open.end(), plan.after[i].begin(), plan.after[i].end());
  }
}

TEST(QrPlan, HoldsInEveryOrderThatIsAllowed) {
  Random random(5);
  for (const Shape& s : shapes) {
    const QrPlan plan = plan_of(s);
    for (int trial = 0; trial < 30; ++trial) {
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

TEST(QrPlan, EveryWaitIsNeeded) {
  for (const Shape& s : shapes) {
    const QrPlan plan = plan_of(s);
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      for (const std::int32_t without : plan.after[i]) {
        // All that the step waits for but for this one, the step, then the rest.
        std::vector<bool> needed(plan.steps.size());
        for (const std::int32_t e : plan.after[i]) needed[static_cast<std::size_t>(e)] = e != without;
        for (std::size_t e = i; e-- > 0;)
          if (needed[e])
            for (const std::int32_t b : plan.after[e]) needed[static_cast<std::size_t>(b)] = true;
        std::vector<std::size_t> order, rest;
        for (std::size_t e = 0; e < plan.steps.size(); ++e)
          if (e != i) (needed[e] ? order : rest).push_back(e);
        order.push_back(i);
        order.insert(order.end(), rest.begin(), rest.end());
        ASSERT_NE(check(reordered(plan, order)), "") << i << " need not wait for " << without << "\n"
                                                     << to_string(plan);
      }
  }
}

TEST(QrPlan, StepsThatShareColumnsOfWAreInOrder) {
  for (const Shape& s : shapes) {
    const QrPlan plan = plan_of(s);
    const std::size_t count = plan.steps.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
    const auto uses = [&](std::size_t i) {
      return plan.steps[i].kind == QrStepKind::update || plan.steps[i].kind == QrStepKind::join;
    };
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::int32_t e : plan.after[i]) {
        before[i][static_cast<std::size_t>(e)] = true;
        for (std::size_t x = 0; x < count; ++x)
          if (before[static_cast<std::size_t>(e)][x]) before[i][x] = true;
      }
      for (std::size_t e = 0; uses(i) && e < i; ++e) {
        const QrStep &x = plan.steps[e], &y = plan.steps[i];
        if (uses(e) && x.to < y.to + y.to_cols && y.to < x.to + x.to_cols) {
          ASSERT_TRUE(before[i][e]) << e << " " << i << "\n" << to_string(plan);
        }
      }
    }
  }
}

TEST(QrPlan, CheckCatchesEveryMutation) {
  for (const Shape& s : shapes) {
    const QrPlan good = plan_of(s);
    for (std::size_t i = 0; i < good.steps.size(); ++i) {
      const auto caught = [&](const QrPlan& bad) { ASSERT_NE(check(bad), "") << i << "\n" << to_string(bad); };
      QrPlan bad = good;
      bad.steps.erase(bad.steps.begin() + static_cast<std::ptrdiff_t>(i));
      bad.after.pop_back();
      // Without an update of which nothing comes, say, there is always something left undone.
      caught(bad);
      bad = good;
      bad.steps.insert(bad.steps.begin() + static_cast<std::ptrdiff_t>(i), good.steps[i]);
      bad.after.emplace_back();
      const QrStepKind kind = good.steps[i].kind;  // twice the same T, or the same reflectors
      if (kind != QrStepKind::join && kind != QrStepKind::reflectors && kind != QrStepKind::remake) caught(bad);
      const bool others = good.steps[i].to_cols > 0;
      for (index QrStep::*field : {&QrStep::col, &QrStep::cols, &QrStep::to, &QrStep::to_cols})
        for (const index by : {-1, 1}) {
          if (!others && (field == &QrStep::to || field == &QrStep::to_cols)) continue;
          bad = good;
          bad.steps[i].*field += by;
          caught(bad);
        }
    }
  }
}

}  // namespace
}  // namespace blaslift::qr_plan_tests
