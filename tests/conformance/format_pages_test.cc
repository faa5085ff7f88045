// The examples of docs/formats, page by page: the bytes that stand there are the values that stand there.
#include <gtest/gtest.h>

#include "tests/support/model_builder.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

struct Page {
  const char* page;  // without ".md"
  ModelBuilder model;
  std::string module;
  std::string dialect;
  std::vector<float> first;  // values of the module, from the first on
  bool single_file = false;
};

// `first`, and zeros up to `count`.
std::vector<std::uint8_t> bytes(std::vector<std::uint8_t> first, std::size_t count) {
  first.resize(count);
  return first;
}
// One tile of block scales, zero but for rows 0 and 1.
std::vector<std::uint8_t> tile(std::uint8_t row0, std::uint8_t more0, std::uint8_t row1, std::uint8_t more1,
                               std::size_t count = 512) {
  std::vector<std::uint8_t> scales(count);
  scales[0] = row0;
  scales[1] = more0;
  scales[16] = row1;
  scales[17] = more1;
  return scales;
}

std::vector<Page> pages_of_folders() {
  const std::string expert = "layers.0.ffn.experts.0.w1", attention = "layers.0.attn.wq_a",
                    bank = "m.experts.gate_up_proj";
  const ModelBuilder v4 = ModelBuilder()
                              .bytes(expert + ".weight", DType::kI8, {1, 16}, bytes({0x92}, 16))
                              .bytes(expert + ".scale", DType::kF8E8M0, {1, 1}, {0x80})
                              .bytes(attention + ".weight", DType::kF8E4M3, {1, 256}, bytes({0x3c}, 256))
                              .bytes(attention + ".scale", DType::kF8E8M0, {1, 2}, {0x7e, 0x7e})
                              .file("config.json", R"({"expert_dtype": "fp4", "quantization_config":
                                    {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  std::vector<std::uint8_t> blocks(4 * 16);
  for (std::size_t row = 0; row < 4; ++row) blocks[row * 16] = 0x92;
  const ModelBuilder gpt_oss = ModelBuilder()
                                   .bytes(bank + "_blocks", DType::kU8, {1, 4, 1, 16}, blocks)
                                   .bytes(bank + "_scales", DType::kU8, {1, 4, 1}, {0x7d, 0x7f, 0x7e, 0x80});
  const ModelBuilder round = ModelBuilder()
                                 .bytes("m.q.weight_packed", DType::kU8, {1, 8}, {0x55})
                                 .bytes("m.q.weight_scale", DType::kF8E4M3, {1, 1}, {0x7e})
                                 .bytes("m.q.weight_global_scale", DType::kF32, {1}, {0x01, 0x00, 0x40, 0x45});
  ModelBuilder declared_round = round;
  declared_round.file("config.json",
                      R"({"quantization_config": {"quant_method": "auto-round", "data_type": "nv_fp"}})");
  std::vector<std::uint8_t> transposed(8 * 4);
  transposed[4] = 0x92;
  return {
      {"deepseek-v4", v4, expert, "deepseek-v4", {2, -1, 0}},
      {"deepseek-v4", v4, attention, "deepseek-v4", {0.75f, 0}},
      {"minimax-m3",
       ModelBuilder()
           .bytes("m.q.weight", DType::kF8E4M3, {2, 64}, {0x38})
           .bytes("m.q.weight_scale_inv", DType::kU8, {2, 2}, {0x7f, 0x80, 0x7e, 0x7f})
           .file("config.json", R"({"quantization_config": {"quant_method": "mxfp8"}})"),
       "m.q", "minimax-m3", std::vector<float>(32, 1)},
      {"mistral-fp8",
       ModelBuilder()
           .bytes("layers.0.attention.wq.weight", DType::kF8E4M3, {1, 2}, {0x7e, 0xb8})
           .bytes("layers.0.attention.wq.qscale_weight", DType::kBf16, {}, {0x00, 0x3b}),
       "layers.0.attention.wq",
       "mistral-fp8",
       {0.875f, -0.001953125f}},
      {"fbgemm-fp8",
       ModelBuilder()
           .bytes("m.q.weight", DType::kF8E4M3, {2, 4}, {0x38, 0xb8, 0x40, 0, 0x38, 0xb8, 0x40, 0})
           .bytes("m.q.weight_scale", DType::kF32, {2, 1}, {0, 0, 0, 0x3f, 0, 0, 0, 0x40})
           .file("config.json", R"({"quantization_config": {"quant_method": "fbgemm_fp8"}})"),
       "m.q",
       "fbgemm-fp8",
       {0.5f, -0.5f, 1, 0, 2, -2, 4, 0}},
      {"mxfp4", gpt_oss, "m.experts.0.gate_proj", "mxfp4", {0.25f, -0.125f, 0}},
      {"mxfp4", gpt_oss, "m.experts.0.up_proj", "mxfp4", {1, -0.5f, 0}},
      {"quark",
       ModelBuilder()
           .bytes("m.q.weight", DType::kU8, {1, 16}, bytes({0x02, 0x00}, 16))
           .bytes("m.q.weight_scale", DType::kU8, {1, 1}, {0x7d})
           .file("config.json", R"({"quantization_config": {"quant_method": "quark"}})"),
       "m.q",
       "quark",
       {0.25f, 0, 0, 0}},
      {"auto-round", declared_round, "m.q", "auto-round", {0x1.bffffep-2f}},
      {"auto-round", round, "m.q", "compressed-tensors", {0.4375f}},
      {"mlx",
       ModelBuilder()
           .bytes("m.q.weight", DType::kU32, {1, 8}, bytes({0x92, 0, 0, 0}, 32))
           .bytes("m.q.scales", DType::kU8, {1, 2}, {0x80, 0x7f})
           .file("config.json", R"({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}})"),
       "m.q",
       "mlx",
       {2, -1, 0, 0}},
      {"modelopt",
       ModelBuilder()
           .bytes(bank, DType::kU8, {1, 8, 4}, transposed)
           .bytes(bank + "_weight_scale", DType::kF8E4M3, {1, 1, 4}, {0x38})
           .numbers(bank + "_weight_scale_2", DType::kF32, {}, {1}),
       "m.experts.0.gate_proj",
       "modelopt",
       {0, 0, 1, -0.5f, 0}},
      {"fp8-block",
       ModelBuilder()
           .bytes("m.q.weight", DType::kI8, {1, 8}, bytes({0x92}, 8))
           .bytes("m.q.weight_scale_inv", DType::kF8E4M3, {1, 1}, {0x40})
           .bytes("m.q.weight_global_scale", DType::kF32, {}, {0, 0, 0x80, 0x3e}),
       "m.q",
       "fp8-block",
       {0.5f, -0.25f, 0}},
      {"fp8-block",
       ModelBuilder()
           .bytes(bank, DType::kF8E4M3, {2, 256, 128}, {0x38})
           .numbers(bank + "_scale_inv", DType::kF32, {2, 2, 1}, {1, 2, 3, 4})
           .file("config.json", R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})"),
       "m.experts.1.gate_proj", "fp8-block", std::vector<float>(128 * 128, 3)},
      {"compressed-tensors",
       ModelBuilder()
           .bytes(bank + ".weight_packed", DType::kU8, {4, 8}, {0x22})
           .bytes(bank + ".weight_scale", DType::kF8E4M3, {4, 1}, {0x38, 0x38, 0x38, 0x40})
           .numbers(bank + ".weight_global_scale", DType::kF32, {1}, {4})
           .file("config.json", R"({"num_experts": 2})"),
       "m.experts.1.up_proj", "compressed-tensors", std::vector<float>(16, 0.5f)},
  };
}

std::vector<Page> pages_of_single_files() {
  const std::string flux = "double_blocks.0.img_attn.qkv",
                    ltx = "model.diffusion_model.transformer_blocks.0.attn1.to_q",
                    note = R"({"format": "nvfp4", "orig_shape": [10, 28]})";
  const std::vector<std::uint8_t> quarter{0, 0, 0x80, 0x3e}, thousandth{0, 0, 0x80, 0x3a};
  std::vector<float> swizzled;
  for (const float value : {0.25f, 0.5f, 0.125f, 1.f}) swizzled.insert(swizzled.end(), 16, value);
  std::vector<std::uint8_t> rows(16 * 2, 0x38);
  rows[0] = 0x40;
  rows[2] = 0x30;
  const ModelBuilder scaled = ModelBuilder()
                                  .bytes("blocks.0.q.weight", DType::kF8E4M3, {1, 2}, {0x7e, 0xc0})
                                  .bytes("blocks.0.q.scale_weight", DType::kF32, {}, thousandth)
                                  .bytes("blocks.0.k.weight", DType::kF8E5M2, {1, 2}, {0x3c, 0xc0});
  const auto diffusers = [&](const Shape& shape, const std::vector<std::uint8_t>& scales) {
    return ModelBuilder()
        .bytes("blocks.0.q.weight", DType::kU8, {16, 16}, bytes({0x92}, 256))
        .bytes("blocks.0.q.weight_scale", DType::kF8E4M3, shape, scales)
        .bytes("blocks.0.q.weight_scale_2", DType::kF32, {}, quarter)
        .metadata("quantization_config", R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})");
  };
  return {
      {"torchao",
       ModelBuilder()
           .bytes("m.q._weight_qdata", DType::kU8, {2, 16}, {0x22})
           .bytes("m.q._weight_scale", DType::kF8E4M3, {32, 16}, tile(0x38, 0x40, 0x30, 0x48))
           .bytes("m.q._weight_per_tensor_scale", DType::kF32, {}, quarter)
           .metadata("m.q.weight", R"({"_type": "NVFP4Tensor", "_data": {"is_swizzled_scales": true}})"),
       "m.q", "torchao", swizzled},
      {"comfy-scaled", scaled, "blocks.0.q", "comfy-scaled", {0.4375f, -0.001953125f}, true},
      {"comfy-scaled", scaled, "blocks.0.k", "comfy-scaled", {1, -2}, true},
      {"comfy-quant",
       ModelBuilder()
           .bytes("blocks.0.q.weight", DType::kU8, {16, 16}, bytes({0x29}, 256))
           .bytes("blocks.0.q.weight_scale", DType::kF8E4M3, {128, 4}, tile(0x40, 0, 0x38, 0))
           .bytes("blocks.0.q.weight_scale_2", DType::kF32, {}, quarter)
           .bytes("blocks.0.q.comfy_quant", DType::kU8, {static_cast<std::int64_t>(note.size())},
                  {note.begin(), note.end()}),
       "blocks.0.q",
       "comfy-quant",
       {0.5f, -0.25f, 0},
       true},
      {"bfl",
       ModelBuilder()
           .bytes(flux + ".weight", DType::kU8, {128, 32}, {0x24})
           .bytes(flux + ".weight_scale", DType::kF8E4M3, {128, 4}, tile(0x38, 0, 0x40, 0))
           .bytes(flux + ".weight_scale_2", DType::kF32, {}, quarter),
       flux,
       "bfl",
       {0.25f, 0.5f},
       true},
      {"ltx2",
       ModelBuilder()
           .bytes(ltx + ".weight", DType::kF8E4M3, {1, 2}, {0x7e, 0xb8})
           .bytes(ltx + ".weight_scale", DType::kF32, {}, thousandth),
       ltx,
       "ltx2",
       {0.4375f, -0.0009765625f},
       true},
      {"modelopt-diffusers",
       diffusers({128, 16}, tile(0x40, 0x38, 0x30, 0x38, 2048)),
       "blocks.0.q",
       "modelopt-diffusers",
       {0.5f, -0.25f, 0},
       true},
      {"modelopt-diffusers", diffusers({16, 2}, rows), "blocks.0.q", "modelopt-diffusers", {0.5f, -0.25f, 0}, true},
  };
}

class FormatPage : public testing::TestWithParam<Page> {};

TEST_P(FormatPage, HasAnExampleThatIsTrue) {
  const Page& p = GetParam();
  const test::TemporaryFolder folder;
  p.model.write(folder / "model");
  const Checkpoint model = Checkpoint::open(folder / (p.single_file ? "model/model.safetensors" : "model"));
  model.require_usable();
  ASSERT_NE(model.find(p.module), nullptr);
  EXPECT_EQ(model.find(p.module)->reading.dialect->name, p.dialect);
  std::vector<float> values = test::values_of(model, p.module);
  ASSERT_GE(values.size(), p.first.size());
  values.resize(p.first.size());
  EXPECT_EQ(values, p.first);
}

const auto kNameOf = [](const auto& info) {
  std::string name = info.param.page;
  std::erase(name, '-');
  return name + std::to_string(info.index);
};
INSTANTIATE_TEST_SUITE_P(Folders, FormatPage, testing::ValuesIn(pages_of_folders()), kNameOf);
INSTANTIATE_TEST_SUITE_P(SingleFiles, FormatPage, testing::ValuesIn(pages_of_single_files()), kNameOf);

}  // namespace
}  // namespace tessera
