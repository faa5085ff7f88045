#include "tessera/base/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"

namespace tessera {
namespace {

std::string fault(std::string_view text, const JsonLimits& limits = {}) {
  try {
    parse_json(text, limits);
  } catch (const Error& e) {
    return std::string(errc_name(e.code())) + ": " + e.message();
  }
  return "none";
}

std::string yaml_fault(std::string_view text) {
  try {
    parse_yaml(text);
  } catch (const Error& e) {
    return std::string(errc_name(e.code())) + ": " + e.message();
  }
  return "none";
}

TEST(Json, KeepsOrderAndTypes) {
  const Json j = parse_json(R"({"b":1,"a":[true,null,-2,18446744073709551615,1.5,"x"]})");
  ASSERT_EQ(j.as_object().size(), 2u);
  EXPECT_EQ(j.as_object()[0].first, "b");
  const JsonArray& a = j.find("a")->as_array();
  EXPECT_TRUE(a[0].as_bool());
  EXPECT_TRUE(a[1].is_null());
  EXPECT_EQ(a[2].as_int64(), -2);
  EXPECT_EQ(a[3].as_uint64(), 18446744073709551615u);
  EXPECT_EQ(a[4].as_double(), 1.5);
  EXPECT_FALSE(a[4].is_integer());
  EXPECT_EQ(a[5].as_string(), "x");
}

TEST(Json, OneNumberHasOneForm) {
  EXPECT_EQ(Json(std::uint64_t{5}), Json(5));
  EXPECT_EQ(parse_json("5"), Json(std::uint64_t{5}));
}

TEST(Json, FindLooksInsideAndAbsenceIsNull) {
  const Json j = parse_json(R"({"a":{"b":{"c":3}}})");
  EXPECT_EQ(j.find("a", "b", "c")->as_int64(), 3);
  EXPECT_EQ(j.find("a", "x", "c"), nullptr);
  EXPECT_EQ(j.find("a", "b", "c", "d"), nullptr);
  EXPECT_EQ(j.string_or("a", "none"), "none");
}

TEST(Json, DumpReadsBackEqual) {
  const std::string text =
      R"({"a":[1,-1,1.0,0.1,1e-05,1e+300,18446744073709551615],"s":"\"\\\n\u0001é","e":{},"l":[]})";
  const Json j = parse_json(text);
  EXPECT_EQ(parse_json(j.dump()), j);
  EXPECT_EQ(parse_json(j.dump(2)), j);
  EXPECT_EQ(j.dump(), text);
  EXPECT_EQ(parse_json(R"({"a":[1,{}]})").dump(2), "{\n  \"a\": [\n    1,\n    {}\n  ]\n}");
}

TEST(Json, DumpIsValidWhateverTheValueHolds) {
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(std::string("a\xff\xfe")).dump(), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Json, SetAndEraseKeepTheOthers) {
  Json j;
  j.set("a", 1);
  j.set("b", 2);
  j.set("a", 3);
  EXPECT_EQ(j.dump(), R"({"a":3,"b":2})");
  j.erase("a");
  EXPECT_EQ(j.dump(), R"({"b":2})");
}

TEST(Json, RefusalsAreSentences) {
  EXPECT_EQ(fault(R"({"a":1,"a":2})"), "corrupt: the key 'a' stands twice in one JSON object");
  EXPECT_EQ(fault("[1,\n  x]").substr(0, 43), "corrupt: malformed JSON at line 2, column 3");
  EXPECT_EQ(fault(std::string(65, '[') + std::string(65, ']')), "corrupt: JSON is nested more than 64 levels deep");
  EXPECT_EQ(fault(std::string(64, '[') + std::string(64, ']')), "none");
  EXPECT_EQ(fault(" 1", {.ascii_space_around = false}), "corrupt: white space stands around the JSON value");
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\"}", "01", "1 2", "NaN", "1e999", "\"\\ud800\"", "\"\xff\"", "'a'", "// c\n1"})
    EXPECT_EQ(fault(bad).substr(0, 8), "corrupt:") << bad;
}

TEST(Json, DeepTextIsRefusedBeforeItCosts) {
  EXPECT_EQ(fault(std::string(10'000'000, '[')), "corrupt: JSON is nested more than 64 levels deep");
}

TEST(Json, WrongKindsNameWhatIsThere) {
  const Json j = parse_json(R"({"a":"x","b":-1})");
  try {
    j.find("a")->as_int64();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "an integer below 2^63 is expected, and a string is there: \"x\"");
  }
  EXPECT_THROW(j.find("b")->as_uint64(), Error);
}

TEST(Yaml, TypesPlainScalarsByTheCoreRules) {
  const Json j = parse_yaml(R"(
a: 1
b: -0x10
c: 0x10
d: 0o17
e: 1.5e3
f: .5
g: .inf
h: yes
i: "1"
j: true
k: ~
l:
m: 1e-5
n: !!str 12
o: [1, two, {three: 3.}]
"17": x
p: 08
)");
  EXPECT_EQ(j.dump(),
            R"({"a":1,"b":"-0x10","c":16,"d":15,"e":1500.0,"f":0.5,"g":null,"h":"yes","i":"1","j":true,"k":null,)"
            R"("l":null,"m":1e-05,"n":"12","o":[1,"two",{"three":3.0}],"17":"x","p":8})");
  EXPECT_TRUE(parse_yaml("").is_null());
  EXPECT_EQ(parse_yaml("a: &x [1]\nb: *x").dump(), R"({"a":[1],"b":[1]})");
}

TEST(Yaml, RefusalsNameTheLine) {
  EXPECT_EQ(yaml_fault("a: 1\nb: 2\na: 3\n"), "invalid: line 3: the key 'a' stands here and on line 1");
  EXPECT_EQ(yaml_fault("a: 1\n---\nb: 2\n").substr(0, 14), "invalid: line ");
  EXPECT_EQ(yaml_fault("a: [1\nb: 2\n").substr(0, 14), "invalid: line ");
  EXPECT_EQ(yaml_fault("a: !python/object 1").substr(0, 15), "invalid: line 1");
  EXPECT_EQ(yaml_fault("? [a]\n: 1").substr(0, 15), "invalid: line 1");
  EXPECT_EQ(yaml_fault("a: 123456789012345678901").substr(0, 15), "invalid: line 1");
  EXPECT_EQ(yaml_fault("a: \xff"), "invalid: the YAML text is not UTF-8 at byte 3");
}

TEST(Yaml, AliasesDoNotExplode) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += fmt::format("a{0}: &a{0} [{1},{1},{1},{1},{1},{1},{1},{1},{1},{1}]\n", i, last);
  }
  EXPECT_NE(yaml_fault(text).find("the aliases expand"), std::string::npos);
  text = "a0: &a0 [x]\n";  // each names the one before, twice as deep as the text shows
  for (int i = 1; i < 100; ++i) text += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  EXPECT_NE(yaml_fault(text).find("nested more than 64"), std::string::npos);
}

}  // namespace
}  // namespace tessera
