// Lists of modules that are not quantized: matched as their writers mean them, and never stronger than the tensors.
#include <gtest/gtest.h>

#include "tessera/weights/quantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

std::vector<std::string> warned(const Checkpoint& model) {
  std::vector<std::string> codes;
  for (const ContainerWarning& w : model.warnings()) codes.push_back(w.code);
  return codes;
}

// vllm-project/vllm#28072: wildcards were compared with names of another prefix. The names in a file and in its
// configuration differ by "model." and "language_model.".
TEST(ExclusionLists, MatchUnderBothPrefixes) {
  for (const std::string listed : {"model.layers.*.mlp.gate", "model.language_model.layers.*.mlp.gate",
                                   "layers.*.mlp.gate", "*.mlp.gate", "*gate"}) {
    const test::TemporaryFolder folder;
    ModelBuilder b;
    b.numbers("model.language_model.layers.0.mlp.gate.weight", DType::kBf16, {4, 32}, {1})
        .numbers("model.language_model.layers.0.mlp.out.weight", DType::kBf16, {4, 32}, {1})
        .file("config.json",
              R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": [")" + listed +
                  R"("]}})");
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
    ASSERT_EQ(warned(model), std::vector<std::string>{"declared_quantized"}) << listed;  // of mlp.out alone
    EXPECT_EQ(model.warnings()[0].tensor, "model.language_model.layers.0.mlp.out.weight");
  }
}

// vllm#44628, #21669: short entries matched nothing, so an excluded layer was taken as FP8 and lost its scale. An entry
// is a part of the dotted name: "gate" is mlp.gate, and not mlp.gate_proj.
TEST(ExclusionLists, OfBlockFp8MatchParts) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  b.numbers("model.layers.0.mlp.out.weight", DType::kBf16, {4, 32}, {1})
      .bytes("model.layers.0.mlp.gate_proj.weight", DType::kF8E4M3, {128, 128}, {test::kOne})
      .numbers("model.layers.0.mlp.gate_proj.weight_scale_inv", DType::kF32, {1, 1}, {0.5f})
      .file("config.json", R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128],
                               "ignored_layers": ["out", "gate"]}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"), {.strict = true});
  model.require_usable();
  EXPECT_TRUE(warned(model).empty());
  EXPECT_EQ(test::values_of(model, "model.layers.0.mlp.gate_proj"), std::vector<float>(128 * 128, 0.5f));
}

// NVIDIA/TensorRT-LLM#16196: FP8 tensors under names that are excluded. lightseekorg/tokenspeed#527: and NVFP4 ones.
TEST(ExclusionLists, DoNotTurnCodesIntoValues) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_fp8(b, "model.layers.0.self_attn.q_proj", DType::kF32, {}, 0.5f);
  test::add_mo_nvfp4(b, "model.layers.0.mlp.experts.0.up_proj", 0.25f);
  b.file("config.json",
         R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["*"]}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(warned(model), (std::vector<std::string>{"declared_dense", "declared_dense"}));
  EXPECT_EQ(test::values_of(model, "model.layers.0.self_attn.q_proj"), std::vector<float>(128, 0.5f));
  EXPECT_EQ(test::values_of(model, "model.layers.0.mlp.experts.0.up_proj"), std::vector<float>(32, 0.5f));
}

// vllm-project/llm-compressor#1583, TensorRT-LLM#8077: widths of vision towers that no block divides. They stay dense,
// and a warning says so.
TEST(ExclusionLists, GrowByWhatNoBlockDivides) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .numbers("visual.blocks.0.attn.proj.weight", DType::kBf16, {16, 72}, {1})
      .numbers("model.layers.0.mlp.up_proj.weight", DType::kBf16, {16, 64}, {1})
      .file("config.json", R"({"model_type": "qwen2_5_vl"})")
      .write(folder / "dense");
  Stream stream(kCpu, 1);
  const QuantizeReport report = quantize_checkpoint(
      stream, Checkpoint::open(folder / "dense"), folder / "q",
      {.recipe = Recipe::plain(find_format("nvfp4")), .dialect = &find_dialect("compressed-tensors")});
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(report.warnings[0].tensor, "visual.blocks.0.attn.proj");
  const Checkpoint q = Checkpoint::open(folder / "q", {.strict = true});
  q.require_usable();
  EXPECT_TRUE(warned(q).empty());
  EXPECT_FALSE(q.find("visual.blocks.0.attn.proj")->is_quantized());
}

// sgl-project/sglang#39317, vllm-project/vllm#48226: Quark excludes names that are fused already, or leaves of single
// experts. Which modules are dense, their tensors say; a list that names others is no contradiction.
TEST(ExclusionLists, OfQuarkMayNameFusedPartsAndLeaves) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  b.numbers("model.layers.0.self_attn.q_proj.weight", DType::kBf16, {4, 32}, {1})
      .numbers("model.layers.0.mlp.experts.0.w1.weight", DType::kBf16, {4, 32}, {1});
  for (const std::string m : {"model.layers.0.mlp.experts.0.w2", "model.layers.0.self_attn.o_proj"})
    b.bytes(m + ".weight", DType::kU8, {4, 16}, {test::kOnes})
        .bytes(m + ".weight_scale", DType::kU8, {4, 1}, {test::kE8m0One});
  b.file("config.json", R"({"quantization_config": {"quant_method": "quark", "exclude": [
           "model.layers.0.self_attn.qkv_proj", "model.layers.0.mlp.experts.0.w1", "re:.*lm_head"],
           "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}}}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  EXPECT_NO_THROW(model.require_usable());
  EXPECT_EQ(model.find("model.layers.0.mlp.experts.0.w2")->reading.dialect->name, "quark");
  EXPECT_EQ(test::values_of(model, "model.layers.0.self_attn.o_proj"), std::vector<float>(128, 1.f));
  EXPECT_FALSE(model.find("model.layers.0.mlp.experts.0.w1")->is_quantized());
}

}  // namespace
}  // namespace tessera
