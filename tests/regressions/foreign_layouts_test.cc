// Layouts that look like another dialect's: read for what they are, or refused by name; never decoded to noise.
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

// One block scale in tiles among linear ones: row 1's is unit 16 of the tensor, not unit 4.
std::vector<std::uint8_t> one_scale(std::size_t at) {
  std::vector<std::uint8_t> scales(128 * 4, test::kOne);
  scales[at] = test::kTwo;
  return scales;
}

// sgl-project/sglang#23625, #22064, #29314: FLUX.2's NVFP4 has ModelOpt's names, dtypes and, where rows divide by 128,
// its shapes; but the first code is in the high nibble and block scales stand in tiles (spec 4.3, row 2).
TEST(ForeignLayouts, FluxIsHighFirstAndInTiles) {
  for (const std::string m : {"double_blocks.0.img_attn.qkv", "double_blocks.12.txt_attn.proj",
                              "single_blocks.3.linear1", "model.diffusion_model.double_blocks.0.img_attn.qkv"}) {
    const test::TemporaryFolder folder;
    const Checkpoint model = Checkpoint::open(ModelBuilder()
                                                  .bytes(m + ".weight", DType::kU8, {128, 32}, {0x24})
                                                  .bytes(m + ".weight_scale", DType::kF8E4M3, {128, 4}, one_scale(16))
                                                  .numbers(m + ".weight_scale_2", DType::kF32, {}, {0.25f})
                                                  .write(folder / "model"));
    model.require_usable();
    EXPECT_EQ(model.find(m)->reading.dialect->name, "bfl");
    const std::vector<float> values = test::values_of(model, m);
    EXPECT_EQ(values[0], 0.25f) << "the code 1.0 comes first";  // code 2 in the high half
    EXPECT_EQ(values[1], 0.5f);                                 // code 4: 2.0
    EXPECT_EQ(values[64], 0.5f) << "the scale 2 is row 1's first";
    EXPECT_EQ(values[64 + 16], 0.25f);
  }
}

// ComfyUI's files say so themselves, by a note beside each weight or in the metadata (spec 4.3, row 1).
TEST(ForeignLayouts, ComfyQuantIsHighFirstAndInTiles) {
  const std::string m = "blocks.0.q", note = R"({"format": "nvfp4", "orig_shape": [128, 60]})";
  for (const bool in_metadata : {false, true}) {
    const test::TemporaryFolder folder;
    ModelBuilder b;
    b.bytes(m + ".weight", DType::kU8, {128, 32}, {0x24})
        .bytes(m + ".weight_scale", DType::kF8E4M3, {128, 4}, one_scale(16))
        .numbers(m + ".weight_scale_2", DType::kF32, {}, {0.25f});
    if (in_metadata)
      b.metadata("_quantization_metadata", R"({"format_version": "1.0", "layers": {"blocks.0.q": )" + note + "}}");
    else
      b.bytes(m + ".comfy_quant", DType::kU8, {static_cast<std::int64_t>(note.size())}, {note.begin(), note.end()});
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
    model.require_usable();
    EXPECT_EQ(model.find(m)->reading.dialect->name, "comfy-quant");
    EXPECT_EQ(model.find(m)->reading.extent, (Extent{128, 60}));
    const std::vector<float> values = test::values_of(model, m);
    EXPECT_EQ(values[0], 0.25f);
    EXPECT_EQ(values[1], 0.5f);
    EXPECT_EQ(values[60], 0.5f);
  }
}

// Notes that name what no reader of floats can undo are refused by name.
TEST(ForeignLayouts, ComfyFormatsThatAreNotReadAreNamed) {
  for (const std::string note : {R"({"format": "int8_tensorwise"})", R"({"format": "nvfp4", "convrot": true})"}) {
    ModelBuilder b;
    test::add_mo_nvfp4(b, "blocks.0.q", 0.25f, 128, 64)
        .bytes("blocks.0.q.comfy_quant", DType::kU8, {static_cast<std::int64_t>(note.size())},
               {note.begin(), note.end()});
    expect_refused(b, "blocks.0.q: its note says");
  }
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

// FlashML-org/FreeToken#165, sglang#33541: a DeepSeek-V4 checkpoint failed late; its experts' `.scale` was taken for a
// grid of blocks.
TEST(ForeignLayouts, DeepseekV4HasFp4ExpertsBesideFp8Blocks) {
  const test::TemporaryFolder folder;
  const std::string expert = "layers.0.ffn.experts.0.w1", attention = "layers.0.attn.wq_a";
  ModelBuilder b;
  b.bytes(expert + ".weight", DType::kI8, {4, 32}, {test::kOnes})
      .bytes(expert + ".scale", DType::kF8E8M0, {4, 2}, {128})
      .bytes(attention + ".weight", DType::kF8E4M3, {130, 256}, {test::kOne})
      .bytes(attention + ".scale", DType::kF8E8M0, {2, 2}, {126})
      .file("config.json", R"({"expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
            "scale_fmt": "ue8m0", "weight_block_size": [128, 128]}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"), {.strict = true});
  model.require_usable();
  EXPECT_EQ(model.find(expert)->reading.format.name, "mxfp4");
  EXPECT_EQ(test::values_of(model, expert), std::vector<float>(4 * 64, 2.f));
  EXPECT_EQ(test::values_of(model, attention), std::vector<float>(130 * 256, 0.5f));
  for (const std::string& m : {expert, attention}) EXPECT_EQ(model.find(m)->reading.dialect->name, "deepseek-v4");
}

// leejet/stable-diffusion.cpp#1898, LTX-2#172: ComfyUI's older scale_weight was dropped, and weights were read 100 to
// 1000 times too large. cu#11665: the scale may be BF16.
TEST(ForeignLayouts, ScaleWeightIsNotDropped) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const test::TemporaryFolder folder;
    ModelBuilder b;
    b.bytes("blocks.0.q.weight", DType::kF8E4M3, {4, 32}, {test::kOne})
        .numbers("blocks.0.q.scale_weight", dtype, {}, {0x1p-9f})
        .bytes("scaled_fp8", DType::kF8E4M3, {2}, {0});
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
    model.require_usable();
    EXPECT_EQ(model.find("blocks.0.q")->reading.dialect->name, "comfy-scaled");
    EXPECT_EQ(test::values_of(model, "blocks.0.q"), std::vector<float>(128, 0x1p-9f));
  }
}

// A plain cast has no scale, in a single file of a diffusion model alone (spec 4.3, row 15).
TEST(ForeignLayouts, PlainCastsAreReadInSingleFilesOfDiffusionModels) {
  const test::TemporaryFolder folder;
  ModelBuilder().bytes("blocks.0.q.weight", DType::kF8E4M3, {4, 32}, {test::kOne}).write(folder / "diffusion");
  const Checkpoint cast = Checkpoint::open(folder / "diffusion/model.safetensors");
  cast.require_usable();
  EXPECT_EQ(test::values_of(cast, "blocks.0.q"), std::vector<float>(128, 1.f));
  ModelBuilder()
      .bytes("model.layers.0.self_attn.q_proj.weight", DType::kF8E4M3, {4, 32}, {test::kOne})
      .write(folder / "language");
  EXPECT_THROW(Checkpoint::open(folder / "language/model.safetensors").require_usable(), Error);
}

// The blocks of gpt-oss: openai/gpt-oss users' reports (NVIDIA-NeMo/Speech#14747, transformers#40176) are of shapes
// read wrongly. Gate and up alternate, and each expert is a matrix of its own.
TEST(ForeignLayouts, GptOssBlocksAreExpertsWithAlternatingRows) {
  const test::TemporaryFolder folder;
  const std::string bank = "model.layers.0.mlp.experts.gate_up_proj";
  std::vector<std::uint8_t> scales;
  for (std::uint8_t i = 0; i < 8; ++i) scales.push_back(static_cast<std::uint8_t>(120 + i));
  const Checkpoint model = Checkpoint::open(ModelBuilder()
                                                .bytes(bank + "_blocks", DType::kU8, {2, 4, 1, 16}, {test::kOnes})
                                                .bytes(bank + "_scales", DType::kU8, {2, 4, 1}, scales)
                                                .write(folder / "model"));
  model.require_usable();
  for (int e = 0; e < 2; ++e)
    for (int part = 0; part < 2; ++part) {
      const std::string m = fmt::format("model.layers.0.mlp.experts.{}.{}", e, part == 0 ? "gate_proj" : "up_proj");
      ASSERT_NE(model.find(m), nullptr) << m;
      const std::vector<float> values = test::values_of(model, m);
      ASSERT_EQ(values.size(), 64u);
      for (int row = 0; row < 2; ++row)
        EXPECT_EQ(values[static_cast<std::size_t>(row) * 32], pow2(120 + e * 4 + row * 2 + part - 127))
            << m << " " << row;
    }
}

// NVIDIA/Model-Optimizer#1962: Mistral's weight_scale_inv is one number, not a grid of blocks.
TEST(ForeignLayouts, MistralHasOneScaleAWeight) {
  for (const std::string scale : {"weight_scale_inv", "qscale_weight"}) {
    const test::TemporaryFolder folder;
    const Checkpoint model = Checkpoint::open(ModelBuilder()
                                                  .bytes("m.wq.weight", DType::kF8E4M3, {256, 256}, {test::kOne})
                                                  .numbers("m.wq." + scale, DType::kBf16, {}, {0.5f})
                                                  .write(folder / "model"));
    model.require_usable();
    EXPECT_EQ(model.find("m.wq")->reading.dialect->name, "mistral-fp8");
    EXPECT_EQ(test::values_of(model, "m.wq"), std::vector<float>(256 * 256, 0.5f));
  }
}

// ROCm/Megatron-LM#130, ROCm/TransformerEngine#587: FNUZ codes have another bias; read as E4M3 they are twice as large.
TEST(ForeignLayouts, FnuzIsNotE4m3) {
  expect_refused(ModelBuilder()
                     .bytes("m.up_proj.weight", DType::kF8E4M3Fnuz, {4, 32}, {test::kOne})
                     .numbers("m.up_proj.weight_scale", DType::kF32, {}, {0.5f}),
                 "m.up_proj");
}

// ModelOpt's transposed experts ([E, in/2, out]; NVIDIA/Model-Optimizer#203, #1678): the packed axis is the one whose
// scales are an eighth as long. A byte holds two inputs of one output.
TEST(ForeignLayouts, TransposedExpertsArePackedAlongTheirInputs) {
  const test::TemporaryFolder folder;
  const std::string bank = "model.layers.0.mlp.experts.gate_up_proj";
  std::vector<std::uint8_t> codes(2 * 16 * 64, test::kOnes), scales(2 * 2 * 64, test::kOne);
  codes[64 * 3 + 5] = 0x42;               // expert 0, inputs 6 and 7 of output 5: 1 and 2
  scales[2 * 64 + 64 + 40] = test::kTwo;  // expert 1, inputs 16..31 of output 40: up's row 8
  const Checkpoint model = Checkpoint::open(ModelBuilder()
                                                .bytes(bank, DType::kU8, {2, 16, 64}, codes)
                                                .bytes(bank + "_weight_scale", DType::kF8E4M3, {2, 2, 64}, scales)
                                                .numbers(bank + "_weight_scale_2", DType::kF32, {}, {0.25f})
                                                .write(folder / "model"));
  model.require_usable();
  const std::vector<float> gate = test::values_of(model, "model.layers.0.mlp.experts.0.gate_proj"),
                           up = test::values_of(model, "model.layers.0.mlp.experts.1.up_proj");
  ASSERT_EQ(gate.size(), 32u * 32);
  EXPECT_EQ(gate[5 * 32 + 6], 0.25f);
  EXPECT_EQ(gate[5 * 32 + 7], 0.5f);
  EXPECT_EQ(up[8 * 32 + 15], 0.25f);
  EXPECT_EQ(up[8 * 32 + 16], 0.5f);
}

}  // namespace
}  // namespace tessera
