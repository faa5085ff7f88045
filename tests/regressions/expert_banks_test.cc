// Experts that stand in one tensor: which axis is which, and what happens to it when the bank is taken apart.
#include <gtest/gtest.h>

#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kExperts = "model.layers.0.mlp.experts.";

std::vector<float> values_of_tensor(const Checkpoint& model, const std::string& name) {
  const StoredTensor* t = model.container().find(name);
  if (t == nullptr) {
    ADD_FAILURE() << name << " is not there";
    return {};
  }
  const Tensor loaded = model.load_tensor(*t);
  std::vector<float> values;
  for (std::int64_t i = 0; i < loaded.count(); ++i) values.push_back(element_as_float(loaded, i));
  return values;
}

// gpt-oss, 2 experts of 4 rows (gate and up alternate) and 32 columns. Row r of expert e has the scale 2^(4e + r).
ModelBuilder gpt_oss() {
  std::vector<std::uint8_t> scales;
  for (std::uint8_t i = 0; i < 8; ++i) scales.push_back(static_cast<std::uint8_t>(test::kE8m0One + i));
  return ModelBuilder()
      .bytes(kExperts + "gate_up_proj_blocks", DType::kU8, {2, 4, 1, 16}, {test::kOnes})
      .bytes(kExperts + "gate_up_proj_scales", DType::kU8, {2, 4, 1}, scales)
      .numbers(kExperts + "gate_up_proj_bias", DType::kBf16, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})
      .file("config.json", R"({"model_type": "gpt_oss", "num_local_experts": 2,
                               "quantization_config": {"quant_method": "mxfp4"}})");
}

// ml-explore/mlx-lm#679: packed it is [experts, out, in], and unquantized [experts, in, out].
TEST(ExpertBanks, OfGptOssAreTransposedWhenTheyAreDequantized) {
  const test::TemporaryFolder folder;
  Stream stream(kCpu, 1);
  dequantize_checkpoint(stream, Checkpoint::open(gpt_oss().write(folder / "model")), folder / "dense", {});
  const Checkpoint dense = Checkpoint::open(folder / "dense");
  const StoredTensor* bank = dense.container().find(kExperts + "gate_up_proj");
  ASSERT_NE(bank, nullptr);
  EXPECT_EQ(bank->shape, (Shape{2, 32, 4}));
  const std::vector<float> values = values_of_tensor(dense, kExperts + "gate_up_proj");
  for (std::size_t e = 0; e < 2; ++e)
    for (std::size_t column = 0; column < 32; ++column)
      for (std::size_t row = 0; row < 4; ++row)
        ASSERT_EQ(values[(e * 32 + column) * 4 + row], pow2(static_cast<int>(4 * e + row))) << e << column << row;
}

// edutelligence#762, huggingface/transformers#40176: a number of blocks or of experts was built in. Any is read, a
// number of blocks that no tile divides (90 in gpt-oss) as well; biases follow their rows.
TEST(ExpertBanks, OfGptOssMayHaveAnyNumberOfBlocks) {
  const test::TemporaryFolder folder;
  std::vector<std::uint8_t> scales(3 * 2 * 5, test::kE8m0One);
  scales[2 * 2 * 5 + 1 * 5 + 4] = test::kE8m0One + 1;  // expert 2, row 1, the last block
  const Checkpoint model =
      Checkpoint::open(ModelBuilder()
                           .bytes(kExperts + "down_proj_blocks", DType::kU8, {3, 2, 5, 16}, {test::kOnes})
                           .bytes(kExperts + "down_proj_scales", DType::kU8, {3, 2, 5}, scales)
                           .write(folder / "model"));
  model.require_usable();
  const std::vector<float> values = test::values_of(model, kExperts + "2.down_proj");
  ASSERT_EQ(values.size(), 2u * 160);
  EXPECT_EQ(values[160 + 127], 1.f);
  EXPECT_EQ(values[160 + 128], 2.f);
}

TEST(ExpertBanks, GiveEachMatrixItsBiasWhenTheyAreTakenApart) {
  const test::TemporaryFolder folder;
  Stream stream(kCpu, 1);
  convert_checkpoint(stream, Checkpoint::open(gpt_oss().write(folder / "model")), folder / "ct",
                     {.dialect = &find_dialect("compressed-tensors")});
  const Checkpoint ct = Checkpoint::open(folder / "ct");
  ct.require_usable();
  EXPECT_EQ(values_of_tensor(ct, kExperts + "1.gate_proj.bias"), (std::vector<float>{4, 6}));
  EXPECT_EQ(values_of_tensor(ct, kExperts + "1.up_proj.bias"), (std::vector<float>{5, 7}));
  EXPECT_EQ(test::values_of(ct, kExperts + "1.up_proj")[32], pow2(4 + 3));
}

// Re-exports of Qwen3-MoE (spec/moe-engine.md 9, "KAT MIXED") have all experts of a layer under each other, one global
// for all, an NVFP4 embedding, and a configuration that names a format and nothing else.
TEST(ExpertBanks, UnderEachOtherHaveOneGlobal) {
  for (const bool three_axes : {false, true}) {
    const test::TemporaryFolder folder;
    const std::string bank = kExperts + "gate_up_proj";
    std::vector<std::uint8_t> scales(2 * 4, test::kOne);
    scales[4 + 3] = test::kTwo;  // expert 1, up's second row
    ModelBuilder b;
    b.bytes(bank + ".weight_packed", DType::kU8, three_axes ? Shape{2, 4, 8} : Shape{8, 8}, {test::kOnes})
        .bytes(bank + ".weight_scale", DType::kF8E4M3, three_axes ? Shape{2, 4, 1} : Shape{8, 1}, scales)
        .numbers(bank + ".weight_global_scale", DType::kF32, {1}, {4})
        .file("config.json", R"({"num_experts": 2, "quantization_config":
                                 {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}})");
    test::add_ct_nvfp4(b, "model.embed_tokens", 8);
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
    model.require_usable();
    const std::vector<float> up = test::values_of(model, kExperts + "1.up_proj");
    ASSERT_EQ(up.size(), 32u);
    EXPECT_EQ(up[15], 0.25f);
    EXPECT_EQ(up[16], 0.5f);
    EXPECT_EQ(test::values_of(model, kExperts + "0.gate_proj"), std::vector<float>(32, 0.25f));
    EXPECT_EQ(test::values_of(model, "model.embed_tokens"), std::vector<float>(32, 0.25f));
  }
}

}  // namespace
}  // namespace tessera
