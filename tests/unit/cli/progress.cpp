// What tune shows of itself where no terminal is: tests/cli/run.py has the bar.
#include "tools/cli/tune/progress.hpp"

#include <gtest/gtest.h>

#include <string>

namespace blaslift::cli::progress_tests {
namespace {

/// What two of three tasks write to a file.
std::string written(bool quiet, Progress::Duration interval) {
  testing::internal::CaptureStderr();
  {
    Progress progress(quiet, 3, interval);
    progress.begins("one", 9.6);
    progress.ended("one", "5 GB/s");
    progress.begins("two");
    progress.ended("two", "skipped");
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, IsALineARateAndNowAndThenHowFarItIs) {
  EXPECT_EQ(written(false, std::chrono::hours(1)), "one: 5 GB/s\ntwo: skipped\n");
  EXPECT_EQ(written(false, std::chrono::seconds(0)),
            "0 of 3 measured, about 10 s left\none: 5 GB/s\n1 of 3 measured\ntwo: skipped\n");
}

TEST(Progress, QuietIsQuiet) { EXPECT_EQ(written(true, std::chrono::seconds(0)), ""); }

}  // namespace
}  // namespace blaslift::cli::progress_tests
