#include "tessera/io/gguf_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/gguf_rope.h"

namespace tessera {
namespace {

// Expected: json.dumps(value, indent=2) of Python 3.11.
TEST(ConfigText, WritesNumbersAsPythonDoes) {
  const std::vector<std::pair<double, std::string>> numbers{
      {100000.0, "100000.0"},       {1e-05, "1e-05"}, {0.0001, "0.0001"}, {0.02, "0.02"},       {0.0, "0.0"},
      {1e15, "1000000000000000.0"}, {1e16, "1e+16"},  {-2.5, "-2.5"},     {1.5e-07, "1.5e-07"}, {500000.0, "500000.0"}};
  for (const auto& [number, text] : numbers) EXPECT_EQ(config_text(number), text + "\n");
}

TEST(ConfigText, IndentsByTwo) {
  const Json value = JsonObject{{"a", JsonArray{1, "x"}}, {"b", JsonObject()}, {"c", JsonObject{{"d", nullptr}}}};
  EXPECT_EQ(config_text(value),
            "{\n  \"a\": [\n    1,\n    \"x\"\n  ],\n  \"b\": {},\n  \"c\": {\n    \"d\": null\n  }\n}\n");
}

TEST(GgufKeys, ReadsTheShortestDecimalOfAnF32) {
  const Json metadata = JsonObject{{"m.a", static_cast<double>(1e-5f)}, {"m.b", 0.1}, {"m.c", 3}, {"n.d", 1}};
  GgufKeys keys(metadata, "m.");
  EXPECT_EQ(keys.real("a"), 1e-5);
  EXPECT_EQ(keys.real("b"), 0.1) << "an f64";
  EXPECT_EQ(keys.unread(), std::vector<std::string>{"m.c"});
  EXPECT_FALSE(keys.integer("absent"));
  EXPECT_THROW((void)keys.required_integer("absent"), Error);
  EXPECT_THROW((void)keys.text("c"), Error);
}

TEST(GenerationConfig, EndsAtTheTurnAndAtTheText) {
  const Json config =
      JsonObject{{"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", nullptr}, {"vocab_size", 9}};
  const Json none = JsonObject(), other = JsonObject{{"tokenizer.ggml.eot_token_id", 7}};
  GgufKeys without(none, "tokenizer.ggml."), with(other, "tokenizer.ggml.");
  EXPECT_EQ(make_generation_config(config, without).dump(),
            R"({"_from_model_config":true,"bos_token_id":1,"eos_token_id":2})");
  EXPECT_EQ(make_generation_config(config, with).dump(),
            R"({"_from_model_config":true,"bos_token_id":1,"eos_token_id":[2,7]})");
}

// The converter's own lines, in f32: llama.cpp, LlamaModel.generate_extra_tensors.
std::vector<float> convert_llama3(float theta, int width, float factor, float context) {
  std::vector<float> divisors;
  for (int i = 0; i < width; i += 2) {
    const float frequency = 1.0f / std::pow(theta, static_cast<float>(i) / static_cast<float>(width));
    const float wave = 2 * std::numbers::pi_v<float> / frequency;
    const float smooth = (context / wave - 1) / 3;
    divisors.push_back(wave < context / 4 ? 1 : wave > context ? factor : 1 / ((1 - smooth) / factor + smooth));
  }
  return divisors;
}

TEST(Llama3Rope, NumbersAreFoundAgainFromDivisors) {
  struct Case {
    float theta;
    int width;
    float factor;
    int context;
  };
  // Llama 3.1 8B, 3.2 1B, and odd ones.
  for (const Case& c : {Case{5e5f, 128, 8, 8192}, {5e5f, 64, 32, 8192}, {1e4f, 32, 2, 100}, {1e6f, 256, 16, 131072}}) {
    const std::vector<float> divisors = convert_llama3(c.theta, c.width, c.factor, static_cast<float>(c.context));
    const Json scaling = llama3_rope_scaling({.theta = c.theta, .head_width = c.width}, divisors, 0);
    EXPECT_EQ(scaling.find("factor")->as_double(), c.factor);
    EXPECT_EQ(scaling.find("original_max_position_embeddings")->as_int64(), c.context);
  }
}

TEST(Llama3Rope, OtherDivisorsAreRefused) {
  std::vector<float> divisors = convert_llama3(5e5f, 128, 8, 8192);
  const RopeFrequencies frequencies{.theta = 5e5, .head_width = 128};
  EXPECT_TRUE(llama3_rope_scaling(frequencies, std::vector<float>(64, 1.0f), 0).is_null());
  divisors[2] = 1.001f;
  EXPECT_THROW(llama3_rope_scaling(frequencies, divisors, 8192), Error);
  divisors[2] = std::nanf("");
  EXPECT_THROW(llama3_rope_scaling(frequencies, divisors, 8192), Error);
  EXPECT_THROW(llama3_rope_scaling(frequencies, std::vector<float>(63, 1.0f), 0), Error);
}

}  // namespace
}  // namespace tessera
