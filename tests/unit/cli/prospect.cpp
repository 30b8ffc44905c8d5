#include "tools/cli/measure/prospect.hpp"

#include <gtest/gtest.h>

namespace blaslift::cli::prospect_tests {
namespace {

std::string of(double run, double cpu, double gpu) { return prospect(run, cpu, gpu, 0.45, "somebody's rates"); }

TEST(Prospect, CountsTheStart) {
  EXPECT_EQ(of(8, 6, 0.25),
            "A GPU would do 6.000 s of the run in 0.250 s, transfers included, by somebody's rates.\n"
            "With 0.45 s to start it, the run would take 2.700 s instead of 8.000 s.\n");
}

TEST(Prospect, PromisesNoGainThatTheStartEatsUp) {
  const std::string said = of(0.898, 0.09, 0.007);
  EXPECT_NE(said.find("it takes 0.45 s to start one: this run is too short to gain."), said.npos) << said;
  EXPECT_EQ(said.find("instead of"), said.npos) << said;
}

/// Seconds of threads and processes add up to more than the run has.
TEST(Prospect, PredictsNothingOfCallsThatOverlapped) {
  const std::string said = of(12.6, 23.8, 0.05);
  EXPECT_NE(said.find("overlapped"), said.npos) << said;
  EXPECT_EQ(said.find("instead of"), said.npos) << said;
}

TEST(Prospect, SaysSoWhereThereIsNothing) {
  EXPECT_EQ(of(3, 0, 0), "A GPU would do none of these calls faster, transfers included, by somebody's rates.\n");
}

}  // namespace
}  // namespace blaslift::cli::prospect_tests
