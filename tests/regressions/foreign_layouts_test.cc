// Layouts that look like one that is read and are not: refused by name, never decoded to noise.
#include <gtest/gtest.h>

#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

void expect_refused(const ModelBuilder& b, std::string_view names) {
  const test::TemporaryFolder folder;
  const Error e = test::refusal_of(b.write(folder / "model"));
  EXPECT_TRUE(e.code() == Errc::kUnsupported || e.code() == Errc::kShape || e.code() == Errc::kCorrupt) << e.what();
  EXPECT_TRUE(test::has(e.message(), names)) << e.what();
}

// sgl-project/sglang#23625, #22064, #29314: FLUX.2's NVFP4 has ModelOpt's names, dtypes and, where rows divide by 128,
// its shapes; but the first code is in the high nibble and block scales stand in tiles (spec 4.3, row 2).
TEST(ForeignLayouts, HighFirstTiledFluxIsNotModelopt) {
  for (const std::string m : {"double_blocks.0.img_attn.qkv", "double_blocks.12.txt_attn.proj",
                              "single_blocks.3.linear1", "model.diffusion_model.double_blocks.0.img_attn.qkv"}) {
    ModelBuilder b;
    expect_refused(test::add_mo_nvfp4(b, m, 0.25f, 128, 64), m);
  }
}

// ComfyUI's files say so themselves, by a tensor beside each weight or in the metadata (spec 4.3, row 1).
TEST(ForeignLayouts, ComfyQuantIsNotModelopt) {
  ModelBuilder by_tensor, by_metadata;
  test::add_mo_nvfp4(by_tensor, "blocks.0.q", 0.25f, 128, 64)
      .bytes("blocks.0.q.comfy_quant", DType::kU8, {2}, {'{', '}'});
  expect_refused(by_tensor, "blocks.0.q.comfy_quant");
  test::add_mo_nvfp4(by_metadata, "blocks.0.q", 0.25f, 128, 64)
      .metadata("_quantization_metadata",
                R"({"format_version": "1.0", "layers": {"blocks.0.q": {"format": "nvfp4"}}})");
  expect_refused(by_metadata, "blocks.0.q");
}

// NVIDIA/Model-Optimizer#2038: compressed weights came with block scales as one tiled vector, and halved dimensions.
// TensorRT-LLM#10148, vllm#37564: padded grids.
TEST(ForeignLayouts, TiledAndPaddedScalesHaveAnotherShape) {
  const std::string m = "model.layers.0.mlp.up_proj";
  expect_refused(ModelBuilder()
                     .bytes(m + ".weight", DType::kU8, {128, 32}, {test::kOnes})
                     .bytes(m + ".weight_scale", DType::kU8, {512}, {test::kTwo})
                     .numbers(m + ".weight_scale_2", DType::kF32, {}, {0.25f}),
                 m + ".weight_scale");
  expect_refused(ModelBuilder()
                     .bytes(m + ".weight", DType::kU8, {100, 40}, {test::kOnes})
                     .bytes(m + ".weight_scale", DType::kF8E4M3, {128, 8}, {test::kTwo})
                     .numbers(m + ".weight_scale_2", DType::kF32, {}, {0.25f}),
                 m + ".weight_scale");
}

// Comfy-Org/ComfyUI#15273: a model's width was taken from the packed shape. The module's shape is the logical one.
TEST(ForeignLayouts, ShapesAreLogical) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_mo_nvfp4(b, "m.up_proj", 0.25f, 6, 64);
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  EXPECT_EQ(model.find("m.up_proj")->reading.extent, (Extent{6, 64}));
}

// FlashML-org/FreeToken#165: a DeepSeek-V4 checkpoint failed late. Its `.scale` has no reader here, which opening
// tells.
TEST(ForeignLayouts, DeepseekV4IsRefusedFromItsHeaders) {
  const std::string m = "layers.0.ffn.experts.0.w1";
  expect_refused(ModelBuilder()
                     .bytes(m + ".weight", DType::kI8, {4, 16}, {test::kOnes})
                     .bytes(m + ".scale", DType::kF8E8M0, {4, 1}, {test::kE8m0One}),
                 m);
}

// leejet/stable-diffusion.cpp#1898: ComfyUI's older scale_weight was dropped, and weights were read 100 to 1000 times
// too large.
TEST(ForeignLayouts, ScaleWeightIsNotDropped) {
  ModelBuilder b;
  b.bytes("blocks.0.q.weight", DType::kF8E4M3, {4, 32}, {test::kOne})
      .numbers("blocks.0.q.scale_weight", DType::kF32, {}, {0.0013f});
  expect_refused(b, "blocks.0.q.weight");
  expect_refused(b.bytes("scaled_fp8", DType::kF8E4M3, {2}, {0}), "scaled_fp8");
}

// The blocks of gpt-oss: openai/gpt-oss users' reports (NVIDIA-NeMo/Speech#14747, transformers#40176) are of shapes
// read wrongly.
TEST(ForeignLayouts, GptOssBlocksAreRefused) {
  expect_refused(ModelBuilder()
                     .bytes("model.layers.0.mlp.experts.down_proj_blocks", DType::kU8, {2, 4, 1, 16}, {test::kOnes})
                     .bytes("model.layers.0.mlp.experts.down_proj_scales", DType::kU8, {2, 4, 1}, {test::kE8m0One}),
                 "model.layers.0.mlp.experts.down_proj_blocks");
}

// NVIDIA/Model-Optimizer#1962: Mistral's weight_scale_inv is one number, not a grid of blocks.
TEST(ForeignLayouts, AScalarWhereAGridIsDueIsRefused) {
  expect_refused(ModelBuilder()
                     .bytes("m.wq.weight", DType::kF8E4M3, {256, 256}, {test::kOne})
                     .numbers("m.wq.weight_scale_inv", DType::kBf16, {}, {0.5f}),
                 "m.wq.weight_scale_inv");
}

// ROCm/Megatron-LM#130, ROCm/TransformerEngine#587: FNUZ codes have another bias; read as E4M3 they are twice as large.
TEST(ForeignLayouts, FnuzIsNotE4m3) {
  expect_refused(ModelBuilder()
                     .bytes("m.up_proj.weight", DType::kF8E4M3Fnuz, {4, 32}, {test::kOne})
                     .numbers("m.up_proj.weight_scale", DType::kF32, {}, {0.5f}),
                 "m.up_proj");
}

// ModelOpt's transposed experts ([E, in/2, out]; NVIDIA/Model-Optimizer#203, #1678) are none of the matrices that are
// read.
TEST(ForeignLayouts, StackedExpertsAreRefused) {
  expect_refused(
      ModelBuilder()
          .bytes("model.layers.0.mlp.experts.gate_up_proj", DType::kU8, {2, 16, 64}, {test::kOnes})
          .bytes("model.layers.0.mlp.experts.gate_up_proj_weight_scale", DType::kF8E4M3, {2, 2, 64}, {test::kTwo})
          .numbers("model.layers.0.mlp.experts.gate_up_proj_weight_scale_2", DType::kF32, {}, {0.25f}),
      "model.layers.0.mlp.experts.gate_up_proj");
}

}  // namespace
}  // namespace tessera
