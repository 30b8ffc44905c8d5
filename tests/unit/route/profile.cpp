// Profiles: built in, read, written.
#include "impl/route/profile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tuple>

#include "impl/qr/qr_section.hpp"
#include "impl/route/built_in_profiles.hpp"
#include "impl/symv/symv_section.hpp"
#include "tests/unit/support/temporary.hpp"

namespace blaslift::profile_tests {
namespace {

using namespace temporary;

/// The rates in the order of their keys.
std::array<double, 19> numbers(const Profile& p) {
  return {p.in_rate,      p.out_rate,     p.host_rate,    p.latency_seconds, p.startup_seconds,      p.gemm_rate[0],
          p.gemm_rate[1], p.gemm_rate[2], p.gemm_rate[3], p.cpu_rate[0],     p.cpu_rate[1],          p.cpu_rate[2],
          p.cpu_rate[3],  p.int8_rate,    p.pass_rate,    p.step_seconds,    p.symv_latency_seconds, p.panel_rate,
          p.panel_seconds};
}
constexpr const char* keys[] = {
    "in_rate",        "out_rate",   "host_rate",  "latency_seconds", "startup_seconds",      "sgemm_rate",
    "dgemm_rate",     "cgemm_rate", "zgemm_rate", "cpu_sgemm_rate",  "cpu_dgemm_rate",       "cpu_cgemm_rate",
    "cpu_zgemm_rate", "int8_rate",  "pass_rate",  "step_seconds",    "symv_latency_seconds", "panel_rate",
    "panel_seconds"};

struct Read {
  bool opened;
  Profile profile;
  std::string problem;
};
Read read(const std::string& text) {
  const Directory directory;
  Read r{false, built_in_profile("sm_80"), ""};
  r.opened = read_profile(directory.file("rates", text), r.profile, r.problem) != ProfileRead::failed;
  return r;
}

/// A family's lines of a profile.
template <class Tuned>
std::vector<Tuned> lines_of(const Profile& p) {
  std::vector<Tuned> found;
  for (const SectionLine& line : p.sections)
    if (const auto* x = std::any_cast<Tuned>(&line.data)) found.push_back(*x);
  return found;
}

TEST(Profile, BuiltInsAreUsable) {
  for (const char* name : {"sm_80", "sm_90", "sm_100", "host", "sm_75", ""}) {
    const auto rates = numbers(built_in_profile(name));
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const bool may_be_unknown = std::string_view(keys[i]) == "int8_rate" || std::string_view(keys[i]) == "host_rate";
      EXPECT_TRUE(std::isfinite(rates[i]) && (rates[i] > 0 || (may_be_unknown && rates[i] == 0))) << name << keys[i];
    }
  }
  EXPECT_NE(numbers(built_in_profile("sm_90")), numbers(built_in_profile("sm_80")));
  EXPECT_NE(numbers(built_in_profile("sm_90")), numbers(built_in_profile("host")));
  EXPECT_EQ(numbers(built_in_profile("sm_123")), numbers(built_in_profile("")));
  // An unknown card is expected to do less than any known one.
  for (const char* name : {"sm_80", "sm_90", "sm_100"})
    for (int p = 0; p < precision_count; ++p)
      EXPECT_LT(built_in_profile("sm_123").gemm_rate[p], built_in_profile(name).gemm_rate[p]) << name;
}

/// The H100's leaf rates, each with its size, in one sum; and how many there are.
std::pair<double, int> leaves(const Profile& p) {
  double sum = 0;
  int count = 0;
  for (const auto& of_precision : p.leaf_rate)
    for (const auto& rates : of_precision)
      for (const Profile::LeafRate& leaf : rates)
        if (leaf.size > 0) sum += leaf.size * (leaf.rate * 1e-11), ++count;
  return {sum, count};
}

TEST(Profile, BuiltInsAreTheFilesOfProfiles) {
  // The keys that a device has; the CPU's are not in the files.
  const auto of_device = [](const Profile& p) {
    auto n = numbers(p);
    for (std::size_t i = 9; i < 13; ++i) n[i] = 0;
    return n;
  };
  using Numbers = std::array<double, 19>;
  EXPECT_EQ(of_device(built_in_profile("sm_90")), (Numbers{49e9, 52e9, 100e9, 600e-6, 0.45, 52e12, 52e12, 51e12, 48e12,
                                                           0, 0, 0, 0, 1.35e15, 2.9e12, 5e-6, 60e-6, 320e9, 180e-6}));
  EXPECT_EQ(of_device(built_in_profile("sm_80")), (Numbers{22e9, 22e9, 0, 600e-6, 0.45, 18e12, 17e12, 18e12, 17e12, 0,
                                                           0, 0, 0, 0, 1.4e12, 6e-6, 60e-6, 120e9, 120e-6}));
  EXPECT_EQ(of_device(built_in_profile("sm_100")), (Numbers{48e9, 48e9, 0, 600e-6, 0.45, 65e12, 33e12, 65e12, 33e12, 0,
                                                            0, 0, 0, 0, 6e12, 6e-6, 60e-6, 500e9, 120e-6}));
  EXPECT_EQ(of_device(built_in_profile("host")),
            (Numbers{8e9, 8e9, 0, 60e-6, 0.001, 20e9, 10e9, 20e9, 10e9, 0, 0, 0, 0, 0, 8e9, 1e-6, 20e-6, 20e6, 20e-6}));
  EXPECT_EQ(of_device(built_in_profile("")), (Numbers{10e9, 10e9, 0, 600e-6, 0.6, 5e12, 0.2e12, 5e12, 0.2e12, 0, 0, 0,
                                                      0, 0, 0.4e12, 6e-6, 100e-6, 30e9, 200e-6}));
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  for (const char* name : {"sm_90", "host", ""}) {
    const Profile p = built_in_profile(name);
    EXPECT_EQ(std::vector<double>(p.cpu_rate, p.cpu_rate + 4),
              (std::vector<double>{80e9 * cores, 40e9 * cores, 80e9 * cores, 40e9 * cores}))
        << name;
  }
  const Profile h100 = built_in_profile("sm_90");
  EXPECT_EQ(leaves(h100).second, 222);
  EXPECT_NEAR(leaves(h100).first, 564823296.0, 1e-3);
  const auto& d = h100.leaf_rate[1];
  EXPECT_EQ(d[0][0].rate, 2.2e12);
  EXPECT_EQ(d[1][12].size, 16384);
  EXPECT_EQ(d[1][12].rate, 57.5e12);
  EXPECT_EQ(h100.leaf_rate[3][3][11].rate, 48.6e12);
  // Every line of every file is understood.
  EXPECT_EQ(built_in_profiles().size(), 5u);
  for (const BuiltInProfile& file : built_in_profiles()) {
    Profile p{};
    std::string problem;
    read_profile_text(file.text, p, problem);
    EXPECT_EQ(problem, "") << file.device_class;
    EXPECT_EQ(of_device(p), of_device(built_in_profile(std::string(file.device_class).c_str())));
    EXPECT_TRUE(file.text.find("\nprofile 1\n") != file.text.npos) << file.device_class;
  }
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
      for (const auto& rates : profile.leaf_rate[p]) {
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
}

TEST(Profile, WhatIsWrittenIsReadAgain) {
  Profile p{};
  std::array<double, 19> values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::pow(10.0, static_cast<double>(i) * 1.3 - 5) * std::sqrt(2.0);
  p = {values[0],
       values[1],
       values[2],
       values[3],
       values[4],
       {values[5], values[6], values[7], values[8]},
       {values[9], values[10], values[11], values[12]},
       values[13],
       values[14],
       values[15],
       values[16],
       values[17],
       values[18]};
  p.leaf_rate[1][0][0] = {512, 1.25e13};
  p.leaf_rate[1][0][1] = {4096, 5.5e13};
  p.leaf_rate[1][1][0] = {4096, 5.6e13};
  p.leaf_rate[3][0][0] = {1000, 3e12};
  const Read r = read(to_text(p));
  EXPECT_EQ(r.problem, "");
  // Written with six significant digits: off by at most half of the last, relative to a leading digit of one.
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(numbers(r.profile)[i] / values[i], 1, 5e-6) << keys[i];
  EXPECT_EQ(to_text(r.profile), to_text(p)) << "a second round changes nothing";
}

TEST(Profile, LeafRatesAreListsByPrecision) {
  const Read r = read("dgemm_leaf_rate 512 1e13\nsgemm_leaf_rate 300 2e12\ndgemm_leaf_rate 1024 3e13\n");
  EXPECT_EQ(r.problem, "");
  const auto& d = r.profile.leaf_rate[1][0];
  EXPECT_EQ(d[0].size, 512);
  EXPECT_EQ(d[0].rate, 1e13);
  EXPECT_EQ(d[1].size, 1024);
  EXPECT_EQ(d[1].rate, 3e13);
  EXPECT_EQ(d[2].size, 0);
  EXPECT_EQ(r.profile.leaf_rate[0][0][0].size, 300);
  EXPECT_EQ(r.profile.leaf_rate[2][0][0].size, 0);
  // A file's replace what was there.
  Profile other = r.profile;
  std::string problem;
  const Directory directory;
  EXPECT_EQ(read_profile(directory.file("rates", "dgemm_leaf_rate 2048 4e13\n"), other, problem), ProfileRead::used);
  EXPECT_EQ(other.leaf_rate[1][0][0].size, 2048);
  EXPECT_EQ(other.leaf_rate[1][0][1].size, 0);
  EXPECT_EQ(other.leaf_rate[0][0][0].size, 300);
  for (const char* line :
       {"dgemm_leaf_rate 512", "dgemm_leaf_rate 512 1e13 1", "dgemm_leaf_rate 0 1e13", "dgemm_leaf_rate 512 -1",
        "leaf_rate 512 1e13", "in_rate 512 1e13", "dgemm_leaf_rate NT 512", "dgemm_leaf_rate NN 512 1e13",
        "dgemm_leaf_rate CT 512 1e13", "dgemm_leaf_rate NT TN 512 1e13"})
    EXPECT_EQ(read(std::string(line) + "\n").problem, line);
  EXPECT_EQ(read("dgemm_leaf_rate 512 1e13\ndgemm_leaf_rate 512 2e13\n").problem, "dgemm_leaf_rate 512 2e13");
  std::string many;
  for (int i = 0; i <= Profile::most_leaf_rates; ++i) many += "zgemm_leaf_rate " + std::to_string(100 + i) + " 1e12\n";
  const Read full = read(many);
  EXPECT_EQ(full.problem, "zgemm_leaf_rate " + std::to_string(100 + Profile::most_leaf_rates) + " 1e12");
  EXPECT_EQ(full.profile.leaf_rate[3][0][Profile::most_leaf_rates].size, 0);
}

TEST(Profile, LeafRatesOfTransposedProductsAreListsOfTheirOwn) {
  const auto size = [](const Profile& p, Transposes t, int i) { return p.leaf_rate[1][static_cast<int>(t)][i].size; };
  Read r = read(
      "dgemm_leaf_rate NT 512 1e13\ndgemm_leaf_rate 256 2e13\ndgemm_leaf_rate NT 1024 3e13\ndgemm_leaf_rate TT 64 "
      "4e13\n");
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(size(r.profile, Transposes::nn, 0), 256);
  EXPECT_EQ(size(r.profile, Transposes::nt, 0), 512);
  EXPECT_EQ(size(r.profile, Transposes::nt, 1), 1024);
  EXPECT_EQ(size(r.profile, Transposes::nt, 2), 0);
  EXPECT_EQ(size(r.profile, Transposes::tn, 0), 0);
  EXPECT_EQ(size(r.profile, Transposes::tt, 0), 64);
  // Another file's rates are another machine's: all of a precision's go.
  std::string problem;
  read_profile_text("dgemm_leaf_rate 128 1e13\n", r.profile, problem);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(size(r.profile, Transposes::nn, 0), 128);
  EXPECT_EQ(size(r.profile, Transposes::nt, 0), 0);
  EXPECT_EQ(size(r.profile, Transposes::tt, 0), 0);
  EXPECT_EQ(leaf_rate_name(Precision::z, Transposes::nn), "zgemm_leaf_rate");
  EXPECT_EQ(leaf_rate_name(Precision::d, Transposes::tn), "dgemm_leaf_rate TN");
  EXPECT_EQ(with_lines("dgemm_leaf_rate NT 512 1.0e13\ndgemm_leaf_rate 512 2.0e13\n",
                       {{leaf_rate_name(Precision::d, Transposes::nt), 512, 3e13}}),
            "dgemm_leaf_rate 512 2.0e13\ndgemm_leaf_rate NT 512 3e+13\n");
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

TEST(Profile, OneOfAnotherVersionSaysNothing) {
  const double built_in = built_in_profile("sm_80").in_rate;
  for (const char* line : {"profile 1\n", "# mine\n profile  1 \r\n"}) {
    const Read r = read(std::string(line) + "in_rate 2e9\n");
    EXPECT_EQ(r.problem, "") << line;
    EXPECT_EQ(r.profile.in_rate, 2e9) << line;
    EXPECT_EQ(with_lines(std::string(line) + "in_rate 2e9\n", {{"out_rate", 0, 3e9}}).find("profile"),
              std::string::npos);
  }
  for (const char* line : {"profile 2", "profile", "profile 1 1"}) {
    const Read r = read("in_rate 2e9\n" + std::string(line) + "\nout_rate 3e9\n");
    EXPECT_EQ(r.problem, std::string(line) + " (another version's form: nothing in the file is used)");
    EXPECT_EQ(r.profile.in_rate, built_in) << line;
    EXPECT_EQ(with_lines("in_rate 2e9\n" + std::string(line), {{"out_rate", 0, 3e9}}), "out_rate 3e+09\n");
  }
  EXPECT_EQ(version_line(), "profile 1\n");
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

// ---- algorithms

TunedProduct tuned(const std::string& library, Precision precision, index n, bool adds_e, bool own = false) {
  TunedProduct x{library, {{precision, Op::none, Op::transpose, adds_e, n}, own, {}}};
  if (own) return x;
  for (std::size_t i = 0; i < sizeof x.preference.algorithm.words; ++i)
    x.preference.algorithm.words[i] = static_cast<unsigned char>(7 * i + static_cast<std::size_t>(n));
  x.preference.algorithm.workspace = std::uint64_t{5} << 33;
  x.preference.algorithm.alignment = 16;
  return x;
}

std::string line_of(const TunedProduct& x) {
  Profile p{};
  p.algorithms = {x};
  const std::string text = to_text(p);
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

void expect_same(const Preference& x, const Preference& y) {
  EXPECT_EQ(x.product.precision, y.product.precision);
  EXPECT_EQ(x.product.transa, y.product.transa);
  EXPECT_EQ(x.product.transb, y.product.transb);
  EXPECT_EQ(x.product.adds_e, y.product.adds_e);
  EXPECT_EQ(x.product.n, y.product.n);
  EXPECT_EQ(x.own, y.own);
  EXPECT_EQ(std::memcmp(x.algorithm.words, y.algorithm.words, sizeof x.algorithm.words), 0);
  EXPECT_EQ(x.algorithm.workspace, y.algorithm.workspace);
  EXPECT_EQ(x.algorithm.alignment, y.algorithm.alignment);
}

TEST(Profile, AlgorithmsAreWrittenAndReadAgain) {
  const std::vector<TunedProduct> some{
      tuned("lib-1-sm_90", Precision::s, 2560, false), tuned("lib-1-sm_90", Precision::s, 2560, true),
      tuned("lib-1-sm_90", Precision::z, 1000, true, true), tuned("lib-2-sm_90", Precision::d, 4096, false)};
  std::string text;
  for (const TunedProduct& x : some) text += line_of(x);
  EXPECT_EQ(text.substr(0, text.find(':')), "sgemm_algorithm lib-1-sm_90 NT plain 2560 10");
  EXPECT_NE(text.find("\nzgemm_algorithm lib-1-sm_90 NT plus_e 1000 own\n"), text.npos) << text;
  EXPECT_TRUE(line_of(tuned("lib", Precision::d, 200, false)).ends_with(":65f9838f\n"))
      << "as in profiles long written";
  const Read r = read(text);
  EXPECT_EQ(r.problem, "");
  ASSERT_EQ(r.profile.algorithms.size(), some.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(r.profile.algorithms[i].library, some[i].library);
    expect_same(r.profile.algorithms[i].preference, some[i].preference);
  }
  EXPECT_EQ(numbers(r.profile), numbers(built_in_profile("sm_80"))) << "rates stay";
}

TEST(Profile, AlgorithmsOfAnotherLibraryAreNotForThisOne) {
  Profile p{};
  p.algorithms = {tuned("lib-1-sm_90", Precision::s, 2560, false), tuned("lib-2-sm_90", Precision::s, 2560, false),
                  tuned("lib-2-sm_90", Precision::s, 3072, false)};
  const std::vector<Preference> mine = preferences_for(p, "lib-2-sm_90");
  ASSERT_EQ(mine.size(), 2u);
  expect_same(mine[0], p.algorithms[1].preference);
  expect_same(mine[1], p.algorithms[2].preference);
  EXPECT_EQ(preferences_for(p, "lib-2-sm_100").size(), 0u);
  EXPECT_EQ(preferences_for(p, "lib-2").size(), 0u);
  p.algorithms[0].library = "";
  EXPECT_EQ(preferences_for(p, "").size(), 0u) << "a device without algorithms has none";
}

TEST(Profile, CorruptAlgorithmsAreNamedAndIgnored) {
  const std::string good = line_of(tuned("lib-1", Precision::s, 2560, false)),
                    other = "dgemm_algorithm lib NN plain 8 own";
  const auto expect_problem = [&](std::string bad) {
    const Read r = read(bad + "\n" + other + "\n");
    EXPECT_EQ(r.problem, bad);
    ASSERT_EQ(r.profile.algorithms.size(), 1u) << bad;
    EXPECT_EQ(r.profile.algorithms[0].preference.product.n, 8);
  };
  const std::string line = good.substr(0, good.size() - 1);
  // Every digit of what the library is given, its needs and the sum itself: changed, left out, doubled.
  for (std::size_t i = line.rfind(' ') + 1; i < line.size(); ++i) {
    std::string bad = line;
    bad[i] = line[i] == '7' ? '8' : '7';
    expect_problem(bad);
    expect_problem(line.substr(0, i) + line.substr(i + 1));
    expect_problem(line.substr(0, i) + line[i] + line.substr(i));
    if (testing::Test::HasFailure()) return;
  }
  for (const char* bad :
       {"dgemm_algorithm", "dgemm_algorithm lib NN plain 8", "dgemm_algorithm lib NN plain own",
        "dgemm_algorithm lib NX plain 8 own", "dgemm_algorithm lib N plain 8 own", "dgemm_algorithm lib NN odd 8 own",
        "dgemm_algorithm lib NN plain 0 own", "dgemm_algorithm lib NN plain 8 own 1",
        "dgemm_algorithm lib NN plain 8 10:0", "wgemm_algorithm lib NN plain 8 own"})
    expect_problem(bad);
}

TEST(Profile, AlgorithmsAreReplacedByWhatTheyAreFor) {
  const TunedProduct small = tuned("lib-1", Precision::s, 512, false),
                     large = tuned("lib-1", Precision::s, 2560, false),
                     plus_e = tuned("lib-1", Precision::s, 2560, true),
                     other = tuned("lib-2", Precision::s, 2560, false),
                     again = tuned("lib-1", Precision::s, 2560, false, true);
  const std::string before = "# mine\n" + line_of(large) + line_of(other) + "in_rate 2e9\n" + line_of(plus_e);
  EXPECT_EQ(with_lines(before, {{"in_rate", 0, 1e9}}, {again, small}),
            "# mine\nin_rate 1e+09\n" + line_of(small) + line_of(again) + line_of(plus_e) + line_of(other));
  EXPECT_EQ(with_lines(before, {}), "# mine\nin_rate 2e9\n" + line_of(large) + line_of(plus_e) + line_of(other));
  // The last of a file holds, over what was there.
  Profile p{};
  p.algorithms = {large, plus_e};
  std::string problem;
  read_profile_text(line_of(large) + line_of(again), p, problem);
  EXPECT_EQ(problem, "");
  ASSERT_EQ(p.algorithms.size(), 2u);
  EXPECT_TRUE(p.algorithms[0].preference.own);
  EXPECT_FALSE(p.algorithms[1].preference.own);
}

// ---- QR's widths

constexpr char qr_line[] = "dqr_widths 1 97:32x16 1449:128x64 any:512x64";

TEST(Profile, QrWidthsAreWrittenAndReadAgain) {
  const std::string text = std::string(qr_line) + "\nzqr_widths 1 built-in\n";
  const Read r = read(text);
  EXPECT_EQ(r.problem, "");
  ASSERT_EQ(lines_of<TunedQr>(r.profile).size(), 2u);
  EXPECT_EQ(lines_of<TunedQr>(r.profile)[0].precision, Precision::d);
  EXPECT_EQ(lines_of<TunedQr>(r.profile)[0].rules,
            (std::vector<QrRule>{{97, {32, 16}}, {1449, {128, 64}}, {any_k, {512, 64}}}));
  EXPECT_TRUE(to_text(r.profile).ends_with("\n" + text)) << to_text(r.profile);
  EXPECT_EQ(numbers(r.profile), numbers(built_in_profile("sm_80"))) << "rates stay";
}

TEST(Profile, QrFollowsItsOwnWidthsOrThoseBuiltIn) {
  const Profile p = read(std::string(qr_line) + "\nzqr_widths 1 built-in\n").profile;
  const auto widths = [&p](index k) { return qr_widths(p, Precision::d, k); };
  EXPECT_EQ(widths(96), (QrWidths{32, 16}));
  EXPECT_EQ(widths(97), (QrWidths{128, 64}));
  EXPECT_EQ(widths(1448), (QrWidths{128, 64}));
  EXPECT_EQ(widths(100000), (QrWidths{512, 64}));
  // No wider than k, in whole panels.
  EXPECT_EQ(widths(1), (QrWidths{1, 1}));
  EXPECT_EQ(widths(15), (QrWidths{15, 15}));
  EXPECT_EQ(widths(17), (QrWidths{32, 16}));
  for (index k = 1; k < 50000; k += 1 + k / 9)
    for (const Precision other : {Precision::s, Precision::c, Precision::z})
      EXPECT_EQ(qr_widths(p, other, k), qr_widths(k)) << k;
}

TEST(Profile, DamagedQrWidthsAreNamedAndIgnored) {
  for (const std::string bad : {"dqr_widths",
                                "dqr_widths 1",
                                "dqr_widths any:64x64",
                                "dqr_widths 2 any:64x64",  // of another version
                                "dqr_widths 1 97:64x64",   // nothing for large k
                                "dqr_widths 1 any:64x64 any:64x64",
                                "dqr_widths 1 90:64x64 90:32x32 any:64x64",
                                "dqr_widths 1 1:64x64 any:64x64",
                                "dqr_widths 1 any:64",
                                "dqr_widths 1 any:64x",
                                "dqr_widths 1 any:x64",
                                "dqr_widths 1 64x64:any",
                                "dqr_widths 1 any:64x0",
                                "dqr_widths 1 any:0x0",
                                "dqr_widths 1 any:96x64",    // no whole panels
                                "dqr_widths 1 any:256x256",  // no such panel
                                "dqr_widths 1 any:8192x64",  // nor block
                                "dqr_widths 1 any:64x64x1",
                                "dqr_widths 1 built-in any:64x64",
                                "wqr_widths 1 any:64x64"}) {
    const Read r = read(bad + "\nin_rate 2e9\nsqr_widths 1 any:64x32\n");
    EXPECT_EQ(r.problem, bad);
    ASSERT_EQ(lines_of<TunedQr>(r.profile).size(), 1u) << bad;
    EXPECT_EQ(r.profile.in_rate, 2e9);
    EXPECT_EQ(qr_widths(r.profile, Precision::d, 5000), qr_widths(5000)) << bad;
  }
}

TEST(Profile, QrWidthsAreReplacedByWhatTheyAreFor) {
  const std::string before =
      std::string("zqr_widths 1 built-in\n") + qr_line + "\nwsymv_rules 1 U built-in\nin_rate 2e9\n";
  EXPECT_EQ(with_lines(before, {}),
            std::string("in_rate 2e9\nwsymv_rules 1 U built-in\n") + qr_line + "\nzqr_widths 1 built-in\n");
  EXPECT_EQ(with_lines(before, {{"panel_rate", 0, 5e8}}, {}, {section_line(TunedQr{Precision::d, {}})}),
            "in_rate 2e9\npanel_rate 5e+08\nwsymv_rules 1 U built-in\ndqr_widths 1 built-in\nzqr_widths 1 built-in\n");
}

// ---- SYMV's rules

constexpr char symv_line[] = "dsymv_rules 1 L 897:strips 1281:32x32x4x64 7169:64x32x8x128:tickets any:128x32x8x512";

TEST(Profile, SymvRulesAreWrittenAndReadAgain) {
  const std::string text = std::string(symv_line) + "\nzsymv_rules 1 U any:64x32x8x256\nwsymv_rules 1 L built-in\n";
  const Read r = read(text);
  EXPECT_EQ(r.problem, "");
  ASSERT_EQ(lines_of<TunedSymv>(r.profile).size(), 3u);
  const TunedSymv d = lines_of<TunedSymv>(r.profile)[0];
  EXPECT_EQ(d.precision, Element::d);
  EXPECT_EQ(d.uplo, Uplo::lower);
  const std::vector<SymvRule> expected{
      {897, {}}, {1281, {32, 32, 4, 64}}, {7169, {64, 32, 8, 128}, SymvWay::tickets}, {any_n, {128, 32, 8, 512}}};
  EXPECT_EQ(d.rules, expected);
  EXPECT_TRUE(to_text(r.profile).ends_with("\n" + text)) << to_text(r.profile);
  EXPECT_EQ(numbers(r.profile), numbers(built_in_profile("sm_80"))) << "rates stay";
}

TEST(Profile, SymvFollowsItsOwnRulesOrThoseBuiltIn) {
  const Profile p = read(std::string(symv_line) + "\nzsymv_rules 1 L built-in\n").profile;
  const auto rule = [&p](Element precision, Uplo uplo, index n) { return symv_rule(p, precision, uplo, n); };
  for (const index n : {index{1}, index{896}}) EXPECT_EQ(rule(Element::d, Uplo::lower, n).blocking.U, 0) << n;
  EXPECT_EQ(rule(Element::d, Uplo::lower, 897).blocking, (SymvBlocking{32, 32, 4, 64}));
  EXPECT_EQ(rule(Element::d, Uplo::lower, 7168).way, SymvWay::tickets);
  for (const index n : {index{7169}, index{INT32_MAX}, any_n})
    EXPECT_EQ(rule(Element::d, Uplo::lower, n), (SymvRule{any_n, {128, 32, 8, 512}})) << n;
  for (int i = 0; i < element_count; ++i)
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
      for (index n = 1; n < 50000; n += 1 + n / 9) {
        const auto precision = static_cast<Element::Name>(i);
        if (precision == Element::d && uplo == Uplo::lower) continue;
        EXPECT_EQ(rule(precision, uplo, n), symv_rule(symv_rules(precision, uplo), n)) << n;
      }
}

TEST(Profile, DamagedSymvRulesAreNamedAndIgnored) {
  for (const std::string bad : {"dsymv_rules",
                                "dsymv_rules 1",
                                "dsymv_rules 1 L",
                                "dsymv_rules L any:strips",
                                "dsymv_rules 2 L any:strips",  // of another version
                                "dsymv_rules 1 X any:strips",  // no triangle
                                "dsymv_rules 1 L 897:strips",  // nothing for large n
                                "dsymv_rules 1 L any:strips any:strips",
                                "dsymv_rules 1 L 900:strips 900:32x32x4x64 any:strips",
                                "dsymv_rules 1 L 1:strips any:strips",
                                "dsymv_rules 1 L -5:strips any:strips",
                                "dsymv_rules 1 L 9e2:strips any:strips",
                                "dsymv_rules 1 L any:stripes",
                                "dsymv_rules 1 L any:strips:tickets",
                                "dsymv_rules 1 L any",
                                "dsymv_rules 1 L any:",
                                "dsymv_rules 1 L any:32x32x4",
                                "dsymv_rules 1 L any:32x32x4x64x1",
                                "dsymv_rules 1 L any:32x32x4x64:parts",
                                "dsymv_rules 1 L any:32x32x4x65",    // does not fit
                                "dsymv_rules 1 L any:32x32x8x64",    // no such kernel
                                "zsymv_rules 1 L any:128x32x8x512",  // not of this precision
                                "dsymv_rules 1 L any:0x0x0x0",
                                "dsymv_rules 1 L built-in any:strips",
                                "xsymv_rules 1 L any:strips"}) {
    const Read r = read(bad + "\nin_rate 2e9\nssymv_rules 1 U any:strips\n");
    EXPECT_EQ(r.problem, bad);
    ASSERT_EQ(lines_of<TunedSymv>(r.profile).size(), 1u) << bad;
    EXPECT_EQ(lines_of<TunedSymv>(r.profile)[0].precision, Element::s);
    EXPECT_EQ(r.profile.in_rate, 2e9);
    EXPECT_EQ(symv_rule(r.profile, Element::d, Uplo::lower, 5000).blocking,
              symv_blocking(Element::d, Uplo::lower, 5000));
  }
  std::string many = "dsymv_rules 1 L";
  for (int i = 2; i < 80; ++i) many += " " + std::to_string(i) + ":strips";
  EXPECT_EQ(read(many + " any:strips").problem, many + " any:strips");
}

TEST(Profile, SymvRulesAreReplacedByWhatTheyAreFor) {
  const std::string before = std::string("wsymv_rules 1 U built-in\n") + symv_line + "\nin_rate 2e9\n";
  EXPECT_EQ(with_lines(before, {}), std::string("in_rate 2e9\n") + symv_line + "\nwsymv_rules 1 U built-in\n");
  EXPECT_EQ(with_lines(before, {{"symv_latency_seconds", 0, 5e-5}}, {},
                       {section_line(TunedSymv{Element::d, Uplo::lower, {}}),
                        section_line(TunedSymv{Element::w, Uplo::lower, {{any_n, {}}}})}),
            "in_rate 2e9\nsymv_latency_seconds 5e-05\ndsymv_rules 1 L built-in\n"
            "wsymv_rules 1 L any:strips\nwsymv_rules 1 U built-in\n");
  // The last of a file holds, over what was there.
  Profile p = read(symv_line).profile;
  std::string problem;
  read_profile_text("dsymv_rules 1 L any:strips\ndsymv_rules 1 L built-in\n", p, problem);
  ASSERT_EQ(lines_of<TunedSymv>(p).size(), 1u);
  EXPECT_TRUE(lines_of<TunedSymv>(p)[0].rules.empty());
}

TEST(Profile, AMissingFileChangesNothing) {
  Profile p = built_in_profile("sm_90");
  std::string problem;
  EXPECT_EQ(read_profile("/nowhere/rates", p, problem), ProfileRead::failed);
  EXPECT_EQ(read_profile("/", p, problem), ProfileRead::failed);
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
    EXPECT_EQ(default_profile_path("NVIDIA H100 80GB HBM3", "cublasLt-130100-sm_90"),
              "/var/cache/me/blaslift/NVIDIA-H100-80GB-HBM3.cublasLt-130100-sm-90.profile");
    EXPECT_EQ(default_profile_path("../../etc/x", "../y"), "/var/cache/me/blaslift/------etc-x.---y.profile");
  }
  for (const char* not_absolute :
       {static_cast<const char*>(nullptr), "", "relative"}) {  // the XDG specification's rule
    const Variable cache("XDG_CACHE_HOME", not_absolute);
    EXPECT_EQ(default_profile_path("host", ""), "/home/me/.cache/blaslift/host.profile");
    const Variable homeless("HOME", nullptr);
    EXPECT_EQ(default_profile_path("host", ""), "");
  }
}

/// One's own before all users'; a file of which nothing holds is as none; what is named is alone.
TEST(Profile, OfAllUsersHoldsForWhoHasNone) {
  namespace fs = std::filesystem;
  const Directory directory;
  const Variable cache("XDG_CACHE_HOME", directory.path().c_str());
  const std::string libraries = (directory.path() / "prefix/lib").string(), site = site_profiles(libraries);
  const fs::path own = default_profile_path("host", ""), sites = fs::path(site) / "host.profile";
  for (const fs::path& path : {fs::path(libraries), own.parent_path(), fs::path(site).lexically_normal()})
    fs::create_directories(path);
  const auto write = [](const fs::path& path, const char* text) { std::ofstream(path) << text; };
  std::string warnings;
  const auto find = [&](const std::string& named, const std::string& folder) {
    Profile p = built_in_profile("host");
    warnings.clear();
    const RatesFile file = find_rates(named, folder, "host", "", p, warnings);
    return std::tuple(file.used, file.unused, p.in_rate);
  };
  const double built_in = built_in_profile("host").in_rate;
  EXPECT_EQ(find("", libraries), std::tuple("", "", built_in));
  write(sites, "in_rate 3\n");
  EXPECT_EQ(find("", libraries), std::tuple(sites.string(), "", 3));
  EXPECT_EQ(find("", ""), std::tuple("", "", built_in));
  write(own, "profile 999\n");
  EXPECT_EQ(find("", libraries), std::tuple(sites.string(), own.string(), 3));
  EXPECT_NE(warnings.find("another version's form"), std::string::npos);
  write(own, "in_rate 4\n");
  EXPECT_EQ(find("", libraries), std::tuple(own.string(), "", 4));
  EXPECT_EQ(find("/nowhere/rates", libraries), std::tuple("", "/nowhere/rates", built_in));
  EXPECT_EQ(warnings, "blaslift: BLASLIFT_PROFILE=/nowhere/rates cannot be read: ignored\n");
}

}  // namespace
}  // namespace blaslift::profile_tests
