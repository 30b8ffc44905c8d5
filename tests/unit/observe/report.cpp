// Summaries: that text and JSON say what the counters hold.
#include "impl/observe/report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compat/shown.hpp"
#include "tests/unit/support/temporary.hpp"

namespace blaslift::report_tests {
namespace {

using namespace temporary;
using nlohmann::json;

std::atomic<std::uint64_t>& stayed(Counters& c, Routine r, Reason reason) {
  return c.routines[static_cast<int>(r)].stayed[static_cast<int>(reason)];
}

/// A process that called dgemm 12 times (2 routed, 10 for three reasons, 4 of them on the forwarding path) and dgeqrf 3
/// times.
std::unique_ptr<Counters> a_process(const char* device = "NVIDIA H100 80GB HBM3",
                                    const char* driver = "CUDA 13.0, cuBLASLt 130001") {
  auto c = std::make_unique<Counters>();
  c->pid = 4711;
  c->user = 1000;
  c->started_ns = 1795910735123456789;
  c->now_ns = 2000000000;
  c->last_ns = 5250000000;
  c->host.set("node-7");
  c->rank.set("3");
  c->reported = 1;
  c->forwarded_reason = Reason::small;
  std::strcpy(c->command, "legacy_app");
  c->backend.set("cuda");
  c->residency.set("on");
  c->device.set(device);
  c->driver.set(driver);
  c->library.set("/usr/lib/libblas.so.3");
  c->library_found_by.set("the caller's own libraries");
  RoutineCounters& dgemm = c->routines[static_cast<int>(Routine::dgemm)];
  dgemm.routed = 2;
  dgemm.stayed_ns[static_cast<int>(Reason::transfers)] = 1500000000;
  dgemm.device_ns = 250000000;
  dgemm.saved_ns = -125000000;
  dgemm.bytes_in = 3000000000;
  dgemm.bytes_out = 999;
  dgemm.bytes_spared = 2500000;
  dgemm.levels[1] = 1;
  dgemm.distrusted = 1;
  stayed(*c, Routine::dgemm, Reason::transfers) = 5;
  stayed(*c, Routine::dgemm, Reason::failed) = 1;
  c->threads = 4;
  c->slots[3].forwarded[static_cast<int>(Routine::dgemm)] = 3;
  c->slots[thread_slots].forwarded[static_cast<int>(Routine::dgemm)] = 1;
  c->slots[0].forwarded[static_cast<int>(Routine::dgeqrf)] = 2;
  stayed(*c, Routine::dgeqrf, Reason::query) = 1;
  c->slots[0].forwarded[routine_count] = 99;  // twins: in no sum
  return c;
}

TEST(Text, IsShownWithoutWhatTerminalsObey) {
  EXPECT_EQ(shown("a solver's \"name\" \\ at 100 %"), "a solver's \"name\" \\ at 100 %");
  EXPECT_EQ(shown("gr\u00fc\u00dfe \u2026 \U0001f600"), "gr\u00fc\u00dfe \u2026 \U0001f600");
  EXPECT_EQ(shown("\x1b]0;t\a\n\r\t\x7f"), "\\x1b]0;t\\x07\\x0a\\x0d\\x09\\x7f");
  EXPECT_EQ(shown("\u009b1m \u202e \u2066"), "\\xc2\\x9b1m \\xe2\\x80\\xae \\xe2\\x81\\xa6");
  EXPECT_EQ(shown("\xff\xc2"), "\\xff\\xc2");
  EXPECT_EQ(shown(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(shown_lines("one\ntwo\x1b\n"), "one\ntwo\\x1b\n");
}

TEST(Counters, OutOfAFileAreFitToBeRead) {
  auto c = std::make_unique<Counters>();
  std::memset(static_cast<void*>(c.get()), 0xff, sizeof *c);
  check_counters(*c);
  Summary s;
  s.add(*c);
  EXPECT_TRUE(json::accept(to_json(s, c.get())));
  EXPECT_TRUE(s.worst.empty());
  std::memset(static_cast<void*>(c.get()), 1, sizeof *c);
  c->worst[0].routine = static_cast<Routine>(routine_count);
  check_counters(*c);
  Summary other;
  other.add(*c);
  EXPECT_EQ(other.worst.size(), most_noted_calls - 1);
  EXPECT_LT(other.worst[0].arguments.size(), sizeof c->worst[0].arguments);
}

Summary summary_of(std::initializer_list<const Counters*> processes) {
  Summary s;
  for (const Counters* c : processes) s.add(*c);
  return s;
}

TEST(Summary, AddsUpProcesses) {
  const auto one = a_process();
  one->opening_ns = 500000000;
  one->threads = 4;
  const Summary s = summary_of({one.get(), one.get()});
  EXPECT_EQ(s.processes, 2);
  EXPECT_EQ(s.calls(), 30u);
  const auto& dgemm = s.routines[static_cast<int>(Routine::dgemm)];
  EXPECT_EQ(dgemm.calls(), 24u);
  EXPECT_EQ(dgemm.routed, 4u);
  EXPECT_EQ(dgemm.stayed_calls(), 20u);
  EXPECT_EQ(dgemm.stayed[static_cast<int>(Reason::small)], 8u) << "forwarded calls have their process's reason";
  EXPECT_EQ(dgemm.stayed[static_cast<int>(Reason::transfers)], 10u);
  EXPECT_DOUBLE_EQ(dgemm.cpu_seconds, 3);
  EXPECT_DOUBLE_EQ(dgemm.stayed_seconds[static_cast<int>(Reason::transfers)], 3);
  EXPECT_DOUBLE_EQ(s.opening_seconds, 1);
  EXPECT_EQ(s.threads, 4u) << "of one process";
  EXPECT_DOUBLE_EQ(dgemm.device_seconds, 0.5);
  EXPECT_DOUBLE_EQ(dgemm.saved_seconds, -0.25);
  EXPECT_EQ(dgemm.bytes_in, 6e9);
  EXPECT_EQ(dgemm.bytes_spared, 5e6);
  EXPECT_EQ(dgemm.levels[1], 2u);
  EXPECT_EQ(dgemm.levels[0], 0u);
  EXPECT_EQ(dgemm.distrusted, 2u);
  EXPECT_EQ(s.residency, "on");
  EXPECT_EQ(s.routines[static_cast<int>(Routine::dgeqrf)].stayed[static_cast<int>(Reason::small)], 4u);
}

TEST(Summary, LeavesOutProcessesWithoutCalls) {
  auto idle = std::make_unique<Counters>();
  idle->detail.set("no GPU");
  const auto busy = a_process();
  const Summary s = summary_of({idle.get(), busy.get()});
  EXPECT_EQ(s.processes, 1);
  EXPECT_TRUE(s.details.empty());
}

TEST(Summary, NamesEachDetailAndWarningOnce) {
  const auto first = a_process(), second = a_process("another", "another's"), third = a_process();
  first->detail.set("lost");
  second->detail.set("no GPU");
  third->detail.set("lost");
  first->warning.set("TF32");
  third->warning.set("TF32");
  const Summary s = summary_of({first.get(), second.get(), third.get()});
  EXPECT_EQ(s.details, (std::vector<std::string>{"lost", "no GPU"}));
  EXPECT_EQ(s.warnings, (std::vector<std::string>{"TF32"}));
  EXPECT_EQ(s.device, "NVIDIA H100 80GB HBM3") << "the first process's";
  EXPECT_EQ(s.driver, "CUDA 13.0, cuBLASLt 130001");
}

TEST(Text, SaysEverythingInAFewLines) {
  const auto c = a_process();
  c->detail.set("it was lost");
  c->warning.set("a switch");
  EXPECT_EQ(to_text(summary_of({c.get()})),
            "blaslift: NVIDIA H100 80GB HBM3 (cuda)\n"
            "blaslift: it was lost\n"
            "blaslift: warning: a switch\n"
            "blaslift: dgemm   12 calls; 2 on the device: 0.250 s, 3.00 GB in (2.50 MB spared), 999 B out, 1 by 2 "
            "levels, 1 badly scaled; 10 on the "
            "CPU: 1.500 s, too "
            "small 4, "
            "transfers cost more than they save 5, device failed, finished on the CPU 1\n"
            "blaslift: dgeqrf  3 calls; 3 on the CPU: too small 2, workspace query 1\n");
}

TEST(Text, SaysWhyNothingIsKeptUnlessTheUserWantsThat) {
  const struct {
    const char* state;
    const char* line;
  } cases[] = {{"on", ""},
               {"", ""},
               {"off: switched off", ""},
               {"off: the kernel is older than Linux 6.7",
                "blaslift: operands are sent again in every call: the kernel is older than Linux 6.7\n"}};
  for (const auto& c : cases) {
    const auto plain = a_process();
    Summary s = summary_of({plain.get()});
    s.residency = "";
    const std::string without = to_text(s);
    s.residency = c.state;
    const std::string with = to_text(s), first = without.substr(0, without.find('\n') + 1);
    EXPECT_EQ(with, first + c.line + without.substr(first.size()));
  }
}

TEST(Text, LeavesOutWhatWasNotSpared) {
  const auto c = a_process();
  c->routines[static_cast<int>(Routine::dgemm)].bytes_spared = 0;
  const std::string text = to_text(summary_of({c.get()}));
  EXPECT_EQ(text.find("spared"), std::string::npos) << text;
  EXPECT_NE(text.find("3.00 GB in, 999 B out"), std::string::npos) << text;
}

TEST(Summary, HasTheFirstProcessesResidencyThatOpenedADevice) {
  const auto without = a_process(), off = a_process(), on = a_process();
  // a_process() says "on", and a note is written but once.
  auto set = [](Counters& c, const char* text) {
    auto fresh = std::make_unique<Counters>();
    fresh->residency.set(text);
    std::memcpy(static_cast<void*>(&c.residency), static_cast<const void*>(&fresh->residency), sizeof c.residency);
  };
  set(*without, "");
  set(*off, "off: not here");
  EXPECT_EQ(summary_of({without.get(), off.get(), on.get()}).residency, "off: not here");
  EXPECT_EQ(summary_of({on.get(), off.get()}).residency, "on");
  EXPECT_EQ(summary_of({without.get()}).residency, "");
}

TEST(Text, EveryLineIsSigned) {
  const auto c = a_process();
  for (const auto& s : {Summary{}, summary_of({c.get()}), summary_of({c.get(), c.get()})}) {
    std::istringstream lines(to_text(s));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_EQ(line.find("blaslift: "), 0u) << line;
    EXPECT_GT(count, 0);
  }
  EXPECT_EQ(to_text(Summary{}),
            "blaslift: no call to a routine that blaslift intercepts; blaslift doctor may say why\n");
  EXPECT_NE(to_text(summary_of({c.get(), c.get()})).find("2 processes"), std::string::npos);
}

TEST(Text, WhatWasNotCountedIsNoAbsenceOfCalls) {
  Summary none;
  none.uncounted.push_back("calls of 1 process were not counted: because");
  EXPECT_EQ(to_text(none), "blaslift: calls of 1 process were not counted: because\n");
  EXPECT_EQ(json::parse(to_json(none))["uncounted"][0], none.uncounted[0]);
  const auto c = a_process();
  Summary some = summary_of({c.get()});
  EXPECT_FALSE(json::parse(to_json(some)).contains("uncounted"));
  some.uncounted = none.uncounted;
  EXPECT_NE(to_text(some).find("\nblaslift: calls of 1 process were not counted: because\n"), std::string::npos);
  c->incomplete.set("there is no trace of a process: because");
  EXPECT_NE(to_text(summary_of({c.get()})).find("there is no trace"), std::string::npos);
}

TEST(Json, HoldsTheCountersNumbers) {
  const auto c = a_process();
  c->detail.set("none");
  c->warning.set("switch");
  c->library_wide = 1;
  c->opening_ns = 500000000;
  const json j = json::parse(to_json(summary_of({c.get()}), c.get()));
  EXPECT_EQ(j, json::parse(R"({
    "pid": 4711, "host": "node-7", "uid": 1000, "rank": "3", "first_call": "2026-11-29T00:05:35Z", "seconds": 3.25, "command": "legacy_app", "library": "/usr/lib/libblas.so.3", "found_by": "the caller's own libraries",
    "integers": 64, "processes": 1, "backend": "cuda", "device": "NVIDIA H100 80GB HBM3",
    "driver": "CUDA 13.0, cuBLASLt 130001", "detail": "none", "residency": "on", "blind": "", "warning": "switch", "opening_seconds": 0.5,
    "routines": {
      "dgemm": {"calls": 12, "routed": 2, "cpu_seconds": 1.5, "device_seconds": 0.25, "saved_seconds": -0.125, "bytes_in": 3000000000,
                "bytes_out": 999, "bytes_spared": 2500000, "bytes_exchanged": 0, "levels": {"2": 1}, "dealt": 0, "residues": 0, "systolic": 0, "distrusted": 1, "stayed": {"too small": 4, "transfers cost more than they save": 5,
                                             "device failed, finished on the CPU": 1},
                "stayed_seconds": {"transfers cost more than they save": 1.5}},
      "dgeqrf": {"calls": 3, "routed": 0, "cpu_seconds": 0, "device_seconds": 0, "saved_seconds": 0, "bytes_in": 0, "bytes_out": 0,
                "bytes_spared": 0, "bytes_exchanged": 0, "levels": {}, "dealt": 0, "residues": 0, "systolic": 0, "distrusted": 0, "stayed": {"too small": 2, "workspace query": 1}, "stayed_seconds": {}}}})"));
}

/// The same after verification: ten calls checked, one of them wrong in two ways.
std::unique_ptr<Counters> a_verified_process() {
  auto c = a_process();
  CheckCounters& dgemm = c->checks[static_cast<int>(Routine::dgemm)];
  dgemm.checked = 10;
  dgemm.repeated = 9;
  dgemm.wrong = 1;
  dgemm.found[static_cast<int>(Finding::over)] = 1;
  dgemm.found[static_cast<int>(Finding::outside)] = 1;
  dgemm.unchecked[static_cast<int>(Unchecked::memory)] = 2;
  c->checks[static_cast<int>(Routine::dgeqrf)].checked = 1;
  const auto note = [&](int at, Routine routine, unsigned findings, double ratio, const char* dump) {
    NotedCall& call = c->worst[at];
    call.routine = routine;
    call.findings = static_cast<std::uint8_t>(findings);
    call.ratio = ratio;
    call.limit = 8;
    call.calls = 3;
    std::strcpy(call.arguments, "m=4 n=5");
    std::strcpy(call.caller, "a \"place\"+0x12");
    std::strcpy(call.dump, dump);
    call.complete = 1;
  };
  note(5, Routine::dgeqrf, 0, 2, "");
  note(2, Routine::dgemm, bit(Finding::over) | bit(Finding::outside), HUGE_VAL, "/tmp/x.call");
  c->worst[3].ratio = 1e9;  // being written
  return c;
}

TEST(Text, SaysWhatVerificationFound) {
  const auto c = a_verified_process();
  c->verify_problem.set("no space");
  const std::string text = to_text(summary_of({c.get()}));
  for (const char* line :
       {"blaslift: dgemm   10 calls checked, 9 repeated: 1 wrong: 1 over its bound, 1 written outside the output; not "
        "checked: 2 no memory for copies\n",
        "blaslift: dgeqrf  1 call checked, 0 repeated: none wrong\n",
        "blaslift: wrong: dgemm m=4 n=5: ratio inf of at most 8, over its bound, written outside the output, called "
        "from "
        "a \"place\"+0x12, with 2 others like it, kept in /tmp/x.call\n"
        "blaslift: worst: dgeqrf m=4 n=5: ratio 2 of at most 8, called from a \"place\"+0x12, with 2 others like it\n",
        "blaslift: verification: no space\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  EXPECT_EQ(to_text(summary_of({a_process().get()})).find("checked"), std::string::npos);
}

TEST(Json, SaysWhatVerificationFound) {
  const auto c = a_verified_process(), other = a_verified_process();
  const json j = json::parse(to_json(summary_of({c.get(), other.get()})));
  EXPECT_EQ(j["routines"]["dgemm"]["verified"], json::parse(R"({"checked": 20, "repeated": 18, "wrong": 2,
    "found": {"over its bound": 2, "written outside the output": 2}, "unchecked": {"no memory for copies": 4}})"));
  ASSERT_EQ(j["worst"].size(), 4u) << "of both processes, but for what is not complete";
  EXPECT_EQ(j["worst"][0], j["worst"][1]);
  EXPECT_EQ(j["worst"][0]["routine"], "dgemm");
  EXPECT_EQ(j["worst"][0]["found"], json::parse(R"(["over its bound", "written outside the output"])"));
  EXPECT_GT(j["worst"][0]["ratio"], 1e308) << "JSON has no infinity";
  EXPECT_EQ(j["worst"][3]["calls"], 3);
  EXPECT_EQ(j["problems"], json::array());
}

TEST(Json, OfATreeNamesNoProcess) {
  const auto c = a_process();
  const json j = json::parse(to_json(summary_of({c.get(), c.get()})));
  EXPECT_EQ(j.count("pid"), 0u);
  EXPECT_EQ(j["processes"], 2);
  EXPECT_EQ(j["routines"]["dgemm"]["calls"], 24);
  EXPECT_TRUE(json::parse(to_json(Summary{}))["routines"].empty());
}

TEST(Json, EveryRoutineAndReasonAndTheLargestCounts) {
  auto c = std::make_unique<Counters>();
  constexpr std::uint64_t many = (std::uint64_t{1} << 53) - 1;  // the largest that JSON's readers agree on
  for (int r = 0; r < routine_count; ++r) {
    c->routines[r].bytes_in = many;
    for (int reason = 0; reason < reason_count; ++reason)
      c->routines[r].stayed[reason] = many / 1000 - static_cast<std::uint64_t>(reason);
  }
  const json j = json::parse(to_json(summary_of({c.get()}), c.get()));
  ASSERT_EQ(j["routines"].size(), static_cast<std::size_t>(routine_count));
  for (const char* name : routine_names) {
    const json& routine = j["routines"][name];
    EXPECT_EQ(routine["bytes_in"].get<double>(), static_cast<double>(many));
    ASSERT_EQ(routine["stayed"].size(), static_cast<std::size_t>(reason_count));
    for (int reason = 0; reason < reason_count; ++reason)
      EXPECT_EQ(routine["stayed"][text_of(static_cast<Reason>(reason))],
                many / 1000 - static_cast<std::uint64_t>(reason));
  }
}

TEST(Json, IsValidWhateverProgramsAreCalled) {
  // The kernel cuts a program's name at 15 bytes, through a character if need be; Linux file names need not be UTF-8.
  for (const char* name :
       {"a \"quoted\" one", "back\\slash", "tab\tnewline\n", "\x01\x1f\x7f",
        "gr\xc3\xb6\xc3\x9f"
        "e",
        "berechnungsgr\xc3", "latin-1 \xe4", "\xff\xfe", "\xed\xa0\x80 surrogate", "\xf0\x9f\x9a\x80"}) {
    const auto c = a_process();
    std::snprintf(c->command, sizeof c->command, "%s", name);
    c->detail.set(name);
    const std::string text = to_json(summary_of({c.get()}), c.get());
    const json j = json::parse(text, nullptr, false);
    ASSERT_FALSE(j.is_discarded()) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0) << "one line";
    const json expected = json::parse(json(name).dump(-1, ' ', false, json::error_handler_t::replace));
    if (expected.get<std::string>() == name) {  // valid names arrive as they are
      EXPECT_EQ(j["command"], name);
      EXPECT_EQ(j["detail"], name);
    }
  }
}

TEST(Json, DoesNotDependOnTheProgramsLocale) {
  const auto c = a_process();
  const std::string text = to_json(summary_of({c.get()}), c.get());
  const DecimalComma locale;
  if (!locale.there()) GTEST_SKIP() << "no locale with a decimal comma can be had here";
  EXPECT_EQ(to_json(summary_of({c.get()}), c.get()), text);
}

/// Whether it came to its exit, and what its launcher called it.
TEST(Json, SaysWhereAProcessEnded) {
  const auto c = a_process();
  c->reported = 0;
  c->job.set("4711.node");
  c->blind.set("the process has opened /dev/infiniband/uverbs0");
  const json j = json::parse(to_json(summary_of({c.get()}), c.get()));
  EXPECT_EQ(j["cut_short"], true);
  EXPECT_EQ(j["job"], "4711.node");
  EXPECT_EQ(j["blind"], "the process has opened /dev/infiniband/uverbs0");
  EXPECT_NE(to_text(summary_of({c.get()})).find("what writes to operands could not be seen: the process has opened"),
            std::string::npos);
}

TEST(Report, AppendsALineForEachProcess) {
  const Directory directory;
  const std::string path = directory.path() / "report.json";
  const auto first = a_process(), second = a_process();
  second->pid = 4712;
  write_report(*first, path);
  write_report(*second, path);
  std::ifstream file(path);
  std::vector<int> pids;
  for (std::string line; std::getline(file, line);) pids.push_back(json::parse(line)["pid"]);
  EXPECT_EQ(pids, (std::vector<int>{4711, 4712}));
}

TEST(Report, GoesToStderrAsText) {
  const auto c = a_process();
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  write_report(*c, "stderr");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), to_text(summary_of({c.get()})));
}

TEST(Report, SaysWhereItCouldNotBeWritten) {
  const auto c = a_process();
  testing::internal::CaptureStderr();
  write_report(*c, "/nowhere/report.json");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find("/nowhere/report.json"), std::string::npos) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

}  // namespace
}  // namespace blaslift::report_tests
