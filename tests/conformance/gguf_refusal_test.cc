// GGUF files that cannot be imported, and what is said of them. Nothing is left out in silence.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/weights/import_gguf.h"
#include "tests/support/gguf_builder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using test::BuiltTensor;
using test::GgufBuilder;

BuiltTensor f32(std::string name, std::vector<std::int64_t> shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 1;
  return {std::move(name), std::move(shape), "F32", test::f32_bytes(values)};
}

// One layer, width 8, two heads of 4 that share one of keys, three tokens.
GgufBuilder tiny(const std::string& architecture, BuiltTensor down = f32("blk.0.ffn_down.weight", {8, 6})) {
  GgufBuilder builder;
  const auto key = [&](const char* name) { return architecture + "." + name; };
  builder.text("general.architecture", architecture);
  for (const auto& [name, value] : {std::pair{"block_count", 1},
                                    {"context_length", 16},
                                    {"embedding_length", 8},
                                    {"feed_forward_length", static_cast<int>(down.shape[1])},
                                    {"attention.head_count", 2},
                                    {"attention.head_count_kv", 1}})
    builder.number(key(name), value);
  builder.key(key("attention.layer_norm_rms_epsilon"), {"FLOAT32"}, 1e-6);
  builder.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  builder.key("tokenizer.ggml.tokens", {"ARRAY", "STRING"}, JsonArray{"a", "b", "ab"});
  builder.key("tokenizer.ggml.token_type", {"ARRAY", "INT32"}, JsonArray{1, 1, 1});
  builder.key("tokenizer.ggml.merges", {"ARRAY", "STRING"}, JsonArray{"a b"});
  builder.tensor(f32("token_embd.weight", {3, 8})).tensor(f32("output_norm.weight", {8}));
  const std::string layer = "blk.0.";
  builder.tensor(f32(layer + "attn_norm.weight", {8})).tensor(f32(layer + "ffn_norm.weight", {8}));
  builder.tensor(f32(layer + "attn_q.weight", {8, 8})).tensor(f32(layer + "attn_k.weight", {4, 8}));
  builder.tensor(f32(layer + "attn_v.weight", {4, 8})).tensor(f32(layer + "attn_output.weight", {8, 8}));
  const std::int64_t inner = down.shape[1];
  builder.tensor(f32(layer + "ffn_gate.weight", {inner, 8})).tensor(f32(layer + "ffn_up.weight", {inner, 8}));
  builder.tensor(std::move(down));
  return builder;
}

class GgufRefusal : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera_gguf_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  GgufImportReport import(const GgufBuilder& builder, const GgufImportOptions& options = {}) {
    fs::remove(folder_ / "model.gguf");
    fs::remove_all(folder_ / "out");
    builder.write(folder_ / "model.gguf");
    const Container container = Container::open(folder_ / "model.gguf");
    Stream stream(kCpu, 1);
    return import_gguf(stream, container, folder_ / "out", options);
  }
  // The import fails with `code` and a text that holds `words`, and leaves nothing behind.
  void expect_refused(const GgufBuilder& builder, Errc code, const std::vector<std::string>& words,
                      const GgufImportOptions& options = {}) {
    try {
      import(builder, options);
      FAIL() << "imported, and was expected to say " << words[0];
    } catch (const Error& e) {
      EXPECT_EQ(errc_name(e.code()), errc_name(code)) << e.what();
      for (const std::string& word : words)
        EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << word << " in: " << e.what();
      EXPECT_TRUE(e.file().ends_with("model.gguf") || code == Errc::kInvalid) << e.file();
    }
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "partial outputs";
  }
  Json side_file(const char* name) { return parse_json(read_file(folder_ / "out" / name)); }

  fs::path folder_;
};

TEST_F(GgufRefusal, TinyModelsAreImported) {
  EXPECT_EQ(import(tiny("llama")).tensors, 11);
  EXPECT_TRUE(side_file("config.json").find("tie_word_embeddings")->as_bool());
  GgufBuilder qwen2 = tiny("qwen2");
  qwen2.tensor(f32("blk.0.attn_q.bias", {8}))
      .tensor(f32("blk.0.attn_k.bias", {4}))
      .tensor(f32("blk.0.attn_v.bias", {4}));
  EXPECT_EQ(import(qwen2).tensors, 14);
  EXPECT_EQ(side_file("config.json").string_or("model_type", ""), "qwen2");
  GgufBuilder qwen3 = tiny("qwen3");
  qwen3.tensor(f32("blk.0.attn_q_norm.weight", {4})).tensor(f32("blk.0.attn_k_norm.weight", {4}));
  EXPECT_EQ(import(qwen3).tensors, 13);
  EXPECT_EQ(side_file("config.json").find("head_dim")->as_int64(), 4);
}

// Eight rows of one block each, from gguf-py's decoders' fixture.
TEST_F(GgufRefusal, KQuantsAreImportedAndWhatIsNotDecodedIsRefused) {
  const Container fixture = Container::open(std::string(TESSERA_TEST_DATA) + "/gguf/gguf_decode.safetensors");
  for (const std::string type : {"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"}) {
    const std::vector<std::byte> blocks = fixture.read_all(*fixture.find(type + ".codes"));
    const std::vector<std::byte> values = fixture.read_all(*fixture.find(type + ".dequant"));
    constexpr std::size_t kRows = 8, kHeld = 6, kRowBytes = 256 * sizeof(float);  // six blocks, the first two again
    BuiltTensor down{.name = "blk.0.ffn_down.weight", .shape = {kRows, 256}, .type = type, .bytes = {}};
    std::vector<std::byte> expected;
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::size_t bytes = blocks.size() / kHeld, b = r % kHeld;
      down.bytes.insert(down.bytes.end(), blocks.begin() + static_cast<std::ptrdiff_t>(b * bytes),
                        blocks.begin() + static_cast<std::ptrdiff_t>((b + 1) * bytes));
      expected.insert(expected.end(), values.begin() + static_cast<std::ptrdiff_t>(b * kRowBytes),
                      values.begin() + static_cast<std::ptrdiff_t>((b + 1) * kRowBytes));
    }
    const GgufBuilder builder = tiny("llama", down);
    if (type == "IQ4_XS") {
      expect_refused(builder, Errc::kUnsupported, {"IQ4_XS"});
      continue;
    }
    import(builder, {.dtype = DType::kF32});
    const Container imported = Container::open(folder_ / "out");
    EXPECT_EQ(imported.read_all(*imported.find("model.layers.0.mlp.down_proj.weight")), expected) << type;
  }
}

TEST_F(GgufRefusal, LlamaRowsMoveAndQwenRowsStay) {
  const std::vector<float> expected_llama{1, 17, 9, 25}, expected_qwen{1, 9, 17, 25};  // first column of a head's rows
  for (const char* architecture : {"llama", "qwen3"}) {
    GgufBuilder builder = tiny(architecture);
    if (architecture == std::string("qwen3"))
      builder.tensor(f32("blk.0.attn_q_norm.weight", {4})).tensor(f32("blk.0.attn_k_norm.weight", {4}));
    import(builder, {.dtype = DType::kF32});
    const Container imported = Container::open(folder_ / "out");
    const std::vector<std::byte> bytes = imported.read_all(*imported.find("model.layers.0.self_attn.k_proj.weight"));
    const auto* values = reinterpret_cast<const float*>(bytes.data());
    const std::vector<float> column{values[0], values[8], values[16], values[24]};
    EXPECT_EQ(column, architecture == std::string("llama") ? expected_llama : expected_qwen);
  }
}

TEST_F(GgufRefusal, BiasesOfLlamaMoveWithTheirRows) {
  GgufBuilder builder = tiny("llama");
  builder.tensor(f32("blk.0.attn_q.bias", {8})).tensor(f32("blk.0.attn_k.bias", {4}));
  builder.tensor(f32("blk.0.attn_v.bias", {4})).tensor(f32("blk.0.attn_output.bias", {8}));
  import(builder, {.dtype = DType::kF32});
  EXPECT_TRUE(side_file("config.json").find("attention_bias")->as_bool());
  const Container imported = Container::open(folder_ / "out");
  EXPECT_EQ(imported.read_all(*imported.find("model.layers.0.self_attn.q_proj.bias")),
            test::f32_bytes({1, 3, 2, 4, 5, 7, 6, 8}));
  EXPECT_EQ(imported.read_all(*imported.find("model.layers.0.self_attn.v_proj.bias")), test::f32_bytes({1, 2, 3, 4}));
  builder.without("blk.0.attn_output.bias");
  expect_refused(builder, Errc::kUnsupported, {"attn_q.bias", "lack attn_output.bias"});
}

TEST_F(GgufRefusal, UnknownArchitecturesAreNamedWithTheKnown) {
  expect_refused(tiny("gpt-bananas"), Errc::kUnsupported, {"gpt-bananas", "llama", "qwen2", "qwen3"});
}

TEST_F(GgufRefusal, TensorsWithoutANameAreAllNamed) {
  GgufBuilder builder = tiny("llama");
  builder.tensor(f32("blk.0.ffn_gate_exps.weight", {2, 6, 8})).tensor(f32("surprise", {4}));
  expect_refused(builder, Errc::kUnsupported, {"blk.0.ffn_gate_exps.weight", "surprise", "2 of the file's tensors"});
  expect_refused(tiny("qwen3").tensor(f32("rope_freqs.weight", {2})), Errc::kUnsupported, {"rope_freqs.weight"});
}

TEST_F(GgufRefusal, TypesThatCannotBeDecodedAreNamed) {
  GgufBuilder builder = tiny("llama");
  builder.tensor({"blk.0.attn_norm.weight", {8}, "I32", {}});
  expect_refused(builder, Errc::kUnsupported, {"blk.0.attn_norm.weight (I32)"});
}

TEST_F(GgufRefusal, AbsentAndMisshapenTensorsAreNamed) {
  expect_refused(tiny("llama").without("blk.0.ffn_up.weight"), Errc::kCorrupt, {"blk.0.ffn_up.weight"});
  expect_refused(tiny("qwen2"), Errc::kCorrupt, {"3 tensors", "blk.0.attn_q.bias"});
  expect_refused(tiny("llama").tensor(f32("blk.0.attn_k.weight", {8, 8})), Errc::kCorrupt,
                 {"blk.0.attn_k.weight", "[8, 8]", "[4, 8]"});
  expect_refused(tiny("llama").tensor(f32("blk.7.attn_norm.weight", {8})), Errc::kCorrupt, {"layer 7", "1 layers"});
  expect_refused(tiny("llama").without("token_embd.weight"), Errc::kCorrupt, {"no embedding"});
}

TEST_F(GgufRefusal, SettingsThatConfigCannotSayAreNamed) {
  expect_refused(tiny("llama").number("llama.expert_count", 8), Errc::kUnsupported, {"8 experts"});
  expect_refused(tiny("llama").number("llama.rope.dimension_count", 2), Errc::kUnsupported, {"rope turns 2 of the 4"});
  expect_refused(tiny("llama").number("llama.attention.value_length", 2), Errc::kUnsupported, {"values 2"});
  expect_refused(
      tiny("llama").text("llama.rope.scaling.type", "longrope").key("llama.rope.scaling.factor", {"FLOAT32"}, 2.0),
      Errc::kUnsupported, {"longrope"});
  expect_refused(tiny("llama").key("llama.attention.head_count_kv", {"ARRAY", "UINT32"}, JsonArray{1}),
                 Errc::kUnsupported, {"llama.attention.head_count_kv", "no single number"});
  expect_refused(tiny("llama").number("llama.vocab_size", 4), Errc::kCorrupt, {"[3, 8]", "4 tokens"});
  expect_refused(tiny("llama").tensor(f32("rope_freqs.weight", {2})), Errc::kUnsupported, {"Llama-3's rule"});
  expect_refused(tiny("llama").number("split.count", 3), Errc::kUnsupported, {"one of 3 parts"});
  expect_refused(tiny("llama").text("general.type", "adapter"), Errc::kUnsupported, {"adapter"});
}

TEST_F(GgufRefusal, ScalingsThatConfigCanSayAreWritten) {
  import(tiny("llama").key("llama.rope.scaling.factor", {"FLOAT32"}, 2.5));
  EXPECT_EQ(side_file("config.json").find("rope_scaling")->dump(), R"({"factor":2.5,"rope_type":"linear"})");
  GgufBuilder yarn = tiny("llama").text("llama.rope.scaling.type", "yarn");
  yarn.key("llama.rope.scaling.factor", {"FLOAT32"}, 4.0).number("llama.rope.scaling.original_context_length", 8);
  import(yarn);
  EXPECT_EQ(side_file("config.json").find("rope_scaling")->dump(),
            R"({"factor":4.0,"original_max_position_embeddings":8,"rope_type":"yarn"})");
  const GgufImportReport ones =
      import(tiny("llama").tensor({"rope_freqs.weight", {2}, "F32", test::f32_bytes({1, 1})}));
  EXPECT_TRUE(side_file("config.json").find("rope_scaling")->is_null());
  EXPECT_EQ(ones.left_out.at(0).name, "rope_freqs.weight");
}

TEST_F(GgufRefusal, SidecarsMultiplyOrAreRefused) {
  GgufBuilder builder = tiny("llama").tensor({"blk.0.ffn_up.scale", {1}, "F32", test::f32_bytes({0.5f})});
  builder.tensor({"blk.0.ffn_up.input_scale", {1}, "F32", test::f32_bytes({3})});
  const GgufImportReport report = import(builder, {.dtype = DType::kF32});
  ASSERT_EQ(report.left_out.size(), 1u);
  EXPECT_EQ(report.left_out[0].name, "blk.0.ffn_up.input_scale");
  const Container imported = Container::open(folder_ / "out");
  const std::vector<std::byte> bytes = imported.read_all(*imported.find("model.layers.0.mlp.up_proj.weight"));
  EXPECT_EQ(reinterpret_cast<const float*>(bytes.data())[4], 2.5f);
  expect_refused(tiny("llama").tensor({"blk.0.ffn_up.scale", {1}, "F32", {}}), Errc::kCorrupt, {"blk.0.ffn_up.scale"});
  expect_refused(tiny("llama").tensor(f32("blk.0.ffn_up.scale", {2})), Errc::kUnsupported, {"2 numbers"});
}

TEST_F(GgufRefusal, TokenizersStopTheImportUnlessLeftOut) {
  GgufBuilder pre = tiny("llama").text("tokenizer.ggml.pre", "poro-chat");
  expect_refused(pre, Errc::kUnsupported, {"poro-chat", "smollm", "llama-bpe", "can be imported without them"});
  import(pre, {.tokenizer = GgufTokenizerImport::kLeftOut});
  EXPECT_FALSE(fs::exists(folder_ / "out" / "tokenizer.json"));
  EXPECT_EQ(side_file("source.json").find("left_out")->as_array()[0].string_or("name", ""), "tokenizer");
  expect_refused(tiny("llama").text("tokenizer.ggml.model", "t5"), Errc::kUnsupported, {"'t5'"});
  expect_refused(tiny("llama").key("tokenizer.ggml.tokens", {"ARRAY", "STRING"}, JsonArray{"a", "a", "b"}),
                 Errc::kCorrupt, {"'a'", "0 and 1"});
  expect_refused(tiny("llama").key("tokenizer.ggml.merges", {"ARRAY", "STRING"}, JsonArray{"b a"}), Errc::kCorrupt,
                 {"b a"});
  expect_refused(tiny("llama").number("tokenizer.ggml.bos_token_id", 3), Errc::kCorrupt, {"bos_token_id is 3"});
}

TEST_F(GgufRefusal, KeysThatNobodyReadsAreReported) {
  GgufBuilder builder =
      tiny("llama").number("llama.attention.sliding_window", 4).number("tokenizer.ggml.fim_pre_token_id", 1);
  const GgufImportReport report = import(builder);
  ASSERT_EQ(report.warnings.size(), 2u);
  EXPECT_NE(report.warnings[0].message.find("llama.attention.sliding_window"), std::string::npos);
  EXPECT_NE(report.warnings[1].message.find("fim_pre_token_id"), std::string::npos);
  EXPECT_EQ(side_file("source.json").find("warnings")->as_array().size(), 2u);
}

TEST_F(GgufRefusal, OtherDtypesAreRefused) {
  expect_refused(tiny("llama"), Errc::kInvalid, {"F16"}, {.dtype = DType::kF16});
}

}  // namespace
}  // namespace tessera
