#include "tessera/text/tokenizer.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/base/error.h"
#include "tessera/text/decode_stream.h"

namespace tessera {
namespace {

std::string with_model(const std::string& rest) {
  return R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<0xC3>": 3, "<0xA9>": 4},
                       "merges": ["a b"], "byte_fallback": true})" +
         rest + "}";
}

std::string refusal(const std::string& json, Errc code) {
  try {
    Tokenizer::parse(json);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "";
}

TEST(Tokenizer, RefusesAPartThatIsNotKnownAndListsThoseThatAre) {
  const std::string text = refusal(with_model(R"(, "pre_tokenizer": {"type": "UnicodeScripts"})"), Errc::kUnsupported);
  EXPECT_NE(text.find("no pre-tokenizer 'UnicodeScripts'"), std::string::npos) << text;
  EXPECT_NE(text.find("Metaspace"), std::string::npos) << text;
  EXPECT_NE(refusal(R"({"model": {"type": "WordPiece"}})", Errc::kUnsupported).find("BPE, Unigram"), std::string::npos);
}

TEST(Tokenizer, NamesThePartAndTheFieldThatAreWrong) {
  const std::string text =
      refusal(with_model(R"(, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": 1}]})"),
              Errc::kCorrupt);
  EXPECT_NE(text.find("reading the field \"prepend\""), std::string::npos) << text;
  EXPECT_NE(text.find("reading the normalizer Prepend"), std::string::npos) << text;
}

TEST(Tokenizer, RefusesAMergeOfWhatTheVocabularyLacks) {
  const std::string text =
      refusal(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}})", Errc::kCorrupt);
  EXPECT_NE(text.find("'ab'"), std::string::npos) << text;
}

TEST(Tokenizer, BoundsWhatNormalizersMakeOfAText) {
  std::string steps;
  for (int i = 0; i < 20; ++i)
    steps += std::string(i > 0 ? "," : "") + R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  const Tokenizer tokenizer =
      Tokenizer::parse(with_model(R"(, "normalizer": {"type": "Sequence", "normalizers": [)" + steps + "]}"));
  EXPECT_THROW(tokenizer.encode("aaaa"), Error);
}

TEST(Tokenizer, WarnsWhereTheIdOfAnAddedTokenIsAnother) {
  const Tokenizer tokenizer = Tokenizer::parse(with_model(R"(, "added_tokens": [{"id": 9, "content": "<s>"}])"));
  EXPECT_EQ(tokenizer.find("<s>"), 5);
  ASSERT_EQ(tokenizer.warnings().size(), 1u);
  EXPECT_NE(tokenizer.warnings()[0].find("the file says 9"), std::string::npos);
}

TEST(DecodeStream, WaitsForWholeCharactersAndGivesTheRestAtTheEnd) {
  const Tokenizer tokenizer = Tokenizer::parse(
      with_model(R"(, "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]})"));
  const Encoding encoding = tokenizer.encode("ab\u00e9");
  EXPECT_EQ(encoding.ids, (std::vector<std::int32_t>{2, 3, 4}));
  DecodeStream stream(tokenizer);
  EXPECT_EQ(stream.push(2), "ab");
  EXPECT_EQ(stream.push(3), "");
  EXPECT_EQ(stream.push(4), "\u00e9");
  EXPECT_EQ(stream.push(3), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.push(2), "ab");
}

}  // namespace
}  // namespace tessera
