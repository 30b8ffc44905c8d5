// Profiles: built in, read, written.
#include "impl/profile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/unit/temporary.hpp"

namespace blaslift {
namespace {

using namespace temporary;

/// The rates in the order of their keys.
std::array<double, 14> numbers(const Profile& p) {
  return {p.in_rate,      p.out_rate,     p.latency_seconds, p.startup_seconds, p.gemm_rate[0],
          p.gemm_rate[1], p.gemm_rate[2], p.gemm_rate[3],    p.cpu_rate[0],     p.cpu_rate[1],
          p.cpu_rate[2],  p.cpu_rate[3],  p.pass_rate,       p.step_seconds};
}
constexpr const char* keys[] = {"in_rate",        "out_rate",       "latency_seconds", "startup_seconds",
                                "sgemm_rate",     "dgemm_rate",     "cgemm_rate",      "zgemm_rate",
                                "cpu_sgemm_rate", "cpu_dgemm_rate", "cpu_cgemm_rate",  "cpu_zgemm_rate",
                                "pass_rate",      "step_seconds"};

struct Read {
  bool opened;
  Profile profile;
  std::string problem;
};
Read read(const std::string& text) {
  const Directory directory;
  Read r{false, built_in_profile("sm_80"), ""};
  r.opened = read_profile(directory.file("rates", text), r.profile, r.problem);
  return r;
}

TEST(Profile, BuiltInsAreUsable) {
  for (const char* name : {"sm_80", "sm_90", "sm_100", "host", "sm_75", ""})
    for (const double x : numbers(built_in_profile(name))) EXPECT_TRUE(std::isfinite(x) && x > 0) << name;
  EXPECT_NE(numbers(built_in_profile("sm_90")), numbers(built_in_profile("sm_80")));
  EXPECT_NE(numbers(built_in_profile("sm_90")), numbers(built_in_profile("host")));
  EXPECT_EQ(numbers(built_in_profile("sm_123")), numbers(built_in_profile("")));
  // An unknown card is expected to do less than any known one.
  for (const char* name : {"sm_80", "sm_90", "sm_100"})
    for (int p = 0; p < precision_count; ++p)
      EXPECT_LT(built_in_profile("sm_123").gemm_rate[p], built_in_profile(name).gemm_rate[p]) << name;
}

TEST(Profile, EveryKeySetsItsOwnRate) {
  const auto before = numbers(built_in_profile("sm_80"));
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Read r = read(std::string(keys[i]) + " 1.25e7\n");
    EXPECT_TRUE(r.opened);
    EXPECT_EQ(r.problem, "") << keys[i];
    auto expected = before;
    expected[i] = 1.25e7;
    EXPECT_EQ(numbers(r.profile), expected) << keys[i];
  }
}

TEST(Profile, BuiltInLeafRatesAscendAndEnd) {
  for (const char* name : {"sm_80", "sm_90", "sm_100", "host", ""}) {
    const Profile profile = built_in_profile(name);
    for (int p = 0; p < precision_count; ++p) {
      const auto& rates = profile.leaf_rate[p];
      const bool measured = std::string_view(name) == "sm_90";
      EXPECT_EQ(rates[0].size > 0, measured) << name;
      int count = 0;
      for (; rates[count].size > 0; ++count) {
        EXPECT_GT(rates[count].rate, 1e12) << name;
        EXPECT_LT(rates[count].rate, 70e12) << name;
        if (count > 0) {
          EXPECT_GT(rates[count].size, rates[count - 1].size) << name;
        }
      }
      EXPECT_LE(count, Profile::most_leaf_rates);
    }
  }
}

TEST(Profile, WhatIsWrittenIsReadAgain) {
  Profile p{};
  std::array<double, 14> values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::pow(10.0, static_cast<double>(i) * 1.5 - 5) * std::sqrt(2.0);
  p = {values[0],
       values[1],
       values[2],
       values[3],
       {values[4], values[5], values[6], values[7]},
       {values[8], values[9], values[10], values[11]},
       values[12],
       values[13]};
  p.leaf_rate[1][0] = {512, 1.25e13};
  p.leaf_rate[1][1] = {4096, 5.5e13};
  p.leaf_rate[3][0] = {1000, 3e12};
  const Read r = read(to_text(p));
  EXPECT_EQ(r.problem, "");
  // Written with six significant digits: off by at most half of the last, relative to a leading digit of one.
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(numbers(r.profile)[i] / values[i], 1, 5e-6) << keys[i];
  EXPECT_EQ(to_text(r.profile), to_text(p)) << "a second round changes nothing";
}

TEST(Profile, LeafRatesAreListsByPrecision) {
  const Read r = read("dgemm_leaf_rate 512 1e13\nsgemm_leaf_rate 300 2e12\ndgemm_leaf_rate 1024 3e13\n");
  EXPECT_EQ(r.problem, "");
  const auto& d = r.profile.leaf_rate[1];
  EXPECT_EQ(d[0].size, 512);
  EXPECT_EQ(d[0].rate, 1e13);
  EXPECT_EQ(d[1].size, 1024);
  EXPECT_EQ(d[1].rate, 3e13);
  EXPECT_EQ(d[2].size, 0);
  EXPECT_EQ(r.profile.leaf_rate[0][0].size, 300);
  EXPECT_EQ(r.profile.leaf_rate[2][0].size, 0);
  // A file's replace what was there.
  Profile other = r.profile;
  std::string problem;
  const Directory directory;
  EXPECT_TRUE(read_profile(directory.file("rates", "dgemm_leaf_rate 2048 4e13\n"), other, problem));
  EXPECT_EQ(other.leaf_rate[1][0].size, 2048);
  EXPECT_EQ(other.leaf_rate[1][1].size, 0);
  EXPECT_EQ(other.leaf_rate[0][0].size, 300);
  for (const char* line : {"dgemm_leaf_rate 512", "dgemm_leaf_rate 512 1e13 1", "dgemm_leaf_rate 0 1e13",
                           "dgemm_leaf_rate 512 -1", "leaf_rate 512 1e13", "in_rate 512 1e13"})
    EXPECT_EQ(read(std::string(line) + "\n").problem, line);
  EXPECT_EQ(read("dgemm_leaf_rate 512 1e13\ndgemm_leaf_rate 512 2e13\n").problem, "dgemm_leaf_rate 512 2e13");
  std::string many;
  for (int i = 0; i <= Profile::most_leaf_rates; ++i) many += "zgemm_leaf_rate " + std::to_string(100 + i) + " 1e12\n";
  const Read full = read(many);
  EXPECT_EQ(full.problem, "zgemm_leaf_rate " + std::to_string(100 + Profile::most_leaf_rates) + " 1e12");
  EXPECT_EQ(full.profile.leaf_rate[3][Profile::most_leaf_rates].size, 0);
}

TEST(Profile, CommentsBlanksAndSpacesAreFine) {
  const Read r = read("# rates of a machine\n\n   \t\n  in_rate   2e9  \n#out_rate 1\nout_rate\t3e9\r\nsgemm_rate 4e9");
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(r.profile.in_rate, 2e9);
  EXPECT_EQ(r.profile.out_rate, 3e9);
  EXPECT_EQ(r.profile.gemm_rate[0], 4e9);
}

TEST(Profile, LinesNotUnderstoodAreNamedAndIgnored) {
  const auto before = numbers(built_in_profile("sm_80"));
  for (const char* line :
       {"in_rate", "in_rate fast", "in_rate 0", "in_rate -1e9", "in_rate nan", "in_rate inf", "in_rate 1e999",
        "in_rate 1e9 2e9", "in_rate 1e9GB", "in_rat 1e9", "IN_RATE 1e9", "1e9 in_rate", "in_rate=1e9"}) {
    const Read r = read(std::string(line) + "\n");
    EXPECT_TRUE(r.opened);
    EXPECT_EQ(r.problem, line);
    EXPECT_EQ(numbers(r.profile), before) << line;
  }
  // The first is named, lines around it count.
  const Read r = read("in_rate 2e9\nfirst wrong\nsecond wrong\nout_rate 3e9\n");
  EXPECT_EQ(r.problem, "first wrong");
  EXPECT_EQ(r.profile.in_rate, 2e9);
  EXPECT_EQ(r.profile.out_rate, 3e9);
}

TEST(Profile, LongLinesAreOneLine) {
  // The end of a long comment must not be taken for a line of its own.
  const Read r = read("#" + std::string(254, 'x') + "in_rate 1\nout_rate 3e9\n");
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(r.profile.in_rate, built_in_profile("sm_80").in_rate);
  EXPECT_EQ(r.profile.out_rate, 3e9);
}

TEST(Profile, LinesAreReplacedByNameAndSize) {
  const std::string before =
      "# of mine\n"
      "dgemm_leaf_rate 512 1.0e13\n"
      "\n"
      "in_rate  2.0e9 \r\n"
      "nonsense\n"
      "dgemm_leaf_rate 256 5e12\n"
      "latency_seconds 1\n"
      "latency_seconds 2";
  EXPECT_EQ(
      with_lines(before, {{"dgemm_leaf_rate", 384, 1.25e13}, {"dgemm_leaf_rate", 512, 2e13}, {"pass_rate", 0, 3e12}}),
      "# of mine\n"
      "\n"
      "in_rate  2.0e9 \r\n"
      "latency_seconds 2\n"
      "pass_rate 3e+12\n"
      "dgemm_leaf_rate 256 5e12\n"
      "dgemm_leaf_rate 384 1.25e+13\n"
      "dgemm_leaf_rate 512 2e+13\n");
  EXPECT_EQ(with_lines("", {}), "");
  EXPECT_EQ(with_lines("", {{"sgemm_leaf_rate", 64, 1}}), "sgemm_leaf_rate 64 1\n");
  const std::string all = to_text(built_in_profile("sm_90"));
  EXPECT_EQ(with_lines(all, {}), all);
}

TEST(Profile, AMissingFileChangesNothing) {
  Profile p = built_in_profile("sm_90");
  std::string problem;
  EXPECT_FALSE(read_profile("/nowhere/rates", p, problem));
  EXPECT_FALSE(read_profile("/", p, problem));
  EXPECT_EQ(problem, "");
  EXPECT_EQ(numbers(p), numbers(built_in_profile("sm_90")));
}

TEST(Profile, DoesNotDependOnTheProgramsLocale) {
  const Profile p = built_in_profile("sm_90");
  const std::string text = to_text(p);
  const DecimalComma locale;
  if (!locale.there()) GTEST_SKIP() << "no locale with a decimal comma can be had here";
  EXPECT_EQ(to_text(p), text);
  const Read r = read("latency_seconds 1.5e-5\n");
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(r.profile.latency_seconds, 1.5e-5);
}

TEST(Profile, LiesUnderTheXdgCache) {
  const Variable home("HOME", "/home/me");
  {
    const Variable cache("XDG_CACHE_HOME", "/var/cache/me");
    EXPECT_EQ(default_profile_path("NVIDIA H100 80GB HBM3"), "/var/cache/me/blaslift/NVIDIA-H100-80GB-HBM3.profile");
    EXPECT_EQ(default_profile_path("../../etc/x"), "/var/cache/me/blaslift/------etc-x.profile");
  }
  for (const char* not_absolute :
       {static_cast<const char*>(nullptr), "", "relative"}) {  // the XDG specification's rule
    const Variable cache("XDG_CACHE_HOME", not_absolute);
    EXPECT_EQ(default_profile_path("host"), "/home/me/.cache/blaslift/host.profile");
    const Variable homeless("HOME", nullptr);
    EXPECT_EQ(default_profile_path("host"), "");
  }
}

}  // namespace
}  // namespace blaslift
