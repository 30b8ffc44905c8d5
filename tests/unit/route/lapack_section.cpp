// Times of LAPACK's routines in a profile: what is read, what follows for orders in between, and what decisions make of
// it.
#include "impl/route/lapack_section.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "impl/route/decision.hpp"
#include "impl/route/family.hpp"
#include "tests/unit/support/estimates.hpp"

namespace blaslift::lapack_section_tests {
namespace {

constexpr char line[] = "dsyevd_seconds 1 1024:0.01 4096:0.16 8192:1.28";

struct Read {
  Profile profile;
  std::string problem;
};
Read read(const std::string& text) {
  Read r{without_lapack_times(), ""};
  read_profile_text(text, r.profile, r.problem);
  return r;
}

double seconds(const Profile& profile, double order, LapackWork work = LapackWork::syevd) {
  return measured_seconds(profile, work, Precision::d, order).value_or(-1);
}

TEST(LapackSection, IsWrittenAndReadAgain) {
  const std::string text = std::string("sgetrf_seconds 1 7:1e-05\n") + line + "\nzgeev_values_seconds 1 2048:0.5\n";
  const Read r = read(text);
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(r.profile.sections.size(), 3u);
  EXPECT_TRUE(to_text(r.profile).ends_with("\n" + text)) << to_text(r.profile);
  EXPECT_EQ(with_lines(text, {}, {}, {section_line(LapackTimes{LapackWork::syevd, Precision::d, {{64, 0.25}}})}),
            "sgetrf_seconds 1 7:1e-05\ndsyevd_seconds 1 64:0.25\nzgeev_values_seconds 1 2048:0.5\n");
}

TEST(LapackSection, NamesAreThoseOfTheirLines) {
  for (int i = 0; i < lapack_works; ++i)
    for (const Precision p : {Precision::s, Precision::d, Precision::c, Precision::z}) {
      const auto work = static_cast<LapackWork>(i);
      const Read r = read(std::string(1, letter(p)) + name_of(work) + "_seconds 1 100:2 200:9\n");
      EXPECT_EQ(r.problem, "");
      for (int other = 0; other < lapack_works; ++other)
        for (const Precision q : {Precision::s, Precision::d, Precision::c, Precision::z})
          EXPECT_EQ(measured_seconds(r.profile, static_cast<LapackWork>(other), q, 100).has_value(),
                    other == i && p == q);
    }
}

TEST(LapackSection, DamagedLinesAreNamedAndIgnored) {
  for (const std::string bad : {"dsyevd_seconds",
                                "dsyevd_seconds 1",
                                "dsyevd_seconds 1024:0.01",
                                "dsyevd_seconds 2 1024:0.01",
                                "dsyevd_seconds 1 1024",
                                "dsyevd_seconds 1 1024:",
                                "dsyevd_seconds 1 :0.01",
                                "dsyevd_seconds 1 0:0.01",
                                "dsyevd_seconds 1 -4:0.01",
                                "dsyevd_seconds 1 1024:0",
                                "dsyevd_seconds 1 1024:-1",
                                "dsyevd_seconds 1 1024:nan",
                                "dsyevd_seconds 1 1024:inf",
                                "dsyevd_seconds 1 1024:1e300",
                                "dsyevd_seconds 1 1024:1e-300",
                                "dsyevd_seconds 1 1024:0.01 1024:0.02",
                                "dsyevd_seconds 1 1024:0.01 512:0.02",
                                "dsyevd_seconds 1 1024:0.01x",
                                "wsyevd_seconds 1 1024:0.01",
                                "dsyevq_seconds 1 1024:0.01",
                                "d_seconds 1 1024:0.01",
                                "dsyevd 1 1024:0.01"}) {
    const Read r = read(bad + "\nsyevd_seconds 1\nin_rate 2e9\n");
    EXPECT_EQ(r.problem, bad);
    EXPECT_EQ(r.profile.in_rate, 2e9);
    EXPECT_TRUE(r.profile.sections.empty()) << bad;
    EXPECT_FALSE(measured_seconds(r.profile, LapackWork::syevd, Precision::d, 1024)) << bad;
  }
  std::string many = "dsyevd_seconds 1";
  for (std::size_t i = 1; i <= most_lapack_times; ++i) many += " " + std::to_string(i) + ":1";
  EXPECT_EQ(read(many).problem, "");
  EXPECT_EQ(read(many + " 100:1").problem, many + " 100:1");
}

TEST(LapackSection, OrdersInBetweenFollowAPower) {
  const Profile p = read(line).profile;
  EXPECT_DOUBLE_EQ(seconds(p, 1024), 0.01);
  EXPECT_DOUBLE_EQ(seconds(p, 4096), 0.16);
  EXPECT_DOUBLE_EQ(seconds(p, 8192), 1.28);
  EXPECT_NEAR(seconds(p, 2048), 0.04, 1e-12);                                    // as the square
  EXPECT_NEAR(seconds(p, 4096 * std::sqrt(2)), 0.16 * std::pow(2, 1.5), 1e-12);  // as the cube
  EXPECT_NEAR(seconds(p, 16384), 8 * 1.28, 1e-12);                               // goes on
  EXPECT_NEAR(seconds(p, 512), 0.005, 1e-12);                                    // a share
  EXPECT_DOUBLE_EQ(seconds(p, 0), 0);
  for (double order = 1; order < 1e6; order *= 1.1) EXPECT_GT(seconds(p, 1.1 * order), seconds(p, order)) << order;
  EXPECT_NEAR(seconds(read("dsyevd_seconds 1 1000:1").profile, 2000), 8, 1e-12);  // one alone says as little as none
  EXPECT_NEAR(seconds(read("dsyevd_seconds 1 1000:1 2000:1").profile, 4000), 4, 1e-12);
  EXPECT_NEAR(seconds(read("dsyevd_seconds 1 1000:1 2000:100").profile, 4000), 800, 1e-9);
}

struct Cost {
  Routine routine;
  LapackWork work;
  index m, n, k;
};

/// A call costs what is measured of its order, and what it moves: nothing else of the profile's rates for products.
TEST(LapackSection, CallsCostWhatWasMeasured) {
  constexpr index n = 3000;
  for (const Cost& x :
       {Cost{Routine::dpotrf, LapackWork::potrf, n, n, 0}, Cost{Routine::dgetrf, LapackWork::getrf, n, n, 0},
        Cost{Routine::dsyevd, LapackWork::syevd, n, n, n}, Cost{Routine::dsyevd, LapackWork::syevd_values, n, n, 0},
        Cost{Routine::dgeev, LapackWork::geev, n, n, n}, Cost{Routine::dgeev, LapackWork::geev_values, n, n, 0},
        Cost{Routine::dgesdd, LapackWork::gesdd, n, n, n}, Cost{Routine::dgebrd, LapackWork::gebrd, n, n, 0},
        Cost{Routine::dgehrd, LapackWork::gehrd, n, n, n}}) {
    const Problem problem = counted({.routine = x.routine, .element = Element::d, .m = x.m, .n = x.n, .k = x.k});
    const auto cost = [&](const std::string& text) {
      const Read r = read(text);
      EXPECT_EQ(r.problem, "");
      const Facts facts{.device = DeviceState::ready, .profile = &r.profile, .cpu_rate = 1, .slowdown = 1};
      return family_of(x.routine).cost(problem, facts, {}, 0).seconds;
    };
    const std::string name = std::string("d") + name_of(x.work) + "_seconds 1 3000:";
    EXPECT_NEAR(cost(name + "50\n") - cost(name + "20\n"), 30, 1e-9) << name;
    EXPECT_NEAR(cost(name + "50\ndgemm_rate 1e9\n"), cost(name + "50\n"), 1e-9) << name;
    EXPECT_GT(std::fabs(cost(name + "50\n") - cost("")), 30) << name;
  }
}

/// Of another shape as what takes as many operations, or of LU: as many flops.
TEST(LapackSection, OtherShapesCostWhatSquaresOfTheirWorkDo) {
  const auto cost = [](Routine routine, index m, index n, index k, const std::string& text) {
    const Read r = read(text);
    const Facts facts{.device = DeviceState::ready, .profile = &r.profile, .cpu_rate = 1, .slowdown = 1};
    const Problem problem = counted({.routine = routine, .element = Element::d, .m = m, .n = n, .k = k});
    return family_of(routine).cost(problem, facts, {}, 0).seconds;
  };
  const std::string cubes = "_seconds 1 1000:1 2000:8\n";
  EXPECT_NEAR(cost(Routine::dgesdd, 1500, 1000, 1000, "dgesdd" + cubes), 1.5, 0.05);
  EXPECT_NEAR(cost(Routine::dgesdd, 1000, 1500, 1000, "dgesdd" + cubes), 1.5, 0.05);
  // Behind a QR, the triangle's.
  EXPECT_NEAR(cost(Routine::dgesdd, 8000, 1000, 1000, "dgesdd" + cubes), 1, 0.1);
  EXPECT_NEAR(cost(Routine::dgesdd, 1000, 8000, 1000, "dgesdd" + cubes), 1, 0.1);
  EXPECT_NEAR(cost(Routine::dgebrd, 8000, 1000, 0, "dgebrd" + cubes), 8, 0.2);
  // 1,000 columns of 4,500 rows take (m - n / 3) n^2 = 4.17e9 operations, a square of 1,842 as many.
  EXPECT_NEAR(cost(Routine::dgetrf, 4500, 1000, 0, "dgetrf" + cubes), 6.25, 0.2);
}

/// Of every routine and precision; whoever tunes another device does it as well.
TEST(LapackSection, AnH100sProfileHasAllTimes) {
  const Profile profile = built_in_profile("sm_90");
  for (int i = 0; i < lapack_works; ++i)
    for (const Precision p : {Precision::s, Precision::d, Precision::c, Precision::z}) {
      const auto at = [&](double order) { return measured_seconds(profile, static_cast<LapackWork>(i), p, order); };
      if (static_cast<LapackWork>(i) == LapackWork::gehrd && !at(2048)) continue;  // so far estimated everywhere
      ASSERT_TRUE(at(2048).has_value()) << letter(p) << name_of(static_cast<LapackWork>(i));
      EXPECT_GT(*at(4096), 1.2 * *at(2048)) << letter(p) << name_of(static_cast<LapackWork>(i));
      EXPECT_LT(*at(4096), 8 * *at(2048)) << letter(p) << name_of(static_cast<LapackWork>(i));
    }
}

}  // namespace
}  // namespace blaslift::lapack_section_tests
