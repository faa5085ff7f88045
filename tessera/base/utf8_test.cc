#include "tessera/base/utf8.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Utf8, TakesWhatUnicodeTakes) {
  EXPECT_TRUE(is_utf8("aé\xEF\xBF\xBF\xF4\x8F\xBF\xBF"));
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3", "\xE2\x82"})
    EXPECT_FALSE(is_utf8(bad)) << printable(bad);
  EXPECT_EQ(valid_utf8_prefix("ab\xff"), 2u);
}

// Unicode 15, section 3.9, "U+FFFD substitution of maximal subparts", table 3-8.
TEST(Utf8, ReplacesEachMaximalPartOnce) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + r + r + r + "b" + r + "c" + r + r + "d");
}

TEST(Utf8, AppendsEveryLength) {
  std::string text;
  for (const char32_t c : {U'a', U'é', U'€', U'\U0001F600', char32_t{0xD800}}) append_utf8(text, c);
  EXPECT_EQ(text, "aé€\xF0\x9F\x98\x80\xEF\xBF\xBD");
}

TEST(Utf8, PrintsWhatCannotBePrinted) {
  EXPECT_EQ(printable("a'\n\xff"), "a\\'\\x0a\xEF\xBF\xBD");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace tessera
