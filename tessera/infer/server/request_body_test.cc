#include "tessera/infer/server/request_body.h"

#include <gtest/gtest.h>

#include <limits>

#include "tessera/infer/server/api_error.h"

namespace tessera::server {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_body(text);
  } catch (const ApiError& e) {
    return e.message();
  }
  return "";
}

TEST(RequestBody, IsAnObjectOfUtf8) {
  EXPECT_EQ(refusal("[]"), "The body must be a JSON object");
  EXPECT_EQ(refusal("{\"a\": \"\xff\"}"), "The body is not UTF-8 at byte 7");
  EXPECT_TRUE(refusal("{").starts_with("The body is not JSON: "));
  EXPECT_TRUE(refusal("{\"a\": 1, \"a\": 2}").starts_with("The body is not JSON: "));
}

TEST(RequestBody, NestsSixtyFourDeepAndNoDeeper) {
  const auto nested = [](std::size_t lists) {
    return "{\"a\":" + std::string(lists, '[') + std::string(lists, ']') + "}";
  };
  EXPECT_EQ(refusal(nested(63)), "");
  EXPECT_EQ(refusal(nested(64)), "The body nests deeper than 64");
  EXPECT_EQ(refusal("{\"a\": \"" + std::string(100, '[') + "\"}"), "");
}

TEST(RequestBody, KeepsNumbersBeyondF64WithinIt) {
  const Json body = parse_body(R"({"a": 1e400, "b": -1e400, "c": 1e-400, "d": "1e400 \" 1e400", "e": [12, 1E+999]})");
  constexpr double kLargest = std::numeric_limits<double>::max();
  EXPECT_EQ(body.find("a")->as_double(), kLargest);
  EXPECT_EQ(body.find("b")->as_double(), -kLargest);
  EXPECT_EQ(body.find("c")->as_double(), 0);
  EXPECT_EQ(body.find("d")->as_string(), "1e400 \" 1e400");
  EXPECT_EQ(body.find("e")->as_array()[1].as_double(), kLargest);
  EXPECT_FALSE(body.find("a")->is_integer());
  EXPECT_NE(refusal(R"({"a": 1e400e1})"), "");
}

}  // namespace
}  // namespace tessera::server
