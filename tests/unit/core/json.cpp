#include "impl/core/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace blaslift::json_tests {
namespace {

TEST(JsonObject, HasItsMembersInTheirOrder) {
  EXPECT_EQ(json_of(JsonObject()), "{}");
  EXPECT_EQ(json_of(JsonArray()), "[]");
  const std::vector<std::string> texts{"x", "y"};
  const JsonObject object = JsonObject()
                                .add("b", 1)
                                .add("a", std::string("two"))
                                .add("array", JsonArray(texts).add(3))
                                .add("object", JsonObject().add("empty", JsonArray()))
                                .add("most", std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json_of(object),
            R"({"b": 1, "a": "two", "array": ["x", "y", 3], "object": {"empty": []}, "most": 18446744073709551615})");
}

TEST(JsonObject, QuotesNamesAndTextsWhateverTheyAre) {
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const std::string text = json_of(JsonObject().add(bytes, bytes).add("two\"", "\xe2\x80\xae\x1b[31m"));
  for (const char c : text) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << text;
  EXPECT_EQ(text.find("\xe2\x80\xae"), text.npos) << "it would turn what stands behind it";
  const auto read = nlohmann::json::parse(text);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read["two\""], "\xe2\x80\xae\x1b[31m");
}

TEST(JsonNumber, IsOneForEveryReader) {
  EXPECT_EQ(json_of(JsonNumber{0.1}), "0.10000000000000001");
  EXPECT_EQ(json_of(JsonNumber{1.0 / 3, 6}), "0.333333");
  EXPECT_EQ(json_of(JsonNumber{9007199254740991.0}), "9007199254740991");
  EXPECT_EQ(json_of(JsonNumber{std::nan("")}), "null");
  for (const double infinite : {HUGE_VAL, -HUGE_VAL}) {
    const auto read = nlohmann::json::parse(json_of(JsonNumber{infinite}));
    EXPECT_EQ(read.get<double>(), std::copysign(std::numeric_limits<double>::max(), infinite));
  }
}

}  // namespace
}  // namespace blaslift::json_tests
