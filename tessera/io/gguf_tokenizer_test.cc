#include "tessera/io/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/io/gguf_pre_type.h"

namespace tessera {
namespace {

Json config_of(std::int64_t tokens) { return JsonObject{{"vocab_size", tokens}, {"max_position_embeddings", 32}}; }

Json byte_level(std::string_view pre) {
  return JsonObject{{"tokenizer.ggml.model", "gpt2"},
                    {"tokenizer.ggml.pre", std::string(pre)},
                    {"tokenizer.ggml.tokens", JsonArray{"a", "b", "ab", "<s>", "[X]", "[PAD5]"}},
                    {"tokenizer.ggml.token_type", JsonArray{1, 1, 1, 3, 4, 5}},
                    {"tokenizer.ggml.merges", JsonArray{"a b"}},
                    {"tokenizer.ggml.bos_token_id", 3},
                    {"tokenizer.ggml.add_bos_token", false}};
}

// Steps whose ids are known to be llama.cpp's under that pre type.
TEST(GgufTokenizer, CutsWordsAsThePreTypeSays) {
  const Json expected = parse_json(read_file(std::string(TESSERA_TEST_DATA) + "/gguf_import/pre_types.json"));
  for (const auto& [pre, steps] : expected.as_object()) {
    const GgufTokenizer files = make_gguf_tokenizer(byte_level(pre), config_of(6));
    const Json tokenizer = parse_json(files.tokenizer_json);
    for (const char* step : {"normalizer", "pre_tokenizer", "decoder"})
      EXPECT_EQ(tokenizer.find(step)->dump(), steps.find(step)->dump()) << pre << " " << step;
    EXPECT_EQ(*tokenizer.find("model", "ignore_merges"), *steps.find("ignore_merges")) << pre;
    const Json* post = steps.find("post_processor");  // Llama-3's is a sequence that ends with its template
    const Json* processors = post->find("processors");
    EXPECT_EQ(*tokenizer.find("post_processor"), processors != nullptr ? processors->as_array()[0] : *post) << pre;
    EXPECT_TRUE(files.remarks.empty());
  }
}

TEST(GgufTokenizer, EveryPreTypeIsJson) {
  for (const GgufPreType& pre : kGgufPreTypes) {
    const GgufTokenizer files = make_gguf_tokenizer(byte_level(pre.name), config_of(6));
    EXPECT_EQ(parse_json(files.tokenizer_json).find("pre_tokenizer")->dump(), pre.pre_tokenizer);
    EXPECT_EQ(files.remarks.empty(), pre.name != "default");
  }
}

TEST(GgufTokenizer, TokensKeepTheirIdsAndSpecialsAreAdded) {
  const Json tokenizer = parse_json(make_gguf_tokenizer(byte_level("gpt-2"), config_of(6)).tokenizer_json);
  EXPECT_EQ(tokenizer.find("model", "vocab")->dump(), R"({"a":0,"b":1,"ab":2,"<s>":3,"[X]":4})") << "no filler";
  const JsonArray& added = tokenizer.find("added_tokens")->as_array();
  ASSERT_EQ(added.size(), 2u);
  EXPECT_EQ(added[0].string_or("content", ""), "<s>");
  EXPECT_TRUE(added[0].find("special")->as_bool());
  EXPECT_EQ(added[1].string_or("content", ""), "[X]");
  EXPECT_FALSE(added[1].find("special")->as_bool());
}

TEST(GgufTokenizer, PutsTheBeginningBeforeTexts) {
  Json metadata = byte_level("llama-bpe");
  metadata.erase("tokenizer.ggml.add_bos_token");  // this pre type adds it by default
  const Json tokenizer = parse_json(make_gguf_tokenizer(metadata, config_of(6)).tokenizer_json);
  EXPECT_EQ(
      tokenizer.find("post_processor", "processors")->as_array()[1].dump(),
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}}],"pair":[{"SpecialToken":{"id":"<s>","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<s>","type_id":1}},)"
      R"({"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]}}})");
  metadata.erase("tokenizer.ggml.bos_token_id");
  EXPECT_THROW(make_gguf_tokenizer(metadata, config_of(6)), Error);
}

Json sentencepiece() {
  return JsonObject{{"tokenizer.ggml.model", "llama"},
                    {"tokenizer.ggml.tokens", JsonArray{"<unk>", "<s>", "<0x0A>", "▁", "a", "b", "ab", "▁ab", "▁a"}},
                    {"tokenizer.ggml.token_type", JsonArray{2, 3, 6, 1, 1, 1, 1, 1, 1}},
                    {"tokenizer.ggml.scores", JsonArray{0.0, 0.0, 0.0, -10.0, -11.0, -12.0, -2.0, -3.0, -1.0}},
                    {"tokenizer.ggml.unknown_token_id", 0},
                    {"tokenizer.ggml.bos_token_id", 1}};
}

// By hand: "▁a" has the best score, then "ab", then "▁ab" by both of its cuts, the longer left part first.
TEST(GgufTokenizer, MergesFollowFromScores) {
  const Json tokenizer = parse_json(make_gguf_tokenizer(sentencepiece(), config_of(9)).tokenizer_json);
  EXPECT_EQ(tokenizer.find("model", "merges")->dump(), R"([["▁","a"],["a","b"],["▁a","b"],["▁","ab"]])");
  EXPECT_TRUE(tokenizer.find("model", "byte_fallback")->as_bool());
  EXPECT_EQ(tokenizer.find("model")->string_or("unk_token", ""), "<unk>");
  EXPECT_EQ(tokenizer.find("normalizer", "normalizers")->as_array().size(), 2u);
  EXPECT_EQ(tokenizer.find("decoder", "decoders")->as_array().size(), 4u);
  EXPECT_EQ(tokenizer.find("post_processor")->string_or("type", ""), "TemplateProcessing");
  Json bare = sentencepiece();
  bare.set("tokenizer.ggml.add_space_prefix", false);
  const Json without = parse_json(make_gguf_tokenizer(bare, config_of(9)).tokenizer_json);
  EXPECT_EQ(without.find("normalizer")->string_or("type", ""), "Replace");
  EXPECT_EQ(without.find("decoder", "decoders")->as_array().size(), 3u);
}

TEST(GgufTokenizer, ScoresWithoutAnOrderAreRefused) {
  Json metadata = sentencepiece();
  metadata.set("tokenizer.ggml.scores", JsonArray{0.0, 0.0, 0.0, -10.0, -11.0, -12.0, -1.0, -3.0, -1.0});
  try {
    make_gguf_tokenizer(metadata, config_of(9));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::kUnsupported);
    EXPECT_NE(std::string(e.what()).find("the same score"), std::string::npos);
  }
  metadata.erase("tokenizer.ggml.scores");
  EXPECT_THROW(make_gguf_tokenizer(metadata, config_of(9)), Error) << "neither scores nor merges";
}

TEST(GgufTokenizer, OtherTemplatesAreRemarkedOn) {
  Json metadata = byte_level("gpt-2");
  metadata.set("tokenizer.chat_template", "{{ x }}");
  metadata.set("tokenizer.chat_template.tool_use", "{{ y }}");
  const GgufTokenizer files = make_gguf_tokenizer(metadata, config_of(6));
  EXPECT_EQ(files.chat_template, "{{ x }}");
  ASSERT_EQ(files.remarks.size(), 1u);
  EXPECT_NE(files.remarks[0].find("tokenizer.chat_template.tool_use"), std::string::npos);
}

}  // namespace
}  // namespace tessera
