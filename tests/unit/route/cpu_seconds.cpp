// What decisions expect of a CPU that has not been timed yet, beside what 16 cores of a machine with an H100 took with
// OpenBLAS 0.3, double precision.
#include <gtest/gtest.h>
#include "impl/route/family.hpp"

namespace blaslift::cpu_seconds_tests {
namespace {

struct Timed {
  Problem problem;
  double seconds;
};

Problem problem(Routine routine, index m, index n = 0, index k = 0) {
  return {.routine = routine, .element = Precision::d, .m = m, .n = n ? n : m, .k = k};
}
Problem of_q(index m, index columns, index k) {
  Problem p = problem(Routine::dormqr, m, columns, k);
  p.left = p.adjoint = true;
  return p;
}
Problem making_q(index m, index n) {
  Problem p = problem(Routine::dorgqr, m, n, n);
  p.left = p.of_identity = true;
  return p;
}

TEST(CpuSeconds, AreExpectedWithinAFactorOfTwo) {
  Profile profile = built_in_profile("sm_90");
  profile.cpu_rate[static_cast<int>(Precision::d)] = 6.4e11;
  const Timed timed[] = {
      {problem(Routine::dgetrs, 4000, 1), 9.7e-3},
      {problem(Routine::dgetrs, 4000, 64), 21e-3},
      {problem(Routine::dpotrs, 4000, 1), 14e-3},
      {problem(Routine::dgetrf, 4000), 0.145},
      {problem(Routine::dpotrf, 4000), 0.118},
      {problem(Routine::dpotrf, 6000), 0.21},
      {problem(Routine::dgebrd, 2000), 0.8},
      {problem(Routine::dgebrd, 3000), 1.87},
      {problem(Routine::dgeqrf, 20000, 2000), 0.97},
      {problem(Routine::dgeqrf, 20000, 1500), 0.59},
      {making_q(2000, 2000), 0.09},
      {of_q(20000, 1, 2000), 0.05},
      {of_q(40000, 1, 2000), 0.12},
      {of_q(4000, 64, 4000), 0.048},
  };
  for (const Timed& x : timed) {
    const Problem p = counted(x.problem);
    const Decision d = decide(p, {.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1},
                              {.on = true, .measuring = false, .forced = false, .fixed = true});
    EXPECT_GT(d.cpu_seconds, x.seconds / 2) << to_string(p, d);
    EXPECT_LT(d.cpu_seconds, x.seconds * 2) << to_string(p, d);
  }
}

}  // namespace
}  // namespace blaslift::cpu_seconds_tests
