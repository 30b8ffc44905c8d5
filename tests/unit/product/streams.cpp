// Which of two streams each step goes to.
#include "impl/product/streams.hpp"

#include <gtest/gtest.h>

#include "impl/product/tiling.hpp"
#include "impl/strassen/strassen.hpp"

namespace blaslift::streams_tests {
namespace {

constexpr Speeds fast_bus{1e9, 1e8, 1e12, 1e-6, 1e-7};

GemmSchedule planned(int levels, index n, const Residents& residents) {
  return plan_levels(n, n, n, false, false, false, 8,
                     {std::vector(static_cast<std::size_t>(levels), &strassen::fused()), n}, residents, 1 << 12);
}

bool computes(const Step& step) {
  return step.kind == StepKind::leaf || step.kind == StepKind::pass || step.kind == StepKind::survey ||
         step.kind == StepKind::multiply;
}

const Resident here{.whole = true, .missing = {}, .in_place = true};

TEST(Spread, ChangesNothingButTheStream) {
  for (const int levels : {1, 2, 3})
    for (const Residents& residents : {Residents{}, Residents{here, here, here}}) {
      const GemmSchedule before = planned(levels, 64, residents);
      GemmSchedule s = before;
      spread(s, 8, false, fast_bus);
      EXPECT_EQ(s.awaited, awaited_elsewhere(s));
      const std::string lines = to_string(s);
      bool second = false;
      for (Step& step : s.steps) {
        ASSERT_TRUE(step.stream == 0 || (step.stream == 1 && computes(step)));
        second = second || step.stream == 1;
        step.stream = 0;
      }
      EXPECT_TRUE(second);
      EXPECT_EQ(lines, to_string(before));
      EXPECT_EQ(s.after, before.after);
      EXPECT_EQ(s.after, depend(s));
      EXPECT_EQ(before.awaited, awaited_elsewhere(before));
    }
}

TEST(Spread, ProductsThatNeedNothingOfEachOtherRunSideBySide) {
  // Of the fused list the second and the third: (A11 - A21) * (B22 - B12) and (A21 + A22) * (B12 - B11).
  GemmSchedule s = planned(1, 64, {here, here, here});
  spread(s, 8, false, fast_bus);
  std::vector<int> streams;
  for (const Step& step : s.steps)
    if (step.kind == StepKind::leaf) streams.push_back(step.stream);
  ASSERT_EQ(streams.size(), 7u);
  EXPECT_NE(streams[1], streams[2]);
}

TEST(Spread, SurveysAndPassesRunBesideTheFirstProduct) {
  GemmSchedule s = planned(1, 64, {here, here, here});
  spread(s, 8, false, fast_bus);
  std::size_t first = 0;
  while (s.steps[first].kind != StepKind::leaf) ++first;
  EXPECT_EQ(s.steps[first].stream, 0);
  int beside = 0;
  for (std::size_t i = 0; s.steps[i].kind != StepKind::leaf || i == first; ++i)
    if (s.steps[i].kind == StepKind::survey || s.steps[i].kind == StepKind::pass) beside += s.steps[i].stream;
  EXPECT_EQ(beside, 6);  // of halves of A and B; sums of A's blocks and of B's
}

TEST(Spread, AChainStaysInItsStreamWhereChangingItIsSlow) {
  // Steps that each come after the one before: there is nothing to gain in the other stream.
  GemmSchedule s = planned(2, 64, {});
  for (std::size_t i = 1; i < s.steps.size(); ++i) s.after[i] = {static_cast<std::int32_t>(i) - 1};
  spread(s, 8, false, fast_bus);
  std::size_t changes = 0;
  int last = -1;
  for (const Step& step : s.steps) {
    if (!computes(step)) continue;
    changes += last >= 0 && step.stream != last;
    last = step.stream;
  }
  EXPECT_EQ(changes, 0u);
}

}  // namespace
}  // namespace blaslift::streams_tests
