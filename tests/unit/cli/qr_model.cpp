// The model that `blaslift tune --only qr` predicts with.
#include "tools/cli/tune/qr_model.hpp"

#include <gtest/gtest.h>

namespace blaslift::cli::qr_model_tests {
namespace {

TEST(QrModel, ALineGoesThroughTwoTimings) {
  const Cost c = cost_through({100, 3}, {300, 5});
  EXPECT_DOUBLE_EQ(c.of(100), 3);
  EXPECT_DOUBLE_EQ(c.of(300), 5);
  EXPECT_DOUBLE_EQ(c.least, 2);
  // Neither part is negative: what a large one takes holds, since most of the time goes there.
  const Cost steep = cost_through({100, 1}, {300, 9}), falling = cost_through({100, 5}, {300, 4});
  EXPECT_TRUE(steep.least == 0 && falling.each == 0);
  EXPECT_DOUBLE_EQ(steep.of(300), 9);
  EXPECT_DOUBLE_EQ(falling.of(300), 4);
}

/// Powers of two, so that sums are exact in whatever order.
const QrCosts costs{
    .panel = {{2, {16, 1}}, {8, {16, 8}}}, .update = {{2, {4, 0.5}}, {4, {4, 1}}}, .join = {{2, {1, 0.25}}}};

TEST(QrModel, StepsTakeWhatTheirWidthsDo) {
  const QrPlan plan = plan_qr(12, 12, 4, 2);
  const std::vector<double> seconds = step_seconds(plan, costs);
  ASSERT_EQ(seconds.size(), plan.steps.size());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const QrStep& s = plan.steps[i];
    const double rows = static_cast<double>(12 - s.col), to = static_cast<double>(s.to_cols);
    const double due = s.kind == QrStepKind::panel    ? 16 + rows
                       : s.kind == QrStepKind::update ? 4 + (s.cols == 2 ? 0.5 : 1) * rows * to
                       : s.kind == QrStepKind::join   ? 1 + 0.25 * rows
                                                      : 0;
    EXPECT_DOUBLE_EQ(seconds[i], due) << i;
  }
  // Between widths that were timed, and beyond.
  const auto panel_of = [](index width) { return step_seconds(plan_qr(10, width, width, width), costs)[1]; };
  EXPECT_DOUBLE_EQ(panel_of(5), 16 + 4.5 * 10);
  EXPECT_DOUBLE_EQ(panel_of(1), 16 + 0.5 * 10);
  EXPECT_DOUBLE_EQ(panel_of(10), 16 + 10 * 10);
}

TEST(QrModel, APanelIsThatOfTheRulesOrAsIsBuiltIn) {
  const QrCosts by_width{.panel = {{16, {2, 1}}, {32, {4, 3}}, {96, {8, 7}}}, .update = {}, .join = {}};
  const auto expect = [&](const std::vector<QrRule>& rules, index k, double least, double each) {
    const Cost cost = panel_cost(by_width, rules, k);
    EXPECT_TRUE(cost.least == least && cost.each == each) << k << ": " << cost.least << ", " << cost.each;
  };
  const std::vector<QrRule> rules{{800, {64, 32}}, {any_k, {192, 96}}};
  expect(rules, 799, 4, 3);
  expect(rules, 800, 8, 7);
  ASSERT_EQ(qr_widths(800).panel, 64) << "in the middle of two that were timed";
  expect({}, 800, 6, 5);
  expect({{800, {64, 32}}}, 800, 6, 5);
  expect({}, 16, 2, 1);
}

TEST(QrModel, TwoStreamsSaveWhatRunsBesideThePanels) {
  // Of three blocks: 0 uploads, panel, update of the next, update of the last (beside), panel, update, panel.
  const QrPlan plan = plan_qr(6, 6, 2, 2);
  std::vector<double> seconds(plan.steps.size(), 0);
  double beside = 0, panels = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const QrStep& s = plan.steps[i];
    if (s.kind == QrStepKind::panel) seconds[i] = 10, panels += 10;
    if (s.stream == 1) seconds[i] = 7, beside += 7;
  }
  ASSERT_TRUE(panels == 30 && beside == 7);
  EXPECT_EQ(in_a_row(seconds), 37);
  EXPECT_EQ(in_two_streams(plan, seconds), 30);
  for (double& x : seconds)
    if (x == 7) x = 100;
  // The last panel's columns wait for the update beside the second one.
  EXPECT_EQ(in_two_streams(plan, seconds), 10 + 100 + 10);
}

TEST(QrModel, AWholeQrSaysWhatItsStepsDoNot) {
  const QrWidths widths{4, 2};
  const QrPlan plan = plan_qr(64, 64, widths.block, widths.panel);
  const std::vector<double> seconds = step_seconds(plan, costs);
  const double row = in_a_row(seconds), two = in_two_streams(plan, seconds);
  ASSERT_LT(two, 0.9 * row);
  for (const double part : {0.0, 0.25, 1.0}) {
    QrCosts fitted = costs;
    fit_whole(std::vector<WholeTiming>{{64, widths, row - part * (row - two)}}, fitted);
    EXPECT_NEAR(fitted.overlap, part, 1e-12);
    EXPECT_NEAR(fitted.stretch, 1, 1e-12);
    EXPECT_NEAR(predicted(64, widths, fitted), row - part * (row - two), 1e-9 * row);
  }
  QrCosts slow = costs, fast = costs;
  fit_whole(std::vector<WholeTiming>{{64, widths, 2 * row}}, slow);
  EXPECT_TRUE(slow.overlap == 0 && slow.stretch == 2);
  EXPECT_NEAR(predicted(64, widths, slow), 2 * row, 1e-9 * row);
  fit_whole(std::vector<WholeTiming>{{64, widths, two / 2}}, fast);
  EXPECT_TRUE(fast.overlap == 1 && fast.stretch == 1) << "faster than it can be: the panels were timed badly";
  // One that was disturbed says nothing, nor one of a single panel of what runs beside it.
  QrCosts several = costs;
  const double one_panel = step_seconds(plan_qr(4, 4, 4, 4), costs)[1];
  fit_whole(
      std::vector<WholeTiming>{{64, widths, 9 * row}, {64, widths, two}, {4, {4, 4}, one_panel}, {64, widths, two}},
      several);
  EXPECT_NEAR(several.overlap, 1, 1e-12);
  EXPECT_NEAR(several.stretch, 1, 1e-12);
}

TEST(QrModel, TheFastestIsThatOfTheLeastSeconds) {
  const std::vector<WidthsTiming> timings{{{8, 8}, 3}, {{16, 8}, 2}, {{32, 8}, 2.5}};
  EXPECT_EQ(fastest(timings).widths, (QrWidths{16, 8}));
}

TEST(QrModel, RulesChangeInTheMiddle) {
  const std::vector<BestWidths> best{{100, {64, 32}}, {400, {64, 32}}, {1600, {128, 64}}, {6400, {512, 64}}};
  EXPECT_EQ(rules_from(best), (std::vector<QrRule>{{800, {64, 32}}, {3200, {128, 64}}, {any_k, {512, 64}}}));
  EXPECT_EQ(rules_from(std::vector<BestWidths>{{7, {4, 4}}}), (std::vector<QrRule>{{any_k, {4, 4}}}));
}

}  // namespace
}  // namespace blaslift::cli::qr_model_tests
