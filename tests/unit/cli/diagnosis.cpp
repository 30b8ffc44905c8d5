#include "tools/cli/doctor/diagnosis.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace blaslift::cli::diagnosis_tests {
namespace {

using Json = nlohmann::ordered_json;

TEST(Diagnosis, AsJsonHasAllThatIsKnownInItsOrder) {
  Diagnosis d{.program = "a program", .path = "/a/program", .verdict = Verdict::partly};
  d.findings = {{"linked", Finding::Effect::good, "/a/program", {"dgemm_", "dsymv_"}, "What.", ""},
                {"note", Finding::Effect::note, "", {}, "Else.", "Advice."}};
  const auto expected = Json::parse(R"({"program": "a program", "path": "/a/program", "verdict": "partly intercepted",
      "status": 2, "findings": [
        {"kind": "linked", "effect": "good", "object": "/a/program", "names": ["dgemm_", "dsymv_"], "what": "What.",
         "advice": ""},
        {"kind": "note", "effect": "note", "object": "", "names": [], "what": "Else.", "advice": "Advice."}],
      "run": null})");
  EXPECT_EQ(Json::parse(to_json(d)).dump(), expected.dump());
  d.findings.clear();
  d.ran = true;
  d.summary.processes = 3;
  d.summary.routines[0].routed = 5;
  const auto run = Json::parse(to_json(d));
  EXPECT_EQ(run["findings"], Json::array());
  EXPECT_EQ(run["run"], Json::parse(to_json(d.summary)));
  EXPECT_EQ(run["run"]["processes"], 3);
}

TEST(Diagnosis, AsJsonIsValidWhateverFilesAreCalled) {
  for (const char* name : {"latin-1 \xe4", "cut\xc3", "\xff\xfe", "\xed\xa0\x80 surrogate", "\xf0\x9f",
                           "\x01\x1b[31m\x7f", "tab\t newline\n", "\"\\", "\xe2\x80\xae turned",
                           "gr\xc3\xb6\xc3\x9f"
                           "e"}) {
    Diagnosis d{.program = name, .path = name};
    d.findings = {{"kind", Finding::Effect::maybe, name, {name}, name, name}};
    d.ran = true;
    d.summary.device = name;
    d.summary.worst.push_back({.routine = "dgemm", .arguments = name, .caller = name});
    const std::string text = to_json(d);
    for (const char c : text) ASSERT_TRUE(c >= ' ' && c < 0x7f) << "terminals obey nothing else: " << text;
    const auto read = Json::parse(text, nullptr, false);
    ASSERT_FALSE(read.is_discarded()) << text;
    const std::string expected =
        Json::parse(Json(name).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
    EXPECT_EQ(read["program"], expected);
    EXPECT_EQ(read["findings"][0]["names"][0], expected);
    if (expected == name) {
      EXPECT_EQ(read["run"]["device"], name);
    }
  }
}

}  // namespace
}  // namespace blaslift::cli::diagnosis_tests
