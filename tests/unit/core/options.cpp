// The environment: every variable of the table, what it accepts, what it refuses, and that the users' documents know
// it.
#include "impl/core/options.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <vector>

#include "compat/symbols.hpp"

namespace blaslift::options_tests {
namespace {

struct Read {
  Options options;
  std::vector<std::string> warnings;  ///< line by line
};

/// Reads an environment of these settings ("NAME=value").
Read read(std::vector<std::string> settings) {
  std::vector<char*> environment;
  for (std::string& s : settings) environment.push_back(s.data());
  environment.push_back(nullptr);
  std::string text;
  Read r{read_options(environment.data(), text), {}};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) r.warnings.push_back(line);
  return r;
}

/// Every field in words, so that two Options can be compared and a difference read.
std::string to_text(const Options& o) {
  std::ostringstream text;
  text << "on=" << o.on << " backend=" << static_cast<int>(o.backend) << " forced=" << o.forced
       << " eagerness=" << o.eagerness << " yields=" << o.yields << " fixed=" << o.fixed
       << " residency=" << static_cast<int>(o.residency) << " products=" << static_cast<int>(o.products)
       << " levels=" << o.levels << (o.level_list ? o.level_list->name : "") << o.two_streams << o.at_all_levels
       << " estimator=" << static_cast<int>(o.estimator) << " qr_stream=" << o.qr_stream << " systolic=" << o.systolic
       << " devices=" << o.devices << " memory=" << o.memory << " report='" << o.report << "' trace='" << o.trace
       << "' fallback='" << o.fallback << "' profile='" << o.profile << "' counters='" << o.counters
       << "' measure=" << o.measure << " verify=" << o.verify << " oracle='" << o.oracle << "' dump='" << o.verify_dump
       << "'";
  for (const int device : o.named_devices) text << " device=" << device;
  if (o.cutting)
    text << " cutting=" << o.cutting->levels << ':' << o.cutting->tile << ':' << o.cutting->head << ':'
         << o.cutting->residues;
  return text.str();
}

using Forced = Routines;
Forced bit(Routine r) { return Forced().set(static_cast<std::size_t>(r)); }
Forced every_gemm() { return bit(Routine::sgemm) | bit(Routine::dgemm) | bit(Routine::cgemm) | bit(Routine::zgemm); }

/// A value and what it makes of the defaults; no change stands for the default itself.
struct Accepted {
  const char* variable;
  const char* value;
  void (*change)(Options&);
};
constexpr Accepted accepted[] = {
    {"BLASLIFT", "on", [](Options&) {}},
    {"BLASLIFT", "off", [](Options& o) { o.on = false; }},
    {"BLASLIFT_BACKEND", "auto", [](Options&) {}},
    {"BLASLIFT_BACKEND", "cuda", [](Options& o) { o.backend = BackendChoice::cuda; }},
    {"BLASLIFT_BACKEND", "host", [](Options& o) { o.backend = BackendChoice::host; }},
    {"BLASLIFT_FORCE", "all", [](Options& o) { o.forced.set(); }},
    {"BLASLIFT_FORCE", "gemm", [](Options& o) { o.forced = every_gemm(); }},
    {"BLASLIFT_FORCE", "dgemm", [](Options& o) { o.forced = bit(Routine::dgemm); }},
    {"BLASLIFT_FORCE", "sgemm,zgemm", [](Options& o) { o.forced = bit(Routine::sgemm) | bit(Routine::zgemm); }},
    {"BLASLIFT_FORCE", "symv,hemv,dgeqrf",
     [](Options& o) {
       o.forced = bit(Routine::ssymv) | bit(Routine::dsymv) | bit(Routine::csymv) | bit(Routine::zsymv) |
                  bit(Routine::chemv) | bit(Routine::zhemv) | bit(Routine::wsymv) | bit(Routine::dgeqrf);
     }},
    {"BLASLIFT_LEVEL", "1", [](Options& o) { o.eagerness = 1; }},
    {"BLASLIFT_LEVEL", "3", [](Options&) {}},
    {"BLASLIFT_LEVEL", "5", [](Options& o) { o.eagerness = 5; }},
    {"BLASLIFT_YIELD", "off", [](Options&) {}},
    {"BLASLIFT_YIELD", "on", [](Options& o) { o.yields = true; }},
    {"BLASLIFT_DECISION", "learned", [](Options&) {}},
    {"BLASLIFT_DECISION", "fixed", [](Options& o) { o.fixed = true; }},
    {"BLASLIFT_RESIDENCY", "auto", [](Options&) {}},
    {"BLASLIFT_RESIDENCY", "off", [](Options& o) { o.residency = ResidencyMode::off; }},
    {"BLASLIFT_RESIDENCY", "always", [](Options& o) { o.residency = ResidencyMode::always; }},
    {"BLASLIFT_PRODUCTS", "auto", [](Options&) {}},
    {"BLASLIFT_PRODUCTS", "classical", [](Options& o) { o.products = Products::classical; }},
    {"BLASLIFT_PRODUCTS", "levels", [](Options& o) { o.products = Products::levels; }},
    {"BLASLIFT_PRODUCTS", "residues", [](Options& o) { o.products = Products::residues; }},
    {"BLASLIFT_STRASSEN", "auto", [](Options&) {}},
    {"BLASLIFT_STRASSEN", "off", [](Options& o) { o.levels = 0; }},
    {"BLASLIFT_STRASSEN", "1", [](Options& o) { o.levels = 1; }},
    {"BLASLIFT_STRASSEN", "6", [](Options& o) { o.levels = 6; }},
    {"BLASLIFT_STRASSEN", "3:fused", [](Options& o) { o.levels = 3, o.level_list = &strassen::fused(); }},
    {"BLASLIFT_STRASSEN", "4:alternative", [](Options& o) { o.levels = 4, o.level_list = &strassen::alternative(); }},
    {"BLASLIFT_STRASSEN", "2:rum",
     [](Options& o) { o.levels = 2, o.level_list = &strassen::rum(), o.two_streams = false; }},
    {"BLASLIFT_STRASSEN", "1:high_level:1",
     [](Options& o) { o.levels = 1, o.level_list = &strassen::high_level(), o.two_streams = false; }},
    {"BLASLIFT_STRASSEN", "4:rum:2", [](Options& o) { o.levels = 4, o.level_list = &strassen::rum(); }},
    {"BLASLIFT_STRASSEN", "3:rum:all",
     [](Options& o) { o.levels = 3, o.level_list = &strassen::rum(), o.at_all_levels = true; }},
    {"BLASLIFT_STRASSEN", "2:otsuka",
     [](Options& o) { o.levels = 2, o.level_list = &strassen::otsuka(), o.two_streams = false; }},
    {"BLASLIFT_STRASSEN", "2:otsuka_pairs:2",
     [](Options& o) { o.levels = 2, o.level_list = &strassen::otsuka_pairs(); }},
    {"BLASLIFT_STRASSEN", "1:original",
     [](Options& o) { o.levels = 1, o.level_list = &strassen::original(), o.two_streams = false; }},
    {"BLASLIFT_STRASSEN", "1:winograd15:2", [](Options& o) { o.levels = 1, o.level_list = &strassen::winograd15(); }},
    {"BLASLIFT_STRASSEN", "4:fused:1",
     [](Options& o) { o.levels = 4, o.level_list = &strassen::fused(), o.two_streams = false; }},
    {"BLASLIFT_INTERNAL_ESTIMATOR", "ours", [](Options&) {}},
    {"BLASLIFT_INTERNAL_ESTIMATOR", "thesis", [](Options& o) { o.estimator = strassen::Model::thesis; }},
    {"BLASLIFT_INTERNAL_ESTIMATOR", "otsuka", [](Options& o) { o.estimator = strassen::Model::otsuka; }},
    {"BLASLIFT_START", "needed", [](Options&) {}},
    {"BLASLIFT_START", "early", [](Options&) {}},
    {"BLASLIFT_START", "early:1", [](Options&) {}},
    {"BLASLIFT_START", "early:dgesv", [](Options&) {}},
    {"BLASLIFT_START", "early:1:dgesv,gemm", [](Options&) {}},
    {"BLASLIFT_BATCH", "systolic", [](Options& o) { o.systolic = true; }},
    {"BLASLIFT_BATCH", "auto", [](Options&) {}},
    {"BLASLIFT_QR", "bulk", [](Options& o) { o.qr_stream = false; }},
    {"BLASLIFT_QR", "stream", [](Options&) {}},
    {"BLASLIFT_DEVICES", "all", [](Options&) {}},
    {"BLASLIFT_DEVICES", "4", [](Options& o) { o.devices = 4; }},
    {"BLASLIFT_DEVICES", "3,0",
     [](Options& o) {
       o.devices = 2, o.named_devices = {3, 0};
     }},
    {"BLASLIFT_MEMORY", "1", [](Options& o) { o.memory = 1; }},
    {"BLASLIFT_MEMORY", "1073741825", [](Options& o) { o.memory = 1073741825; }},
    {"BLASLIFT_MEMORY", "3K", [](Options& o) { o.memory = 3072; }},
    {"BLASLIFT_MEMORY", "512m", [](Options& o) { o.memory = std::size_t{512} << 20; }},
    {"BLASLIFT_MEMORY", "40G", [](Options& o) { o.memory = std::size_t{40} << 30; }},
    {"BLASLIFT_MEMORY", "8GB", [](Options& o) { o.memory = std::size_t{8} << 30; }},
    {"BLASLIFT_MEMORY", "8GiB", [](Options& o) { o.memory = std::size_t{8} << 30; }},
    {"BLASLIFT_MEMORY", "2T", [](Options& o) { o.memory = std::size_t{2} << 40; }},
    {"BLASLIFT_MEMORY", "17179869183G",
     [](Options& o) { o.memory = std::size_t{17179869183} << 30; }},  // the most there is
    {"BLASLIFT_REPORT", "off", [](Options&) {}},
    {"BLASLIFT_REPORT", "stderr", [](Options& o) { o.report = "stderr"; }},
    {"BLASLIFT_REPORT", "/tmp/report with spaces=.json",
     [](Options& o) { o.report = "/tmp/report with spaces=.json"; }},
    {"BLASLIFT_TRACE", "/tmp/trace", [](Options& o) { o.trace = "/tmp/trace"; }},
    {"BLASLIFT_FALLBACK", "/usr/lib/libblas.so.3", [](Options& o) { o.fallback = "/usr/lib/libblas.so.3"; }},
    {"BLASLIFT_PROFILE", "rates", [](Options& o) { o.profile = "rates"; }},
    {"BLASLIFT_VERIFY", "off", [](Options&) {}},
    {"BLASLIFT_VERIFY", "all", [](Options& o) { o.verify = 1; }},
    {"BLASLIFT_VERIFY", "sample", [](Options& o) { o.verify = 64; }},
    {"BLASLIFT_VERIFY", "sample:1000", [](Options& o) { o.verify = 1000; }},
    {"BLASLIFT_VERIFY_ORACLE", "libblas.so.3", [](Options& o) { o.oracle = "libblas.so.3"; }},
    {"BLASLIFT_VERIFY_DUMP", "/tmp/wrong", [](Options& o) { o.verify_dump = "/tmp/wrong"; }},
    {"BLASLIFT_INTERNAL_COUNTERS", "/tmp/x", [](Options& o) { o.counters = "/tmp/x"; }},
    {"BLASLIFT_INTERNAL_CUTTING", "2:1024:0", [](Options& o) { o.cutting = {.levels = 2, .tile = 1024, .head = 0}; }},
    {"BLASLIFT_INTERNAL_CUTTING", "0:0:0:1", [](Options& o) { o.cutting = {.residues = true}; }},
    {"BLASLIFT_INTERNAL_CUTTING", "0:0:512", [](Options& o) { o.cutting = {.levels = 0, .tile = 0, .head = 512}; }},
    {"BLASLIFT_INTERNAL_MEASURE", "off", [](Options&) {}},
    {"BLASLIFT_INTERNAL_MEASURE", "on", [](Options& o) { o.measure = true; }},
};

constexpr struct {
  const char* variable;
  std::initializer_list<const char*> values;
} refused[] = {
    {"BLASLIFT", {"", "yes", "0", "1", "ON", "on ", "offf"}},
    {"BLASLIFT_BACKEND", {"", "gpu", "CUDA", "hos", "hostt"}},
    {"BLASLIFT_FORCE", {"dgem", "dgemm;sgemm", "dgemm,nothing", "dgemm, sgemm", ",dgemm", "dgemm,,sgemm", "emm", "m"}},
    {"BLASLIFT_LEVEL", {"", "0", "6", "3.0", "03", "33", " 3", "3 ", "-1", "high"}},
    {"BLASLIFT_YIELD", {"", "yes", "1", "On", "offf"}},
    {"BLASLIFT_DECISION", {"", "fix", "learnt", "Fixed"}},
    {"BLASLIFT_RESIDENCY", {"", "on", "Always", "automatic", "offf", "auto "}},
    {"BLASLIFT_STRASSEN",
     {"",      "on",       "0",          "7",        "-1",      "1.5",       "11",          " 1",          "1 ",
      "Auto",  "1:",       "1:strassen", "1:rum:",   "1:rum:3", "1:rum:2:1", "1:rum:all:2", "1:fused:all", "1:lai:all",
      "1:all", "1:rum:al", ":rum",       "auto:rum", "off:rum", "1::2"}},
    {"BLASLIFT_STRASSEN", {"2::all", ":all", "2:otsuka:9", "2:otsuka:all", "1:parallel:all", "3:rum:all:2"}},
    {"BLASLIFT_INTERNAL_ESTIMATOR", {"", "Ours", "li", "thesis ", "0"}},
    {"BLASLIFT_START",
     {"", "Early", "late", "early:", "early:0", "early:-1", "early:x", "early 1", "needed:1", "early:1:", "early:1:x",
      "early:1:2", "early:dgesv:dgemm", "early:dgesv:1", "early:,dgesv", "needed:dgesv"}},
    {"BLASLIFT_BATCH", {"", "Systolic", "systoli", "off", "auto "}},
    {"BLASLIFT_QR", {"", "Bulk", "streams", "0"}},
    {"BLASLIFT_DEVICES",
     {"", "0", "-1", "+2", " 2", "2 ", "All", "all,", "1.5", "99999999999", ",", "0,", ",1", "0,,1", "1,0,1", "0, 1",
      "-1,0", "0,all", "0,99999999999"}},
    {"BLASLIFT_MEMORY",
     {"",
      "0",
      "0G",
      "-1",
      "+1",
      " 1",
      "1 G",
      "1.5G",
      "G",
      "GB",
      "iB",
      "1B",
      "1iB",
      "1Gi",
      "1GiBB",
      "1GBB",
      "1 GB",
      "lots",
      "17179869184G",
      "18446744073709551616",
      "99999999999999999999999"}},
    {"BLASLIFT_REPORT", {""}},
    {"BLASLIFT_TRACE", {""}},
    {"BLASLIFT_FALLBACK", {""}},
    {"BLASLIFT_PROFILE", {""}},
    {"BLASLIFT_VERIFY",
     {"", "on", "1", "sample:", "sample:0", "sample:-1", "sample: 2", "sample:4294967296", "samples", "all:2"}},
    {"BLASLIFT_VERIFY_ORACLE", {""}},
    {"BLASLIFT_VERIFY_DUMP", {""}},
    {"BLASLIFT_INTERNAL_COUNTERS", {""}},
    {"BLASLIFT_INTERNAL_CUTTING",
     {"", "2", "2:1024", "2:1024:0:1", "2:1023:0", "2:0:0", "0:64:0", "7:1280:0", "-1:2:0", "0:0:0:2", "0:0:5:1",
      "1:64:9223372036854775807:1", "9223372036854775807:64:1:1"}},
    {"BLASLIFT_PRODUCTS", {"", "off", "Residues", "residues:7"}},
    {"BLASLIFT_INTERNAL_MEASURE", {"", "yes"}},
};

TEST(Options, AnEarlyStartIsEverybodysOrOneProcesss) {
  const auto early = [](const std::string& value) { return start_of(value.c_str()).value().early; };
  EXPECT_FALSE(early("needed"));
  EXPECT_TRUE(early("early"));
  EXPECT_TRUE(early("early:" + std::to_string(getpid())));
  EXPECT_FALSE(early("early:" + std::to_string(getpid() + 1)));
  EXPECT_FALSE(early("early:" + std::to_string(getpid() + 1) + ":dgesv"));
  EXPECT_FALSE(start_of("earl").has_value());
}

TEST(Options, AnEarlyStartMayNameRoutines) {
  const auto routines = [](const std::string& value) { return start_of(value.c_str()).value().routines; };
  EXPECT_TRUE(routines("early").none());
  EXPECT_TRUE(routines("early:" + std::to_string(getpid())).none());
  Routines some;
  some.set(static_cast<std::size_t>(Routine::dgesv)).set(static_cast<std::size_t>(Routine::zgemm));
  EXPECT_EQ(routines("early:dgesv,zgemm"), some);
  EXPECT_EQ(routines("early:" + std::to_string(getpid()) + ":zgemm,dgesv"), some);
  EXPECT_EQ(routines("early:gemm").count(), 4u);
}

TEST(Options, DefaultsAreWhatTheTableSays) {
  const Read none = read({});
  EXPECT_EQ(none.warnings.size(), 0u);
  EXPECT_EQ(to_text(none.options), to_text(Options{}));
  // Where the default is one of the values, saying it changes nothing.
  int spelled = 0;
  for (const OptionInfo& o : option_table()) {
    if ((", " + std::string(o.values) + ",").find(", " + std::string(o.fallback) + ",") == std::string::npos) continue;
    ++spelled;
    const Read r = read({std::string(o.variable) + "=" + o.fallback});
    EXPECT_EQ(to_text(r.options), to_text(Options{})) << o.variable << "=" << o.fallback;
    EXPECT_EQ(r.warnings.size(), 0u);
  }
  EXPECT_EQ(spelled, 16);
}

TEST(Options, AcceptedValuesSetTheirFieldAlone) {
  for (const Accepted& a : accepted) {
    Options expected;
    a.change(expected);
    const Read r = read({std::string(a.variable) + "=" + a.value});
    EXPECT_EQ(to_text(r.options), to_text(expected)) << a.variable << "=" << a.value;
    EXPECT_TRUE(r.warnings.empty()) << r.warnings.front();
  }
}

TEST(Options, RefusedValuesWarnOnceAndAreIgnored) {
  for (const auto& [variable, values] : refused)
    for (const char* value : values) {
      const std::string setting = std::string(variable) + "=" + value;
      const Read r = read({setting});
      EXPECT_EQ(to_text(r.options), to_text(Options{})) << setting;
      EXPECT_EQ(r.warnings.size(), 1u) << setting;
      if (r.warnings.empty()) continue;
      EXPECT_EQ(r.warnings[0].find("blaslift: " + setting), 0u) << r.warnings[0];
    }
}

TEST(Options, ARefusedValueLeavesOthersAlone) {
  const Read r = read({"BLASLIFT_FORCE=dgemm", "BLASLIFT_MEMORY=much", "BLASLIFT_BACKEND=host", "BLASLIFT=maybe"});
  Options expected;
  expected.forced = bit(Routine::dgemm);
  expected.backend = BackendChoice::host;
  EXPECT_EQ(to_text(r.options), to_text(expected));
  EXPECT_EQ(r.warnings.size(), 2u);
}

TEST(Options, RemembersWhatWaysDependOnAsItWasGiven) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  const Read r =
      read({"BLASLIFT_STRASSEN=2:rum:1", "BLASLIFT_BACKEND=host", "BLASLIFT_QR=bulk", "BLASLIFT_INTERNAL_ESTIMATOR=x"});
  EXPECT_EQ(Pairs(r.options.of_ways.begin(), r.options.of_ways.end()),
            (Pairs{{"BLASLIFT_STRASSEN", "2:rum:1"}, {"BLASLIFT_QR", "bulk"}}));
}

TEST(Options, EveryVariableOfTheTableIsCoveredHere) {
  std::set<std::string> in_table, tried, wrong;
  for (const OptionInfo& o : option_table()) in_table.insert(o.variable);
  for (const Accepted& a : accepted) tried.insert(a.variable);
  for (const auto& r : refused) wrong.insert(r.variable);
  EXPECT_EQ(tried, in_table);
  EXPECT_EQ(wrong, in_table);
}

TEST(Options, UnknownVariablesOfOursWarnAndOthersDoNot) {
  const Read r = read({"BLASLIFT_BAKCEND=host", "BLASLIFT_=1", "BLASLIFTED=off", "NOT_BLASLIFT_FORCE=all",
                       "blaslift=off", "NO_EQUALS_SIGN", "BLASLIFT_FORCE", "BLASLIFT_INTERNAL_MAESURE=on",
                       "BLASLIFT_MEASURE=on", "BLASLIFT_INTERNAL_=on"});
  EXPECT_EQ(to_text(r.options), to_text(Options{}));
  ASSERT_EQ(r.warnings.size(), 5u);
  EXPECT_NE(r.warnings[0].find("BLASLIFT_BAKCEND"), std::string::npos);
  EXPECT_NE(r.warnings[1].find("BLASLIFT_ "), std::string::npos);
  EXPECT_NE(r.warnings[2].find("BLASLIFT_INTERNAL_MAESURE"), std::string::npos);
  EXPECT_NE(r.warnings[3].find("BLASLIFT_MEASURE"), std::string::npos);
  EXPECT_NE(r.warnings[4].find("BLASLIFT_INTERNAL_ "), std::string::npos);
}

TEST(Options, FilesHoldWhereverTheProcessGoes) {
  const std::string here = std::filesystem::current_path().string() + "/";
  const Options o = read({"BLASLIFT_REPORT=r.jsonl", "BLASLIFT_VERIFY_DUMP=./wrong",
                          "BLASLIFT_VERIFY_ORACLE=libblas.so.3", "BLASLIFT_FALLBACK=lib/libblas.so.3"})
                        .options;
  EXPECT_EQ(o.report, here + "r.jsonl");
  EXPECT_EQ(o.verify_dump, here + "./wrong");
  EXPECT_EQ(o.oracle, "libblas.so.3") << "a bare name is the loader's to find";
  EXPECT_EQ(o.fallback, here + "lib/libblas.so.3");
}

/// The names beginning with BLASLIFT in a text; not those behind -D, which are options of the build.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  auto in_name = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
  for (std::size_t at = 0; (at = text.find("BLASLIFT", at)) != std::string::npos;) {
    const std::size_t start = at;
    while (at < text.size() && in_name(text[at])) ++at;
    const bool build_option = start >= 2 && text.compare(start - 2, 2, "-D") == 0;
    if (!build_option && (start == 0 || !in_name(text[start - 1]))) names.insert(text.substr(start, at - start));
  }
  return names;
}

TEST(Options, FourAreInternalAndTheRestForUsers) {
  std::set<std::string> internal;
  bool users_come_first = true;
  for (const OptionInfo& o : option_table())
    if (is_internal(o))
      internal.insert(o.variable);
    else
      users_come_first = users_come_first && internal.empty();
  EXPECT_EQ(internal, (std::set<std::string>{"BLASLIFT_INTERNAL_COUNTERS", "BLASLIFT_INTERNAL_CUTTING",
                                             "BLASLIFT_INTERNAL_ESTIMATOR", "BLASLIFT_INTERNAL_MEASURE"}));
  EXPECT_TRUE(users_come_first);
}

TEST(CommandsPage, NamesEveryVariableOfUsersAndNoOther) {
  std::ifstream file(BLASLIFT_COMMANDS);
  ASSERT_TRUE(file) << BLASLIFT_COMMANDS;
  std::set<std::string> for_users, rows, named;
  for (const OptionInfo& o : option_table())
    if (!is_internal(o)) for_users.insert(o.variable);
  for (std::string line; std::getline(file, line);) {
    named.merge(names_in(line));
    if (line.starts_with("| `BLASLIFT")) rows.merge(names_in(line.substr(0, line.find('|', 1))));
  }
  EXPECT_EQ(rows, for_users) << "the table of the environment";
  EXPECT_EQ(named, for_users) << "names anywhere on the page";
}

}  // namespace
}  // namespace blaslift::options_tests
