#include "tessera/text/pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/base/error.h"

namespace tessera {
namespace {

std::string matches_of(std::string_view expression, const std::string& text) {
  std::vector<Segment> segments;
  Pattern::regex(expression).segments(text, segments);
  std::string found;
  for (const Segment& s : segments)
    if (s.is_match) found += "<" + text.substr(s.begin, s.end - s.begin) + ">";
  return found;
}

// Expected: the tokenizers library's Split, which runs Oniguruma.
TEST(Pattern, HasTheWordCharactersOfOniguruma) {
  const std::string text = "a\u00bdb \u2167\u0663 x\u203fy\u00b2 z\u24b6 \u2460";
  EXPECT_EQ(matches_of(R"(\w+)", text), "<a\u00bdb><\u2167\u0663><x\u203fy\u00b2><z\u24b6>");
  EXPECT_EQ(matches_of(R"([\w']+)", text), "<a><b><\u2167\u0663><x\u203fy><z\u24b6>");
  EXPECT_EQ(matches_of(R"(\d+)", text), "<\u0663>");
}

TEST(Pattern, HasTheSpacesAndPunctuationOfOniguruma) {
  EXPECT_EQ(matches_of(R"(\s)", "a\u0085b\u00a0c\u2028d\u180ee\u200bf"), "<\u0085><\u00a0><\u2028>");
  EXPECT_EQ(matches_of("[[:punct:]]", "+$a\u2581b\u2460!"), "<+><$><\u2581><!>");
}

TEST(Pattern, FindsTheLongSInAContraction) { EXPECT_EQ(matches_of("(?i:'s)", "it'\u017f"), "<'\u017f>"); }

TEST(Pattern, SegmentsCoverTheTextInOrder) {
  const std::string text = "ab12cd";
  std::vector<Segment> segments;
  Pattern::regex(R"(\d)").segments(text, segments);
  std::uint32_t at = 0;
  for (const Segment& s : segments) {
    EXPECT_EQ(s.begin, at);
    at = s.end;
  }
  EXPECT_EQ(at, text.size());
  EXPECT_EQ(segments.size(), 4u);
}

TEST(Pattern, GoesOnBehindAnEmptyMatch) { EXPECT_EQ(matches_of("x*", "a\u00e9xa"), "<><><x><>"); }

TEST(Pattern, RefusesWhatItWouldReadInAnotherWay) {
  for (const char* expression : {R"([^\W_])", "[a-z&&[^b]]", "[[a]]", "[[:nope:]]"}) {
    try {
      Pattern::regex(expression);
      ADD_FAILURE() << expression;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::kUnsupported) << e.message();
    }
  }
  EXPECT_THROW(Pattern::regex("(a"), Error);
}

TEST(Pattern, GivesUpOnATrap) {
  try {
    matches_of("(a+)+$", std::string(2000, 'a') + "b");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("takes too long"), std::string::npos);
  }
}

TEST(Pattern, TakesAMillionSpacesThatEndInALetter) {
  const std::string text = std::string(1'000'000, ' ') + "x";
  EXPECT_EQ(matches_of(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", text), "<" + std::string(999'999, ' ') + ">< >");
}

}  // namespace
}  // namespace tessera
